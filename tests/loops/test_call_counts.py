"""How often the model is asked, to the letter: in this process and through the running service alike."""

from __future__ import annotations

import uuid
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

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
