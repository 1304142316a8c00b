"""Send a message once more: the same id, the same text."""

from __future__ import annotations

from datetime import datetime

from retrycontract.store.models import Door, Event, OutboxMessage
from retrycontract.store.transactions import write_transaction


def send_again(message: OutboxMessage, *, now: datetime, actor: str, door: Door) -> bool:
    """Have a message tried again that was delivered or given up; False when it is to be tried anyway."""
    with write_transaction():
        if not message.reopen(now):
            return False
        Event.record(
            "message.sent_again", actor=actor, door=door, at=now, message=message.public_id, channel=message.channel
        )
    return True
