"""How often the model is asked, to the letter: in this process and through the running service alike."""

from __future__ import annotations

import uuid
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from retrycontract import RetryConfiguration, RetryContract
from retrycontract.client import Client
from retrycontract.loops import (
    FormattingCorrectionExhaustedError,
    ImplementationError,
    MaxRetriesExceeded,
    generate_file_with_retry,
)
from tests.loops.scripted import Script, submitting

if TYPE_CHECKING:
    from collections.abc import Iterator

WRONG, RIGHT = '{"action": 5, "parameters": {}}', '{"action": "stop", "parameters": {}}'
BAD, GOOD = "```python\nx = (\n```", "```python\nx = 1\n```"
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
NO, YES = submitting({"n": "one"}), submitting({"n": 1})
REPLY = ("correct_with_retry", (WRONG,), {"task_id": "t", "turn": 1})
FILE = ("generate_file_with_retry", ("app.py", "Write it."), {})
EXTRACTION = ("extract", (SCHEMA, "Read."), {})


@pytest.fixture(params=["in process", "service"])
def contract(request: pytest.FixtureRequest) -> Iterator[Any]:
    """No contract of one's own, or the running service."""
    with ExitStack() as stack:
        if request.param == "in process":
            yield None
            return
        service = request.getfixturevalue("service")
        key = service.new_key(f"counts-{uuid.uuid4().hex}")  # an agent that has no other calls
        yield stack.enter_context(Client(service.url, key))


def run(script: Script, loop: str, args: Any, options: Any, contract: Any) -> Any:
    if loop == "generate_file_with_retry":
        options = options | {"model": script}
        return generate_file_with_retry(*args, sleep=script.sleep, contract=contract, **options)
    return script.run(loop, *args, contract=contract, **options)


def attempts_of(job: Any, calls: int) -> int:
    """Count what is on record: a reply that is to be corrected was made before the model was asked."""
    return calls + (job is REPLY)


def stored(contract: Any) -> tuple[str, int] | None:
    """Read the one call that the service has; its history is complete."""
    if contract is None:
        return None
    (call,) = contract.calls()
    return call.state.value, call.attempts_made


@pytest.mark.parametrize(
    ("job", "answers", "calls"),
    [
        (REPLY, [RIGHT], 1), (REPLY, [WRONG, RIGHT], 2), (REPLY, [WRONG, WRONG, RIGHT], 3),
        (FILE, [GOOD], 1), (FILE, [BAD, GOOD], 2), (FILE, [BAD, BAD, GOOD], 3),
        (EXTRACTION, [YES], 1), (EXTRACTION, [NO, YES], 2), (EXTRACTION, [NO, NO, YES], 3),
    ],
)  # fmt: skip
def test_the_model_is_asked_until_it_is_right(contract: Any, job: Any, answers: list[Any], calls: int) -> None:
    script = Script("sync", [*answers, "never asked for"])
    made = run(script, *job, contract)
    assert script.calls == calls
    if job is EXTRACTION:
        assert made[1].attempts == calls
        assert made[1].wall_seconds > 0
        assert made[1].tokens_out > 0
    assert stored(contract) in (None, ("valid", attempts_of(job, calls)))


@pytest.mark.parametrize(
    ("job", "answer", "error"),
    [
        (REPLY, WRONG, FormattingCorrectionExhaustedError),
        (FILE, BAD, ImplementationError),
        (EXTRACTION, NO, MaxRetriesExceeded),
    ],
)
def test_a_model_that_is_never_right_is_asked_three_times(contract: Any, job: Any, answer: Any, error: Any) -> None:
    script = Script("sync", [answer])
    with pytest.raises(error) as caught:
        run(script, *job, contract)
    assert script.calls == 3
    if job is not REPLY:
        assert len(caught.value.history) == 3
    if job is EXTRACTION:
        assert caught.value.metrics.attempts == 3
        assert caught.value.metrics.tokens_out > 0
    assert stored(contract) in (None, ("blocked", attempts_of(job, 3)))


ASKED = ("respond_with_correction", ([{"role": "user", "content": "What next?"}],), {"task_id": "t", "turn": 1})
ALL = {"correct": (REPLY, WRONG), "respond": (ASKED, WRONG), "file": (FILE, BAD), "extract": (EXTRACTION, NO)}
FAILED = (FormattingCorrectionExhaustedError, ImplementationError, MaxRetriesExceeded)
TOOLS = {
    "correct": ("agent_response", "agent_response"), "respond": ("agent_response", "agent_response"),
    "file": ("app.py", "source_file"), "extract": ("extraction", "extraction"),
}  # fmt: skip


@pytest.mark.parametrize("loop", ALL)
@pytest.mark.parametrize("given", [{}, {"max_attempts": 1}, {"max_attempts": 4}])
def test_the_answers_of_the_model_are_as_many_as_given_else_as_configured(
    contract: Any, loop: str, given: dict[str, int]
) -> None:
    job, wrong = ALL[loop]
    if contract is None:
        contract = RetryContract(configuration=RetryConfiguration(max_attempts=2))
    else:
        name, kind = TOOLS[loop]
        contract.register_tool(name, SCHEMA, kind=kind, max_attempts=2)
    script, (name, args, options) = Script("sync", [wrong]), job
    with pytest.raises(FAILED):
        run(script, name, args, {**options, **given}, contract)
    assert script.calls == given.get("max_attempts", 2)


@pytest.mark.parametrize("loop", ALL)
@pytest.mark.parametrize("most", [0, 11, -1])
def test_a_number_of_answers_that_no_loop_has_is_refused_with_the_range(loop: str, most: int) -> None:
    name, args, options = ALL[loop][0]
    script = Script("sync", ["never asked for"])
    with pytest.raises(ValueError, match=rf"answers of the model in all: 1 to {9 if loop == 'correct' else 10}, not"):
        run(script, name, args, {**options, "max_attempts": most}, None)
    assert script.calls == 0


@pytest.mark.parametrize("configured", [9, 10])
def test_a_reply_that_came_takes_part_in_the_longest_budget_only(configured: int) -> None:
    """A contract has ten attempts at most, and that reply is one of them."""
    script = Script("sync", [WRONG])
    contract = RetryContract(configuration=RetryConfiguration(max_attempts=configured))
    with pytest.raises(FormattingCorrectionExhaustedError):
        run(script, *REPLY, contract)
    assert script.calls == 9
