"""Bodies that are no JSON, not quite JSON or cut inside a character: never a failure of ours."""

from __future__ import annotations

import json

import pytest

from retrycontract.store.models import Attempt, Call
from tests.api.conftest import Door
from tests.factories import make_tool

NOT_JSON: dict[str, bytes] = {
    "nothing": b" ",
    "text": b"hello",
    "half": b'{"tool": "deploy", "tool_call_id": "id", "arguments": {"a": 1}',
    "no UTF-8": b'{"kind": "\xff"}',
    "NaN": b'{"tool": NaN}',
    "a lone surrogate": b'{"tool": "deploy", "tool_call_id": "id", "arguments": {}, "session_id": "\\ud800"}',
    "a key twice": b'{"tool": "a", "tool": "b", "tool_call_id": "id", "arguments": {}}',
    "a key twice and NaN": b'{"tool": "a", "tool": "b", "tool_call_id": "id", "arguments": NaN}',
    "the arguments twice": b'{"tool": "a", "tool_call_id": "id", "arguments": {}, "arguments": {}}',
    "arguments, broken, and raw": b'{"tool": "a", "tool_call_id": "id", "arguments": NaN, "raw": "{}"}',
    "a comma missing": b'{"tool": "deploy" "tool_call_id": "id", "arguments": {}}',
    "a comma missing before broken arguments": b'{"tool": "deploy", "tool_call_id": "id" "arguments": NaN}',
    "a comma at the end": b'{"tool": "deploy", "tool_call_id": "id", "arguments": {},}',
    "text behind": b'{"tool": "deploy", "tool_call_id": "id", "arguments": {}} and more',
    "another object behind": b'{"tool": "deploy", "tool_call_id": "id", "arguments": NaN}{}',
    "too deep elsewhere": b'{"context": ' + b"[" * 200 + b"]" * 200 + b', "arguments": {}}',
    "deep and never closed": b'{"arguments": ' + b"[" * 100_000,
    "deep strings": b'{"arguments": [' + b'"\\' * 100_000,
    "an array of everything": b"[" * 100_000 + b"]" * 100_000,
}


@pytest.mark.parametrize("body", NOT_JSON.values(), ids=list(NOT_JSON))
@pytest.mark.parametrize("path", ["/calls", "/check", "/tools/import"])
def test_a_body_that_is_no_json_is_refused(door: Door, path: str, body: bytes) -> None:
    reply = door.post(path, body)
    assert (reply.status, reply.code) == (400, "bad-json")
    assert not Call.objects.exists()


HALVES = {"an escape": b"\\ud83d", "the other half": b"\\udc00", "a byte": b"\xe9", "a cut character": b"\xf0\x9f\x98"}
WORDS = {
    "said": b'"so %b"', "prompt": b'"so %b"', "callback_error": b'"so %b"', "context": b'{"goal": "so %b"}',
    "callback_error's parts": b'[{"message": "so %b"}]',
}  # fmt: skip


@pytest.mark.parametrize("half", HALVES.values(), ids=list(HALVES))
@pytest.mark.parametrize("words", list(WORDS))
def test_words_that_were_cut_inside_a_character_keep_no_attempt_from_its_verdict(
    door: Door, words: str, half: bytes
) -> None:
    make_tool(door.agent, schema={})
    told = b'"%b": %b' % (words.partition("'")[0].encode(), WORDS[words] % half)
    for output in (b'"arguments": {"service": "web"}', b'"raw": "{\\"service\\": \\"web\\"}"'):
        reply = door.post("/calls", b'{"tool": "deploy", "tool_call_id": "id", %b, %b}' % (output, told))
        assert (reply.status, reply.body["status"]) == (200, "retry" if "callback" in words else "valid")
    assert "so \ufffd" in json.dumps(door.get(f"/calls/{reply.body['call_id']}").body, ensure_ascii=False)


