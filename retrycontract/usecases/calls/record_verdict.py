"""Write a verdict down: attempt, state of the call, escalation and events, in the caller's transaction."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from retrycontract.config.installed_formatters import gather_formatters
from retrycontract.contract import events
from retrycontract.contract.feedback.answer import Examined, write_answer
from retrycontract.contract.feedback.escalation import EscalationFormatter, fingerprint_digest
from retrycontract.contract.feedback.feedback_forms import PLAIN, FeedbackForm, FeedbackOptions, ShownSchema
from retrycontract.contract.feedback.guidance import standing_words
from retrycontract.contract.feedback.hints import fold, in_order
from retrycontract.contract.json_types import WrittenList, WrittenOutput, read_written, text_of
from retrycontract.contract.lifecycle import Budget, CallState, Move, Status, judge
from retrycontract.contract.outputs import Kind
from retrycontract.contract.redaction.sanitizer import has_redaction
from retrycontract.contract.tracker import AttemptRecord
from retrycontract.contract.webhooks import WebhookEvent
from retrycontract.store.models import Attempt, AttemptState, Call, Door, Escalation, EscalationState, Event
from retrycontract.store.sealing import keyed_hash
from retrycontract.usecases.answers.deliver_answer import unread_answer
from retrycontract.usecases.answers.reuse_answers import follow_guidance, follow_hints, hint_for
from retrycontract.usecases.calls.tell_step import tell_step
from retrycontract.usecases.counts.keep_count import count_verdict
from retrycontract.usecases.notify.tend_endpoint import tell_endpoints
from retrycontract.usecases.notify.write_message import announce_escalation
from retrycontract.usecases.tools.contracts import configuration_for, expires_after, mode_of, pinned, sanitizer

logger = logging.getLogger("retrycontract")


@dataclass(frozen=True, slots=True)
class StoredOutput:
    """Hold what is stored of an output, which is worked out before the transaction: all writers wait for that."""

    examined: Examined
    is_redacted: bool
    digest: str
    errors_json: WrittenList
    fingerprint: str

    @classmethod
    def of(cls, examined: Examined, output: Any) -> StoredOutput:
        """Look for marks of what was redacted, and sign the output."""
        # Keyed: from a plain hash a short value is found by trying, although the value itself was redacted.
        kept = examined.kept
        if isinstance(kept, WrittenOutput):  # a child process has looked through it
            is_redacted, digest = kept.is_redacted, keyed_hash(kept.comparable)
        else:
            is_redacted, digest = has_redaction(kept), keyed_hash(text_of(read_written(output)))
        # In order, and folded as the feedback will fold them.
        errors = in_order(examined.findings.errors)
        if len(errors) > (shown := settings.CONTRACT.max_errors_shown):
            fold(errors, shown)
        examined = replace(examined, findings=replace(examined.findings, errors=errors))
        written = WrittenList(error.to_json() for error in errors)
        return cls(examined, is_redacted, digest, written, fingerprint_digest(errors))


def fill_in(
    attempt: Attempt,
    stored: StoredOutput,
    output: Any,
    *,
    now: datetime,
    duration_us: int,
    verdict: Move | None = None,
    options: FeedbackOptions = PLAIN,
) -> Move:
    """Put the verdict into an attempt that is not saved yet; returns what it does to the call.

    `verdict` is given when it does not follow from the findings.
    """
    call, findings = attempt.call, stored.examined.findings
    budget = Budget(attempt.number, call.attempts_allowed)
    unread = unread_answer(call, attempt.submitted_at) if budget.is_used_up else None
    verdict = verdict or judge(
        CallState(call.state),
        budget,
        valid=findings.is_valid,
        mode=mode_of(call.tool, call.tool_name),
        hold=call.tool is not None and call.tool.hold,
        is_unread=unread is not None,
    )
    if verdict.renews_grant and unread is not None:
        budget = budget.granted(unread.granted)
    attempt.fingerprint = stored.fingerprint
    hint = hint_for(attempt, verdict, attempt.fingerprint, now=now)
    result = write_answer(
        findings,
        verdict,
        budget,
        tool_name=call.tool_name,
        tool_call_id=attempt.tool_call_id,
        configuration=configuration_for(call.tool_name),
        kind=Kind(call.kind),
        previous=attempt.earlier_failures() if verdict.status is Status.RETRY else (),
        formatters=gather_formatters(),
        words=standing_words(hint.text) if hint else "",
        options=options,
        shown=_shown_schema(call, options),
        output=None if options.form is FeedbackForm.ERRORS else read_written(output),
    )
    attempt.state = AttemptState.JUDGED
    # The raw text is purged with the verdict; a constraint holds that only what waits has one.
    attempt.sealed = None
    attempt.judged_at = now
    attempt.is_valid = findings.is_valid
    attempt.status = verdict.status
    attempt.errors_json = stored.errors_json
    attempt.output, attempt.is_parsed = stored.examined.kept, findings.is_parsed
    attempt.is_redacted, attempt.output_hash = stored.is_redacted, stored.digest
    attempt.feedback = result.content if result else ""
    attempt.shown_attempt, attempt.shown_max = budget.shown
    attempt.standing_hint = hint
    attempt.duration_us = duration_us
    return verdict


def _shown_schema(call: Call, options: FeedbackOptions) -> ShownSchema | None:
    """Give the schema that a feedback shows; most show none."""
    if options.form is FeedbackForm.ERRORS or call.tool is None or call.version is None:
        return None
    contract = pinned(call.tool, call.version, call.kind)
    return ShownSchema(contract.declared.input_schema, contract.index)


def apply_verdict(
    attempt: Attempt, verdict: Move, *, now: datetime, door: Door, told: Mapping[str, str] | None = None, **changes: Any
) -> None:
    """Move the call as the verdict says and write the events; the attempt itself is saved by the caller.

    `told` is what the history has to say beside that.
    """
    call = attempt.call
    source = call.state
    # A valid attempt has none. The call keeps that of its last mistake, by which it is found among those that failed.
    changes["fingerprint"] = attempt.fingerprint or call.fingerprint
    if verdict.opens_escalation:
        changes |= {"blocked_at": now, "expires_at": now + expires_after(call.tool, call.tool_name)}
    elif verdict.closes_escalation:
        changes["expires_at"] = None
    renewed = {}
    if verdict.renews_grant:
        changes["attempts_allowed"] = attempt.shown_max
        renewed = {"granted": attempt.shown_max - attempt.number}
    call.move(verdict.state, now, **changes)
    event = Event.record(
        f"attempt.{attempt.state}",
        call=call,
        actor=call.agent.name,
        door=door,
        at=now,
        from_state=source,
        attempt=attempt.number,
        valid=attempt.is_valid,
        codes=sorted({error["error_code"] for error in attempt.errors_json}),
        **renewed,
        **(told or {}),
    )
    tried = follow_guidance(attempt, source=source)
    follow_hints(attempt)
    count_verdict(attempt, verdict, source=source, now=event.at, tried=tried)
    if source == verdict.state == CallState.BLOCKED and call.tool is not None and call.tool.hold:
        # What the person reads must not say that the agent is stuck when its newest output is valid.
        held = attempt.number if verdict.is_held else None
        # What is stored does not hold this attempt yet.
        history = [*_failures(call), *([attempt] if attempt.is_valid is False else [])]
        Escalation.objects.open().filter(call=call).update(text=_summary(call, history, now=now, held_attempt=held))
    if verdict.closes_escalation and Escalation.objects.close(call, EscalationState.RESOLVED, now):
        Event.record("escalation.resolved", call=call, actor=call.agent.name, door=door, at=now)
        tell_endpoints(WebhookEvent.CALL_RESOLVED, call, now=now)


def open_escalation(call: Call, *, now: datetime, door: Door) -> Escalation:
    """Ask for a person: write the whole history down, once for each time the attempts ran out."""
    history = _failures(call)
    # Counting rounds is safe: the call was moved in this transaction, which holds its row until the end.
    escalation = Escalation.objects.create(
        call=call,
        round=call.escalations.count() + 1,
        opened_at=now,
        text=_summary(call, history, now=now),
    )
    announce_escalation(escalation, now=now)
    is_exhausted = bool(history) and history[-1].number == call.attempts_made  # what is held for a person is not
    details: dict[str, Any] = {
        "round": escalation.round,
        **(events.intervention_fields(Kind(call.kind)) if is_exhausted else {}),
    }
    tell_endpoints(WebhookEvent.CALL_BLOCKED, call, now=now, **details)
    Event.record("escalation.opened", call=call, actor=call.agent.name, door=door, at=now, **details)
    return escalation


def _failures(call: Call) -> list[Attempt]:
    # Without the outputs, which may be large, and of which one is shown: it is read when it is asked for.
    return list(call.attempts.filter(is_valid=False).order_by("number").defer("output", "sealed"))


def _summary(call: Call, history: list[Attempt], *, now: datetime, held_attempt: int | None = None) -> str:
    return EscalationFormatter().format_escalation(
        call.tool_name,
        history[0].tool_call_id if history else call.last_tool_call_id,  # of the original call, which stands beside it
        [AttemptRecord(attempt.number, attempt.errors, attempt.judged_at) for attempt in history],
        call.attempts_made,
        original_call=sanitizer().preview(history[0].output) if history else None,
        now=now,
        held_attempt=held_attempt,
        kind=Kind(call.kind),
        is_parsed=not history or history[-1].is_parsed,
    )


def log_verdict(attempt: Attempt) -> None:
    """Tell of an attempt that was judged: its span, and of a failed one the log events; names and pointers only."""
    call = attempt.call
    if attempt.judged_at is not None:
        tell_step(
            "judge", call, attempt, start=attempt.judged_at - timedelta(microseconds=attempt.duration_us or 0),
            end=attempt.judged_at, error=None if attempt.is_valid else "invalid",
        )  # fmt: skip
    if attempt.is_valid:
        return
    fields = events.failure_fields(
        call.tool_name,
        attempt.errors,
        attempt=attempt.shown_attempt,
        max_attempts=attempt.shown_max,
        correlation_id=call.correlation_id,
        duration_us=attempt.duration_us,
    )
    logger.warning(events.FAILED, extra=fields)
    if attempt.status == Status.RETRY:
        logger.info(events.RETRIED, extra=fields)
    elif attempt.status == Status.BLOCKED and attempt.number == attempt.shown_max:  # not what is tried while Blocked
        logger.warning(events.ESCALATED, extra=fields)
