"""Give a call up: its agent does, or somebody who looks after the service."""

from __future__ import annotations

from datetime import datetime

from retrycontract.contract.lifecycle import CallState
from retrycontract.contract.webhooks import WebhookEvent
from retrycontract.store.models import Call, Door, Escalation, EscalationState, Event, LostRaceError
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.counts.keep_count import count_end
from retrycontract.usecases.notify.doorbell import ring_after_commit
from retrycontract.usecases.notify.tend_endpoint import tell_endpoints

MAX_RACES = 50  # tries before a call that keeps changing is left to the next request, as `submit_attempt` does


def cancel_call(call: Call, *, now: datetime, actor: str | None = None, door: Door = Door.API) -> bool:
    """End the call, discard its waiting attempts and purge their text; False when it had ended already.

    Its agent is the actor unless another one is named. A verdict or an answer that comes at the same moment is
    looked at again: where it ended the call there is nothing left to cancel.
    """
    for _ in range(MAX_RACES):
        if call.has_ended:
            return False
        try:
            _cancel(call, now, actor or call.agent.name, door)
        except LostRaceError:
            # Read again: the move compares with the state that was seen, and it may have ended since.
            call.refresh_from_db()
        else:
            return True
    raise LostRaceError("the call kept changing while it was cancelled; cancel it again")


def _cancel(call: Call, now: datetime, actor: str, door: Door) -> None:
    with write_transaction():
        source = call.state
        call.move(CallState.CANCELLED, now, expires_at=None)
        call.attempts.discard()
        Escalation.objects.close(call, EscalationState.CANCELLED, now)
        event = Event.record("call.cancelled", call=call, actor=actor, door=door, at=now, from_state=source)
        count_end(call, source=source, now=event.at)
        tell_endpoints(WebhookEvent.CALL_CANCELLED, call, now=event.at)
        ring_after_commit(call=call)
