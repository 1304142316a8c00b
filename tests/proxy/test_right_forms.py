"""Right calls arrive as they were written, and nothing that stands around their arguments does."""

from __future__ import annotations

import json
from types import ModuleType

import httpx2
import pytest

from tests.proxy import chat, messages, responses
from tests.proxy.test_wire_forms import CHAT, RESPONSES, RIGHT, WIRES, WRITTEN, Edit, arrived
from tests.proxy.test_wire_forms import wire as wire
from tests.proxy.upstream import Reply, proxied, upstream, whole

RIGHT_FORMS: dict[str, tuple[ModuleType, Edit]] = {
    **{f"{how} ({name})": (wire, WRITTEN[how]) for name, wire in WIRES.items() for how in (
        "a byte order mark", "CR alone", "several lines of data", "no empty lines", "no space", "capitals",
        "comments", "an end mark of another API", "JSON lines",
    )},
    **{shape: (chat, CHAT[shape]) for shape in ("the last chunk has all", "another index", "no index")},
    "no beginnings": (responses, RESPONSES["no beginnings"]),
    "no items": (responses, RESPONSES["the end alone"]),
}  # fmt: skip


@pytest.mark.parametrize("how", RIGHT_FORMS)
def test_a_right_call_arrives_as_it_was_written(how: str) -> None:
    wire, edit = RIGHT_FORMS[how]
    content = edit(wire.chunks("", wire.call("read_file", RIGHT)))
    assert arrived(wire, Reply([content], 200, {"Content-Type": "text/event-stream"}, sized=False)) == content


def test_arguments_in_the_form_of_another_api_arrive_in_that_of_their_own() -> None:
    block = {**messages.call("read_file", RIGHT), "input": json.dumps(RIGHT)}
    body = json.loads(arrived(messages, whole(messages.message("", block)), streams=False))
    assert messages.calls_in(body) == [("read_file", RIGHT)]
    call = {**chat.call("read_file", RIGHT), "function": {"name": "read_file", "arguments": RIGHT}}
    body = json.loads(arrived(chat, whole(chat.completion(None, call)), streams=False))
    assert chat.calls_in(body) == [("read_file", RIGHT)]


AROUND = [
    "<think>Hm.</think>{}", "<reasoning>Hm.</reasoning>\n{}", "{}<|im_end|>", "{}<|eot_id|>", "\ufeff{}", "\u00a0{}",
    "\u200b{}", "{}\u2028", "\x0b{}",
    "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>{}",
]  # fmt: skip


@pytest.mark.parametrize("streams", [True, False])
def test_what_stands_around_the_arguments_of_a_right_call_does_not_arrive(wire: ModuleType, *, streams: bool) -> None:
    for around in AROUND:
        call = wire.call("read_file", around.replace("{}", json.dumps(RIGHT)))
        content = arrived(wire, (wire.streams if streams else wire.says)("", call), streams=streams)
        body = wire.put_together(content) if streams else json.loads(content)
        assert wire.calls_in(body) == [("read_file", RIGHT)], around


@pytest.mark.parametrize("streams", [True, False])
def test_thoughts_before_structured_output_do_not_arrive(wire: ModuleType, *, streams: bool) -> None:
    said = '<think>Hm, {"total": "x"}.</think>\n{"total": 5}'
    options = wire.structured("sum", {"type": "object", "properties": {"total": {"type": "number"}}})
    body = wire.asking(**options, **({"stream": True} if streams else {}))
    with upstream(wire.streams(said) if streams else wire.says(said)) as up:
        with proxied(up.url) as url:
            content = httpx2.post(url + wire.PATH, json=body, timeout=60).content
        with proxied(up.url, mode="observe") as url:
            seen = httpx2.post(url + wire.PATH, json=body, timeout=60)
            outcomes = httpx2.get(f"{url}/retrycontract").json()["outcomes"]
    found = wire.text_in(wire.put_together(content) if streams else json.loads(content))
    assert (json.loads(found), len(up.asked)) == ({"total": 5}, 2)
    assert b"nk>" in seen.content
    assert [each["outcome"] for each in outcomes] == ["observed"]