@pytest.mark.parametrize("half", HALVES.values(), ids=list(HALVES))
@pytest.mark.parametrize("kind", ["tool_call", "agent_response", "extraction"])
@pytest.mark.parametrize("member", [b'"raw": "{\\"service\\": \\"%b\\"}"', b'"arguments": {"service": "%b"}'])
def test_an_output_that_was_cut_inside_a_character_gets_a_verdict(
    door: Door, member: bytes, half: bytes, kind: str
) -> None:
    make_tool(door.agent, **({"kind": kind} if kind != "tool_call" else {}))
    place = b'"kind": "%b", "task_id": "t", "turn": 1' % kind.encode()
    reply = door.post("/calls", b'{"tool": "deploy", "tool_call_id": "id", %b, %b}' % (place, member % half))
    assert (reply.status, reply.body["status"]) == (200, "retry")
    assert reply.body["errors"][0]["keyword"] == ("encoding" if half[0] > 127 else "surrogate")
    assert door.get(f"/calls/{reply.body['call_id']}").status == 200


NOT_QUITE_JSON: dict[str, tuple[bytes, str]] = {
    "NaN": (b'{"service": "web", "replicas": NaN}', "nan"),
    "bare NaN": (b"NaN", "nan"),
    "Infinity": (b'{"replicas": -Infinity}', "nan"),
    "a lone surrogate": (b'{"service": "\\ud800"}', "surrogate"),
    "a lone surrogate in a key": (b'{"\\udfff": 1}', "surrogate"),
    "a key twice": (b'{"service": "a", "service": "b"}', "duplicate-key"),
    "too deep": (b"[" * 200 + b"]" * 200, "depth"),
    "far too deep": (b"[" * 30_000 + b"]" * 30_000, "depth"),
    "deep, with brackets in strings": (b'{"]": "}", "a": ' + b"[" * 200 + b"]" * 200 + b"}", "depth"),
    "no value": (b'{"service": }', "syntax"),
}


@pytest.mark.parametrize(("arguments", "keyword"), NOT_QUITE_JSON.values(), ids=list(NOT_QUITE_JSON))
@pytest.mark.parametrize("is_last", [True, False], ids=["last", "first"])
def test_arguments_that_are_not_quite_json_are_the_models_mistake(
    door: Door, arguments: bytes, keyword: str, is_last: bool
) -> None:
    make_tool(door.agent)
    members = [b'"tool" : "deploy"', b'"turn":1,\n"tool_call_id": "id"']
    members.insert(2 if is_last else 0, b'"arguments" : ' + arguments)
    reply = door.post("/calls", b" { " + b" , ".join(members) + b" } ")
    assert (reply.status, reply.body["status"]) == (200, "retry")
    (error,) = [each for each in reply.body["errors"] if each["error_code"] == "VAL-004"]
    assert error["keyword"] == keyword
    assert Attempt.objects.get().turn == 1


@pytest.mark.parametrize("number", [b"1e999", b"9" * 5_000], ids=["huge", "endless"])
def test_a_number_that_cannot_be_carried_is_json_and_the_models_mistake(door: Door, number: bytes) -> None:
    make_tool(door.agent, "deploy", {})
    reply = door.post("/calls", b'{"tool": "deploy", "tool_call_id": "id", "arguments": {"a": [%s]}}' % number)
    assert (reply.status, reply.body["status"]) == (200, "retry")
    (error,) = reply.body["errors"]
    assert (error["error_code"], error["field_path"], error["keyword"]) == ("VAL-011", "/a/0", "number")


def test_arguments_as_deep_as_outputs_may_be_are_judged_though_their_body_is_deeper(door: Door) -> None:
    make_tool(door.agent, "deploy", {})
    deep = b"[" * 100 + b"]" * 100
    reply = door.post("/calls", b'{"tool": "deploy", "tool_call_id": "id", "arguments": ' + deep + b"}")
    assert (reply.status, reply.body["status"]) == (200, "valid")


def test_not_quite_json_is_told_by_a_dry_run_too(door: Door) -> None:
    reply = door.post("/check", b'{"input_schema": {}, "arguments": {"a": NaN}}')
    assert (reply.status, reply.body["valid"]) == (200, False)
    assert reply.body["errors"][0]["error_code"] == "VAL-004"
