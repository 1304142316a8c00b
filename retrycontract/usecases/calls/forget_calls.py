"""Retention: forget calls that ended long ago with all that belongs to them, and messages that were delivered."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from time import monotonic
from typing import Any, Final

from django.conf import settings
from django.db.models import QuerySet

from retrycontract.store.history import forgetting
from retrycontract.store.models import Attempt, Call, Door, Escalation, Event, Guidance, OutboxMessage
from retrycontract.store.transactions import write_transaction

BATCH: Final = 100  # calls or messages of one transaction: nobody waits long for it
# Of one sweep, unless nothing is left before: retention must keep up with what comes in, and leave room for it.
LONGEST_SECONDS: Final = 1.0


def forget_calls(*, now: datetime, clock: Callable[[], float] = monotonic) -> int:
    """Forget what is older than the retention, batch after batch while there is time; returns how many calls.

    A call that is open stays. The events of a call go with it: this is the one way by which events are deleted, and
    each batch leaves one.
    """
    end, calls = clock() + LONGEST_SECONDS, 0
    while forgotten := _forget_batch(now):
        calls += forgotten
        if forgotten < BATCH or clock() >= end:
            break
    return calls


def _forget_batch(now: datetime) -> int:
    days: float = settings.RETRYCONTRACT.retention_days
    if not days:
        return 0
    before = now - timedelta(days=days)
    if not Call.objects.ended_before(before).exists() and not OutboxMessage.objects.ended_before(before).exists():
        return 0
    with write_transaction():
        messages = _delete(OutboxMessage.objects.ended_before(before).order_by("created_at"))
        # Locked: a late answer may reopen a call that expired.
        old = Call.objects.ended_before(before).order_by().select_for_update(of=("self",))
        calls = list(old.values_list("pk", flat=True)[:BATCH])
        counts = _delete_calls(calls) | {"before": before.isoformat()} if calls else {}
        Event.record(
            "history.forgotten", actor="sweep", door=Door.WORKER, at=now, calls=len(calls), messages=messages, **counts
        )
    return len(calls)


def _delete_calls(calls: list[int]) -> dict[str, Any]:
    """Delete calls, what refers to others first; what hangs on escalations and attempts goes with them."""
    attempts = Attempt.objects.filter(call__in=calls)
    count = attempts.count()
    with forgetting():
        events = Event.objects.forget(calls)
        _, with_guidance = Guidance.objects.filter(call__in=calls).delete()
        Escalation.objects.filter(call__in=calls).delete()
        attempts.delete()
    Call.objects.filter(pk__in=calls).delete()
    return {"attempts": count, "guidance": with_guidance.get(Guidance._meta.label, 0), "events": events}


def _delete(messages: QuerySet[OutboxMessage]) -> int:
    chosen = list(messages.values_list("pk", flat=True)[:BATCH])
    OutboxMessage.objects.filter(pk__in=chosen).delete()
    return len(chosen)
