"""Hand an operator's answer over to its agent, and tell whether it was read: what nobody read uses up no attempts."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from django.db.models import F

from retrycontract.contract.decisions import Decision
from retrycontract.contract.feedback.guidance import Answer, render_guidance
from retrycontract.contract.lifecycle import Budget, CallState, Status
from retrycontract.contract.outputs import Kind
from retrycontract.store.fields import without_long_values
from retrycontract.store.models import Call, Door, Event, Guidance, GuidanceStage, GuidanceVersion
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.calls.tell_step import tell_step

# Of one answer: an agent that was told as often to read it does not know how to, which only people can mend.
MOST_RENEWALS: Final = 3


def was_read(guidance: Guidance, at: datetime) -> bool:
    """Tell whether an agent had its answer by then: it was handed over, or confirmed."""
    return any(time is not None and time <= at for time in (guidance.delivered_at, guidance.acknowledged_at))


def unread_answer(call: Call, submitted_at: datetime) -> Guidance | None:
    """Find the answer that a guided call goes on with and that its agent had not read when it submitted an attempt.

    None, too, for an answer that has begun anew often enough: then the call is Blocked as if it had been read.
    """
    if call.state != CallState.GUIDED:
        return None
    given = without_long_values(Guidance.objects.filter(call=call)).order_by("-pk").first()
    if given is None or was_read(given, submitted_at):
        return None
    # An attempt with which a grant began anew is the only one that reads "Blocked" and has attempts left.
    renewed = call.attempts.filter(status=Status.BLOCKED, shown_attempt__lt=F("shown_max"), pk__gt=given.base_id or 0)
    return given if renewed.count() < MOST_RENEWALS else None


def told_text(guidance: Guidance) -> str:
    """Write what the agent reads, or read: until it has the answer, with the attempts that are left by now.

    What is stored names those of the moment when it was given, and is history.
    """
    base, call = guidance.base, guidance.call
    if guidance.delivered_at is not None:
        read = guidance.versions.filter(stage=GuidanceStage.DELIVERED).values_list("text", flat=True).first()
        return guidance.rendered if read is None else read
    if base is None:
        return guidance.rendered
    # What it sent unread has counted, unless that used the grant up, and with it nothing is left to tell.
    is_going_on = call.state == CallState.GUIDED and call.attempts_made < call.attempts_allowed
    made = call.attempts_made if is_going_on else call.attempts_allowed - guidance.granted
    grant = call.attempts_allowed - made
    answer = Answer(Decision(guidance.decision), guidance.text, guidance.arguments, guidance.patch, grant=grant)
    budget = Budget(made, call.attempts_allowed)
    return render_guidance(
        answer, kind=Kind(call.kind), tool_name=call.tool_name, budget=budget, base_attempt=base.number
    )


def acknowledge_guidance(guidance: Guidance, *, now: datetime) -> bool:
    """Note that the agent took the guidance over; False when it had said so before."""
    with write_transaction():
        guidance.call.hold()
        taken = Guidance.objects.filter(pk=guidance.pk, acknowledged_at=None)
        if not taken.update(acknowledged_at=now):
            return False
        Event.record("guidance.acknowledged", call=guidance.call, actor=guidance.call.agent.name, door=Door.API, at=now)
    return True


def mark_delivered(guidance: Guidance, *, now: datetime) -> None:
    """Note when the agent was first handed the guidance."""
    # Each poll for guidance comes by here, and only the first one needs the lock.
    if guidance.delivered_at is not None:
        return
    with write_transaction():
        guidance.call.hold()
        if Guidance.objects.filter(pk=guidance.pk, delivered_at=None).update(delivered_at=now):
            agent = guidance.call.agent.name
            keep_version(guidance, GuidanceStage.DELIVERED, now, text=told_text(guidance))
            Event.record("guidance.delivered", call=guidance.call, actor=agent, door=Door.API, at=now)
            given, chosen = guidance.given_at, str(guidance.decision)
            tell_step("guidance", guidance.call, guidance.base, start=given, end=now, decision=chosen)


def keep_version(guidance: Guidance, stage: GuidanceStage, now: datetime, *, text: str) -> None:
    """Keep what an answer was at a stage of its way."""
    GuidanceVersion.objects.create(
        guidance=guidance, stage=stage, text=text, arguments=guidance.arguments, patch=guidance.patch, at=now
    )
