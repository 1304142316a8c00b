"""The official SDKs through the proxy, against a scripted upstream: whole and streamed, in a thread and in a loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

import anthropic
import openai
import pydantic
import pytest

from retrycontract.client import AsyncClient, Client
from tests.proxy import chat, messages, responses
from tests.proxy.test_wires import WIRES, reply
from tests.proxy.upstream import RIGHT, WRONG, Reply, proxied, upstream, whole
from tests.serving.desk import Desk
from tests.serving.service import Service
from tests.serving.threads import eventually

KEY = "not-a-real-key"


class Invoice(pydantic.BaseModel):
    total: float
    currency: str


ASKED = {"chat": chat.asking, "messages": messages.asking, "responses": responses.asking}


def clients(name: str, url: str) -> tuple[Any, Any]:
    if name == "messages":
        made = {"api_key": KEY, "base_url": url, "max_retries": 0}
        return anthropic.Anthropic(**made), anthropic.AsyncAnthropic(**made)
    made = {"api_key": KEY, "base_url": f"{url}/v1", "max_retries": 0}
    return openai.OpenAI(**made), openai.AsyncOpenAI(**made)


def api_of(name: str, client: Any) -> Any:
    return {"chat": lambda: client.chat.completions, "messages": lambda: client.messages,
            "responses": lambda: client.responses}[name]()  # fmt: skip


FINAL = {"chat": "get_final_completion", "messages": "get_final_message", "responses": "get_final_response"}


def complete(name: str, url: str, way: str, flavour: str, options: Any) -> Any:
    """Ask through the SDK; gives the whole answer as it parsed it, and the text that came as it was written."""
    client, in_loop = clients(name, url)
    said: list[str] = []

    def take(event: Any) -> None:
        kind = getattr(event, "type", "")
        if kind in ("content.delta", "response.output_text.delta"):
            said.append(event.delta)
        elif kind == "text":
            said.append(event.text)

    async def awaited() -> Any:
        async with in_loop:
            api = api_of(name, in_loop)
            if way == "whole":
                return await api.create(**options)
            async with api.stream(**options) as stream:
                async for event in stream:
                    take(event)
                return await getattr(stream, FINAL[name])()

    if flavour == "async":
        return asyncio.run(awaited()), "".join(said)
    with client:
        api = api_of(name, client)
        if way == "whole":
            return api.create(**options), ""
        with api.stream(**options) as stream:
            for event in stream:
                take(event)
            return getattr(stream, FINAL[name])(), "".join(said)


@pytest.fixture(params=["sync", "async"])
def flavour(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def read(wire: Any, answer: Any) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = wire.calls_in(answer.model_dump())
    return found


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_parallel_calls_are_mended_and_text_is_read(name: str, way: str, flavour: str) -> None:
    wire = WIRES[name]
    first = reply(wire, way, "Both.", wire.call("read_file", RIGHT), wire.call("read_file", WRONG, 1))
    second = reply(wire, way, "", wire.call("read_file", {"path": "b"}, 2))
    with upstream(first, second) as up, proxied(up.url) as url:
        answer, said = complete(name, url, way, flavour, ASKED[name](wire.tool()))
    assert read(wire, answer) == [("read_file", RIGHT), ("read_file", {"path": "b"})]
    assert said == ("Both." if way == "streamed" else "")
    assert {KEY in asked.headers["authorization"] for asked in up.asked} == {True}


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_what_stays_wrong_is_read_as_words(name: str, way: str, flavour: str) -> None:
    wire = WIRES[name]
    with upstream(reply(wire, way, "", wire.call("read_file", WRONG))) as up, proxied(up.url) as url:
        answer, said = complete(name, url, way, flavour, ASKED[name](wire.tool()))
    assert read(wire, answer) == []
    assert "VAL-002 at /path" in wire.text_in(answer.model_dump())
    assert said in ("", wire.text_in(answer.model_dump()))


def parsed(name: str, url: str, flavour: str) -> Any:
    client, in_loop = clients(name, url)
    ask: Callable[[Any], Any] = {
        "chat": lambda one: one.chat.completions.parse(**chat.asking(response_format=Invoice)),
        "responses": lambda one: one.responses.parse(**responses.asking(text_format=Invoice)),
        "messages": lambda one: one.messages.parse(**messages.asking(output_format=Invoice)),
    }[name]

    async def awaited() -> Any:
        async with in_loop:
            return await ask(in_loop)

    if flavour == "async":
        return asyncio.run(awaited())
    with client:
        return ask(client)


@pytest.mark.parametrize("name", WIRES)
def test_structured_outputs_are_parsed_by_the_sdk_after_they_were_mended(name: str, flavour: str) -> None:
    wire = WIRES[name]
    replies = wire.says('{"total": "five"}'), wire.says('{"total": 5, "currency": "EUR"}')
    with upstream(*replies) as up, proxied(up.url) as url:
        answer = parsed(name, url, flavour)
    found = {
        "chat": lambda: answer.choices[0].message.parsed,
        "responses": lambda: answer.output_parsed,
        "messages": lambda: answer.parsed_output,
    }[name]()
    assert found == Invoice(total=5, currency="EUR")
    assert len(up.asked) == 2


@pytest.mark.parametrize("name", WIRES)
def test_errors_are_raised_as_the_upstream_sent_them(name: str, flavour: str) -> None:
    wire = WIRES[name]
    error = whole({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}, 429,
                  **{"Retry-After": "7"})  # fmt: skip
    module = anthropic if name == "messages" else openai
    with upstream(error) as up, proxied(up.url) as url, pytest.raises(module.RateLimitError) as raised:
        complete(name, url, "whole", flavour, ASKED[name](wire.tool()))
    assert raised.value.response.headers["retry-after"] == "7"
    assert len(up.asked) == 1


@pytest.mark.parametrize("name", WIRES)
def test_a_stream_that_breaks_off_over_a_call_is_an_error_of_the_sdk(name: str, flavour: str) -> None:
    wire = WIRES[name]
    content = wire.chunks("Reading.", wire.call("read_file", RIGHT))
    cut = Reply([content[: content.rindex(b"data: ") - 400], b"data: {garbage\n\n"], 200,
                {"Content-Type": "text/event-stream"}, sized=False)  # fmt: skip
    module = anthropic if name == "messages" else openai
    with upstream(cut) as up, proxied(up.url) as url, pytest.raises(module.APIError):
        complete(name, url, "streamed", flavour, ASKED[name](wire.tool()))
    assert json.loads(up.asked[0].content)["stream"] is True


HINT = "The path is a text such as 'b.txt'."


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_a_blocked_call_gets_a_hint_and_then_it_is_right(
    service: Service, keys: Iterator[str], desk: Desk, name: str, way: str, flavour: str
) -> None:
    wire, key = WIRES[name], next(keys)
    both = wire.call("read_file", RIGHT), wire.call("read_file", WRONG, 1)
    first, wrong = reply(wire, way, "", *both), reply(wire, way, "", wire.call("read_file", WRONG, 2))
    right = reply(wire, way, "", wire.call("read_file", {"path": "b.txt"}, 3))
    found: list[Any] = []
    with (
        upstream(first, wrong, wrong, right) as up,
        proxied(up.url, service=lambda: AsyncClient(service.url, key), wait=60) as url,
        Client(service.url, key) as agent,
    ):
        asking = Thread(target=lambda: found.append(complete(name, url, way, flavour, ASKED[name](wire.tool()))))
        asking.start()
        eventually(lambda: list(agent.calls(state="blocked")))
        [call] = agent.calls(state="blocked")
        desk.answer(call.call_id, text=HINT, decision="hint")
        asking.join(60)
    [(answer, _)] = found
    assert read(wire, answer) == [("read_file", RIGHT), ("read_file", {"path": "b.txt"})]
    assert "such as 'b.txt'" in wire.results(up.asked[3].body)[-1]


@pytest.mark.parametrize("name", WIRES)
def test_structured_output_that_is_mended_streams_into_the_sdk(name: str, flavour: str) -> None:
    wire, schema = WIRES[name], Invoice.model_json_schema()
    options = {"output_format": Invoice} if name == "messages" else wire.structured("invoice", schema)
    replies = wire.streams('{"total": "five"}'), wire.streams('{"total": 5, "currency": "EUR"}')
    with upstream(*replies) as up, proxied(up.url) as url:
        answer, said = complete(name, url, "streamed", flavour, ASKED[name](**options))
    assert Invoice.model_validate_json(wire.text_in(answer.model_dump())) == Invoice(total=5, currency="EUR")
    assert said == '{"total": 5, "currency": "EUR"}'
    assert len(up.asked) == 2
