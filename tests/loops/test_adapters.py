"""Models made of the providers' own packages, over HTTP, and of callables."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anthropic
import openai
import pytest

from retrycontract import loops
from retrycontract.loops import (
    AgentResponse,
    AnthropicModel,
    AsynchronousError,
    CallableModel,
    Completion,
    FormattingCorrectionExhaustedError,
    ModelUnusableError,
    OpenAIModel,
    Usage,
)
from tests.loops.wire import DROP, answering, anthropic_says, fails, openai_says

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.loops.wire import Wire

RIGHT = '{"action": "stop", "parameters": {}}'
DONE = AgentResponse("stop", {})
ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What next?"}]
INVOICE: dict[str, Any] = {
    "type": "object",
    "title": "invoice",
    "properties": {"total": {"type": "number", "description": "In euros."}, "currency": {"$ref": "#/$defs/currency"}},
    "required": ["total", "currency"],
    "$defs": {"currency": {"enum": ["EUR", "CHF"]}},
}
DATA = {"total": 5, "currency": "EUR"}


@dataclass(frozen=True)
class Provider:
    """One provider's package: its clients, its model, and what its server says."""

    says: Callable[..., tuple[int, Any]]
    model: type[OpenAIModel] | type[AnthropicModel]
    clients: dict[str, Any]
    path: str

    def run(self, flavour: str, wire: Wire, loop: str, *args: Any, **options: Any) -> Any:
        """Run a loop with a client of this provider."""
        options.setdefault("delay", 0)
        base = wire.url + ("/v1" if self.model is OpenAIModel else "")
        client = self.clients[flavour](api_key="not-a-real-key", base_url=base)
        model = self.model(client, "m")
        if flavour == "sync":
            with client:
                return getattr(loops, loop)(model, *args, **options)

        async def awaited() -> Any:
            async with client:
                return await getattr(loops, f"{loop}_async")(model, *args, **options)

        return asyncio.run(awaited())


PROVIDERS = {
    "openai": Provider(
        openai_says, OpenAIModel, {"sync": openai.OpenAI, "async": openai.AsyncOpenAI}, "/v1/chat/completions"
    ),
    "anthropic": Provider(
        anthropic_says, AnthropicModel, {"sync": anthropic.Anthropic, "async": anthropic.AsyncAnthropic}, "/v1/messages"
    ),
}


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> Provider:
    return PROVIDERS[request.param]


def test_a_response_is_corrected_through_the_providers_package(provider: Provider, flavour: str) -> None:
    with answering(provider.says("no"), provider.says(RIGHT)) as wire:
        assert provider.run(flavour, wire, "respond_with_correction", ASKED) == DONE
    assert [path for path, _ in wire.requests] == [provider.path] * 2
    assert {body["model"] for body in wire.bodies} == {"m"}
    assert "Be brief." in str(wire.bodies[0])
    assert "Return ONLY a valid JSON object" in str(wire.bodies[1])


def test_data_is_extracted_through_the_providers_package(provider: Provider, flavour: str) -> None:
    answers = [
        provider.says("Let me see.", ("example", {})),
        provider.says(None, ("validate", {"data": {"total": "5"}}), ("validate", {"data": DATA})),
        provider.says(None, ("submit", {"data": DATA})),
    ]
    with answering(*answers) as wire:
        value, metrics = provider.run(flavour, wire, "extract", INVOICE, "Read the invoice.")
    assert value == DATA
    assert (metrics.attempts, metrics.turns) == (2, 3)
    assert (metrics.tokens_in, metrics.tokens_out, metrics.is_estimated) == (30, 15, False)
    assert '"EUR"' in str(wire.bodies[1]) or "EUR" in str(wire.bodies[1])
    assert "Attempt 1 of 3" in str(wire.bodies[2])
    assert "The data conforms." in str(wire.bodies[2])


