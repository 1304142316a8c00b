"""Calls that end while attempts of theirs are queued."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings

from retrycontract.contract.decisions import Decision
from retrycontract.store.models import Attempt, AttemptState, Call
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.calls.judge_attempt import judge_attempt
from retrycontract.usecases.calls.sweep import expire_overdue, judge_waiting
from tests.factories import RIGHT, WRONG, answer, make_agent, make_blocked, make_tool, make_user, submit
from tests.usecases.conftest import NOON, configure, judge_all
from tests.usecases.queue_desk import LEASE, at, fresh, make_blocked_by_worker, queued
from tests.usecases.queue_desk import by_a_worker as by_a_worker

pytestmark = pytest.mark.django_db


def test_cancelling_discards_what_waits_and_purges_its_text() -> None:
    attempts = queued(WRONG, RIGHT)
    assert cancel_call(fresh(attempts[0]).call, now=NOON)
    for attempt in attempts:
        assert (fresh(attempt).state, fresh(attempt).sealed, fresh(attempt).is_valid) == ("discarded", None, None)
    assert judge_waiting(clock=at(NOON + LEASE)) == 0
    assert fresh(attempts[0]).call.state == "cancelled"


def test_cancelling_twice_does_nothing_the_second_time() -> None:
    (attempt,) = queued(WRONG)
    call = fresh(attempt).call
    assert cancel_call(call, now=NOON)
    assert not cancel_call(fresh(attempt).call, now=NOON)
    assert call.events.filter(name="call.cancelled").count() == 1


def test_cancelling_a_call_that_changed_meanwhile_looks_again() -> None:
    (attempt,) = queued(WRONG)
    stale = fresh(attempt).call
    judge_all(now=NOON)
    assert cancel_call(stale, now=NOON)
    assert fresh(attempt).call.state == "cancelled"


def test_a_call_that_ended_meanwhile_is_not_cancelled() -> None:
    (attempt,) = queued(RIGHT)
    stale = fresh(attempt).call
    judge_all(now=NOON)
    assert not cancel_call(stale, now=NOON)
    assert (stale.state, fresh(attempt).call.state) == ("valid", "valid")


def end_while_working(attempt: Attempt, end: Callable[[Call, datetime], object]) -> bool:
    """Judge an attempt whose call ends while the checker works."""
    moments = iter([NOON, NOON + LEASE / 2])

    def clock() -> datetime:
        moment = next(moments)
        if moment > NOON:
            end(fresh(attempt).call, moment)
        return moment

    return judge_attempt(attempt.pk, clock=clock)


ENDS: dict[str, Callable[[Call, datetime], object]] = {
    "cancelled": lambda call, now: cancel_call(call, now=now),
    "rejected": lambda call, now: answer(call, make_user(), Decision.REJECT, at=now),
    "accepted": lambda call, now: answer(call, make_user(), Decision.ACCEPT, at=now),
    "expired": lambda _, now: expire_overdue(now=now + timedelta(days=8)),
}


@pytest.mark.parametrize(("state", "end"), ENDS.items(), ids=list(ENDS))
def test_a_call_that_ends_while_its_attempt_is_judged_stays_ended(
    state: str, end: Callable[[Call, datetime], object]
) -> None:
    call = make_blocked_by_worker()
    attempt = submit(call.agent, RIGHT, call=call, at=NOON)
    assert not end_while_working(attempt, end)
    assert (fresh(attempt).state, fresh(attempt).sealed) == ("discarded", None)
    assert fresh(attempt).call.state == state


def test_attempts_behind_a_valid_one_are_discarded_with_it() -> None:
    first, second, third = queued(RIGHT, WRONG, WRONG)
    assert judge_attempt(first.pk, clock=at(NOON))
    assert [fresh(attempt).state for attempt in (first, second, third)] == ["judged", "discarded", "discarded"]
    assert fresh(first).call.state == "valid"


def test_what_waits_at_a_call_that_has_ended_in_another_way_is_discarded() -> None:
    """Whoever ended it past the use cases: the worker drops the attempt instead of failing on it for ever."""
    (attempt,) = queued(WRONG)
    Call.objects.filter(pk=attempt.call_id).update(state="rejected")
    assert not judge_attempt(attempt.pk, clock=at(NOON))
    assert (fresh(attempt).state, fresh(attempt).sealed) == ("discarded", None)


def test_blocked_calls_expire_and_their_waiting_attempts_with_them() -> None:
    call = make_blocked_by_worker()
    assert call.expires_at is not None
    attempt = submit(call.agent, RIGHT, call=call, at=NOON)
    assert expire_overdue(now=call.expires_at - timedelta(seconds=1)) == 0
    assert expire_overdue(now=call.expires_at) == 1
    assert expire_overdue(now=call.expires_at) == 0
    stored = Call.objects.get(pk=call.pk)
    assert (stored.state, call.escalations.get().state) == ("expired", "expired")
    assert fresh(attempt).state == AttemptState.DISCARDED
    event = call.events.get(name="call.expired")
    assert (event.from_state, event.to_state, event.actor, event.door) == ("blocked", "expired", "sweep", "worker")


def test_only_blocked_calls_expire(settings: Settings) -> None:
    configure(settings, judge="auto", blocked_expires_after_days=0.5)
    call = make_blocked(at=NOON)
    answer(call, make_user(), Decision.HINT, at=NOON)
    agent = make_agent("other")
    make_tool(agent)
    submit(agent, WRONG, at=NOON)
    assert expire_overdue(now=timezone.now() + timedelta(days=3650)) == 0
