"""Give an operator's answer to a Blocked call: checked first, the first answer wins, the agent is woken."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, islice
from typing import Any

from django.contrib.auth.models import User

from retrycontract.contract import pointers
from retrycontract.contract.checks.sensitive_places import sensitive_pointers
from retrycontract.contract.decisions import Decision
from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.contract.feedback.guidance import MAX_TEXT, OUTPUT_WORDS, Answer, render_guidance
from retrycontract.contract.json_types import holders_by_level
from retrycontract.contract.lifecycle import CallState
from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.thoughts import INVISIBLE
from retrycontract.contract.redaction.changes import make_patch
from retrycontract.contract.redaction.foreign import MARK
from retrycontract.contract.redaction.sanitizer import has_redaction
from retrycontract.contract.schemas.document import InvalidSchema
from retrycontract.contract.webhooks import WebhookEvent
from retrycontract.store.fields import without_long_values
from retrycontract.store.models import (
    Attempt,
    Call,
    Door,
    Escalation,
    EscalationState,
    Event,
    Guidance,
    GuidanceStage,
    GuidanceVersion,
    HeldAnswer,
    LostRaceError,
)
from retrycontract.store.sealing import UnreadableError
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.answers.deliver_answer import keep_version
from retrycontract.usecases.answers.reuse_answers import proposed_arguments, remember_answer
from retrycontract.usecases.calls.check_output import DESK, Submitted, check
from retrycontract.usecases.calls.tell_step import tell_step
from retrycontract.usecases.counts.keep_count import count_guidance
from retrycontract.usecases.notify.doorbell import ring_after_commit
from retrycontract.usecases.notify.tend_endpoint import tell_endpoints
from retrycontract.usecases.tools.contracts import PinnedContract, pinned, sanitizer, text_to_show

MAX_PLACES = 5  # that a refusal names
MAX_PLACE = 80  # characters of each
ROOT = "the root"
TRACE = "REDACTED"  # what is left of a mark that somebody typed into
REFUSED_SCHEMA = "The tool's schema is refused by this release. Have the tool registered with another one."
MAX_RACES = 50  # tries before an answer gives up on a call whose agent keeps trying


class AlreadyAnsweredError(RuntimeError):
    """Raised for the second answer; `guidance` is the first, also while it is held, or None when there is none."""

    def __init__(self, escalation: Escalation) -> None:
        self.escalation = escalation
        given = Guidance.objects.select_related("operator").filter(escalation=escalation).first()
        held = HeldAnswer.objects.waiting().select_related("operator").filter(escalation=escalation)
        self.guidance: Guidance | HeldAnswer | None = given or held.first()
        super().__init__(f"the escalation is {escalation.state} already")


class OtherMistakeError(RuntimeError):
    """Raised for an answer to another mistake than the call's newest."""


class RefusedAnswerError(ValueError):
    """Raised for an answer that cannot be sent; `errors` name what is wrong with corrected arguments."""

    def __init__(self, reason: str, errors: tuple[ValidationError, ...] = ()) -> None:
        self.reason, self.errors = reason, errors
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class GuidanceDraft:
    """Hold an answer that was checked, with the exact text that the agent will read."""

    answer: Answer
    base: Attempt
    rendered: str


def draft_guidance(
    call: Call,
    decision: Decision,
    *,
    text: str = "",
    arguments: Any = None,
    grant: int = 0,
    base_number: int | None = None,
) -> GuidanceDraft:
    """Check an answer and write what the agent will read; raises RefusedAnswerError.

    `base_number` is the attempt that the person looked at: what the agent has tried since is not answered unseen.
    """
    # What may be long is read where a correction is made of it.
    judged = without_long_values(call.attempts.filter(is_valid__isnull=False), but=("errors_json",)).order_by("-number")
    base = judged.first() if base_number is None else judged.filter(number=base_number).first()
    if base is None:
        raise RefusedAnswerError("The call has no judged attempt to answer.")
    # Measured after redaction: with its marks the text is what is sent.
    text = _without_secrets(call, text.strip())
    if len(text) > MAX_TEXT:
        raise RefusedAnswerError(f"The text has {len(text)} characters; at most {MAX_TEXT} can be sent.")
    answer = Answer(decision, text, grant=decision.grant(grant))
    if decision.entry.needs_text and not text.strip(f"{INVISIBLE} \t\r\n"):
        raise RefusedAnswerError("Write what the agent should read.")
    if decision.entry.takes_arguments:
        answer = _corrected(call, base, answer, arguments)
    elif decision.entry.keeps_output and (reason := decision.barred(Kind(call.kind), is_parsed=base.is_parsed)):
        raise RefusedAnswerError(f"{reason[0].upper()}{reason[1:]}, so it cannot be accepted as it is.")
    rendered = render_guidance(
        answer, kind=Kind(call.kind), tool_name=call.tool_name, budget=call.budget, base_attempt=base.number
    )
    return GuidanceDraft(answer, base, rendered)