@pytest.mark.parametrize("failure", [fails(429), fails(500), fails(529), DROP], ids=["429", "500", "529", "dropped"])
def test_what_may_pass_costs_one_request_and_one_attempt(provider: Provider, flavour: str, failure: Any) -> None:
    with answering(failure, provider.says(RIGHT)) as wire:
        assert provider.run(flavour, wire, "respond_with_correction", ASKED) == DONE
        assert len(wire.requests) == 2
    with answering(failure) as wire:
        with pytest.raises(FormattingCorrectionExhaustedError):
            provider.run(flavour, wire, "respond_with_correction", ASKED)
        assert len(wire.requests) == 3, "the package's own retries are off"


@pytest.mark.parametrize(
    ("failure", "advice"),
    [
        (fails(401), "check the API key"),
        (fails(404, "model_not_found"), "check the model's name"),
        (fails(400), "refuses the request"),
    ],
    ids=["401", "404", "400"],
)
def test_what_can_never_succeed_ends_at_once(provider: Provider, flavour: str, failure: Any, advice: str) -> None:
    with answering(failure) as wire:
        with pytest.raises(ModelUnusableError, match=advice) as caught:
            provider.run(flavour, wire, "respond_with_correction", ASKED)
        assert len(wire.requests) == 1
    assert caught.value.status == failure[0]


def test_an_empty_account_is_not_asked_again(flavour: str) -> None:
    with answering(fails(429, "insufficient_quota")) as wire:
        with pytest.raises(ModelUnusableError, match="no credit"):
            PROVIDERS["openai"].run(flavour, wire, "respond_with_correction", ASKED)
        assert len(wire.requests) == 1


def test_an_answer_without_a_choice_is_an_api_error(flavour: str) -> None:
    empty = (200, {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": []})
    with answering(empty, openai_says(RIGHT)) as wire:
        assert PROVIDERS["openai"].run(flavour, wire, "respond_with_correction", ASKED) == DONE


def test_what_was_cut_off_is_told_as_cut_off(provider: Provider, flavour: str) -> None:
    finish = "length" if provider.model is OpenAIModel else "max_tokens"
    with answering(provider.says('{"action": "st', finish=finish), provider.says(RIGHT)) as wire:
        assert provider.run(flavour, wire, "respond_with_correction", ASKED) == DONE
    assert "it was cut off" in str(wire.bodies[1])


def test_anthropic_gets_the_answers_of_one_turn_in_one_message() -> None:
    answers = [
        anthropic_says(None, ("validate", {"data": 1}), ("example", {})),
        anthropic_says(None, ("submit", {"data": DATA})),
    ]
    with answering(*answers) as wire:
        PROVIDERS["anthropic"].run("sync", wire, "extract", INVOICE, "Read the invoice.")
    first, second = wire.bodies
    assert first["system"].startswith("Extract the data")
    assert [message["role"] for message in second["messages"]] == ["user", "assistant", "user"]
    results = second["messages"][-1]["content"]
    assert [(block["type"], block["tool_use_id"], block["is_error"]) for block in results] == [
        ("tool_result", "toolu_0", True), ("tool_result", "toolu_1", False),
    ]  # fmt: skip
    assert [tool["name"] for tool in first["tools"]] == ["validate", "example", "submit"]
    assert first["tools"][2]["input_schema"]["$defs"] == INVOICE["$defs"]


def test_openai_gets_each_answer_under_its_calls_id_and_nothing_that_it_does_not_know() -> None:
    with answering(openai_says(None, ("validate", {"data": 1})), openai_says(None, ("submit", {"data": DATA}))) as wire:
        PROVIDERS["openai"].run("sync", wire, "extract", INVOICE, "Read the invoice.")
    *_, asked, answered = wire.bodies[1]["messages"]
    assert asked["tool_calls"][0]["function"]["arguments"] == '{"data": 1}'
    assert set(answered) == {"role", "tool_call_id", "content"}
    assert answered["tool_call_id"] == asked["tool_calls"][0]["id"]


@pytest.mark.parametrize(
    "odd",
    [
        {}, {"choices": None}, {"choices": [{}]}, {"choices": [{"message": None}]}, {"content": None},
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, {"error": "busy"},
    ],
    ids=str,
)  # fmt: skip
def test_an_answer_without_a_message_is_a_failed_call_of_the_model(
    provider: Provider, flavour: str, odd: dict[str, Any]
) -> None:
    with answering((200, odd), provider.says(RIGHT)) as wire:
        assert provider.run(flavour, wire, "respond_with_correction", ASKED) == DONE


@pytest.mark.parametrize("usage", [(-5, 2), (None, None), (2**31, 1), ("9", 1)], ids=str)
def test_figures_that_no_provider_can_mean_are_no_report(usage: Any) -> None:
    assert Completion(RIGHT, usage=Usage(*usage)).usage is None


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "text", "text": RIGHT}], [{"type": "text", "text": RIGHT[:9]}, {"type": "text", "text": RIGHT[9:]}],
        [{"type": "thinking", "thinking": [{"type": "text", "text": "no"}]}, {"type": "text", "text": RIGHT}], RIGHT,
    ],
    ids=["one", "two", "thinking", "text"],
)  # fmt: skip
def test_content_in_parts_is_one_text(provider: Provider, flavour: str, content: Any) -> None:
    status, said = provider.says("")
    if "choices" in said:
        said["choices"][0]["message"]["content"] = content
    else:
        said["content"] = content
    with answering((status, said)) as wire:
        assert provider.run(flavour, wire, "respond_with_correction", ASKED) == DONE


