"""Negative controls: with what keeps a promise taken away, the promise is broken, so its tests prove something."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.db import IntegrityError, transaction
from pytest_django import Settings

from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.decisions import Decision
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.feedback.formatter import ErrorFormatter
from retrycontract.store.models import Attempt, Call, Escalation, LostRaceError
from retrycontract.usecases.answers.give_guidance import AlreadyAnsweredError, give_guidance
from retrycontract.usecases.calls.judge_attempt import judge_attempt
from tests.factories import RIGHT, make_agent, make_blocked, make_tool, make_user, submit
from tests.usecases.conftest import NOON, configure, judge_all

pytestmark = pytest.mark.django_db
LEASE = timedelta(seconds=30)


def queued(settings: Settings) -> Attempt:
    configure(settings, judge="worker", lease_seconds=LEASE.total_seconds())
    make_tool(make_agent())
    return submit(make_agent(), RIGHT, at=NOON)


@pytest.mark.parametrize(("is_fenced", "is_written"), [(True, False), (False, True)], ids=["fenced", "without a fence"])
def test_without_the_token_a_worker_that_lost_its_lease_would_write(
    settings: Settings, is_fenced: bool, is_written: bool
) -> None:
    attempt = queued(settings)
    moments = iter([NOON, NOON + 2 * LEASE])

    def slow_clock() -> datetime:
        moment = next(moments)
        if moment > NOON:
            row = Attempt.objects.filter(pk=attempt.pk)
            slow = row.get().lease_token
            Attempt.claim(attempt.pk, token="quick", now=moment, until=moment + LEASE)
            if not is_fenced:
                row.update(lease_token=slow)
        return moment

    assert judge_attempt(attempt.pk, clock=slow_clock) is is_written
    attempt.refresh_from_db()
    assert (attempt.state == "judged") is is_written


def test_without_the_sweep_what_no_ring_was_heard_for_would_wait_for_ever(settings: Settings) -> None:
    attempt = queued(settings)
    attempt.refresh_from_db()
    assert attempt.state == "queued"
    assert judge_all(now=NOON) == 1  # what the sweep does


def test_a_counter_that_is_read_and_written_would_lose_an_attempt() -> None:
    make_tool(make_agent())
    stored = submit(make_agent(), {}).call
    first, second = (Call.objects.get(pk=stored.pk) for _ in range(2))
    before = first.attempts_made
    for call in (first, second):
        with transaction.atomic():
            Call.objects.filter(pk=call.pk).update(attempts_made=call.attempts_made + 1)
    assert Call.objects.get(pk=first.pk).attempts_made == before + 1, "two came, one was counted"
    with pytest.raises(LostRaceError):
        first.move(first.state, NOON, attempts_made=first.attempts_made + 1)  # type: ignore[arg-type]  # a state's value


def test_without_the_swap_a_second_answer_would_reach_the_table() -> None:
    mia, ann = make_user("mia"), make_user("ann")
    call = make_blocked(at=NOON)
    escalation = call.escalations.get()
    give_guidance(escalation, mia, Decision.HINT, now=NOON, text="One.")
    with pytest.raises(AlreadyAnsweredError):
        give_guidance(escalation, ann, Decision.HINT, now=NOON, text="Two.")
    Escalation.objects.filter(pk=escalation.pk).update(state="open", closed_at=None)
    Call.objects.filter(pk=call.pk).update(state="blocked")
    with pytest.raises(IntegrityError), transaction.atomic():  # and there the last fence stops it
        give_guidance(escalation, ann, Decision.HINT, now=NOON, text="Two.")


def test_without_the_limit_feedback_would_be_longer_than_it() -> None:
    code = ErrorCode.CONSTRAINT_VIOLATION
    errors = [ValidationError(code, f"/{number}/{'deep/' * 6}", f"{number} " + "m" * 200) for number in range(20)]
    for limit, fits in ((2_000, True), (4_000, False)):
        configured = ErrorFormatter(RetryConfiguration(max_message_length=limit, max_errors_shown=20))
        assert (len(configured.format_errors("t", errors, 1, 3)) <= 2_000) is fits
