"""What nests deep or holds much, in answers, requests and texts: judged or passed on, never an error of ours."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from time import process_time
from types import ModuleType
from typing import Any

import httpx2
import pytest

from retrycontract.contract.schemas.tool_lists import DeclaredTool
from retrycontract.mcp.visiting import FEW, PIECE, PatientDecoder
from retrycontract.proxy.contracts import ContractName, Contracts, JudgingSettings, name_of
from retrycontract.proxy.visit import BusyError, Room
from retrycontract.proxy.wire import Terms
from tests.proxy import chat
from tests.proxy.test_wires import WIRES, ask, read, reply
from tests.proxy.upstream import RIGHT, WRONG, Reply, proxied, upstream

# Beyond what arguments may have; around where Python's encoder gives up, which its decoder does later; far beyond.
DEPTHS = [150, 600, 960, 974, 990, 1_100, 20_000]
HOLE = "HOLE"


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def filled(sent: Reply, depth: int) -> Reply:
    """Put deep lists into the place of the hole, which stands in JSON or in JSON within a string."""
    content = b"".join(sent.parts)
    for quotes in (b'"', b'\\"'):
        content = content.replace(quotes + HOLE.encode() + quotes, nested(depth))
    return Reply([content], sent.status, sent.headers, sized=sent.sized)


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> ModuleType:
    return WIRES[request.param]


@pytest.mark.parametrize("way", ["whole", "streamed"])
@pytest.mark.parametrize("depth", DEPTHS)
def test_deep_arguments_are_a_mistake_of_the_models(wire: ModuleType, way: str, depth: int) -> None:
    options = {"step": 10**6} if way == "streamed" else {}
    deep = filled(reply(wire, way, "", wire.call("read_file", {"path": HOLE}), **options), depth)
    with upstream(deep, reply(wire, way, "", wire.call("read_file", RIGHT, 1))) as up, proxied(up.url) as url:
        body = read(wire, way, ask(wire, url, way, wire.tool()))
    assert wire.calls_in(body) == [("read_file", RIGHT)]
    assert "nested deeper than 100 levels" in wire.results(up.asked[1].body)[0]


@pytest.mark.parametrize("depth", DEPTHS)
def test_what_nests_deep_beside_a_call_arrives_with_it_and_stops_no_mending(wire: ModuleType, depth: int) -> None:
    def beside(arguments: Any) -> Reply:
        sent = wire.says("", wire.call("read_file", arguments))
        body = json.loads(sent.parts[0])
        body["usage"]["x_details"], body["x_more"] = HOLE, HOLE
        return filled(Reply([json.dumps(body).encode()]), depth)

    right = beside(RIGHT)
    with upstream(right, beside(WRONG), right) as up, proxied(up.url) as url:
        assert ask(wire, url, "whole", wire.tool()) == right.parts[0]
        answer = json.loads(ask(wire, url, "whole", wire.tool()))
    assert wire.calls_in(answer) == [("read_file", RIGHT)]
    assert len(up.asked) == 3


@pytest.mark.parametrize("place", ["messages", "schema", "unknown"])
@pytest.mark.parametrize("depth", DEPTHS[1:])
def test_a_deep_request_is_passed_on_with_a_warning(wire: ModuleType, place: str, depth: int) -> None:
    schema = {"type": "object", "properties": {"path": {"const": HOLE if place == "schema" else "a"}}}
    asked = wire.asking(wire.tool(schema=schema), **({"x_more": HOLE} if place == "unknown" else {}))
    if place == "messages":
        said = {"role": "user", "content": [{"type": "text", "text": "Hm", "x_more": HOLE}]}
        asked["input" if "input" in asked else "messages"] = [said]
    content = filled(Reply([json.dumps(asked).encode()]), depth).parts[0]
    sent = wire.says("", wire.call("read_file", WRONG))
    with upstream(sent) as up, proxied(up.url) as url:
        answer = httpx2.post(url + wire.PATH, content=content, timeout=60)
    assert (answer.status_code, answer.content, up.asked[0].content) == (200, sent.parts[0], content)
    assert "nests deeper than 200 levels" in answer.headers["x-retrycontract-warning"]


def test_a_request_of_many_values_is_judged_and_one_of_too_many_is_passed_on(wire: ModuleType) -> None:
    right = reply(wire, "whole", "", wire.call("read_file", RIGHT, 1))
    wrong = reply(wire, "whole", "", wire.call("read_file", WRONG))
    asked = wire.asking(wire.tool(), x_more=[1] * 30_000)
    with upstream(wrong, right) as up, proxied(up.url) as url:
        body = httpx2.post(url + wire.PATH, json=asked, timeout=60).json()
    assert wire.calls_in(body) == [("read_file", RIGHT)]
    assert up.asked[1].body["x_more"] == asked["x_more"]
    asked["x_more"] = [1] * 1_000_000
    with upstream(wrong) as up, proxied(up.url) as url:
        answer = httpx2.post(url + wire.PATH, json=asked, timeout=60)
    assert (answer.status_code, answer.content) == (200, wrong.parts[0])
    assert "more than 1,000,000 values" in answer.headers["x-retrycontract-warning"]


LEAVES = [
    '"a"',
    '"\\u00e9\\ud83d\\ude00\\""',
    "-0",
    "1.5e300",
    "123456789012345678901",
    "true",
    "null",
    "[]",
    "{}",
    '{"a":1,"a":[2]}',
]


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("end", ["1]", "1", "1,]", '"]', "1] 1", "]"])
def test_many_values_are_decoded_as_few_are(leaf: str, end: str) -> None:
    text = "[" + f"{leaf} ,\n" * (FEW + 1) + end

    def decoded(decode: Callable[[str], Any]) -> Any:
        try:
            return decode(text)
        except json.JSONDecodeError as error:
            return error.msg, error.pos

    assert decoded(PatientDecoder().decode) == decoded(json.loads)


PAIR, BACKSLASHES = r"\ud83d\ude00", r"\\" * 20
ENDS = ['"', "", "\\", r"\u12", "\x01", r'\ud83d"', '\ude00"', f'{"z" * PIECE}"', f'{PAIR * 9}"x']


@pytest.mark.parametrize("end", ENDS, ids=range(len(ENDS)))
@pytest.mark.parametrize("written", [PAIR, BACKSLASHES, r"\u00e9\n", r"\ud83d", "é\ud83d", "\\"])
def test_a_long_text_is_decoded_in_pieces_as_it_is_at_once(written: str, end: str) -> None:
    """Wherever a piece ends: in an escape, between two of one character, among backslashes."""

    def decoded(text: str, decode: Callable[[str], Any]) -> Any:
        try:
            return decode(text)
        except json.JSONDecodeError as error:
            return error.msg, error.pos

    for before in range(14):
        text = f'"{"a" * (PIECE - before)}{written}{"b" * (PIECE - 20)}{written}{end}'
        is_same = decoded(text, PatientDecoder().decode) == decoded(text, json.loads)
        assert is_same, before  # megabytes are not to be compared once more for a message


@pytest.mark.parametrize("text", ["abcdefgh", r"\\", r"a\"b", "The weather is fine today."])
def test_many_short_texts_are_decoded_as_quickly_beside_a_long_one(text: str) -> None:
    def taken(beside: int) -> float:
        written = "[" + f'"{text}",' * 40_000 + f'"{"x" * beside}"]'
        began = process_time()
        decoded = PatientDecoder().decode(written)
        assert decoded == json.loads(written)
        return process_time() - began

    assert taken(2 * PIECE) < 20 * taken(10)  # a piece of each text would be a hundred times of it


def test_bodies_share_their_room_and_give_it_back(wire: ModuleType) -> None:
    right = reply(wire, "whole", "", wire.call("read_file", RIGHT))
    asked = wire.asking(wire.tool())
    size = len(json.dumps(asked))
    with upstream(right, right, right) as up, proxied(up.url, room=Room(size + 50)) as url:
        for text in ("", "", "x" * 100, ""):
            answer = httpx2.post(url + wire.PATH, content=json.dumps(asked | {"x": text}), timeout=60)
            assert answer.status_code == (429 if text else 200)
            assert ("retry-after" in answer.headers) == bool(text)
            assert ("error" in answer.json()) == bool(text)
    assert len(up.asked) == 3


def test_one_key_does_not_take_the_room_of_all() -> None:
    shared = Room(300)
    mine, theirs, last = (Room(100, shared) for _ in range(3))
    for _ in range(2):
        mine.take(100)
        with pytest.raises(BusyError):
            mine.take(1)
        theirs.take(100)
        last.take(100)
        with pytest.raises(BusyError):
            Room(100, shared).take(1)
        for room in (mine, theirs, last):
            room.take(-100)


def test_of_many_large_sets_of_tools_the_newest_are_kept() -> None:
    async def story() -> list[ContractName]:
        contracts = Contracts(JudgingSettings())
        for number in range(12):
            schema = {"title": f"{number}", "description": "x" * 900_000}
            terms = Terms("m", (DeclaredTool("t", "", schema),), None, (), False)
            await contracts.of(terms, name_of(terms))
        return [*contracts._known]

    kept = asyncio.run(story())
    assert 2 <= len(kept) <= 4
    assert sum(each.size for each in kept) <= 4_000_000


WRITTEN = ['<tool_call>{"name": "read_file", "arguments": {"path": "HOLE"}}</tool_call>', '[read_file(path="HOLE")]',
           '```json\n{"name": "read_file", "arguments": {"path": "HOLE"}}\n```']  # fmt: skip


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("written", WRITTEN)
def test_a_deep_call_in_a_text_stays_text(depth: int, written: str) -> None:
    text = written.replace('"HOLE"', nested(depth).decode())
    sent = chat.says(text)
    with upstream(sent) as up, proxied(up.url, rescue=True) as url:
        assert ask(chat, url, "whole", chat.tool()) == sent.parts[0]
    assert len(up.asked) == 1


def test_numbers_that_nothing_can_carry_are_judged(wire: ModuleType) -> None:
    for number in (b"1e400", b"-1e400", b"9" * 5_000, b"-" + b"9" * 5_000, b"NaN", b"Infinity"):
        sent = wire.says("", wire.call("read_file", {"path": HOLE}))
        content = sent.parts[0]
        for quotes in (b'"', b'\\"'):
            content = content.replace(quotes + HOLE.encode() + quotes, number)
        with upstream(Reply([content]), wire.says("", wire.call("read_file", RIGHT, 1))) as up, proxied(up.url) as url:
            body = json.loads(ask(wire, url, "whole", wire.tool()))
        assert wire.calls_in(body) == [("read_file", RIGHT)], number[:9]
        json.loads(up.asked[1].content, parse_constant=pytest.fail)  # what the upstream reads again is JSON


def test_numbers_that_nothing_can_carry_stand_in_a_request_that_is_judged(wire: ModuleType) -> None:
    for number in (b"1e400", b"-1e400", b"9" * 5_000):
        content = json.dumps(wire.asking(wire.tool(), metadata={"n": HOLE})).replace(f'"{HOLE}"', number.decode())
        with (
            upstream(
                wire.says("", wire.call("read_file", WRONG)), wire.says("", wire.call("read_file", RIGHT, 1))
            ) as up,
            proxied(up.url) as url,
        ):
            answer = httpx2.post(f"{url}{wire.PATH}", content=content)
        assert wire.calls_in(answer.json()) == [("read_file", RIGHT)], number[:9]
        assert up.asked[0].content == content.encode()
        json.loads(up.asked[1].content, parse_constant=pytest.fail)