def test_any_callable_is_a_model() -> None:
    assert loops.respond_with_correction(lambda _: RIGHT, ASKED) == DONE
    assert loops.respond_with_correction(lambda _: Completion(RIGHT, usage=Usage(1, 1)), ASKED) == DONE
    assert loops.respond_with_correction(CallableModel(lambda _: RIGHT), ASKED) == DONE

    async def later(_: Any) -> str:
        await asyncio.sleep(0)
        return RIGHT

    assert asyncio.run(loops.respond_with_correction_async(later, ASKED)) == DONE
    assert asyncio.run(loops.respond_with_correction_async(lambda _: RIGHT, ASKED)) == DONE


@pytest.mark.parametrize(
    "kind", [bytes, bytearray, lambda text: Completion(bytes(text))], ids=["bytes", "array", "completion"]
)
def test_bytes_are_the_text_that_they_are(kind: Callable[[bytes], Any], tmp_path: Path) -> None:
    assert loops.respond_with_correction(lambda _: kind(RIGHT.encode()), ASKED) == DONE
    path, fenced = tmp_path / "a.py", "```python\nx = 'é'\n```".encode()
    loops.generate_file_with_retry(path, "Write x.", model=lambda _: kind(fenced), write_to=path)
    assert path.read_text(encoding="utf-8") == "x = 'é'\n"
    for spoilt in (b"\xff", b"x = '\xe9'\n", b"```python\nx = '\xc3'\n```"):
        with pytest.raises(loops.ImplementationError):
            loops.generate_file_with_retry(path, "Write x.", model=lambda _, it=spoilt: kind(it), write_to=path)
    assert path.read_text(encoding="utf-8") == "x = 'é'\n"


@pytest.mark.parametrize("answer", [None, 5, {"action": "a"}, ["x"], object()], ids=lambda it: type(it).__name__)
def test_what_is_no_text_is_the_callers_mistake(answer: Any) -> None:
    with pytest.raises(TypeError, match=f"answered with {type(answer).__name__}: give a text or a Completion"):
        loops.respond_with_correction(lambda _: answer, ASKED)


def test_an_asynchronous_model_in_a_synchronous_loop_is_a_clear_error() -> None:
    async def later(_: Any) -> str:
        raise AssertionError("never awaited")

    with pytest.raises(AsynchronousError, match="_async"):
        loops.respond_with_correction(later, ASKED)
