"""Which conversation a request goes on with is told by its words, its ids or its header, and never guessed."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import pytest

from retrycontract.client import Client
from tests.proxy import chat, messages, responses
from tests.proxy.test_desk import HINT, further, history, post
from tests.proxy.test_desk import agent as agent
from tests.proxy.test_desk import before as before
from tests.proxy.test_desk import key as key
from tests.proxy.test_desk import wire as wire
from tests.proxy.test_wires import ask, read
from tests.proxy.upstream import RIGHT, WRONG, upstream
from tests.serving.desk import Desk
from tests.serving.service import Service


def test_another_conversation_or_another_key_reads_nothing_of_the_answer(
    before: Any, agent: Client, desk: Desk
) -> None:
    wrong = chat.says(None, chat.call("read_file", WRONG))
    with upstream(*[wrong] * 3, chat.says("Hello.")) as up, before(up.url) as url:
        body = read(chat, "whole", ask(chat, url, "whole", chat.tool()))
        [call] = agent.calls(state="blocked")
        desk.answer(call.call_id, text=HINT, decision="hint")
        following = further(chat, "whole", body, "Go on.")
        changed = json.loads(json.dumps(following).replace("Read a.txt", "Read another"))
        post(chat, url, changed)
        post(chat, url, following, Authorization="Bearer of-somebody-else")
        post(chat, url, chat.asking(chat.tool()))
    assert all("which was Blocked" not in json.dumps(asked.body) for asked in up.asked)


def test_two_conversations_that_begin_alike_at_once_stay_apart(before: Any, agent: Client, desk: Desk) -> None:
    wrong = chat.says(None, chat.call("read_file", WRONG))
    with upstream(*[wrong] * 6, chat.says("Hello.")) as up, before(up.url) as url:
        first, second = (read(chat, "whole", ask(chat, url, "whole", chat.tool())) for _ in range(2))
        blocked = next(call for call in agent.calls(state="blocked") if call.call_id in chat.text_in(second))
        desk.answer(blocked.call_id, text=HINT, decision="hint")
        edited = json.loads(json.dumps(second).replace("wrong 3 times", "wrong"))
        cut = further(chat, "whole", second, "Go on.")
        cut["messages"] = cut["messages"][-1:]
        for body in (further(chat, "whole", first, "Go on."), further(chat, "whole", edited, "Go on."), cut):
            post(chat, url, body)
        assert all("which was Blocked" not in json.dumps(asked.body) for asked in up.asked)
        post(chat, url, further(chat, "whole", second, "Go on."))
    assert "which was Blocked" in json.dumps(up.asked[-1].body)


def test_a_conversation_about_another_picture_is_another_one(before: Any, agent: Client, desk: Desk) -> None:
    wrong = chat.says(None, chat.call("read_file", WRONG))

    def about(url: str) -> Any:
        picture = {"type": "image_url", "image_url": {"url": url}, "cache_control": {"type": "ephemeral"}}
        return {"messages": [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, picture]}]}

    with upstream(*[wrong] * 3, chat.says("Hello.")) as up, before(up.url) as url:
        body = read(chat, "whole", post(chat, url, chat.asking(chat.tool(), **about("data:1"))))
        [call] = agent.calls(state="blocked")
        desk.answer(call.call_id, text=HINT, decision="hint")
        said = [{"role": "assistant", "content": chat.text_in(body)}, {"role": "user", "content": "Go on."}]
        for picture in ("data:2", "data:1"):
            post(chat, url, chat.asking(chat.tool(), messages=[*about(picture)["messages"], *said]))
    assert ["which was Blocked" in json.dumps(asked.body) for asked in up.asked[3:]] == [False, True]


def test_a_header_names_the_conversation_whatever_it_repeats(before: Any, agent: Client, desk: Desk) -> None:
    wrong, named = chat.says(None, chat.call("read_file", WRONG)), {"x-retrycontract-conversation": "run-7"}
    with upstream(*[wrong] * 3, chat.says("Hello.")) as up, before(up.url) as url:
        post(chat, url, chat.asking(chat.tool()), **named)
        [call] = agent.calls(state="blocked")
        desk.answer(call.call_id, text=HINT, decision="hint")
        post(chat, url, chat.asking(chat.tool(), text="Something else."), **named)
    assert "which was Blocked" in json.dumps(up.asked[3].body)
    assert "run-7" not in json.dumps([asked.headers for asked in up.asked])


def named(wire: ModuleType, made: Any, name: Any) -> Any:
    """Give a call another id, as a client repeats one that came without."""
    place = "call_id" if wire is responses else "id"
    without = {key: value for key, value in made.items() if key != place}
    return without if name is LEFT_OUT else without | {place: name}


LEFT_OUT: Any = object()


@pytest.mark.parametrize("name", [None, "", LEFT_OUT, "made-up"], ids=["null", "empty", "left out", "its own"])
def test_a_conversation_with_a_server_that_gives_no_ids_goes_on(
    before: Any, agent: Client, service: Service, key: str, wire: ModuleType, name: Any
) -> None:
    calls = [named(wire, wire.call("read_file", {"path": path}), None) for path in ("a.txt", "b.txt")]

    def following(result: str, name: Any) -> Any:
        made = [named(wire, each, f"{name}-{place}" if name == "made-up" else name) for place, each in enumerate(calls)]
        asked = wire.asking(wire.tool())
        ids = [each.get("call_id" if wire is responses else "id") for each in made]
        if wire is responses:
            told = [{"type": "function_call_output", "call_id": each, "output": result} for each in ids]
            return asked | {"input": [{"role": "user", "content": "Read a.txt"}, *made, *told]}
        if wire is messages:
            told = [{"type": "tool_result", "tool_use_id": each, "content": result} for each in ids]
            turns = [{"role": "assistant", "content": made}, {"role": "user", "content": told}]
        else:
            turns = [{"role": "assistant", "content": None, "tool_calls": made}]
            turns += [{"role": "tool", "tool_call_id": each, "content": result} for each in ids]
        return asked | {"messages": [*asked["messages"], *turns]}

    def sessions() -> list[str]:
        return [history(service, key, call.call_id)["session_id"] for call in agent.calls()]

    one, two = (wire.says("", wire.call("read_file", {"path": path})) for path in ("c.txt", "d.txt"))
    with upstream(wire.says("", *calls), one, two) as up, before(up.url) as url:
        post(wire, url, wire.asking(wire.tool()))
        post(wire, url, following("Hello.", name))
        assert (len(sessions()), len(set(sessions()))) == (3, 1)
        post(wire, url, following("Hello.", name), Authorization="Bearer of-somebody-else")
        assert (len(sessions()), len(set(sessions()))) == (4, 2)
    assert "made-up" in json.dumps(up.asked[1].body) or name != "made-up"


def test_ids_that_a_server_did_give_tell_conversations_apart(
    before: Any, agent: Client, service: Service, key: str
) -> None:
    made = chat.call("read_file", RIGHT)
    turns = [{"role": "assistant", "content": None, "tool_calls": [named(chat, made, "another")]},
             {"role": "tool", "tool_call_id": "another", "content": "Hello."}]  # fmt: skip
    asked = chat.asking(chat.tool())
    with upstream(chat.says(None, made)) as up, before(up.url) as url:
        post(chat, url, asked)
        post(chat, url, asked | {"messages": [*asked["messages"], *turns]})
    assert len({history(service, key, call.call_id)["session_id"] for call in agent.calls()}) == 2


def test_a_response_is_continued_by_its_id(before: Any, agent: Client, desk: Desk) -> None:
    wrong = responses.says("", responses.call("read_file", WRONG))
    with upstream(*[wrong] * 3, responses.says("Hello.")) as up, before(up.url) as url:
        body = read(responses, "whole", ask(responses, url, "whole", responses.tool()))
        [call] = agent.calls(state="blocked")
        desk.answer(call.call_id, text=HINT, decision="hint")
        post(responses, url, responses.asking(responses.tool(), question="Go on.", previous_response_id=body["id"]))
    assert "which was Blocked" in json.dumps(up.asked[3].body)
