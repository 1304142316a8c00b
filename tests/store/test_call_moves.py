"""Every move of a call, legal or not, and the races for it."""

from __future__ import annotations

from itertools import product

import pytest
from django.utils import timezone

from retrycontract.contract.lifecycle import ENDS, LEGAL_MOVES, CallState
from retrycontract.store.models import Call, IllegalMoveError, LostRaceError
from tests.factories import make_agent

pytestmark = pytest.mark.django_db

MOVES = [(source, target) for source, target in product(CallState, CallState) if source is not target]
LEGAL = [move for move in MOVES if move[1] in LEGAL_MOVES[move[0]]]
ILLEGAL = [move for move in MOVES if move[1] not in LEGAL_MOVES[move[0]]]


def make_call_in(state: CallState) -> Call:
    now = timezone.now()
    return Call.objects.create(
        agent=make_agent(), kind="tool_call", tool_name="deploy", last_tool_call_id="call_0", state=state,
        attempts_made=1, attempts_allowed=3, created_at=now, updated_at=now, blocked_at=now,
    )  # fmt: skip


def named(move: tuple[CallState, CallState]) -> str:
    return f"{move[0]}-{move[1]}"


@pytest.mark.parametrize("move", LEGAL, ids=named)
def test_a_legal_move_is_stored(move: tuple[CallState, CallState]) -> None:
    call, now = make_call_in(move[0]), timezone.now()
    call.move(move[1], now)
    assert call.state == move[1]
    stored = Call.objects.get(pk=call.pk)
    assert (stored.state, stored.updated_at) == (move[1], now)


@pytest.mark.parametrize("move", ILLEGAL, ids=named)
def test_an_illegal_move_is_refused_and_changes_nothing(move: tuple[CallState, CallState]) -> None:
    call = make_call_in(move[0])
    with pytest.raises(IllegalMoveError) as refused:
        call.move(move[1], timezone.now(), attempts_allowed=9)
    assert (refused.value.source, refused.value.target) == move
    stored = Call.objects.get(pk=call.pk)
    assert (call.state, stored.state, stored.attempts_allowed) == (move[0], move[0], 3)


@pytest.mark.parametrize("state", list(CallState))
def test_a_call_may_stay_where_it_is(state: CallState) -> None:
    call = make_call_in(state)
    call.move(state, timezone.now(), attempts_allowed=4)
    assert Call.objects.get(pk=call.pk).attempts_allowed == 4


@pytest.mark.parametrize("end", sorted(ENDS - {CallState.EXPIRED}))
def test_no_move_leads_out_of_an_end(end: CallState) -> None:
    assert LEGAL_MOVES[end] == frozenset()


def test_an_expired_call_is_reopened_by_an_answer_only() -> None:
    assert LEGAL_MOVES[CallState.EXPIRED] == {CallState.GUIDED, CallState.ACCEPTED, CallState.REJECTED}


def test_of_two_that_read_the_same_state_the_second_loses() -> None:
    first = make_call_in(CallState.BLOCKED)
    second = Call.objects.get(pk=first.pk)
    first.move(CallState.GUIDED, timezone.now())
    with pytest.raises(LostRaceError):
        second.move(CallState.CANCELLED, timezone.now())
    assert Call.objects.get(pk=first.pk).state == CallState.GUIDED


def test_of_two_that_count_the_same_attempt_the_second_loses_though_the_state_is_the_same() -> None:
    first = make_call_in(CallState.RETRYING)
    second = Call.objects.get(pk=first.pk)
    first.move(CallState.RETRYING, timezone.now(), attempts_made=2)
    with pytest.raises(LostRaceError):
        second.move(CallState.RETRYING, timezone.now(), attempts_made=2)
    assert Call.objects.get(pk=first.pk).attempts_made == 2


def test_a_lost_race_leaves_the_object_as_it_was_read() -> None:
    first = make_call_in(CallState.BLOCKED)
    second = Call.objects.get(pk=first.pk)
    first.move(CallState.GUIDED, timezone.now())
    with pytest.raises(LostRaceError):
        second.move(CallState.VALID, timezone.now(), attempts_made=2)
    assert (second.state, second.attempts_made) == (CallState.BLOCKED, 1)


def test_a_new_call_is_stored_by_its_first_move() -> None:
    now = timezone.now()
    call = Call(
        agent=make_agent(), kind="tool_call", tool_name="deploy", last_tool_call_id="call_0", attempts_allowed=3,
        created_at=now, updated_at=now,
    )  # fmt: skip
    call.move(CallState.VALID, now, attempts_made=1)
    assert Call.objects.get().state == CallState.VALID
