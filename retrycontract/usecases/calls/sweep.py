"""Pick up what was left behind: waiting attempts, leases of dead workers, calls that nobody answered."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime

from retrycontract.config.logs import forget
from retrycontract.contract.lifecycle import CallState
from retrycontract.contract.webhooks import WebhookEvent
from retrycontract.store.models import Attempt, Call, Door, Escalation, EscalationState, Event, LostRaceError
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.calls.judge_attempt import judge_attempt
from retrycontract.usecases.counts.keep_count import count_end
from retrycontract.usecases.notify.doorbell import ring_after_commit
from retrycontract.usecases.notify.tend_endpoint import tell_endpoints
from retrycontract.usecases.tools.contracts import on_expiry

logger = logging.getLogger("retrycontract")

BATCH = 200  # rows of each kind that are taken at once
FAIR = ("call__agent__work_until", "pk", "is_dear")


def judge_waiting(*, clock: Callable[[], datetime]) -> int:
    """Judge every attempt that may be claimed now; returns how many were judged here."""
    judged = 0
    while waiting := list(Attempt.objects.claimable(clock()).values_list(*FAIR)[:BATCH]):
        done = 0
        # Whose checks took least comes first; after a dear one everything is looked at anew, since it took its time.
        for _, attempt_id, is_dear in sorted(waiting):
            done += judge_or_leave(attempt_id, clock=clock)
            if done and is_dear:
                break
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
    finally:
        forget()


def expire_overdue(*, now: datetime) -> int:
    """End the Blocked calls that nobody answered in time; returns how many.

    A late answer reopens an expired call; one that its tool's policy rejects is over.
    """
    overdue = Call.objects.overdue(now).select_related("agent", "tool")[:BATCH]
    return sum(_is_expired(call, now) for call in overdue)


def _is_expired(call: Call, now: datetime) -> bool:
    then = on_expiry(call.tool, call.tool_name)
    try:
        with write_transaction():
            call.move(CallState.REJECTED if then == "reject" else CallState.EXPIRED, now)
            call.attempts.discard()
            Escalation.objects.close(call, EscalationState.EXPIRED, now)
            Event.record(
                "call.expired", call=call, actor="sweep", door=Door.WORKER, at=now, from_state=CallState.BLOCKED,
                on_expiry=then,
            )  # fmt: skip
            count_end(call, source=CallState.BLOCKED, now=now)
            tell_endpoints(WebhookEvent.CALL_EXPIRED, call, now=now, on_expiry=then)
            ring_after_commit(call=call)
    except LostRaceError:
        return False  # answered this moment
    return True