def check_correction(call: Call, arguments: Any) -> tuple[ValidationError, ...]:
    """Check corrected arguments against the schema that the call is pinned to.

    What a redaction mark stands for is not known here: errors that touch one are left to the agent's next attempt.
    """
    contract = _contract(call)
    if contract is None:
        return ()
    submitted = Submitted(output=arguments, tool_name=call.tool_name)
    try:
        findings = check(submitted, contract, key=DESK).examined.findings
    except InvalidSchema:  # an earlier release took it
        raise RefusedAnswerError(REFUSED_SCHEMA) from None
    hidden = set(redacted_places(arguments))
    return tuple(
        error
        for error in findings.errors
        if error.severity is ErrorSeverity.ERROR
        and not any(error.field_path == place or place.startswith(f"{error.field_path}/") for place in hidden)
    )


def give_guidance(
    escalation: Escalation,
    operator: User,
    decision: Decision,
    *,
    now: datetime,
    text: str = "",
    arguments: Any = None,
    grant: int = 0,
    base_number: int | None = None,
    mistake: str | None = None,
    held: HeldAnswer | None = None,
) -> Guidance:
    """Store the answer, move the call and wake the agent; raises RefusedAnswerError and AlreadyAnsweredError.

    An answer that names the fingerprint of a `mistake` raises OtherMistakeError when the call has made another one.
    `held` is the answer itself while it waited at the desk: it is gone with the transaction that gives it.
    """
    for _ in range(MAX_RACES):
        call = Call.objects.select_related("agent", "tool", "version").get(pk=escalation.call_id)
        if mistake not in (None, call.fingerprint):
            raise OtherMistakeError(f"{call} has made another mistake meanwhile")
        draft = draft_guidance(call, decision, text=text, arguments=arguments, grant=grant, base_number=base_number)
        try:
            return _give(escalation, call, draft, operator, now=now, held=held)
        except LostRaceError:
            continue  # its agent tried again meanwhile: the text names the attempts, so it is written anew
    raise LostRaceError("the call kept changing while it was answered; send the answer again")


def _give(
    escalation: Escalation,
    call: Call,
    draft: GuidanceDraft,
    operator: User,
    *,
    now: datetime,
    held: HeldAnswer | None,
) -> Guidance:
    answer, decision, source = draft.answer, draft.answer.decision, call.state
    with write_transaction():
        locked = Call.objects.select_for_update().get(pk=call.pk)
        waiting = HeldAnswer.objects.filter(escalation=escalation)
        # Somebody's answer waits at the desk; or this one did, and was taken back at this moment.
        if waiting.exists() if held is None else not waiting.filter(pk=held.pk).delete()[0]:
            raise AlreadyAnsweredError(escalation)
        mine = Escalation.objects.answerable().filter(pk=escalation.pk)
        if not mine.update(state=EscalationState.ANSWERED, closed_at=now):
            escalation.refresh_from_db()
            raise AlreadyAnsweredError(escalation)
        if (locked.state, locked.budget) != (call.state, call.budget):
            raise LostRaceError(f"{call} has changed")
        # Counted from the attempts made, not from those allowed: what was tried while Blocked must not use up what is
        # granted.
        allowed = call.attempts_made + answer.grant
        call.move(decision.leads_to, now, attempts_allowed=allowed, expires_at=None, was_answered=True)
        if call.has_ended:
            call.attempts.discard()
        guidance = Guidance.objects.create(
            escalation=escalation,
            call=call,
            operator=operator,
            decision=decision,
            text=answer.text,
            arguments=answer.arguments,
            patch=answer.patch,
            base=draft.base,
            granted=answer.grant,
            rendered=draft.rendered,
            given_at=now,
            record=remember_answer(call, draft.base, answer, now=now),
        )
        # What the service proposed, where it did, is kept apart from what the operator made of it.
        if (proposed := proposed_arguments(draft.base)) is not None:
            GuidanceVersion.objects.create(guidance=guidance, stage=GuidanceStage.PROPOSED, arguments=proposed, at=now)
        keep_version(guidance, GuidanceStage.EDITED, now, text=guidance.text)
        event = Event.record(
            "guidance.given", call=call, actor=operator.get_username(), door=Door.DASHBOARD, at=now, from_state=source,
            decision=decision.value, granted=answer.grant, late=source == CallState.EXPIRED,
        )  # fmt: skip
        count_guidance(call, guidance, source=source, now=event.at)
        tell_endpoints(WebhookEvent.GUIDANCE_GIVEN, call, now=event.at, decision=decision.value, granted=answer.grant)
        ring_after_commit(call=call)
    opened, chosen = escalation.opened_at, decision.value
    tell_step("wait_for_person", call, draft.base, start=opened, end=now, decision=chosen)
    return guidance


