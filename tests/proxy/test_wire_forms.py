"""One wrong call in every form in which a server may write it: enforcing, no client gets its arguments."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import httpx2
import pytest

from tests.proxy import chat, messages, responses
from tests.proxy.upstream import Reply, proxied, upstream, whole

NEEDLE = "wr0ng-va1ue"
WRONG = {"path": 7, "encoding": NEEDLE}
RIGHT = {"path": "a.txt"}
WIRES = {"chat": chat, "messages": messages, "responses": responses}
Edit = Callable[[bytes], bytes]


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> ModuleType:
    return WIRES[request.param]


def documents(content: bytes) -> list[Any]:
    told = (line[6:] for line in content.splitlines() if line.startswith(b"data: {"))
    return [json.loads(line) for line in told]


def joined(found: list[Any]) -> bytes:
    return b"".join(b"data: %s\n\n" % json.dumps(each).encode() for each in found)


def indented(content: bytes) -> bytes:
    pretty = (json.dumps(each, indent=1).replace("\n", "\ndata: ") for each in documents(content))
    return "".join(f"data: {each}\n\n" for each in pretty).encode()


# How the same events may be written.
WRITTEN: dict[str, Edit] = {
    "as the API does it": lambda content: content,
    "a byte order mark": lambda content: b"\xef\xbb\xbf" + content,
    "a mark before each event": lambda content: content.replace(b"data: ", b"\xef\xbb\xbfdata: "),
    "CR alone": lambda content: content.replace(b"\n", b"\r"),
    "CR and LF": lambda content: content.replace(b"\n", b"\r\n"),
    "several lines of data": indented,
    "no empty lines": lambda content: content.replace(b"\n\n", b"\n"),
    "no space": lambda content: content.replace(b"data: ", b"data:"),
    "space before": lambda content: content.replace(b"data: ", b"  data: "),
    "capitals": lambda content: content.replace(b"data: ", b"Data: "),
    "space before the colon": lambda content: content.replace(b"data: ", b"data : "),
    "JSON lines": lambda content: b"".join(json.dumps(each).encode() + b"\n" for each in documents(content)),
    "one list": lambda content: json.dumps(documents(content)).encode(),
    "lists in events": lambda content: b"".join(
        b"data: [%s]\n\n" % json.dumps(each).encode() for each in documents(content)
    ),
    "no end mark": lambda content: content.replace(b"data: [DONE]\n\n", b""),
    "an end mark of another API": lambda content: content + b"data: [DONE]\n\n",
    "comments": lambda content: content.replace(b"data: ", b": hm\ndata: "),
    "names of events": lambda content: content.replace(b"data: ", b"event: foo\nid: 4\ndata: "),
    "UTF-16": lambda content: content.decode().encode("utf-16"),
    "a comma too many": lambda content: content.replace(b"}\n\n", b",}\n\n"),
    "texts in events": lambda content: b"".join(
        b"data: %s\n\n" % json.dumps(json.dumps(each)).encode() for each in documents(content)
    ),
}


def edited(change: Callable[[Any], Any]) -> Edit:
    return lambda content: joined([change(each) for each in documents(content)])


def chat_chunk(change: Callable[[Any], Any]) -> Edit:
    """Change each choice of a chunk."""
    return edited(lambda chunk: chunk | {"choices": [change(choice) for choice in chunk["choices"]]})


def made_of(content: bytes) -> str:
    """Give the arguments that a stream of chat completions writes."""
    parts = [part for each in documents(content) for choice in each["choices"]
             for part in choice["delta"].get("tool_calls") or ()]  # fmt: skip
    return "".join(part["function"]["arguments"] for part in parts)


def ended_whole(content: bytes) -> bytes:
    """End a stream with the whole message, as MiniMax does, where deltas have said something else."""
    *others, last, usage = documents(content)
    call = chat.call("read_file", made_of(content))
    last["choices"] = [{"index": 0, "message": {"role": "assistant", "tool_calls": [call]}, "finish_reason": "stop"}]
    first = [each for each in others if not any("tool_calls" in choice["delta"] for choice in each["choices"])]
    return joined([*first, last, usage])


def twice(content: bytes, *, is_first: bool) -> bytes:
    """Write the arguments twice under one key; readers differ in which one counts."""
    first, last = (NEEDLE, "utf-8") if is_first else ("utf-8", NEEDLE)
    return content.replace(NEEDLE.encode(), rf"{first}\", \"encoding\": \"{last}".encode())


CHAT: dict[str, Edit] = {
    "message in place of delta": chat_chunk(lambda one: {**one, "message": one["delta"], "delta": None}),
    "message alone": chat_chunk(lambda one: {"message" if name == "delta" else name: one[name] for name in one}),
    "the last chunk has all": ended_whole,
    "another index": chat_chunk(lambda one: one | {"index": 1}),
    "no index": chat_chunk(lambda one: {name: one[name] for name in one if name != "index"}),
    "null for the index": chat_chunk(lambda one: one | {"index": None}),
    "an error beside it": edited(lambda chunk: chunk | {"error": {"message": "boom"}}),
    "choices as an object": edited(lambda chunk: chunk | {"choices": dict(enumerate(chunk["choices"]))}),
    "a choice alone": edited(lambda chunk: (chunk["choices"] or [{}])[0]),
    "a delta alone": edited(lambda chunk: (chunk["choices"] or [{"delta": {}}])[0]["delta"]),
    "in capitals": lambda content: content.replace(b"tool_calls", b"toolCalls"),
    "at its top": edited(
        lambda chunk: chunk | {
            "choices": [one | {"delta": {"content": "Hi."}} for one in chunk["choices"]],
            "tool_calls": [part for one in chunk["choices"] for part in one["delta"].get("tool_calls") or ()],
        }
    ),
    "in another member": chat_chunk(lambda one: one | {"delta": {}, "more": one["delta"]}),
    "a call that is no list": chat_chunk(
        lambda one: one
        | {"delta": {name: value[0] if name == "tool_calls" else value for name, value in one["delta"].items()}}
    ),
    "flat calls": chat_chunk(lambda one: one | {"delta": {
        name: [{"index": 0, **part["function"]} for part in value] if name == "tool_calls" else value
        for name, value in one["delta"].items()
    }}),
    "without a name": lambda content: content.replace(b'"name": "read_file", ', b""),
    "no end": lambda content: content.replace(b'"finish_reason": "tool_calls"', b'"finish_reason": null'),
    "filtered": lambda content: content.replace(b'"finish_reason": "tool_calls"', b'"finish_reason": "content_filter"'),
    "two choices": lambda content: joined([
        each | {"choices": [*each["choices"], *(one | {"index": 1} for one in each["choices"])]}
        for each in documents(content)
    ]),
    "the second choice": lambda content: joined([
        *({"id": "x", "choices": [each]} for each in (
            {"index": 0, "delta": {"content": "Hi."}, "finish_reason": None},
            {"index": 0, "delta": {}, "finish_reason": "stop"},
        )),
        *documents(chat_chunk(lambda one: one | {"index": 1})(content)),
    ]),
    "the older form": lambda content: joined([
        each | {"choices": [
            one | {"delta": {"function_call": made[0]["function"]} if (made := one["delta"].get("tool_calls")) else {}}
            for one in each["choices"]
        ]} for each in documents(content)
    ]),
    "Ollama's own": lambda _: b'{"message": {"role": "assistant", "tool_calls": [{"function": {"name": '
    b'"read_file", "arguments": %s}}]}, "done": true}\n' % json.dumps(WRONG).encode(),
}  # fmt: skip

MESSAGES: dict[str, Edit] = {
    "a text for the input": lambda content: content.replace(
        b'"partial_json": "', b'"partial_json": "\\"', 1
    ),
    "the input at once": lambda content: joined([
        each | ({"content_block": {**each["content_block"], "input": WRONG}} if "content_block" in each else {})
        for each in documents(content) if each["type"] != "content_block_delta"
    ]),
    "a text at once": lambda content: joined([
        each | ({"content_block": {**each["content_block"], "input": json.dumps(WRONG)}}
                if "content_block" in each else {})
        for each in documents(content) if each["type"] != "content_block_delta"
    ]),
    "blocks in the beginning": lambda content: joined([
        {"type": "message_start", "message": messages.message("", messages.call("read_file", WRONG))},
        *(each for each in documents(content) if not each["type"].startswith(("content", "message_start"))),
    ]),
    "blocks in the end": edited(
        lambda each: each | {"delta": {**each["delta"], "content": [messages.call("read_file", WRONG)]}}
        if each["type"] == "message_delta" else each
    ),
    "no beginning of a block": lambda content: joined([
        each for each in documents(content) if each["type"] != "content_block_start"
    ]),
    "a block of text": lambda content: content.replace(b'"type": "tool_use"', b'"type": "text"'),
    "a block of another kind": lambda content: content.replace(b'"type": "tool_use"', b'"type": "tool_call"'),
    "no kinds": lambda content: joined([
        {name: each[name] for name in each if name != "type"} for each in documents(content)
    ]),
    "a kind that nobody knows": lambda content: content.replace(b'"type": "content_block_', b'"type": "block_'),
    "paused": lambda content: content.replace(b'"stop_reason": "tool_use"', b'"stop_reason": "pause_turn"'),
    "no end": lambda content: content.replace(b'"stop_reason": "tool_use"', b'"stop_reason": null'),
    "an event that is whole": lambda _: joined([messages.message("", messages.call("read_file", WRONG))]),
}  # fmt: skip


def without(*kinds: str) -> Edit:
    return lambda content: joined([each for each in documents(content) if not each["type"].startswith(kinds)])


def ended(change: Callable[[Any], Any]) -> Edit:
    """Change the response at the end of a stream."""
    return edited(
        lambda each: each | {"response": change(each["response"])} if each["type"] == "response.completed" else each
    )


RIGHT_END = responses.response("", responses.call("read_file", RIGHT))

RESPONSES: dict[str, Edit] = {
    "no beginnings": without("response.output_item.added"),
    "no items": without("response.output_item"),
    "the end alone": without("response.output_item", "response.function_call"),
    "deltas alone": lambda content: ended(lambda one: one | {"output": []})(without("response.output_item")(content)),
    "a right end": ended(lambda _: RIGHT_END),
    "a right end of items": lambda content: ended(lambda _: RIGHT_END)(
        content.replace(b'"type": "response.output_item.done"', b'"type": "response.output_item.x"')
    ),
    "no end": without("response.completed"),
    "an end of another kind": lambda content: content.replace(b'"response.completed"', b'"response.done"'),
    "begins with its items": edited(
        lambda each: each | {"response": responses.response("", responses.call("read_file", WRONG))}
        if each["type"] == "response.created" else each
    ),
    "no status": ended(lambda one: {name: one[name] for name in one if name != "status"}),
    "not done": ended(lambda one: one | {"status": "in_progress"}),
    "failed": ended(lambda one: one | {"status": "failed"}),
    "beside a computer's call": ended(
        lambda one: one | {"output": [*one["output"], {"type": "computer_call", "call_id": "x", "action": {}}]}
    ),
    "at its top": lambda content: ended(lambda one: one | {"output": [], "tool_calls": one["output"]})(
        without("response.output_item", "response.function_call")(content)
    ),
    "at the top of its beginning": lambda _: edited(
        lambda each: each | {"response": each["response"] | {"function_call": responses.call("read_file", WRONG)}}
        if each["type"] == "response.created" else each
    )(responses.chunks("Hi.")),
    "another kind of item": lambda content: content.replace(b'"type": "function_call"', b'"type": "tool_call"'),
    "another kind of event": lambda content: content.replace(b"response.function_call_arguments", b"response.x"),
}  # fmt: skip

SHAPES = {chat: CHAT, messages: MESSAGES, responses: RESPONSES}
TWICE: dict[str, Edit] = {
    "equal keys, wrong first": lambda content: twice(content, is_first=True),
    "equal keys, wrong last": lambda content: twice(content, is_first=False),
}


def cut(content: bytes, chance: random.Random) -> Reply:
    """Cut a stream anywhere, and compress it now and then."""
    headers = {"Content-Type": chance.choice(["text/event-stream", "text/plain", ""])}
    headers = {name: value for name, value in headers.items() if value}
    if chance.random() < 0.2:
        content, headers["Content-Encoding"] = gzip.compress(content), "gzip"
    places = sorted(chance.randrange(len(content) + 1) for _ in range(chance.randrange(6)))
    parts = [content[a:b] for a, b in zip([0, *places], [*places, len(content)], strict=True) if a < b]
    return Reply(parts, 200, headers, sized=False)


def arrived(wire: ModuleType, sent: Reply, *, streams: bool = True, **options: Any) -> bytes:
    """Give what a client gets where the upstream insists."""
    body = wire.asking(wire.tool(), **({"stream": True} if streams else {}), **options)
    with upstream(sent) as up, proxied(up.url) as url:
        return httpx2.post(url + wire.PATH, json=body, timeout=60).content


def is_free_of(content: bytes) -> bool:
    """Tell that a client cannot put the wrong arguments together, whatever escapes they are written in."""
    plain = content.decode("utf-8", "replace") + content.decode("utf-16", "replace")
    return NEEDLE not in plain and "wr0n" not in plain and '\\"path' not in plain.replace("at /path", "")


def wrong_stream(wire: ModuleType, step: int) -> bytes:
    return bytes(wire.chunks("", wire.call("read_file", WRONG), step=step))


@pytest.mark.parametrize("how", WRITTEN)
def test_a_wrong_call_arrives_in_no_writing(wire: ModuleType, how: str) -> None:
    for step in (4, 400):
        content = WRITTEN[how](wrong_stream(wire, step))
        assert is_free_of(arrived(wire, cut(content, random.Random(step))))


@pytest.mark.parametrize(("of", "shape"), [(wire, shape) for wire in SHAPES for shape in (*SHAPES[wire], *TWICE)])
def test_a_wrong_call_arrives_in_no_shape(of: ModuleType, shape: str) -> None:
    content = {**SHAPES[of], **TWICE}[shape](wrong_stream(of, 400))
    assert NEEDLE in content.decode() or shape == "the older form"
    assert is_free_of(arrived(of, cut(content, random.Random(1))))


def wholes() -> Iterator[tuple[ModuleType, str, Any]]:
    call, made = chat.call("read_file", WRONG), {"name": "read_file", "arguments": WRONG}
    right = chat.completion("Hi.")["choices"][0]
    for name, entry in {
        "an object for arguments": {**call, "function": made}, "flat": {"id": "x", **made},
        "no name": {**call, "function": {"arguments": json.dumps(WRONG)}},
        "an unknown kind": {**call, "type": "tool"},
    }.items():  # fmt: skip
        yield chat, name, chat.completion(None, entry)
    body = chat.completion(None, call)
    yield chat, "two choices", body | {"choices": [right, *body["choices"]]}
    yield chat, "an error beside it", body | {"error": {"message": "boom"}}
    yield chat, "filtered", chat.completion(None, call, finish="content_filter")
    yield chat, "a delta", body | {"choices": [{"index": 0, "delta": body["choices"][0]["message"]}]}
    yield chat, "a list", [body]
    for member in ("tool_calls", "toolCalls", "more"):
        yield chat, f"{member} at its top", chat.completion("Hi.") | {member: [{**call, **made}]}
    block = messages.call("read_file", WRONG)
    yield messages, "a text for the input", messages.message("", {**block, "input": json.dumps(WRONG)})
    yield messages, "another kind", messages.message("", {**block, "type": "tool_call"})
    yield (
        messages,
        "no kind of message",
        {name: value for name, value in messages.message("", block).items() if name != "type"},
    )
    yield messages, "paused", messages.message("", block) | {"stop_reason": "pause_turn"}
    item, answer = responses.call("read_file", WRONG), responses.response("", responses.call("read_file", WRONG))
    yield responses, "an object for arguments", responses.response("", {**item, "arguments": WRONG})
    yield responses, "another kind", responses.response("", {**item, "type": "tool_call"})
    for status in ("in_progress", "failed", None):
        yield responses, f"status {status}", answer | {"status": status}
    yield responses, "no kind of response", {name: value for name, value in answer.items() if name != "object"}
    for member in ("tool_calls", "function_call", "more"):
        yield responses, f"{member} at its top", responses.response("Hi.") | {member: [item]}
    yield responses, "beside another", answer | {"output": [*answer["output"], {"type": "computer_call"}]}


@pytest.mark.parametrize(
    ("of", "name", "body"), [pytest.param(*each, id=f"{each[1]}-{each[0].PATH}") for each in wholes()]
)
def test_a_wrong_call_arrives_in_no_whole_answer(of: ModuleType, name: str, body: Any) -> None:
    for status in (200, 201):
        assert is_free_of(arrived(of, whole(body, status), streams=False)), name


def test_an_answer_in_a_coding_that_cannot_be_read_is_refused(wire: ModuleType) -> None:
    sent = wire.says("", wire.call("read_file", RIGHT))
    sent.headers["Content-Encoding"] = "br"
    with upstream(sent) as up, proxied(up.url) as url:
        with httpx2.stream("POST", url + wire.PATH, json=wire.asking(wire.tool()), timeout=60) as answer:
            said = b"".join(answer.iter_raw())
        assert (answer.status_code, b"br" in said) == (502, True)


def test_what_a_response_repeats_of_its_request_is_no_call() -> None:
    own = responses.tool(schema={"type": "object", "properties": {"tool_calls": {"type": "array"}},
                                 "default": {"name": "x", "arguments": {}}})  # fmt: skip
    body = responses.response("Hi.") | {"tools": [own], "metadata": {"function_call": "yes"}}
    for streams in (False, True):
        content = ended(lambda _: body)(responses.chunks("Hi.")) if streams else json.dumps(body).encode()
        sent = Reply([content], 200, {"Content-Type": "text/event-stream" if streams else "application/json"})
        assert arrived(responses, sent, streams=streams) == content
    counted = chat.completion("Hi.", usage=chat.USAGE | {"tool_calls": 1})
    assert json.loads(arrived(chat, whole(counted), streams=False)) == counted


@pytest.mark.parametrize("change", [str.upper, lambda path: f"{path}/", lambda path: path.replace("/v1", "/V1") + "//"])
def test_a_path_is_judged_however_it_is_written(wire: ModuleType, change: Callable[[str], str]) -> None:
    sent = wire.says("", wire.call("read_file", WRONG))
    with upstream(sent) as up, proxied(up.url) as url:
        answer = httpx2.post(url + change(wire.PATH), json=wire.asking(wire.tool()), timeout=60)
    assert (is_free_of(answer.content), answer.headers["x-retrycontract-outcome"]) == (True, "blocked")
    assert up.asked[0].target == change(wire.PATH)


@pytest.mark.parametrize(("path", "content", "said"), [
    ("/v1/embeddings", b"{}", "this path is not judged"), ("/v1/completions", b"{}", "this path is not judged"),
    (chat.PATH, b'{"tools": [],}', "cannot be read as JSON"), (chat.PATH, b"[]", "cannot be read as JSON"),
])  # fmt: skip
def test_what_is_passed_on_unjudged_says_so(path: str, content: bytes, said: str) -> None:
    sent = chat.says("Hi.")
    with upstream(sent) as up, proxied(up.url) as url:
        answer = httpx2.post(url + path, content=content, timeout=60)
    assert answer.content == sent.parts[0]
    assert said in answer.headers["x-retrycontract-warning"]


def test_several_choices_are_judged_and_never_mended() -> None:
    right, wrong = (chat.completion(None, chat.call("read_file", made))["choices"][0] for made in (RIGHT, WRONG))
    both = chat.completion("") | {"choices": [right, right]}
    assert json.loads(arrived(chat, whole(both), streams=False, n=2)) == both
    refused = json.loads(arrived(chat, whole(both | {"choices": [right, wrong]}), streams=False, n=2))
    assert "one of several choices" in refused["error"]["message"]
    alone = json.loads(arrived(chat, whole(chat.completion(None, chat.call("read_file", WRONG))), streams=False, n=2))
    assert "was wrong 3 times" in chat.text_in(alone)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(40))
def test_a_wrong_call_arrives_in_no_mixture(seed: int) -> None:
    chance = random.Random(seed)
    for wire in SHAPES:
        content = wrong_stream(wire, chance.choice([1, 4, 400]))
        shape = chance.choice(list(SHAPES[wire]))
        writing = chance.choice(list(WRITTEN))
        sent = cut(WRITTEN[writing](SHAPES[wire][shape](content)), chance)
        assert is_free_of(arrived(wire, sent)), (shape, writing)
