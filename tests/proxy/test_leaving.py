"""A client that leaves, or an upstream that fails, while people are asked: what they say is not lost with it."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import httpx2
import pytest

from retrycontract.client import AsyncClient, Client
from tests.proxy import chat
from tests.proxy.test_desk import HINT, agent_attempts, post
from tests.proxy.test_desk import agent as agent
from tests.proxy.test_desk import before as before
from tests.proxy.test_desk import key as key
from tests.proxy.test_desk import wire as wire
from tests.proxy.test_wires import read, reply
from tests.proxy.test_wires import way as way
from tests.proxy.upstream import RIGHT, STALL, WRONG, Reply, ScriptedUpstream, proxied, upstream
from tests.serving.desk import Desk
from tests.serving.service import Service
from tests.serving.threads import eventually

NAMED = {"x-retrycontract-conversation": "run-9"}
GIVEN = {"path": "c.txt"}


def asking(wire: ModuleType, way: str) -> Any:
    return wire.asking(wire.tool(), **({"stream": True} if way == "streamed" else {}))


def leave(wire: ModuleType, url: str, way: str, until: Callable[[], Any]) -> None:
    """Ask, and go away once something has happened."""
    body, (host, port) = json.dumps(asking(wire, way)).encode(), url.removeprefix("http://").split(":")
    headers = "".join(f"{name}: {value}\r\n" for name, value in {**NAMED, "content-length": len(body)}.items())
    with socket.create_connection((host, int(port))) as client:
        client.sendall(f"POST {wire.PATH} HTTP/1.1\r\nhost: here\r\n{headers}\r\n".encode() + body)
        eventually(until)


@pytest.mark.parametrize("decision", ["hint", "corrected", "accept", "reject"])
def test_what_a_person_says_after_the_client_has_left_is_read_with_the_next_request(
    before: Any, agent: Client, desk: Desk, wire: ModuleType, way: str, decision: str
) -> None:
    """SDKs give up while a person is waited for, and repeat their request."""
    wrong = reply(wire, way, "", wire.call("read_file", WRONG))
    made = {"hint": RIGHT, "corrected": GIVEN, "accept": WRONG}.get(decision)
    after = reply(wire, way, "", wire.call("read_file", made)) if made else reply(wire, way, "As you like.")
    fields = {"arguments": json.dumps(GIVEN)} if decision == "corrected" else {}
    with upstream(*[wrong] * 3, after) as up, before(up.url, wait=60) as url:
        leave(wire, url, way, lambda: list(agent.calls(state="blocked")))
        [call] = agent.calls(state="blocked")
        desk.answer(call.call_id, text=HINT, decision=decision, **fields)
        body = read(wire, way, post(wire, url, asking(wire, way), **NAMED))
    assert wire.calls_in(body) == ([("read_file", made)] if made else [])
    assert json.dumps(up.asked[3].body).count("which was Blocked") == 1
    assert len(up.asked) == 4
    assert len(list(agent.calls())) == 1


class FarAway(httpx2.AsyncHTTPTransport):
    """A service whose answers take half a second to come back."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        await asyncio.sleep(0.5)
        return response


def test_a_client_that_leaves_as_its_call_is_blocked_is_not_asked_for_twice(
    service: Service, key: str, agent: Client, desk: Desk, way: str
) -> None:
    """The proxy had not read the verdict yet, and asked another person with the next request."""
    wrong, right = (reply(chat, way, "", chat.call("read_file", made)) for made in (WRONG, RIGHT))

    def far() -> AsyncClient:
        return AsyncClient(service.url, key, transport=FarAway())

    with upstream(*[wrong] * 3, right) as up, proxied(up.url, service=far, wait=60) as url:
        leave(chat, url, way, lambda: list(agent.calls(state="blocked")))
        [call] = agent.calls(state="blocked")
        desk.answer(call.call_id, text=HINT, decision="hint")
        body = read(chat, way, post(chat, url, asking(chat, way), **NAMED))
    assert chat.calls_in(body) == [("read_file", RIGHT)]
    assert json.dumps(up.asked[3].body).count("which was Blocked") == 1
    assert [each.call_id for each in agent.calls()] == [call.call_id]


