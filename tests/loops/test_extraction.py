"""Extraction: what costs an attempt and what does not, what the model is told, and what it cost."""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pydantic
import pytest

from retrycontract.contract.schemas.admission import InvalidSchema
from retrycontract.loops import (
    AsynchronousError,
    Completion,
    MaxRetriesExceeded,
    ModelApiError,
    ModelUnusableError,
    Rejected,
    Usage,
    extract,
)
from tests.loops.scripted import calling, submitting

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.loops.scripted import Script

    Scripted = Callable[..., Script]

SCHEMA: dict[str, Any] = {
    "type": "object",
    "title": "invoice",
    "properties": {"total": {"type": "number"}, "currency": {"enum": ["EUR", "CHF"]}},
    "required": ["total", "currency"],
}
RIGHT = {"total": 5, "currency": "EUR"}
WRONG = {"total": "five", "currency": "EUR"}
PROMPT = "Read the invoice."
SUBMITS, FAILS = submitting(RIGHT), submitting(WRONG)
VALIDATES, DOUBTS = calling(("validate", {"data": RIGHT})), calling(("validate", {"data": WRONG}))
LOOKS = calling(("example", "{}"))
TALKS = Completion("I think it is five euros.")


class Invoice(pydantic.BaseModel):
    total: float = pydantic.Field(description="In euros.")
    currency: str = "EUR"

    @pydantic.field_validator("total")
    @classmethod
    def _is_positive(cls, total: float) -> float:
        if total <= 0:
            raise ValueError("an invoice asks for something")
        return total


@pytest.mark.parametrize(
    ("turns", "attempts"),
    [
        ([SUBMITS], 1),
        ([VALIDATES, LOOKS, SUBMITS], 1),
        ([FAILS, SUBMITS], 2),
        ([DOUBTS, SUBMITS], 2),
        ([TALKS, SUBMITS], 2),
        ([calling(("subimt", {"data": RIGHT})), SUBMITS], 2),
        ([calling(("submit", '{"data": {')), SUBMITS], 2),
        ([DOUBTS, FAILS, SUBMITS], 3),
        ([calling(("validate", {"data": WRONG}), ("submit", {"data": WRONG})), SUBMITS], 3),
        ([calling(("example", {}), ("validate", {"data": RIGHT}), ("submit", {"data": RIGHT}))], 1),
        ([calling(("submit", RIGHT))], 1),
        ([VALIDATES, LOOKS, FAILS, VALIDATES, LOOKS, FAILS, VALIDATES, LOOKS, SUBMITS], 3),
    ],
)
def test_failures_cost_attempts_and_looking_costs_none(scripted: Scripted, turns: list[Any], attempts: int) -> None:
    script = scripted(*turns, "never asked for")
    value, metrics = script.run("extract", SCHEMA, PROMPT)
    assert value == RIGHT
    assert (metrics.attempts, metrics.turns, script.calls) == (attempts, len(turns), len(turns))


@pytest.mark.parametrize(
    ("turns", "attempts", "calls"),
    [
        ([FAILS], 3, 3),
        ([DOUBTS], 3, 3),
        ([TALKS], 3, 3),
        ([LOOKS], 0, 9),
        ([VALIDATES], 0, 9),
        ([FAILS, LOOKS], 1, 9),
        ([calling(*[("submit", {"data": WRONG})] * 5)], 3, 1),
        ([ModelApiError("busy")], 3, 3),
    ],
)
def test_the_budget_ends_it(scripted: Scripted, turns: list[Any], attempts: int, calls: int) -> None:
    script = scripted(*turns)
    with pytest.raises(MaxRetriesExceeded) as caught:
        script.run("extract", SCHEMA, PROMPT)
    assert (caught.value.attempts, script.calls) == (attempts, calls)
    assert [trial.number for trial in caught.value.history] == list(range(1, attempts + 1))
    assert (caught.value.metrics.attempts, caught.value.metrics.turns) == (attempts, calls)


def test_the_budget_can_be_chosen(scripted: Scripted) -> None:
    script = scripted(FAILS)
    with pytest.raises(MaxRetriesExceeded):
        script.run("extract", SCHEMA, PROMPT, max_attempts=1)
    assert script.calls == 1


