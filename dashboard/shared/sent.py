"""What is said of an answer that was sent, on whatever page comes next: to whom, and how it is taken back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest

from retrycontract.store.models import Guidance, HeldAnswer

SENT: Final = "sent"  # tells our script that the draft of what was sent may go


def say_sent(request: HttpRequest, sent: HeldAnswer | Guidance | None, words: str) -> None:
    """Tell the operator that an answer was sent, on whatever page comes next; one that is held can be taken back."""
    tags = f"{SENT}-{sent.batch}-{sent.send_at.timestamp():.0f}" if isinstance(sent, HeldAnswer) else SENT
    messages.success(request, words, extra_tags=tags)


def undo_of(tags: str) -> dict[str, Any] | None:
    """Read from the tags of a message what it lets an operator take back, and until when."""
    name, _, held = (tags or "").partition("-")
    batch, _, until = held.partition("-")
    return {"batch": batch, "until": datetime.fromtimestamp(int(until), UTC)} if name == SENT and until else None
