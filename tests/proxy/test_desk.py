"""The proxy with the real service behind it: what is stored, and how a person's answer comes back."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from types import ModuleType
from typing import Any

import httpx2
import pytest

from retrycontract.client import AsyncClient, Client
from tests.proxy import chat, messages, responses
from tests.proxy.test_wires import WIRES, ask, read, reply
from tests.proxy.upstream import DROP, RIGHT, STALL, WRONG, Asked, Reply, proxied, upstream, whole
from tests.serving.desk import Desk
from tests.serving.service import Service
from tests.serving.threads import eventually

HINT = "The path is a text such as 'b.txt'."


@pytest.fixture
def key(keys: Iterator[str]) -> str:
    return next(keys)


@pytest.fixture
def agent(service: Service, key: str) -> Iterator[Client]:
    with Client(service.url, key) as client:
        yield client


@pytest.fixture
def before(service: Service, key: str) -> Callable[..., AbstractContextManager[str]]:
    """Serve the proxy with the desk behind it."""
    return lambda url, **options: proxied(url, service=lambda: AsyncClient(service.url, key), **options)


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> ModuleType:
    return WIRES[request.param]


def history(service: Service, key: str, call_id: str) -> Any:
    answer = httpx2.get(f"{service.url}/api/v1/calls/{call_id}", headers={"Authorization": f"Bearer {key}"})
    return answer.json()


def test_every_attempt_is_stored_with_model_tokens_and_context(
    before: Any, agent: Client, service: Service, key: str
) -> None:
    replies = chat.says("Hm.", chat.call("read_file", WRONG)), chat.says(None, chat.call("read_file", RIGHT))
    with upstream(*replies) as up, before(up.url) as url:
        ask(chat, url, "whole", chat.tool())
    [call] = agent.calls()
    assert (call.tool, call.state, call.model, call.attempts_made) == ("read_file", "valid", "m-1", 2)
    stored = history(service, key, call.call_id)
    assert stored["context"] == {"goal": "Read a.txt", "last_user_message": "Read a.txt"}
    first, second = stored["attempts"]
    assert (first["said"], first["prompt"], second["said"], second["prompt"]) == (
        "Hm.",
        "Read a.txt",
        None,
        "Read a.txt",
    )
    for attempt in (first, second):
        told = {name: attempt[name] for name in ("model", "tokens_in", "tokens_out", "finish_reason")}
        assert told == {"model": "m-1", "tokens_in": 10, "tokens_out": 5, "finish_reason": "tool_calls"}
        assert attempt["seconds"] > 0


def test_observed_calls_are_stored_and_block_nothing(before: Any, agent: Client) -> None:
    for way in ("whole", "streamed"):
        sent = reply(chat, way, None, chat.call("read_file", WRONG))
        with upstream(sent) as up, before(up.url, mode="observe") as url:
            assert ask(chat, url, way, chat.tool()) == b"".join(sent.parts)
            count = 1 if way == "whole" else 2
            eventually(lambda count=count: len(list(agent.calls())) == count)
    assert {call.state for call in agent.calls()} == {"observed"}


@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_a_blocked_call_ends_in_words_and_the_answer_is_read_with_the_next_request(
    before: Any, agent: Client, desk: Desk, wire: ModuleType, way: str
) -> None:
    wrong, right = (reply(wire, way, "", wire.call("read_file", made)) for made in (WRONG, RIGHT))
    with upstream(*[wrong] * 3, right) as up, before(up.url) as url:
        body = read(wire, way, ask(wire, url, way, wire.tool()))
        [call] = agent.calls(state="blocked")
        said = wire.text_in(body)
        assert f"A person has been asked (call {call.call_id})" in said
        desk.answer(call.call_id, text=HINT, decision="hint")
        following = further(wire, way, body, "Go on, please.")
        assert wire.calls_in(read(wire, way, post(wire, url, following))) == [("read_file", RIGHT)]
        told = json.dumps(up.asked[3].body)
        assert "About your call of tool 'read_file', which was Blocked" in told
        assert "such as 'b.txt'" in told
        post(wire, url, further(wire, way, body, "And now?"))
    assert [call.state for call in agent.calls()] == ["valid", "valid"]
    assert agent_attempts(agent, call.call_id) == 4
    assert "which was Blocked" not in json.dumps(up.asked[4].body)


BROKEN = {
    "refused": Reply([b'{"error": {"message": "busy"}}'], status=500),
    "cut off": Reply([b'{"choices": [', DROP]),
    "too slow": Reply([STALL]),
}


@pytest.mark.parametrize("way", ["whole", "streamed"])
@pytest.mark.parametrize("broken", BROKEN)
def test_an_answer_that_no_model_has_read_is_told_again(
    before: Any, agent: Client, desk: Desk, way: str, broken: str
) -> None:
    """SDKs repeat a request that failed, and theirs does not hold what the person said."""
    wrong, right = (reply(chat, way, "", chat.call("read_file", made)) for made in (WRONG, RIGHT))
    with upstream(*[wrong] * 3, BROKEN[broken], right) as up, before(up.url) as url:
        body = read(chat, way, ask(chat, url, way, chat.tool()))
        [call] = agent.calls(state="blocked")
        desk.answer(call.call_id, text=HINT, decision="hint")
        following = further(chat, way, body, "Go on, please.")
        with suppress(httpx2.HTTPError), httpx2.Client(timeout=2) as client:
            client.post(url + chat.PATH, json=following)
        assert chat.calls_in(read(chat, way, post(chat, url, following))) == [("read_file", RIGHT)]
        post(chat, url, further(chat, way, body, "And now?"))
    assert [json.dumps(asked.body).count("which was Blocked") for asked in up.asked[3:]] == [1, 1, 0]
    assert agent_attempts(agent, call.call_id) == 4


@pytest.mark.parametrize(("decision", "shown"), [("accept", WRONG), ("corrected", {"path": "c.txt"})])
def test_what_the_model_shall_call_with_is_told_in_full(
    before: Any, agent: Client, desk: Desk, decision: str, shown: Any
) -> None:
    """The wrong call never reached the client, so the model that goes on cannot look it up."""
    with (
        upstream(*[chat.says(None, chat.call("read_file", WRONG))] * 3, chat.says("Well.")) as up,
        before(up.url) as url,
    ):
        body = json.loads(ask(chat, url, "whole", chat.tool()))
        [call] = agent.calls(state="blocked")
        made = {"arguments": json.dumps(shown)} if decision == "corrected" else {}
        desk.answer(call.call_id, text="So be it.", decision=decision, **made)
        post(chat, url, further(chat, "whole", body, "Go on, please."))
    assert json.dumps(shown) in up.asked[3].body["messages"][-1]["content"]


def further(wire: ModuleType, way: str, body: Any, text: str) -> Any:
    """Go on from an answer as an agent does that repeats what it has read."""
    begun = wire.asking(wire.tool(), **({"stream": True} if way == "streamed" else {}))
    if wire is responses:
        items = [{"role": "user", "content": begun["input"]}, *body["output"], {"role": "user", "content": text}]
        return begun | {"input": items}
    said = {"role": "assistant", "content": wire.text_in(body)}
    return begun | {"messages": [*begun["messages"], said, {"role": "user", "content": text}]}


def post(wire: ModuleType, url: str, body: Any, **headers: str) -> bytes:
    with httpx2.Client(timeout=60) as client:
        return client.post(url + wire.PATH, json=body, headers=headers).content


def agent_attempts(agent: Client, call_id: str) -> int:
    return next(call.attempts_made for call in agent.calls() if call.call_id == call_id)


# In every run a decision goes each way once; what the APIs do not differ in is left to the soak.
WAITS = [
    pytest.param(name, decision, way, marks=() if (place + turn) % 3 == 0 else pytest.mark.soak)
    for place, name in enumerate(WIRES)
    for turn, (decision, way) in enumerate(
        itertools.product(("hint", "corrected", "accept", "reject"), ("whole", "streamed"))
    )
]


@pytest.mark.parametrize(("name", "decision", "way"), WAITS)
def test_the_answer_waits_for_a_person(
    before: Any, agent: Client, desk: Desk, name: str, decision: str, way: str
) -> None:
    wire = WIRES[name]
    wrong, right = (reply(wire, way, "", wire.call("read_file", made)) for made in (WRONG, {"path": "b.txt"}))
    after = reply(wire, way, "As you like.") if decision == "reject" else right
    fields = {"text": HINT, "decision": decision}
    fields |= {"arguments": json.dumps({"path": "c.txt"})} if decision == "corrected" else {}
    found: list[bytes] = []
    with upstream(*[wrong] * 3, after) as up, before(up.url, wait=60) as url:
        asking = threading.Thread(target=lambda: found.append(ask(wire, url, way, wire.tool())))
        asking.start()
        eventually(lambda: list(agent.calls(state="blocked")))
        [call] = agent.calls(state="blocked")
        desk.answer(call.call_id, **fields)
        asking.join(60)
        [told] = httpx2.get(f"{url}/retrycontract").json()["outcomes"]
    assert (told["outcome"] == "accepted") is (decision == "accept")
    body = read(wire, way, found[0])
    paths = {"hint": ["b.txt"], "corrected": ["c.txt"], "accept": [7], "reject": []}[decision]
    assert [arguments["path"] for _, arguments in wire.calls_in(body)] == paths
    assert len(up.asked) == (4 if decision in ("hint", "reject") else 3)
    if decision in ("hint", "reject"):
        assert "such as 'b.txt'" in wire.results(up.asked[3].body)[-1]
    assert wire.text_in(body) == ("As you like." if decision == "reject" else "")


def test_nobody_answers_in_time(before: Any, agent: Client) -> None:
    wrong = messages.says("", messages.call("read_file", WRONG))
    with upstream(wrong) as up, before(up.url, wait=0.5) as url:
        body = read(messages, "whole", ask(messages, url, "whole", messages.tool()))
    assert "A person has been asked" in messages.text_in(body)
    assert len(list(agent.calls(state="blocked"))) == 1


def test_a_service_that_is_away_is_done_without() -> None:
    replies = chat.says(None, chat.call("read_file", WRONG)), chat.says(None, chat.call("read_file", RIGHT))
    away = lambda: AsyncClient("http://127.0.0.1:9", "rc_none", patience=0.1)  # noqa: E731
    with upstream(*replies) as up, proxied(up.url, service=away) as url:
        assert chat.calls_in(read(chat, "whole", ask(chat, url, "whole", chat.tool()))) == [("read_file", RIGHT)]


class FailingTransport(httpx2.AsyncHTTPTransport):
    """Reach the service until `errors` gives an error."""

    def __init__(self, errors: Iterator[Exception | None]) -> None:
        super().__init__()
        self._errors = errors

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if (error := next(self._errors)) is not None:
            raise error
        return await super().handle_async_request(request)


def test_a_desk_that_leaves_while_a_busy_upstream_mends_does_not_make_the_budget_larger(
    service: Service, key: str
) -> None:
    busy: list[Asked] = []

    def script(asked: Asked) -> Reply:
        if not asked.body["messages"][2:]:
            return chat.says(None, chat.call("read_file", WRONG))
        busy.append(asked)
        return whole({"error": {"message": "busy"}}, 429 if len(busy) < 9 else 400, **{"Retry-After": "0"})

    gone = httpx2.ConnectError("gone")
    leaving = FailingTransport(gone if busy else None for _ in itertools.count())
    desk = lambda: AsyncClient(service.url, key, patience=0.1, transport=leaving)  # noqa: E731
    with upstream(script=script) as up, proxied(up.url, service=desk) as url:
        post(chat, url, chat.asking(chat.tool()))
    assert len(busy) == 2


def test_nobody_is_said_to_be_asked_where_the_desk_has_left(service: Service, key: str) -> None:
    gone, asked = httpx2.ConnectError("gone"), []

    def script(seen: Asked) -> Reply:
        asked.append(seen)
        return chat.says(None, chat.call("read_file", WRONG))

    leaving = FailingTransport(gone if asked else None for _ in itertools.count())
    desk = lambda: AsyncClient(service.url, key, patience=0.1, transport=leaving)  # noqa: E731
    with upstream(script=script) as up, proxied(up.url, service=desk, wait=60) as url:
        said = chat.text_in(json.loads(post(chat, url, chat.asking(chat.tool()))))
    assert "was wrong 3 times" in said
    assert "person" not in said
    assert len(asked) == 3


def test_tools_that_could_not_be_registered_are_tried_again_with_the_next_request() -> None:
    gone = httpx2.ConnectError("gone")
    # The first is the proxy's own question, whether its key is refused.
    failing = FailingTransport(itertools.chain([gone, RuntimeError("a fault of ours")], itertools.repeat(gone)))
    desk = lambda: AsyncClient("http://127.0.0.1:9", "rc_none", patience=0.1, transport=failing)  # noqa: E731
    with upstream(chat.says(None, chat.call("read_file", RIGHT))) as up, proxied(up.url, service=desk) as url:
        assert b"read_file" not in post(chat, url, chat.asking(chat.tool()))
        assert chat.calls_in(json.loads(post(chat, url, chat.asking(chat.tool())))) == [("read_file", RIGHT)]


def test_what_was_accepted_passes_once_and_is_judged_again_after_that(before: Any, agent: Client, desk: Desk) -> None:
    named = {"x-retrycontract-conversation": "run-8"}
    with upstream(chat.says(None, chat.call("read_file", WRONG))) as up, before(up.url) as url:
        post(chat, url, chat.asking(chat.tool()), **named)
        [call] = agent.calls(state="blocked")
        desk.answer(call.call_id, text="Fine.", decision="accept")
        found = [chat.calls_in(json.loads(post(chat, url, chat.asking(chat.tool()), **named))) for _ in range(2)]
        told = httpx2.get(f"{url}/retrycontract").json()["outcomes"]
    assert found == [[("read_file", WRONG)], []]
    assert {one["outcome"]: one["count"] for one in told} == {"blocked": 2, "accepted": 1}
    assert len(up.asked) == 3 + 1 + 3


def test_structured_output_is_kept_as_extracted_data(before: Any, agent: Client) -> None:
    schema = {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}
    with upstream(chat.says('{"total": "x"}'), chat.says('{"total": 5}')) as up, before(up.url) as url:
        ask(chat, url, "whole", **chat.structured("invoice", schema))
    [call] = agent.calls()
    assert (call.tool, call.kind, call.state) == ("invoice", "extraction", "valid")


def test_a_call_that_the_model_withdraws_is_cancelled(before: Any, agent: Client) -> None:
    with upstream(chat.says(None, chat.call("read_file", WRONG)), chat.says("No.")) as up, before(up.url) as url:
        ask(chat, url, "whole", chat.tool())
    assert [call.state for call in agent.calls()] == ["cancelled"]


def test_a_wrong_call_is_not_let_through_when_the_key_is_revoked_while_a_person_is_waited_for(
    before: Any, agent: Client, service: Service, key: str
) -> None:
    def revoke() -> None:
        eventually(lambda: list(agent.calls(state="blocked")))
        service.revoke(key)

    somebody = threading.Thread(target=revoke)
    somebody.start()
    with upstream(*[chat.says(None, chat.call("read_file", WRONG))] * 3) as up, before(up.url, wait=60) as url:
        answer = httpx2.post(f"{url}{chat.PATH}", json=chat.asking(chat.tool()), timeout=90)
    somebody.join()
    assert answer.status_code == 200
    assert "A person has been asked" in answer.text
    assert "tool_calls" not in answer.text
