"""The same call again and again, and two that take turns: reported, and by setting told."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import httpx2
import pytest

from tests.proxy import chat, messages, responses
from tests.proxy.test_wires import WIRES, read, reply
from tests.proxy.upstream import proxied, upstream

A, B, C = {"path": "a"}, {"path": "b"}, {"path": "c"}


def after(wire: ModuleType, *made: Any, **options: Any) -> Any:
    """Ask at the end of a conversation in which these calls were made and answered."""
    body, items = wire.asking(wire.tool(), **options), list[Any]()
    for number, arguments in enumerate(made):
        call = wire.call("read_file", arguments, number)
        if wire is chat:
            items += [{"role": "assistant", "content": None, "tool_calls": [call]},
                      {"role": "tool", "tool_call_id": call["id"], "content": "empty"}]  # fmt: skip
        elif wire is messages:
            result = {"type": "tool_result", "tool_use_id": call["id"], "content": "empty"}
            items += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        else:
            items += [call, {"type": "function_call_output", "call_id": call["call_id"], "output": "empty"}]
    if wire is responses:
        return body | {"input": [{"role": "user", "content": body["input"]}, *items]}
    return body | {"messages": [*body["messages"], *items]}


def post(wire: ModuleType, url: str, body: Any) -> httpx2.Response:
    return httpx2.post(url + wire.PATH, json=body, timeout=60)


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> ModuleType:
    return WIRES[request.param]


@pytest.mark.parametrize(
    ("made", "now", "is_told"),
    [((A, A), A, True), ((A,), A, False), ((A, B), A, False), ((A, A), B, False), ((A, A), {**A, "x": 1}, False),
     ((A, B, A, B, A), B, True), ((A, B, A, B), A, False), ((A, B, A, C, A), B, False), ((C, A, A), A, True)],
)  # fmt: skip
@pytest.mark.parametrize("mode", ["observe", "enforce"])
def test_what_is_the_same_again_is_reported_and_let_through(
    wire: ModuleType, mode: str, made: Any, now: Any, is_told: bool
) -> None:
    sent = reply(wire, "whole", "", wire.call("read_file", now, 99))
    with upstream(sent) as up, proxied(up.url, mode=mode, strict=False) as url:
        answer = post(wire, url, after(wire, *made))
    assert answer.content == sent.parts[0]
    assert answer.headers.get("x-retrycontract-repeated") == ("read_file" if is_told else None)


@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_by_setting_the_model_is_told_once(wire: ModuleType, way: str) -> None:
    again, other = (reply(wire, way, "", wire.call("read_file", made, 99)) for made in (A, B))
    body = after(wire, A, A, **({"stream": True} if way == "streamed" else {}))
    for second, wanted in ((other, B), (again, A)):  # who insists may go on
        with upstream(again, second) as up, proxied(up.url, tells_repeats=True) as url:
            found = read(wire, way, post(wire, url, body).content)
        assert wire.calls_in(found) == [("read_file", wanted)]
        assert "its result will be the same" in wire.results(up.asked[1].body)[-1]
        assert len(up.asked) == 2
    with upstream(again) as up, proxied(up.url, tells_repeats=True, mode="observe") as url:
        post(wire, url, body)
    assert len(up.asked) == 1


def test_what_is_repeated_is_counted() -> None:
    with upstream(chat.says(None, chat.call("read_file", A, 9))) as up, proxied(up.url) as url:
        post(chat, url, after(chat, A, A))
        counted = httpx2.get(f"{url}/retrycontract").json()["outcomes"]
    assert {"model": "m-1", "outcome": "repeated", "count": 1} in counted
    assert json.loads(up.asked[0].content)["model"] == "m-1"
