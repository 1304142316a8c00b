"""Loops against the running service: every attempt is stored, a stuck loop waits for a person and goes on."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pydantic
import pytest

from retrycontract.client import AsyncClient, Client
from retrycontract.loops import (
    AgentResponse,
    FormattingCorrectionExhaustedError,
    MaxRetriesExceeded,
    ModelApiError,
    ModelUnusableError,
    Rejected,
    respond_with_correction,
)
from tests.loops.scripted import Script, calling, submitting
from tests.serving.desk import Desk
from tests.serving.service import AgentClient, Service
from tests.serving.threads import eventually

if TYPE_CHECKING:
    from collections.abc import Callable

RIGHT = '{"action": "stop", "parameters": {}}'
WRONG = '{"action": 5, "parameters": {}}'
MALFORMED = '{"action": "st'
DONE = AgentResponse("stop", {})
ASKED = [{"role": "user", "content": "What next?"}]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "title": "invoice",
    "properties": {"total": {"type": "number"}},
    "required": ["total"],
}
PLACE = {"task_id": "task-1", "turn": 4}
GUIDED = {"wait_for_guidance": 60}


class Invoice(pydantic.BaseModel):
    total: float

    @pydantic.field_validator("total")
    @classmethod
    def _is_positive(cls, total: float) -> float:
        if total <= 0:
            raise ValueError("an invoice asks for something")
        return total


@dataclass
class Bench:
    """An agent whose loops run against the service, and what the service kept of them."""

    service: Service
    flavour: str
    key: str
    desk: Desk
    agent: AgentClient = field(init=False)

    def __post_init__(self) -> None:
        self.agent = AgentClient(self.service, self.key)

    def run(self, script: Script, loop: str, *args: Any, **options: Any) -> Any:
        """Run a loop with a client of its flavour."""
        if self.flavour == "sync":
            with Client(self.service.url, self.key) as client:
                return script.run(loop, *args, contract=client, **options)

        async def opened() -> Any:
            async with AsyncClient(self.service.url, self.key) as client:
                return await script.begun(loop, *args, contract=client, **options)

        return asyncio.run(opened())

    @property
    def calls(self) -> list[Any]:
        """List the calls of this agent, the newest first, with their histories."""
        listed = self.agent.send("GET", "/calls").body["calls"]
        return [self.agent.send("GET", f"/calls/{call['call_id']}").body for call in listed]

    def answered(self, loop: Callable[[], Any], **fields: str) -> Any:
        """Run a loop in a thread and answer it at the desk once it is stuck."""
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(loop)
            eventually(lambda: running.done() or any(call["state"] == "blocked" for call in self.calls), within=60)
            blocked = [call for call in self.calls if call["state"] == "blocked"]
            assert blocked, running.result()
            self.desk.answer(blocked[0]["call_id"], **fields)
            return running.result(60)


@pytest.fixture
def bench(service: Service, flavour: str, request: pytest.FixtureRequest) -> Bench:
    key = service.new_key(re.sub(r"\W", "-", request.node.name))
    desk = Desk(service)
    desk.log_in()
    return Bench(service, flavour, key, desk)


@pytest.fixture
def scripted(flavour: str) -> Callable[..., Script]:
    return lambda *answers: Script(flavour, list(answers))


HUGE = "x" * 3_000_000  # more than the service takes in one request


def test_an_output_that_is_larger_than_a_request_is_a_failed_attempt(
    bench: Bench, scripted: Callable[..., Script]
) -> None:
    script = scripted(RIGHT.replace("stop", HUGE), RIGHT)
    assert bench.run(script, "respond_with_correction", ASKED, **PLACE) == DONE
    assert "it is too large to be checked" in json.dumps(script.seen[1], default=str)
    script = scripted(submitting({"total": 1, "note": HUGE}), submitting({"total": 1}))
    found, _ = bench.run(script, "extract", SCHEMA, "Read it.")
    assert found == {"total": 1}
    assert "it is too large to be checked" in json.dumps(script.seen[1], default=str)
    assert [[attempt["is_valid"] for attempt in call["attempts"]] for call in bench.calls] == [[False, True]] * 2


def test_every_reply_is_stored_and_a_corrected_call_is_valid(bench: Bench, scripted: Callable[..., Script]) -> None:
    script = scripted(MALFORMED, f"```json\n{WRONG}\n```", f"Sure: {RIGHT}")
    assert bench.run(script, "respond_with_correction", ASKED, **PLACE) == DONE
    [call] = bench.calls
    assert (call["kind"], call["state"], call["task_id"], call["attempts_allowed"]) == (
        "agent_response", "valid", "task-1", 3,
    )  # fmt: skip
    assert [attempt["is_valid"] for attempt in call["attempts"]] == [False, False, True]
    assert {attempt["turn"] for attempt in call["attempts"]} == {4}
    assert script.prompts[1].startswith("Validation failed for response 'agent_response' (attempt 1/3):")


def test_exhaustion_blocks_the_call_and_a_person_is_asked(bench: Bench, scripted: Callable[..., Script]) -> None:
    script = scripted(WRONG, ModelApiError("busy"), WRONG)
    with pytest.raises(FormattingCorrectionExhaustedError):
        bench.run(script, "respond_with_correction", ASKED, **PLACE)
    [call] = bench.calls
    assert (call["state"], len(call["escalations"]), script.calls) == ("blocked", 1, 3)
    assert [attempt["output"] is None for attempt in call["attempts"]] == [False, True, False]
    assert (call["attempts"][1]["api_error"], call["attempts"][1]["errors"]) == ("busy", [])


def test_api_errors_alone_make_the_call_unavailable(bench: Bench, scripted: Callable[..., Script]) -> None:
    script = scripted(ConnectionError())
    with pytest.raises(MaxRetriesExceeded):
        bench.run(script, "extract", SCHEMA, "Read.")
    assert bench.calls[0]["state"] == "unavailable"
    assert script.slept == [1.0, 1.0]


def test_a_hint_is_passed_on_and_the_loop_goes_on(bench: Bench, scripted: Callable[..., Script]) -> None:
    script = scripted(WRONG, WRONG, WRONG, RIGHT)
    loop = lambda: bench.run(script, "respond_with_correction", ASKED, **PLACE, **GUIDED)  # noqa: E731
    assert bench.answered(loop, text="The action is a word.") == DONE
    assert "> The action is a word." in script.prompts[3]
    assert "Do not retry it yourself" not in script.prompts[3]
    assert (bench.calls[0]["state"], script.calls) == ("valid", 4)


def test_each_attempt_that_a_person_granted_is_told_their_words(bench: Bench, scripted: Callable[..., Script]) -> None:
    """A correction turn stands alone: what is not in it the model has never read."""
    script = scripted(WRONG, WRONG, WRONG, MALFORMED, RIGHT)
    loop = lambda: bench.run(script, "respond_with_correction", ASKED, **PLACE, **GUIDED)  # noqa: E731
    assert bench.answered(loop, text="The action is a word.") == DONE
    assert ["> The action is a word." in prompt for prompt in script.prompts] == [False] * 3 + [True] * 2
    assert "this is attempt" not in script.prompts[4]


def test_a_correction_ends_the_loop_without_the_model(bench: Bench, scripted: Callable[..., Script]) -> None:
    script = scripted(submitting({"total": "five"}))
    loop = lambda: bench.run(script, "extract", SCHEMA, "Read.", **GUIDED)  # noqa: E731
    value, metrics = bench.answered(loop, decision="corrected", arguments='{"total": 5}')
    assert (value, metrics.attempts, script.calls) == ({"total": 5}, 4, 3)


def test_a_reply_that_a_person_accepts_is_taken_as_it_is(bench: Bench, scripted: Callable[..., Script]) -> None:
    script = scripted(f"Sure: {WRONG}")
    loop = lambda: bench.run(script, "respond_with_correction", ASKED, **PLACE, **GUIDED)  # noqa: E731
    assert bench.answered(loop, decision="accept", text="Fine.") == AgentResponse(5, {})  # type: ignore[arg-type]


def test_a_no_ends_the_loop(bench: Bench, scripted: Callable[..., Script]) -> None:
    script = scripted(WRONG)
    loop = lambda: bench.run(script, "respond_with_correction", ASKED, **PLACE, **GUIDED)  # noqa: E731
    with pytest.raises(FormattingCorrectionExhaustedError) as caught:
        bench.answered(loop, decision="reject", text="Leave it.")
    assert "Leave it." in caught.value.answer
    assert script.calls == 3


def test_an_extraction_goes_on_after_a_hint_with_as_many_turns_again(
    bench: Bench, scripted: Callable[..., Script]
) -> None:
    fails, looks = submitting({"total": "five"}), calling(("example", "{}"))
    script = scripted(fails, fails, fails, looks, looks, looks, submitting({"total": 5}))
    loop = lambda: bench.run(script, "extract", SCHEMA, "Read.", **GUIDED)  # noqa: E731
    assert bench.answered(loop, text="It is a number.")[0] == {"total": 5}
    assert "> It is a number." in script.prompts[3]


def test_checks_of_the_loops_own_count_at_the_service(bench: Bench, scripted: Callable[..., Script]) -> None:
    seen = threading.Event()

    def on_submit(_: Invoice) -> None:
        if not seen.is_set():
            seen.set()
            raise Rejected("Another invoice, please.")

    script = scripted(submitting({"total": -1}), submitting({"total": 5}))
    assert bench.run(script, "extract", Invoice, "Read.", on_submit=on_submit)[0] == Invoice(total=5)
    [call] = bench.calls
    assert (call["tool"], call["kind"], call["state"]) == ("Invoice", "extraction", "valid")
    told = [json.dumps(attempt["errors"]) for attempt in call["attempts"]]
    assert "an invoice asks for something" in told[0]
    assert "Another invoice, please." in told[1]
    assert call["attempts"][2]["is_valid"]


def test_a_loop_that_ends_otherwise_leaves_no_open_call(bench: Bench, scripted: Callable[..., Script]) -> None:
    class AuthenticationError(Exception):
        status_code = 401

    with pytest.raises(ModelUnusableError):
        bench.run(scripted(WRONG, AuthenticationError()), "respond_with_correction", ASKED, **PLACE)
    script = scripted(submitting({"total": "five"}), calling(("example", "{}")))
    with pytest.raises(MaxRetriesExceeded):
        bench.run(script, "extract", SCHEMA, "Read.")
    assert [call["state"] for call in bench.calls] == ["cancelled", "unavailable"]
    assert script.calls == 9


def test_the_service_needs_to_know_which_reply_it_keeps(service: Service) -> None:
    with Client(service.url, "rc_x") as client, pytest.raises(TypeError, match="task_id= and turn="):
        respond_with_correction(lambda _: RIGHT, ASKED, contract=client)
