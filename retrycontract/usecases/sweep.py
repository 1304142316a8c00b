"""Pick up what was left behind: waiting attempts, leases of dead workers, calls that nobody answered."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime

from retrycontract.contract.lifecycle import CallState
from retrycontract.store.models import Attempt, Call, Door, Escalation, EscalationState, Event, LostRaceError
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.doorbell import ring_after_commit
from retrycontract.usecases.judge_attempt import judge_attempt

logger = logging.getLogger("retrycontract")

BATCH = 200  # rows of each kind that are taken at once


def judge_waiting(*, clock: Callable[[], datetime]) -> int:
    """Judge every attempt that may be claimed now; returns how many were judged here."""
    judged = 0
    while waiting := list(Attempt.objects.claimable(clock()).values_list("pk", flat=True)[:BATCH]):
        done = sum(judge_or_leave(attempt_id, clock=clock) for attempt_id in waiting)
        judged += done
        if not done:  # others are faster, or these wait for a lease to run out
            break
    return judged


def judge_or_leave(attempt_id: int, *, clock: Callable[[], datetime]) -> bool:
    """Judge one attempt, or leave it to its lease when the check crashes, which must not keep others waiting."""
    try:
        return judge_attempt(attempt_id, clock=clock)
    except Exception:
        logger.exception("An attempt could not be judged; it is tried again when its lease has run out")
        return False


def expire_overdue(*, now: datetime) -> int:
    """End the Blocked calls that nobody answered in time; a late answer reopens them."""
    expired = 0
    for call in Call.objects.overdue(now).select_related("agent")[:BATCH]:
        try:
            with write_transaction():
                call.move(CallState.EXPIRED, now)
                call.attempts.discard()
                Escalation.objects.close(call, EscalationState.EXPIRED, now)
                Event.record(
                    "call.expired", call=call, actor="sweep", door=Door.WORKER, at=now, from_state=CallState.BLOCKED
                )
                ring_after_commit(call_id=call.public_id)
            expired += 1
        except LostRaceError:
            continue  # answered this moment
    return expired