def test_the_error_holds_every_submission_with_its_errors_and_the_models_words(scripted: Scripted) -> None:
    script = scripted(FAILS, TALKS, submitting({}, text="At last."))
    with pytest.raises(MaxRetriesExceeded) as caught:
        script.run("extract", SCHEMA, PROMPT)
    first, second, third = caught.value.history
    assert (first.output, [error.field_path for error in first.errors]) == (WRONG, ["/total"])
    assert (second.output, second.raw, second.errors[0].keyword) == (None, TALKS.text, "only_talk")
    assert (third.output, [error.error_code for error in third.errors]) == ({}, ["VAL-001", "VAL-001"])
    assert caught.value.raw_output == f"{FAILS.tool_calls[0].arguments}\n\n{TALKS.text}\n\nAt last."
    with pytest.raises(MaxRetriesExceeded) as caught:
        scripted(FAILS).run("extract", SCHEMA, PROMPT)
    assert caught.value.raw_output == "\n\n".join([json.dumps({"data": WRONG})] * 3)


def test_the_feedback_holds_errors_attempt_schema_and_submission(scripted: Scripted) -> None:
    script = scripted(DOUBTS, submitting({}), SUBMITS)
    script.run("extract", SCHEMA, PROMPT)
    _, first, second = script.prompts
    assert first.startswith("Validation failed for extraction 'invoice' (attempt 1/3):\n\n• /total (VAL-002)")
    assert "Attempt 1 of 3" in first
    assert "Attempt 2 of 3" in second
    assert json.dumps(SCHEMA) in first
    assert json.dumps(WRONG) in first
    assert "Progress: " in second
    assert script.seen[1][-1]["is_error"] is True


def test_a_secret_in_a_submission_is_not_echoed(scripted: Scripted) -> None:
    script = scripted(submitting({"password": "hunter2"}), SUBMITS)
    script.run("extract", SCHEMA, PROMPT)
    assert "hunter2" not in script.prompts[1]
    assert "[REDACTED: PASSWORD]" in script.prompts[1]


def test_the_example_conforms(scripted: Scripted) -> None:
    script = scripted(LOOKS, SUBMITS)
    script.run("extract", SCHEMA, PROMPT)
    assert script.prompts[1].endswith('{"data": {"total": 1, "currency": "EUR"}}')
    script = scripted(LOOKS, submitting(1))
    with pytest.raises(MaxRetriesExceeded):
        script.run("extract", False, PROMPT)
    assert script.prompts[1].startswith("There is no example: ")


def test_what_the_caller_rejects_is_a_failure_like_any_other(scripted: Scripted) -> None:
    submitted = []

    def on_submit(value: Any) -> None:
        submitted.append(value)
        if len(submitted) < 3:
            raise Rejected("The total is not on the invoice.")

    script = scripted(SUBMITS)
    assert script.run("extract", SCHEMA, PROMPT, on_submit=on_submit)[1].attempts == 3
    assert "(root) (VAL-015)" in script.prompts[1]
    assert "The total is not on the invoice." in script.prompts[1]
    submitted.clear()
    with pytest.raises(MaxRetriesExceeded):
        script.run("extract", SCHEMA, PROMPT, on_submit=on_submit, max_attempts=2)


def test_any_other_exception_of_the_caller_reaches_the_caller(scripted: Scripted) -> None:
    def on_submit(_: Any) -> None:
        raise ConnectionError("the database")

    script = scripted(SUBMITS)
    with pytest.raises(ConnectionError, match="the database"):
        script.run("extract", SCHEMA, PROMPT, on_submit=on_submit)
    assert script.calls == 1


def test_a_coroutine_may_look_at_what_is_submitted_in_an_event_loop(scripted: Scripted, flavour: str) -> None:
    async def on_submit(_: Any) -> None:
        await asyncio.sleep(0)
        raise Rejected("no")

    expected = MaxRetriesExceeded if flavour == "async" else AsynchronousError
    with pytest.raises(expected):
        scripted(SUBMITS).run("extract", SCHEMA, PROMPT, on_submit=on_submit)


def test_a_pydantic_model_gives_an_instance_and_its_own_validators_count(scripted: Scripted) -> None:
    script = scripted(submitting({"total": -1}), submitting({"total": 2, "note": ""}), submitting({"total": 5}))
    value, metrics = script.run("extract", Invoice, PROMPT)
    assert (value, metrics.attempts) == (Invoice(total=5), 3)
    assert "• /total (VAL-015)" in script.prompts[1]
    assert "an invoice asks for something" in script.prompts[1]
    assert "Value error" not in script.prompts[1]
    assert "'note'" in script.prompts[2]


