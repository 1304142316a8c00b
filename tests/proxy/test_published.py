"""Published calls of real models through the proxy: wrong ones are mended by their feedback, valid ones untouched."""

from __future__ import annotations

import asyncio
import itertools
import json
import resource
from collections import Counter
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from retrycontract.mcp.events import EventSplitter
from retrycontract.proxy.app import WIRES as APIS
from retrycontract.proxy.passage import Passage
from retrycontract.proxy.visit import ClientVisit
from tests.corpus.corrector import correct
from tests.corpus.test_near_misses import BEYOND_KNOWING, REPORTED
from tests.proxy import chat
from tests.proxy.test_wires import WIRES, ask, read, reply
from tests.proxy.upstream import Asked, Reply, proxied, streamed, upstream
from tests.serving.service import ROOT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from tests.conftest import Corpus

pytestmark = pytest.mark.corpus
HEARTBEAT = b": retrycontract\n\n"  # where byte by byte takes longer than a client is left without a sign of life
SHARE = 0.8  # of the wrong calls that the words of the feedback are enough for
STREAMS = 200
BY_NETWORK = 4  # of so many streams one is sent byte by byte over sockets as well
SPLIT_IN_TWO = 25
LONG = 300
AT_ONCE = 500
MEGABYTES = 250  # that so many streams may cost, scripted upstream and client in the same process
FEW = pytest.mark.parametrize("share", [pytest.param(9, id="a few"), pytest.param(1, id="all", marks=pytest.mark.soak)])


def wrong_calls(corpus: Corpus) -> list[tuple[str, Any, Any]]:
    """Read tool, schema and arguments; whole retry chains give each of their wrong attempts."""
    rows = [(row["tool"], row["schema"], json.loads(row["arguments_raw"])) for row in corpus("real_invalid_calls")
            if row["kind"] == "schema_violation"]  # fmt: skip
    rows += [(row["tool"], row["schema"], attempt["arguments"]) for row in corpus("real_retry_chains")
             for attempt in row["attempts"] if attempt["kind"] == "schema_violation"]  # fmt: skip
    schemas = {what: schema for what, (schema, _) in (REPORTED | BEYOND_KNOWING).items()}
    rows += [(row["tool"], schemas[row["what"]], json.loads(row["arguments_raw"]))
             for row in corpus("issue_reported_calls") if row["what"] in schemas]  # fmt: skip
    return rows


class Reader:
    """Answer as a model that sends what was recorded, and then does what the feedback says, word by word."""

    def __init__(self, wire: ModuleType, way: str, tool: str, arguments: Any) -> None:
        self._wire, self._way, self._tool, self._arguments, self._count = wire, way, tool, arguments, 0

    def __call__(self, asked: Asked) -> Reply:
        results = self._wire.results(asked.body)
        if results and len(results) > self._count:
            corrected = correct(self._arguments, results[-1])
            with suppress(TypeError):  # what the words do not say how to make is no JSON: then it sends the same again
                self._arguments = json.loads(json.dumps(corrected))
        self._count = len(results)
        return reply(self._wire, self._way, "", self._wire.call(self._tool, self._arguments, self._count))


def told_in_docs(calls: str) -> list[int]:
    """Read a row of the table in docs/proxy.md: how many calls, recovered, Blocked, left alone."""
    rows = (line.split("|") for line in (ROOT / "docs/proxy.md").read_text(encoding="utf-8").splitlines())
    return next([int(cell) for cell in row[2:6]] for row in rows if row[1:2] == [f" {calls} "])


@FEW
def test_wrong_calls_are_mended_by_what_the_proxy_tells_the_model(corpus: Corpus, share: int) -> None:
    outcomes: Counter[str] = Counter()
    wires = list(WIRES.items())
    for number, (name, schema, arguments) in enumerate(wrong_calls(corpus)[::share]):
        way, (_, wire) = ("whole", "streamed")[number % 2], wires[number % len(wires)]
        with upstream(script=Reader(wire, way, name, arguments)) as up, proxied(up.url, strict=False) as url:
            body = read(wire, way, ask(wire, url, way, wire.tool(name, schema)))
            counted = httpx2.get(f"{url}/retrycontract").json()["outcomes"]
        assert len(up.asked) <= 3
        assert bool(wire.calls_in(body)) != (counted[0]["outcome"] == "blocked"), "a call arrives, or it is Blocked"
        outcomes[counted[0]["outcome"]] += 1
    print(f"wrong calls: {dict(outcomes)}")
    if share == 1:
        assert told_in_docs("wrong") == [outcomes.total(), outcomes["repaired"], outcomes["blocked"], outcomes["valid"]]
    assert outcomes["valid"] == 0
    assert outcomes["repaired"] >= SHARE * outcomes.total()


@FEW
@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_of_the_valid_calls_none_is_changed(corpus: Corpus, way: str, share: int) -> None:
    rows, wires = corpus("real_valid_calls")[::share], list(WIRES.items())
    sent: list[Reply] = []
    with upstream(script=lambda _: sent[-1]) as up, proxied(up.url) as url:
        for number, row in enumerate(rows):
            _, wire = wires[number % len(wires)]
            made = wire.call(row["tool"], json.loads(row["arguments_raw"]))
            sent.append(reply(wire, way, "Well.", made))
            assert ask(wire, url, way, wire.tool(row["tool"], row["schema"])) == b"".join(sent[-1].parts), row["id"]
        counted = httpx2.get(f"{url}/retrycontract").json()["outcomes"]
    outcomes = {each["outcome"]: each["count"] for each in counted}
    print(f"valid calls, {way}: {outcomes}")
    if share == 1:
        assert told_in_docs("valid") == [len(rows), 0, 0, sum(outcomes.values())]
    assert set(outcomes) <= {"valid", "unchecked"}  # some published schemas are none
    assert len(up.asked) == len(rows)