def _corrected(call: Call, base: Attempt, answer: Answer, arguments: Any) -> Answer:
    errors = check_correction(call, arguments)
    if errors:
        kind = Kind(call.kind)
        what = "arguments do" if kind is Kind.TOOL_CALL else f"{OUTPUT_WORDS[kind]['noun']} does"
        raise RefusedAnswerError(f"The corrected {what} not match the tool's schema.", errors)
    if base.is_parsed and has_redaction(base.output):
        # A mark that somebody typed into is a mark no longer: sent as it stands, it would take the place of the agent's
        # own secret.
        broken = [
            str(operation["path"]) or ROOT
            for operation in make_patch(base.output, arguments)
            if isinstance(left := operation.get("value"), str) and TRACE in left.upper() and not has_redaction(left)
        ]
        if broken:
            raise _refused_marks(broken)
    if not has_redaction(arguments):
        chosen = replace(answer, arguments=arguments)
    elif call.kind == Kind.SOURCE_FILE:
        raise RefusedAnswerError("A source file is sent whole, so redacted values cannot be kept: write them out.")
    elif not base.is_parsed:
        raise RefusedAnswerError("The output never parsed, so redacted values cannot be kept: write them out.")
    else:  # as a patch of the agent's own arguments, which hold what is redacted here
        patch = make_patch(base.output, arguments)
        if edited := [str(operation["path"]) or ROOT for operation in patch if has_redaction(operation)]:
            raise _refused_marks(edited)
        chosen = replace(answer, patch=patch)
    contract = _contract(call)
    marked = sensitive_pointers(contract.index, arguments) if contract else ()
    # One more than is named, which then stands for the rest.
    places = list(islice(_differences(arguments, sanitizer().redact(arguments, marked=marked)), MAX_PLACES + 1))
    if secret := _named(places):
        raise RefusedAnswerError(
            f"A secret stands at {secret}. What you send is kept in the history, so it must hold none: leave "
            "'[REDACTED: …]' where it stood, take the value out, or tell the agent in words where to find it."
        )
    return chosen


def _refused_marks(places: list[str]) -> RefusedAnswerError:
    return RefusedAnswerError(
        f"A redacted value was moved or edited, or something under a redacted name, at {_named(places)}. "
        "Leave '[REDACTED: …]' where it stands, or replace the whole value by one that is no secret."
    )


def _without_secrets(call: Call, text: str) -> str:
    """Redact what a person says, and with it what the call's schema allows in its secret fields."""
    if call.tool and call.version and call.version.sealed is not None:
        # Without the key nobody knows what is sealed, and a hint can be sent all the same.
        with suppress(InvalidSchema, UnreadableError):
            return text_to_show(text, pinned(call.tool, call.version, call.kind).index)
    return sanitizer().redact_text(text)


def _contract(call: Call) -> PinnedContract | None:
    try:
        return pinned(call.tool, call.version, call.kind) if call.tool and call.version else None
    except InvalidSchema:
        raise RefusedAnswerError(REFUSED_SCHEMA) from None
    except UnreadableError:
        raise RefusedAnswerError(
            "The tool's schema is sealed with a key that the service no longer has. Have the tool registered again."
        ) from None


def _named(places: list[str]) -> str:
    named = [sanitizer().preview_text(sanitizer().redact_pointer(place), MAX_PLACE) for place in places[:MAX_PLACES]]
    return ", ".join([*named, "…"][: len(places)])


def _differences(value: Any, redacted: Any, pointer: str = "") -> Iterator[str]:
    if isinstance(value, dict) and isinstance(redacted, dict):
        for key, member in value.items():
            place = pointers.join(pointer, key)
            # A name that is not there any more was redacted itself.
            yield from _differences(member, redacted[key], place) if key in redacted else (place,)
    elif isinstance(value, list) and isinstance(redacted, list):
        for index, (item, other) in enumerate(zip(value, redacted, strict=True)):
            yield from _differences(item, other, pointers.join(pointer, index))
    elif value != redacted:
        yield pointer or ROOT


def redacted_places(value: Any) -> Iterator[str]:
    """Yield the places of the values that hold a redaction mark."""
    below = (each.values() if isinstance(each, dict) else each for each in chain(*holders_by_level([value])))
    if not any(isinstance(each, str) and MARK in each for members in below for each in members):
        return  # which is told sooner than where they are
    pending: list[tuple[Any, pointers.Steps]] = [(value, None)]
    while pending:
        item, place = pending.pop()
        if isinstance(item, dict):
            pending.extend((member, (place, key)) for key, member in reversed(item.items()))
        elif isinstance(item, list):
            pending.extend((item[index], (place, index)) for index in reversed(range(len(item))))
        elif isinstance(item, str) and has_redaction(item):
            yield pointers.from_steps(place)
