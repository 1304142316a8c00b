"""What ended long ago is forgotten, in batches and with all that belongs to it; what is open never is."""

from __future__ import annotations

from collections.abc import Callable
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


def cancelled(number: int) -> None:
    agent = make_agent()
    for name in range(number):
        cancel_call(submit(agent, {}, tool="unknown", tool_call_id=f"id {name}", at=NOON).call, now=NOON)


def ticks(*times: float) -> Callable[[], float]:
    return iter(times).__next__


def batches() -> list[int]:
    return [event.data["calls"] for event in Event.objects.filter(name="history.forgotten").order_by("pk")]


def test_a_sweep_has_an_end_and_the_next_one_takes_the_rest() -> None:
    cancelled(13)
    assert forget_calls(now=LATER, clock=ticks(0, 2.0, 2.0)) == 10
    assert [forget_calls(now=LATER) for _ in range(2)] == [3, 0]


def test_batches_grow_while_they_are_quick() -> None:
    cancelled(10 + 20 + 1)
    assert forget_calls(now=LATER, clock=ticks(*([0] * 9))) == 31
    assert batches() == [10, 20, 1]


def test_batches_shrink_while_others_wait_for_them() -> None:
    cancelled(10 + 5 + 2 + 1)
    assert forget_calls(now=LATER, clock=ticks(0, 0.3, 0.3, 0.6, 0.6, 0.9, 0.9, 1.24, 1.24)) == 18
    assert batches() == [10, 5, 2, 1]


def test_messages_alone_are_forgotten_batch_after_batch() -> None:
    sent = {"channel": Channel.EMAIL, "subject": "s", "text": "t", "created_at": NOON, "delivered_at": NOON}
    OutboxMessage.objects.bulk_create(OutboxMessage(**sent) for _ in range(31))
    assert forget_calls(now=LATER) == 31
    assert not OutboxMessage.objects.exists()


def test_outputs_are_not_read_to_be_forgotten() -> None:
    rejected(make_user())
    with CaptureQueriesContext(connection) as asked:
        forget_calls(now=LATER)
    read = [query["sql"] for query in asked if query["sql"].startswith("SELECT")]
    assert read
    assert not [sql for sql in read if '."output"' in sql or '."payload"' in sql or '."text"' in sql]


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