def recorded(corpus: Corpus) -> list[tuple[ModuleType, Any, bytes]]:
    """Make streams of recorded calls, a third for each API; every fourth holds a wrong call."""
    rows = [(row["tool"], row["schema"], json.loads(row["arguments_raw"])) for row in corpus("real_valid_calls")]
    wrong = [row for row in wrong_calls(corpus) if len(json.dumps(row[2])) < LONG]
    wires, made = list(WIRES.values()), []
    # Long arguments have more of the same events, and each is looked at as often as it has bytes.
    short = [row for row in rows if len(json.dumps(row[2])) < LONG]
    for number, row in enumerate(itertools.islice(itertools.cycle(short), STREAMS)):
        wire = wires[number % len(wires)]
        name, schema, arguments = wrong[number % len(wrong)] if number % 4 == 3 else row
        content = wire.chunks("Let me see, ä€𝄞.", wire.call(name, arguments), step=12 + number % 41)
        made.append((wire, wire.tool(name, schema), content))
    return made


@FEW
def test_a_stream_that_is_split_at_any_byte_has_the_same_events(corpus: Corpus, share: int) -> None:
    for _, _, content in recorded(corpus)[::share]:
        whole = EventSplitter().feed(content)
        assert b"".join(whole) == content
        for place in range(0, len(content), share):
            splitter = EventSplitter()
            assert splitter.feed(content[:place]) + splitter.feed(content[place:]) == whole


async def passed(wire: ModuleType, tool: Any, parts: Sequence[bytes]) -> tuple[bytes, Any]:
    """Give what of a stream goes through at once, and the answer that is read out of it, without a network."""
    api, sent = next(api for path, api in APIS if path.search(wire.PATH)), bytearray()

    async def send(message: Any) -> None:
        sent.extend(message["body"])

    async def received() -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    visit = ClientVisit({"method": "POST", "path": wire.PATH, "headers": []}, None, send)
    stream = api.stream(api.terms(wire.asking(tool)))
    await Passage(visit, stream, 8 * 2**20, holds=True).follow(received())
    return bytes(sent), stream.body()


@FEW
def test_what_is_read_out_of_a_stream_is_the_same_wherever_it_is_split(corpus: Corpus, share: int) -> None:
    async def compare() -> None:
        for number, (wire, tool, content) in enumerate(recorded(corpus)[::share]):
            whole = await passed(wire, tool, [content])
            assert whole[1] is not None
            byte_by_byte = [content[at : at + 1] for at in range(len(content))]
            assert await passed(wire, tool, byte_by_byte) == whole
            # In two parts each costs the whole stream; that its events are the same is shown of every stream above.
            for at in range(1, len(content), 1 if number % SPLIT_IN_TWO == 0 else len(content)):
                assert await passed(wire, tool, [content[:at], content[at:]]) == whole

    asyncio.run(compare())


@FEW
def test_a_stream_that_comes_byte_by_byte_gives_the_same_answer(corpus: Corpus, share: int) -> None:
    for wire, tool, content in recorded(corpus)[:: max(share**2, BY_NETWORK)]:
        results = set()
        for cuts in ((), range(1, len(content))):
            with upstream(streamed(content, *cuts)) as up, proxied(up.url) as url:
                results.add(ask(wire, url, "streamed", tool).replace(HEARTBEAT, b""))
        assert len(results) == 1


@pytest.mark.soak
def test_hundreds_of_streams_at_once_cost_bounded_memory_and_nothing_is_crossed() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    everyone, arrived = asyncio.Event(), [0]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    async def script(asked: Asked) -> Reply:
        number = int(asked.body["messages"][1]["content"])
        if len(asked.body["messages"]) > 2:
            return chat.streams(f"n{number}", chat.call("note", {"n": number}, number))
        arrived[0] += 1
        if arrived[0] == AT_ONCE:
            everyone.set()
        await everyone.wait()
        return chat.streams(f"n{number}", chat.call("note", {"n": str(number)}, number))

    async def run(url: str) -> list[Any]:
        limits = httpx2.Limits(max_connections=None)
        async with httpx2.AsyncClient(timeout=120, limits=limits) as client:

            async def one(number: int) -> Any:
                body = chat.asking(chat.tool("note", schema), text=str(number), stream=True)
                answer = await client.post(url + chat.PATH, json=body)
                return chat.put_together(answer.content)

            return list(await asyncio.gather(*map(one, range(AT_ONCE))))

    with upstream(script=script) as up, proxied(up.url) as url:
        bodies = asyncio.run(run(url))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{AT_ONCE} streams at once: {grown:.0f} MB more")
    for number, body in enumerate(bodies):
        assert chat.text_in(body) == f"n{number}"
        assert chat.calls_in(body) == [("note", {"n": number})]
    assert len(up.asked) == 2 * AT_ONCE
    assert grown < MEGABYTES
