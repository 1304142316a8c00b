"""Arguments of very many values: none is made where others would wait meanwhile, and all else is read as ever."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest

from retrycontract.mcp.json_places import equal_keys
from retrycontract.mcp.messages import (
    MOST_AT_ONCE,
    Message,
    TooManyMessagesError,
    UnreadableMessageError,
    has_odd_arguments,
    output_at,
    read_again,
    read_line,
    read_payload,
    read_sent,
)
from retrycontract.mcp.readable import RefusedMessageError, readable

MANY: dict[str, str] = {
    "lists": json.dumps({"a": [[]] * 200_000}),
    "numbers": json.dumps({"a": [*range(100_000)]}),
    "objects": json.dumps({"rows": [{"n": number, "s": 'a "]}'} for number in range(40_000)]}),
    "strings": json.dumps({"a": ["],{"] * 50_000}),
    "a list": json.dumps([[]] * 100_000),
    "no JSON": '{"a": [' + "[01]," * 100_000 + "]}",
    "a key twice": '{"a": 1, "a": [' + "1," * 100_000 + "1]}",
}


def call(arguments: str) -> str:
    return f'{{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {{"name": "t", "arguments": {arguments}}}}}'


def hook(arguments: str) -> str:
    return f'{{"hook_event_name": "PreToolUse", "tool_name": "t", "tool_input": {arguments}, "cwd": "/"}}'


def read(text: str) -> Message:
    message = read_payload(text)
    assert isinstance(message, Message)
    return message


@pytest.mark.parametrize("arguments", MANY.values(), ids=MANY)
def test_what_holds_many_values_is_judged_as_the_text_that_it_is(arguments: str) -> None:
    message, payload = read(call(arguments)), read(hook(arguments))
    assert message.output == arguments
    assert output_at(message.text, "params", "arguments") == arguments
    assert output_at(payload.text, "tool_input") == arguments
    assert (message.id, message.is_call, message.params["name"]) == (7, True, "t")
    assert (payload.value["tool_name"], payload.value["cwd"]) == ("t", "/")
    assert has_odd_arguments(message.value) == arguments.startswith("[")
    assert equal_keys(payload.text) is None
    assert message.repeated is None
    assert equal_keys(payload.text[:-1] + ', "tool_name": "u"}') == "tool_name"


@pytest.mark.parametrize("written", [call, hook])
def test_its_values_are_not_made(written: Any) -> None:
    text = written(json.dumps({"a": [[]] * 500_000}))
    tracemalloc.start()
    try:
        message = read(text)
        equal_keys(message.text)
        output_at(message.text, *(("params", "arguments") if written is call else ("tool_input",)))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 8 * len(text), "half a million lists take thirty times as much as their text"


@pytest.mark.parametrize("id_", ["7", '"seven"', "{}"])
def test_a_message_with_many_values_beside_its_arguments_is_refused_under_its_id_and_none_is_made(id_: str) -> None:
    many = json.dumps([[]] * 500_000)
    text = f'{{"jsonrpc": "2.0", "id": {id_}, "method": "tools/list", "params": {{"_meta": {{"a": {many}}}}}}}'
    tracemalloc.start()
    try:
        with pytest.raises(RefusedMessageError) as refused:
            readable(text)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    answer = json.loads(refused.value.answer.text)
    assert (answer["id"], answer["error"]["code"]) == (None if id_ == "{}" else json.loads(id_), -32600)
    assert "more than 50,000 values beside a call's arguments: send fewer" in answer["error"]["message"]
    assert most < 8 * len(text), "half a million lists take thirty times as much as their text"


@pytest.mark.parametrize("rows", [0, 30_000], ids=["small", "large"])
@pytest.mark.parametrize("broken", ["{{'path': 'a', \"n\": [1{}]}}", '{{"a": 1 "b": [1{}]}}', '{{"a": [1{}], }}'])
def test_what_a_hook_tells_that_is_no_json_is_the_models_mistake_whatever_its_size(broken: str, rows: int) -> None:
    """Of a small one it was said that the request was wrong, whereupon some agents run the tool."""
    arguments = broken.format(", 1" * rows)
    assert output_at(read(hook(arguments)).text, "tool_input") == arguments


@pytest.mark.parametrize("rows", [0, 30_000], ids=["small", "large"])
def test_what_others_read_afterwards_has_to_be_json(rows: int) -> None:
    """A server that is sent what it cannot read answers nobody: the client waited for ever."""
    line = call(f"{{'a': [1{', 1' * rows}]}}")
    with pytest.raises(UnreadableMessageError):
        read_line(line)
    if not rows:
        with pytest.raises(UnreadableMessageError):
            read_payload(line)


def test_what_holds_few_is_read_as_ever() -> None:
    value = {"a": [[]] * 100, "long": "x" * 100_000}
    assert read(call(json.dumps(value))).output == value
    assert output_at(hook(json.dumps(value)), "tool_input") == value


ASKED = '{"jsonrpc": "2.0", "id": 7, "method": "x/y", "params": '
SENT = {
    **{f"a call of {name}": call(arguments) for name, arguments in MANY.items()},
    "what is no call": f'{ASKED}{{"_meta": {{"progressToken": 3}}, "a": {MANY["lists"]}}}}}',
    "parameters that are a list": f"{ASKED}{MANY['a list']}}}",
    "an answer": f'{{"jsonrpc": "2.0", "id": 7, "result": {MANY["numbers"]}}}',
}


@pytest.mark.parametrize("text", SENT.values(), ids=SENT)
def test_what_was_read_before_is_passed_on_as_it_came_without_its_values(text: str) -> None:
    message = read_again(text)
    assert isinstance(message, Message)
    assert (message.text, message.id) == (text, 7)
    assert message.is_answer == ("result" in text[:40])
    if message.is_call:
        assert (message.params["name"], message.output) == ("t", read(text).output)
    if "_meta" in text:
        assert message.meta == {"progressToken": 3}
    assert len(json.dumps(message.value)) < 300


@pytest.mark.parametrize("text", ["{}", "5", "[]", "[5]", "[", '{"id": 1', "[{}]", f"[{','.join(['{}'] * 100)}]", ""])
def test_what_is_short_is_read_as_ever(text: str) -> None:
    def told(read: Any) -> Any:
        try:
            return read(text)
        except UnreadableMessageError as error:
            return str(error), error.request_id

    assert told(read_sent) == told(read_again) == told(read_line)


@pytest.mark.parametrize("item", ["{}", "[]", "1", call("{}"), call(MANY["lists"])], ids=lambda item: item[:99])
def test_a_list_of_too_many_messages_is_refused_before_it_is_read(item: str) -> None:
    text = f" [{', '.join([item] * (MOST_AT_ONCE + 1))}]"
    tracemalloc.start()
    try:
        with pytest.raises(TooManyMessagesError, match="a list of more than 100: send fewer at once") as refused:
            read_sent(text)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    assert refused.value.request_id is None