def test_nobody_is_asked_twice_where_the_request_is_repeated_before_they_answer(
    before: Any, agent: Client, desk: Desk, way: str
) -> None:
    wrong, right = (reply(chat, way, "", chat.call("read_file", made)) for made in (WRONG, RIGHT))
    with upstream(*[wrong] * 4, right) as up, before(up.url, wait=60) as url:
        for _ in range(2):
            leave(chat, url, way, lambda: list(agent.calls(state="blocked")))
        [call] = agent.calls(state="blocked")
        desk.answer(call.call_id, text=HINT, decision="hint")
        body = read(chat, way, post(chat, url, asking(chat, way), **NAMED))
    assert chat.calls_in(body) == [("read_file", RIGHT)]
    assert HINT in json.dumps(up.asked[-1].body)


BROKEN = {
    "the client leaves": Reply([STALL]),
    "the upstream fails": Reply([b'{"error": {"message": "no"}}'], status=400),
}


def go_in_vain(url: str, way: str, until: Callable[[], Any], up: ScriptedUpstream, broken: str) -> None:
    """Ask, and get no answer."""
    if broken == "the client leaves":
        leave(chat, url, way, until)
        eventually(lambda: up.left)  # the proxy has seen it
        return
    asking_on = threading.Thread(target=lambda: post(chat, url, asking(chat, way), **NAMED))
    asking_on.start()
    eventually(until)
    asking_on.join(60)


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("decision", ["hint", "reject"])
def test_what_was_said_during_the_wait_is_told_again_where_no_answer_came_of_it(
    before: Any, agent: Client, desk: Desk, way: str, broken: str, decision: str
) -> None:
    wrong, right = (reply(chat, way, "", chat.call("read_file", made)) for made in (WRONG, RIGHT))
    with upstream(*[wrong] * 3, BROKEN[broken], right) as up, before(up.url, wait=60) as url:

        def person() -> bool:
            for call in agent.calls(state="blocked"):
                desk.answer(call.call_id, text=HINT, decision=decision)
            return len(up.asked) > 3

        go_in_vain(url, way, person, up, broken)
        body = read(chat, way, post(chat, url, asking(chat, way), **NAMED))
        post(chat, url, asking(chat, way), **NAMED)
    assert chat.calls_in(body) == [("read_file", RIGHT)]
    assert [json.dumps(asked.body).count("which was Blocked") for asked in up.asked[4:]] == [1, 0]
    [*_, call] = agent.calls()
    assert agent_attempts(agent, call.call_id) == (4 if decision == "hint" else 3)


@pytest.mark.parametrize("broken", BROKEN)
def test_what_was_accepted_still_passes_once_where_the_answer_did_not_arrive(
    before: Any, agent: Client, desk: Desk, broken: str
) -> None:
    wrong, other = (chat.call("read_file", made, number) for number, made in enumerate((WRONG, {"path": 8})))
    replies = *[chat.says(None, wrong)] * 3, chat.says(None, wrong, other), BROKEN[broken], chat.says(None, wrong)
    with upstream(*replies) as up, before(up.url) as url:
        post(chat, url, asking(chat, "whole"), **NAMED)
        [call] = agent.calls(state="blocked")
        desk.answer(call.call_id, text="Fine.", decision="accept")
        go_in_vain(url, "whole", lambda: len(up.asked) > 4, up, broken)
        found = chat.calls_in(json.loads(post(chat, url, asking(chat, "whole"), **NAMED)))
    assert found == [("read_file", WRONG)]


def test_two_requests_at_once_are_both_told_and_what_was_accepted_passes_once(
    before: Any, agent: Client, desk: Desk
) -> None:
    wrong = chat.says(None, chat.call("read_file", WRONG))
    found: list[httpx2.Response] = []
    with upstream(wrong) as up, before(up.url) as url:
        post(chat, url, asking(chat, "whole"), **NAMED)
        [call] = agent.calls(state="blocked")
        desk.answer(call.call_id, text="Fine.", decision="accept")

        def go_on() -> None:
            found.append(httpx2.post(url + chat.PATH, json=asking(chat, "whole"), headers=NAMED, timeout=60))

        both = [threading.Thread(target=go_on) for _ in range(6)]
        for one in both:
            one.start()
        for one in both:
            one.join(60)
    assert {answer.status_code for answer in found} == {200}
    assert sum(bool(chat.calls_in(answer.json())) for answer in found) == 1
