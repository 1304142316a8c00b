from __future__ import annotations

from itertools import product

import pytest

from retrycontract.contract.decisions import Decision
from retrycontract.contract.lifecycle import ENDS, LEGAL_MOVES, Budget, CallState, Move, Status, judge, move_unasked

ROWS = {
    "pending": "valid retrying blocked observed cancelled unavailable",
    "retrying": "pending valid retrying blocked observed cancelled unavailable",
    "blocked": "guided accepted rejected valid observed cancelled expired",
    "guided": "valid blocked observed cancelled unavailable",
    "expired": "guided accepted rejected",
    "valid": "",
    "accepted": "",
    "rejected": "",
    "cancelled": "",
    "observed": "",
    "unavailable": "",
}


@pytest.mark.parametrize("state", CallState)
def test_every_row_of_the_table_of_moves(state: CallState) -> None:
    assert LEGAL_MOVES[state] == set(map(CallState, ROWS[state].split()))


def test_what_has_ended_only_a_late_answer_reopens() -> None:
    ended = {state for state in CallState if state.has_ended}
    assert ended == ENDS
    assert {state for state in ended if LEGAL_MOVES[state]} == {CallState.EXPIRED}
    assert {state for state in CallState if not LEGAL_MOVES[state]} == ended - {CallState.EXPIRED}


FIRST, SECOND, LAST = Budget(1, 3), Budget(2, 3), Budget(3, 3)


@pytest.mark.parametrize(
    ("state", "budget", "options", "verdict"),
    [
        pytest.param("pending", FIRST, {"valid": True}, Move(CallState.VALID, Status.VALID), id="valid-at-once"),
        pytest.param("pending", FIRST, {}, Move(CallState.RETRYING, Status.RETRY), id="first-failure"),
        pytest.param("retrying", SECOND, {}, Move(CallState.RETRYING, Status.RETRY), id="second-failure"),
        pytest.param(
            "retrying",
            LAST,
            {},
            Move(CallState.BLOCKED, Status.BLOCKED, opens_escalation=True),
            id="third-failure-blocks-and-asks-a-person",
        ),
        pytest.param("retrying", LAST, {"valid": True}, Move(CallState.VALID, Status.VALID), id="valid-at-last"),
        pytest.param(
            "pending",
            Budget(1, 1),
            {},
            Move(CallState.BLOCKED, Status.BLOCKED, opens_escalation=True),
            id="only-one-attempt",
        ),
        pytest.param(
            "blocked",
            Budget(4, 3),
            {},
            Move(CallState.BLOCKED, Status.BLOCKED),
            id="failing-while-blocked-asks-nobody-again",
        ),
        pytest.param(
            "blocked",
            Budget(4, 3),
            {"valid": True},
            Move(CallState.VALID, Status.VALID, closes_escalation=True),
            id="valid-while-blocked-closes-the-escalation",
        ),
        pytest.param(
            "blocked",
            Budget(4, 3),
            {"valid": True, "hold": True},
            Move(CallState.BLOCKED, Status.BLOCKED, is_held=True),
            id="hold-keeps-the-gate-closed",
        ),
        pytest.param(
            "blocked", Budget(4, 3), {"hold": True}, Move(CallState.BLOCKED, Status.BLOCKED), id="hold-and-failing"
        ),
        pytest.param(
            "retrying",
            SECOND,
            {"valid": True, "hold": True},
            Move(CallState.VALID, Status.VALID),
            id="hold-matters-only-while-blocked",
        ),
        pytest.param(
            "guided",
            Budget(4, 5),
            {"valid": True, "hold": True},
            Move(CallState.VALID, Status.VALID),
            id="hold-is-over-once-a-person-answered",
        ),
        pytest.param("guided", Budget(4, 5), {}, Move(CallState.GUIDED, Status.RETRY), id="granted-attempt-fails"),
        pytest.param(
            "guided",
            Budget(5, 5),
            {},
            Move(CallState.BLOCKED, Status.BLOCKED, opens_escalation=True),
            id="last-granted-attempt-fails",
        ),
        pytest.param(
            "guided",
            Budget(4, 5),
            {"is_unread": True},
            Move(CallState.GUIDED, Status.RETRY),
            id="unread-and-not-used-up",
        ),
        pytest.param(
            "guided",
            Budget(5, 5),
            {"is_unread": True},
            Move(CallState.GUIDED, Status.BLOCKED, renews_grant=True),
            id="what-nobody-has-read-is-not-used-up",
        ),
        pytest.param(
            "guided",
            Budget(5, 5),
            {"is_unread": True, "mode": "observe"},
            Move(CallState.OBSERVED, Status.VALID),
            id="observed-while-the-answer-was-unread",
        ),
        pytest.param(
            "pending", LAST, {"mode": "observe"}, Move(CallState.OBSERVED, Status.VALID), id="observe-never-blocks"
        ),
        pytest.param(
            "pending",
            FIRST,
            {"mode": "observe", "valid": True},
            Move(CallState.VALID, Status.VALID),
            id="observe-and-valid",
        ),
        pytest.param(
            "blocked",
            Budget(4, 3),
            {"mode": "observe"},
            Move(CallState.OBSERVED, Status.VALID, closes_escalation=True),
            id="observed-since-it-was-blocked",
        ),
    ],
)
def test_a_judged_attempt_moves_its_call(state: str, budget: Budget, options: dict[str, bool], verdict: Move) -> None:
    assert judge(CallState(state), budget, **({"valid": False} | options)) == verdict  # type: ignore[arg-type]


