"""Clear away claims that ran out, bring back what was put off, and forget old records; a part of every sweep."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db.models import QuerySet

from retrycontract.store.models import AnswerRecord, Claim, Door, EscalationState, Event, Snooze
from retrycontract.store.transactions import write_transaction

BATCH: Final = 200  # rows of each kind that are taken at once


def tidy_queue(*, now: datetime) -> int:
    """Clear away what ran out, with an event for each that was still open; returns how many.

    Whoever reads the queue looks at the times themselves: nothing waits for this.
    """
    return _clear(Claim.objects.run_out(now), "claim.expired", now) + _clear(
        Snooze.objects.run_out(now), "call.woken", now
    )


def forget_answers(*, now: datetime) -> int:
    """Forget a batch of the records of answers that nobody gave for as long as history is kept; returns how many."""
    days: float = settings.RETRYCONTRACT.retention_days
    old = AnswerRecord.objects.filter(last_given_at__lt=now - timedelta(days=days)).order_by("last_given_at", "pk")
    if not days or not old.exists():
        return 0
    with write_transaction():
        chosen = list(old.values_list("pk", flat=True)[:BATCH])
        AnswerRecord.objects.filter(pk__in=chosen).delete()
    return len(chosen)


def _clear(run_out: QuerySet[Any], event: str, now: datetime) -> int:
    if not run_out.exists():  # looking costs no lock
        return 0
    with write_transaction():
        # What is renewed or taken over at this moment is locked by whoever does it, and left to them.
        locked = run_out.select_for_update(of=("self", "escalation__call"), skip_locked=True)
        rows = list(locked.select_related("escalation__call", "operator")[:BATCH])
        for row in rows:
            if row.escalation.state == EscalationState.OPEN:
                _tell(event, row, now)
        run_out.model._default_manager.filter(pk__in=[row.pk for row in rows]).delete()
    return len(rows)


def _tell(event: str, row: Any, now: datetime) -> None:
    Event.record(
        event, call=row.escalation.call, actor="sweep", door=Door.WORKER, at=now, operator=row.operator.get_username()
    )
