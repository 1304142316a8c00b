"""What ended long ago is forgotten, in batches and with all that belongs to it; what is open never is."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from retrycontract.contract.decisions import Decision
from retrycontract.store.models import (
    AppendOnlyError,
    Call,
    Channel,
    Event,
    IdempotencyKey,
    Notice,
    OutboxMessage,
)
from retrycontract.usecases.calls import sweep as retention
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.calls.sweep import forget_calls
from tests.factories import RIGHT, answer, make_agent, make_blocked, make_user, submit
from tests.usecases.conftest import NOON, configure

pytestmark = pytest.mark.django_db
LATER = NOON + timedelta(days=90, seconds=1)
BELONGING = ("Call", "Attempt", "Escalation", "Guidance", "Notice", "OutboxMessage", "IdempotencyKey")


def rejected(operator: Any) -> Call:
    """Make a call with something of everything that ended at noon."""
    call = make_blocked(make_agent(), at=NOON)
    answer(call, operator, Decision.REJECT, text="No.", at=NOON)
    submitted = {"key_hash": str(call.pk), "request_hash": "r", "created_at": NOON}
    IdempotencyKey.objects.create(agent=call.agent, attempt=call.attempts.first(), **submitted)
    message = OutboxMessage.objects.create(
        channel=Channel.EMAIL, subject="s", text="t", created_at=NOON, delivered_at=NOON
    )
    Notice.objects.create(escalation=call.escalations.get(), channel=Channel.EMAIL, message=message, created_at=NOON)
    return call


def rows() -> dict[str, int]:
    return {name: apps.get_model("retrycontract", name).objects.count() for name in BELONGING}


def test_a_call_that_ended_long_ago_goes_with_all_that_belongs_to_it() -> None:
    call = rejected(make_user())
    assert 0 not in rows().values()
    before = Event.objects.filter(call=call).count()
    assert forget_calls(now=LATER) == 1
    assert set(rows().values()) == {0}
    forgotten = Event.objects.get(name="history.forgotten")
    counts = {"calls": 1, "messages": 1, "attempts": 3, "guidance": 1, "events": before}
    assert forgotten.data == counts | {"before": (NOON + timedelta(seconds=1)).isoformat()}
    assert not Event.objects.filter(call__isnull=False).exists()


def test_what_ended_lately_stays() -> None:
    rejected(make_user())
    before = rows()
    assert forget_calls(now=NOON + timedelta(days=90)) == 0
    assert rows() == before


def test_an_open_call_is_never_forgotten() -> None:
    agent = make_agent()
    blocked = make_blocked(agent, at=NOON)
    waiting = submit(agent, RIGHT, tool="unknown", at=NOON).call
    assert forget_calls(now=NOON + timedelta(days=9_999)) == 0
    assert set(Call.objects.all()) == {blocked, waiting}
    cancel_call(waiting, now=NOON)
    assert forget_calls(now=LATER) == 1
    assert Call.objects.get() == blocked


def test_nothing_is_forgotten_when_all_is_to_be_kept(settings: Settings) -> None:
    configure(settings, retention_days=0)
    rejected(make_user())
    assert forget_calls(now=NOON + timedelta(days=9_999)) == 0


def test_a_message_that_is_still_to_be_delivered_stays() -> None:
    OutboxMessage.objects.create(channel=Channel.EMAIL, subject="s", text="t", created_at=NOON)
    forget_calls(now=LATER)
    assert OutboxMessage.objects.count() == 1


def test_a_sweep_takes_one_batch_and_the_next_one_the_rest() -> None:
    agent = make_agent()
    for number in range(retention.FORGOTTEN_AT_ONCE + 3):
        cancel_call(submit(agent, {}, tool="unknown", tool_call_id=f"id {number}", at=NOON).call, now=NOON)
    no_time = iter(range(9))
    assert forget_calls(now=LATER, clock=lambda: float(next(no_time))) == retention.FORGOTTEN_AT_ONCE
    assert [forget_calls(now=LATER) for _ in range(2)] == [3, 0]
    assert Event.objects.filter(name="history.forgotten").count() == 2


def test_a_sweep_forgets_batch_after_batch_while_there_is_time() -> None:
    agent = make_agent()
    for number in range(2 * retention.FORGOTTEN_AT_ONCE + 1):
        cancel_call(submit(agent, RIGHT, tool="unknown", tool_call_id=str(number), at=NOON).call, now=NOON)
    assert forget_calls(now=LATER) == 2 * retention.FORGOTTEN_AT_ONCE + 1
    assert Event.objects.filter(name="history.forgotten").count() == 3


def test_a_sweep_that_finds_nothing_asks_two_questions() -> None:
    with CaptureQueriesContext(
        connection,
    ) as asked:
        forget_calls(now=LATER)
    assert len(asked) == 2


def test_events_are_deleted_in_no_other_way() -> None:
    rejected(make_user())
    with pytest.raises(AppendOnlyError):
        Event.objects.filter(call__isnull=False).delete()
    with pytest.raises(AppendOnlyError):
        Event.objects.first().delete()  # type: ignore[union-attr]  # there are some