@pytest.mark.parametrize("state", [state for state in CallState if not state.has_ended])
def test_no_verdict_is_an_illegal_move(state: CallState) -> None:
    either = (True, False)
    for made, valid, mode, hold, is_unread in product((1, 3, 4), either, ("observe", "enforce"), either, either):
        moved = judge(state, Budget(made, 3), valid=valid, mode=mode, hold=hold, is_unread=is_unread)  # type: ignore[arg-type]
        assert moved.state is state or moved.state in LEGAL_MOVES[state]
        assert not (moved.opens_escalation and moved.closes_escalation)
        assert mode == "enforce" or moved.status is Status.VALID or moved.is_held


def test_a_grant_of_two_after_three_attempts_makes_attempt_four_of_five() -> None:
    granted = Budget(3, 3).granted(2)
    assert granted == Budget(3, 5)
    assert not granted.is_used_up
    assert Budget(4, granted.allowed).shown == (4, 5)
    assert Budget(5, granted.allowed).is_used_up


def test_attempts_while_blocked_do_not_count_beyond_the_maximum() -> None:
    assert Budget(5, 3).shown == (3, 3)
    assert Budget(5, 3).granted(2) == Budget(5, 7)


@pytest.mark.parametrize(
    ("decision", "asked", "granted", "state"),
    [
        (Decision.HINT, None, 2, CallState.GUIDED),
        (Decision.HINT, 1, 1, CallState.GUIDED),
        (Decision.HINT, 5, 5, CallState.GUIDED),
        (Decision.HINT, 9, 5, CallState.GUIDED),
        (Decision.HINT, -3, 1, CallState.GUIDED),
        (Decision.CORRECTED, 4, 1, CallState.GUIDED),
        (Decision.ACCEPT, None, 1, CallState.ACCEPTED),
        (Decision.REJECT, 3, 0, CallState.REJECTED),
    ],
)
def test_an_answer_grants_attempts_and_moves_the_call(
    decision: Decision, asked: int | None, granted: int, state: CallState
) -> None:
    assert decision.grant(asked) == granted
    assert decision.leads_to is state
    assert state in LEGAL_MOVES[CallState.BLOCKED]


@pytest.mark.parametrize(
    ("state", "budget", "gives_up", "move"),
    [
        ("pending", FIRST, False, Move(CallState.RETRYING, Status.RETRY)),
        ("guided", SECOND, False, Move(CallState.GUIDED, Status.RETRY)),
        ("retrying", LAST, False, Move(CallState.UNAVAILABLE, Status.UNAVAILABLE)),
        ("guided", LAST, False, Move(CallState.UNAVAILABLE, Status.UNAVAILABLE)),
        ("pending", FIRST, True, Move(CallState.UNAVAILABLE, Status.UNAVAILABLE)),
        ("blocked", LAST, True, Move(CallState.BLOCKED, Status.BLOCKED)),
    ],
)
def test_a_model_that_cannot_be_asked_blocks_nothing(state: str, budget: Budget, gives_up: bool, move: Move) -> None:
    assert move_unasked(CallState(state), budget, gives_up=gives_up) == move


@pytest.mark.parametrize("state", [state for state in CallState if not state.has_ended])
@pytest.mark.parametrize("gives_up", [True, False])
def test_a_model_that_cannot_be_asked_uses_up_no_answer_that_nobody_has_read(state: CallState, gives_up: bool) -> None:
    moved = move_unasked(state, LAST, gives_up=gives_up, is_unread=True)
    assert moved.renews_grant is (state is CallState.GUIDED and not gives_up)
    assert moved.state is state or moved.state in LEGAL_MOVES[state]