def test_tokens_are_counted_as_reported_or_estimated_and_said_which(scripted: Scripted) -> None:
    usage = Usage(100, 7)
    script = scripted(calling(("example", {}), usage=usage), submitting(RIGHT, usage=usage))
    clock = itertools.count(10.0, 0.5)  # asked at the beginning, around each of two turns, and at the end
    metrics = script.run("extract", SCHEMA, PROMPT, clock=lambda: next(clock))[1]
    assert (metrics.tokens_in, metrics.tokens_out, metrics.is_estimated) == (200, 14, False)
    assert metrics.wall_seconds == 2.5
    guessed = scripted(LOOKS, submitting(RIGHT, usage=usage)).run("extract", SCHEMA, PROMPT)[1]
    written = len("{}") + len(json.dumps({"data": RIGHT}))
    assert (guessed.is_estimated, guessed.tokens_out) == (True, written // 4)
    assert guessed.tokens_in > (len(PROMPT) + len(json.dumps(SCHEMA))) // 4


def test_an_api_error_waits_and_costs_an_attempt(scripted: Scripted) -> None:
    script = scripted(ModelApiError("busy"), SUBMITS)
    assert script.run("extract", SCHEMA, PROMPT)[1].attempts == 2
    assert script.slept == [1.0]


def test_a_model_that_can_never_be_asked_ends_it(scripted: Scripted) -> None:
    class NotFoundError(Exception):
        status_code = 404

    with pytest.raises(ModelUnusableError, match="check the model's name"):
        scripted(NotFoundError()).run("extract", SCHEMA, PROMPT)


def test_an_invalid_schema_is_refused_before_the_model_is_asked(scripted: Scripted) -> None:
    script = scripted(SUBMITS)
    with pytest.raises(InvalidSchema):
        script.run("extract", {"type": "nonsense"}, PROMPT)
    assert script.calls == 0


def test_the_tools_take_the_schema_or_the_task_tells_it(scripted: Scripted) -> None:
    script = scripted(submitting({"next": {}}))
    script.run("extract", {"type": "object", "properties": {"next": {"$ref": "#"}}}, PROMPT)
    assert script.tools[0][2].parameters["properties"]["data"].keys() == {"description"}
    assert '{"$ref": "#"}' in script.seen[0][0]["content"]
    script = scripted(SUBMITS)
    script.run("extract", SCHEMA, [{"role": "user", "content": PROMPT}])
    assert script.tools[0][2].parameters["properties"]["data"] == SCHEMA
    assert "Schema" not in script.seen[0][0]["content"]


def test_a_bare_string_can_be_extracted(scripted: Scripted) -> None:
    script = scripted(submitting(5), submitting("five"))
    assert script.run("extract", {"type": "string"}, PROMPT)[0] == "five"


def test_feedback_keeps_to_its_length(scripted: Scripted) -> None:
    properties = {f"field_{number}": {"type": "integer", "description": "d" * 200} for number in range(100)}
    schema = {"type": "object", "properties": properties}
    script = scripted(submitting(dict.fromkeys(properties, "x" * 100)), submitting({}))
    script.run("extract", schema, PROMPT, max_feedback_length=4_000)
    assert len(script.prompts[1]) <= 4_000
    assert '/field_0: {"type": "integer"' in script.prompts[1]
    with pytest.raises(ValueError, match="1000 to 100000"):
        script.run("extract", schema, PROMPT, max_feedback_length=10)


def _within_itself() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["data"] = value
    return value


@pytest.mark.parametrize(
    "arguments",
    [
        {"data": {1}}, {"data": {"total": Decimal(1)}}, {"data": {(1, 2): 1}}, {"data": b"\xff"}, {"data": object()},
        _within_itself(), b"{", b"\xff", None, {"data": float("nan")}, {"data": "\ud800"},
        functools.reduce(lambda inner, _: [inner], range(10_000), 1),
    ],
    ids=["set", "decimal", "key", "bytes", "object", "cycle", "cut", "no-utf8", "none", "nan", "half", "deep"],
)  # fmt: skip
def test_arguments_that_are_no_json_are_a_failed_attempt(arguments: Any) -> None:
    turns = iter([calling(("submit", arguments)), calling(("submit", json.dumps({"data": RIGHT}).encode()))])
    value, metrics = extract(lambda _messages, **_: next(turns), SCHEMA, PROMPT)
    assert (value, metrics.attempts) == (RIGHT, 2)
