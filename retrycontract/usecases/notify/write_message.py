"""Write what is told of Blocked calls: a short event for systems and agents, one message for people."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from django.conf import settings
from django.urls import reverse

from retrycontract.contract.feedback.escalation import MAX_GROUPS, AlikeCalls, Plain, Slack, announce
from retrycontract.contract.feedback.hints import in_order
from retrycontract.store.models import Attempt, Call, Channel, Escalation, Notice, OutboxMessage
from retrycontract.usecases.tools.contracts import sanitizer

SOME_ID: Final = "call_of_this_id"


def write_event(
    name: str, call: Call, *, at: datetime, state: str, attempts: int, tool_call_id: str, **details: Any
) -> str:
    """Write the body of one event; `details` are names and numbers, never values of the agent's."""
    base: str = settings.RETRYCONTRACT.public_url
    data = {
        "call_id": call.public_id,
        "agent": sanitizer().redact_name(call.agent.name),
        "tool": call.tool_name,
        "tool_call_id": tool_call_id,
        "session_id": call.session_id,
        "task_id": call.task_id,
        "correlation_id": call.correlation_id,
        "state": state,
        "attempts": attempts,
        **details,
        "links": {name: f"{base}{before}{call.public_id}{after}" for name, (before, after) in _addresses().items()},
    }
    moment = at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    # ASCII: whatever a receiver decodes it by, the bytes are those that were signed, and no line ends in it.
    return json.dumps({"type": name, "timestamp": moment, "data": data}, separators=(",", ":"))


@cache
def _addresses() -> dict[str, tuple[str, str]]:
    """Give the pages of a call, each as what stands before its id and behind it: found once, not for every event."""
    pages = {"self": "api:get_call", "guidance": "api:get_guidance", "desk": "dashboard:call"}
    parts = {name: reverse(page, args=[SOME_ID]).partition(SOME_ID) for name, page in pages.items()}
    return {name: (before, after) for name, (before, _, after) in parts.items()}


MOST = 1_000  # escalations in one message; what is left waits for the next
MAX_NAME = 80
STYLES: dict[Channel, Plain] = {Channel.WEBHOOK: Slack(), Channel.EMAIL: Plain()}


def write_message(channel: Channel, *, now: datetime) -> OutboxMessage | None:
    """Store the next message of a channel, in the caller's transaction; None when there is nothing to tell.

    What was answered or solved before anybody was told of it is left out.
    """
    waiting = Notice.objects.waiting(channel)
    waiting.exclude(escalation__in=Escalation.objects.answerable()).delete()
    # The long texts stay where they are: of a thousand escalations none is shown, of a single one it is read then.
    notices = list(waiting.select_related("escalation__call__agent").defer("escalation__text")[:MOST])
    if not notices:
        return None
    escalations = [notice.escalation for notice in notices]
    # Only what is shown is looked up
    calls = [escalation.call for escalation in escalations]
    counts = Counter(_likeness(call) for call in calls)
    # The last one written stays: reversed, that is the oldest of its kind.
    firsts = {_likeness(call): call for call in reversed(calls)}
    shown = {likeness: firsts[likeness] for likeness, _ in counts.most_common(MAX_GROUPS)}
    judged = {attempt.call_id: attempt for attempt in Attempt.objects.newest_judged(shown.values())}
    written = announce(
        [_group(call, judged.get(call.pk), counts[likeness]) for likeness, call in shown.items()],
        total=len(escalations),
        since=min(escalation.opened_at for escalation in escalations),
        excerpt=sanitizer().redact_text(escalations[0].text) if len(escalations) == 1 else "",
        desk=_address("dashboard:inbox"),
        style=STYLES[channel],
    )
    message = OutboxMessage.objects.create(channel=channel, subject=written.subject, text=written.text, created_at=now)
    Notice.objects.filter(pk__in=[notice.pk for notice in notices]).update(message=message)
    return message


def _likeness(call: Call) -> tuple[int, str, str]:
    return call.agent_id, call.tool_name, call.fingerprint


def _group(call: Call, judged: Attempt | None, count: int) -> AlikeCalls:
    worst = next(iter(in_order(judged.errors)), None) if judged else None
    return AlikeCalls(
        tool=sanitizer().preview_text(call.tool_name, MAX_NAME),
        agent=sanitizer().preview_text(call.agent.name, MAX_NAME),
        attempts=call.attempts_made,
        address=_address("dashboard:call", call.public_id) or f"Call {call.public_id}",
        until=call.expires_at,
        pointer=sanitizer().redact_pointer(worst.field_path) if worst else None,
        code=worst.error_code.value if worst else "",
        count=count,
    )


def _address(page: str, *arguments: str) -> str:
    """Give the full address of a page of the desk; empty when nobody said where people reach it."""
    public_url: str = settings.RETRYCONTRACT.public_url
    return f"{public_url}{reverse(page, args=arguments)}" if public_url else ""


def channels() -> list[Channel]:
    """List the channels by which people want to be told."""
    service = settings.RETRYCONTRACT
    wanted = {Channel.WEBHOOK: service.notify_webhook_url, Channel.EMAIL: service.notify_email}
    return [channel for channel, target in wanted.items() if target]


def announce_escalation(escalation: Escalation, *, now: datetime) -> None:
    """Note for every channel that people are to be told; nothing is sent here."""
    Notice.objects.bulk_create(
        [Notice(escalation=escalation, channel=channel, created_at=now) for channel in channels()]
    )
