"""What becomes of a call that is settled: the person's answer is waited for, said to have come, and taken over."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from retrycontract.client import VerdictPendingError
from retrycontract.contract.feedback.feedback_text import WITH_DESK
from retrycontract.contract.lifecycle import CallState, Status
from tests.client.scripted import PENDING, RETRY, VALID, WAITING, answer, guided

if TYPE_CHECKING:
    from tests.client.conftest import Scripted

WRONG = {"mode": "raed"}
RIGHT = {"mode": "read"}
TOLD = RETRY["tool_result"] | {"metadata": {"status": "blocked", "attempt": 3, "max_attempts": 3}}
BLOCKED = RETRY | {"state": "blocked", "status": "blocked", "tool_result": TOLD}
ACKNOWLEDGED = answer(200, {"acknowledged": True})
CORRECTED = answer(200, guided(decision="corrected", arguments=RIGHT))
SUBMITTED, WAITED, SAID = "POST /calls", "GET /calls/call-1/wait?for=guidance", "POST /calls/call-1/guidance/ack"


@pytest.mark.parametrize(("verdict", "status"), [(VALID, "valid"), (RETRY, "retry")])
def test_what_is_not_blocked_is_given_back_as_submit_gives_it(scripted: Scripted, verdict: Any, status: Any) -> None:
    service = scripted(answer(200, verdict))
    with service.client() as client:
        outcome = client.settle("open", "t1", WRONG, session_id="s")
        submitted = client.submit("open", "t1", WRONG, session_id="s")
    told = submitted.tool_result or outcome.tool_result
    assert asdict(outcome) == asdict(submitted) | {"tool_result": asdict(told)}
    assert outcome.status == status
    assert service.lines == [SUBMITTED] * 2


def test_a_hint_is_read_after_what_was_wrong_as_one_answer_to_the_call(scripted: Scripted) -> None:
    service = scripted(answer(200, BLOCKED), answer(200, guided()), ACKNOWLEDGED)
    with service.client() as client:
        outcome = client.settle("open", "t1", WRONG)
    assert (outcome.status, outcome.state, outcome.max_attempts) == (Status.RETRY, CallState.GUIDED, 5)
    assert outcome.tool_result.render("openai") == {
        "role": "tool", "tool_call_id": "t1", "content": "Validation failed\n\nA person answered",
    }  # fmt: skip
    assert outcome.tool_result.metadata == {"status": "retry", "attempt": 3, "max_attempts": 5}
    assert outcome.tool_result.render("pydantic_ai")["part_kind"] == "retry-prompt"
    assert service.lines == [SUBMITTED, WAITED, SAID]


def test_a_call_that_ended_before_its_verdict_is_said_to_have_ended(scripted: Scripted) -> None:
    service = scripted(answer(202, PENDING), answer(200, PENDING | {"state": "cancelled"}))
    with service.client() as client, pytest.raises(VerdictPendingError, match=r"ended \(cancelled\) before"):
        client.settle("open", "t1", WRONG)


def test_who_reads_a_persons_answer_is_not_told_to_wait_for_it(scripted: Scripted) -> None:
    waits = BLOCKED | {"tool_result": TOLD | {"content": f"Validation failed\n\n{WITH_DESK.blocked}"}}
    service = scripted(answer(200, waits), answer(200, guided()), ACKNOWLEDGED)
    with service.client() as client:
        told = client.settle("open", "t1", WRONG).tool_result.content
    asked = "This call is now Blocked: nothing was executed and a person has been asked for guidance."
    assert told == f"Validation failed\n\n{asked}\n\nA person answered"


def test_corrected_arguments_are_checked_like_every_attempt(scripted: Scripted) -> None:
    valid = VALID | {"attempt_number": 4}
    service = scripted(answer(200, BLOCKED), CORRECTED, ACKNOWLEDGED, answer(200, valid))
    with service.client() as client:
        outcome = client.settle("open", "t1", WRONG, session_id="s", callback_error="no such file")
    assert (outcome.status, outcome.arguments) == (Status.VALID, RIGHT)
    assert service.lines == [SUBMITTED, WAITED, SAID, SUBMITTED]
    assert service.bodies[3] == {
        "tool": "open", "tool_call_id": "t1", "arguments": RIGHT, "session_id": "s", "call_id": "call-1",
    }  # fmt: skip


def test_a_correction_that_fails_goes_to_the_model_or_to_the_person_again(scripted: Scripted) -> None:
    service = scripted(answer(200, BLOCKED), CORRECTED, ACKNOWLEDGED, answer(200, BLOCKED), CORRECTED, ACKNOWLEDGED,
                       answer(200, RETRY))  # fmt: skip
    with service.client() as client:
        assert client.settle("open", "t1", WRONG).status is Status.RETRY
    assert service.lines == [SUBMITTED, WAITED, SAID] * 2 + [SUBMITTED]


def test_a_correction_of_what_another_process_sent_is_read_by_the_model(scripted: Scripted) -> None:
    """The patch cannot be applied here: nothing is sent that nobody wrote, and the call is not lost."""
    patched = guided(decision="corrected", patch=[{"op": "replace", "path": "/mode", "value": "read"}],
                     base={"attempt": 2, "hash": "0" * 64})  # fmt: skip
    service = scripted(answer(200, BLOCKED), answer(200, patched), ACKNOWLEDGED)
    with service.client() as client:
        outcome = client.settle("open", "t1", WRONG)
    assert (outcome.status, outcome.state, outcome.max_attempts) == (Status.RETRY, CallState.GUIDED, 5)
    assert outcome.tool_result.content == "Validation failed\n\nA person answered"
    assert service.lines == [SUBMITTED, WAITED, SAID]


def test_what_a_person_accepts_may_be_run(scripted: Scripted) -> None:
    given = guided("accepted", decision="accept")
    with scripted(answer(200, BLOCKED), answer(200, given), ACKNOWLEDGED).client() as client:
        outcome = client.settle("open", "t1", WRONG)
    assert (outcome.status, outcome.arguments) == (Status.VALID, WRONG)
    assert outcome.tool_result.content == "The call is valid."
    assert outcome.state is CallState.ACCEPTED


@pytest.mark.parametrize(
    ("ended", "state", "told"),
    [
        pytest.param(guided("rejected", decision="reject", text="No."), CallState.REJECTED, "\n\nNo.", id="a no"),
        pytest.param(
            WAITING | {"state": "expired", "expiry": "Nobody."}, CallState.EXPIRED, "\n\nNobody.", id="expired"
        ),
        pytest.param(WAITING | {"state": "cancelled"}, CallState.CANCELLED, "", id="cancelled"),
    ],
)
def test_without_a_way_on_the_call_stays_blocked(scripted: Scripted, ended: Any, state: CallState, told: str) -> None:
    with scripted(answer(200, BLOCKED), answer(200, ended), ACKNOWLEDGED).client() as client:
        outcome = client.settle("open", "t1", WRONG)
    assert (outcome.status, outcome.state, outcome.arguments) == (Status.BLOCKED, state, None)
    assert outcome.tool_result.content == f"Validation failed{told}"
    assert outcome.tool_result.render("pydantic_ai")["outcome"] == "failed"


def test_a_person_is_waited_for_no_longer_than_was_said(scripted: Scripted) -> None:
    service = scripted(answer(200, BLOCKED), answer(202, WAITING))
    with service.client() as client:
        outcome = client.settle("open", "t1", WRONG, timeout=20)
    assert (outcome.status, outcome.state) == (Status.BLOCKED, CallState.BLOCKED)
    assert service.lines == [SUBMITTED, WAITED]
