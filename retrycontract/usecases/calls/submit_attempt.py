"""Take an attempt in: judge it at the door when the work is bounded, else queue it sealed for a worker."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import datetime
from time import thread_time
from typing import Any

from django.conf import settings

from retrycontract.config.logs import follow
from retrycontract.config.telemetry import span, told, traceparent_of
from retrycontract.contract.checks.sensitive_places import marks_of
from retrycontract.contract.lifecycle import Budget, CallState, move_unasked
from retrycontract.contract.outputs import Kind
from retrycontract.contract.schemas.document import InvalidSchema
from retrycontract.store.models import Agent, Attempt, AttemptState, Door, Event, LostRaceError, Tool, ToolVersion
from retrycontract.store.models.attempts import MAX_API_ERROR, NO_LEASE
from retrycontract.store.sealing import UnreadableError, seal, write_output
from retrycontract.store.statements import insert
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.answers.deliver_answer import unread_answer
from retrycontract.usecases.calls.check_output import Checked, Submitted, check_here, estimated_seconds, is_quick
from retrycontract.usecases.calls.continue_call import (
    Intake,
    NewAttempt,
    OtherKindError,
    find_call,
    has_waiting,
    names_current,
    safe_context,
    version_for,
)
from retrycontract.usecases.calls.record_verdict import (
    StoredOutput,
    apply_verdict,
    fill_in,
    log_verdict,
    open_escalation,
)
from retrycontract.usecases.calls.repeat_request import (
    made_before,
    remember_attempt,
    safe_identifier,
    safe_tool_name,
)
from retrycontract.usecases.calls.tell_step import call_attributes
from retrycontract.usecases.counts.keep_count import count_unasked, note_work, reserved_work
from retrycontract.usecases.notify.doorbell import ring_after_commit
from retrycontract.usecases.tools.contracts import PinnedContract, pinned, sanitizer

RESERVED = 2  # times the estimate, as machines differ; what a check does not take is given back
MAX_RACES = 50  # tries before a submission gives up on a call that keeps changing


def submit_attempt(agent: Agent, new: NewAttempt, *, now: datetime, is_bounded: bool = False) -> Attempt:
    """Take one attempt in and return it, judged or queued.

    Raises CallNotFoundError, CallEndedError, CallOfOtherToolError, OtherKindError, UnknownVersionError,
    AmbiguousCallError, IdempotencyConflictError; if `is_bounded` WorkUsedUpError, too, for an output that takes long.
    """
    begun = thread_time()
    # First of all: identifiers are stored and compared in their safe form only, so one that was not changed here would
    # match no call of its own.
    new = replace(
        new,
        tool=safe_tool_name(new.tool),
        tool_call_id=safe_identifier(new.tool_call_id),
        session_id=safe_identifier(new.session_id),
        task_id=safe_identifier(new.task_id),
        correlation_id=safe_identifier(new.correlation_id),
        context=safe_context(new.context),  # outside of any transaction: it takes its time
        generation=replace(
            new.generation.kept_by(sanitizer()),
            model=safe_identifier(new.generation.model),
            finish_reason=safe_identifier(new.finish_reason),
        ),
    )
    note_work(agent.pk, thread_time() - begun, now=now)
    is_named = new.call_id is not None
    with span("submit", {"gen_ai.agent.name": agent.name}, parent=new.traceparent, kind="SERVER") as step:
        # The verdict and the person's answer, which come later and from elsewhere, belong to the same trace.
        new = replace(new, traceparent=traceparent_of(step) or new.traceparent)
        for race in range(MAX_RACES):
            try:
                attempt = _submit(agent, new, now, looks_first=is_named or race > 0, is_bounded=is_bounded)
            except LostRaceError:
                continue
            if step is not None:
                step.update_name(f"submit {attempt.call.tool_name}")
                step.set_attributes(told(call_attributes(attempt.call, attempt)))
            return attempt
        raise LostRaceError("the call kept changing while this attempt came in; send it again")


def _submit(agent: Agent, new: NewAttempt, now: datetime, *, looks_first: bool, is_bounded: bool) -> Attempt:
    """Judge at the door or queue.

    Which call an attempt continues is settled within the transaction, and most begin one: the look beforehand is left
    out until one has found a call there that is to be judged in another way.
    """
    # A look without a lock. Of two requests that come at once the unique key of the stored one decides
    # (`remember_attempt`).
    if made := made_before(agent, new.key):
        return made
    tool = Tool.named(agent.namespace, new.tool)
    if tool is None:
        new = replace(new, tool=sanitizer().redact_name(new.tool))  # what nobody registered may be anything
    older = None
    if tool is not None and tool.kind != new.kind:
        # Only what goes on with a call of the tool that began before may be of another kind than the tool is today.
        older = find_call(agent, new)
        if older is None or older.is_of_unknown_tool:
            raise OtherKindError(tool)
    if new.api_error is not None:
        call = older or find_call(agent, new)
        return _record_unasked(Intake(agent, new, tool, version_for(tool, new, call), call, now))
    # Another version than the current one is asked for in vain where the call is pinned to its own.
    is_other = new.version is not None and not names_current(tool, new)
    call = find_call(agent, new) if older is None and (looks_first or is_other) else older
    version = version_for(tool, new, call)
    intake = Intake(agent, new, tool, version, call, now)
    # Once: of megabytes this takes longer than all else that is done at the door.
    written = write_output(new.output)
    try:
        contract = pinned(tool, version, new.kind) if tool and version else None
        submitted = Submitted(
            output=new.output, tool_name=new.tool, finish_reason=new.finish_reason, callback_error=new.callback_error,
            known_tools=() if contract else tuple(Tool.objects.names(agent.namespace)), said=new.generation.said,
        )  # fmt: skip
        intake = replace(intake, new=_with_safe_words(new, contract))
        may_be_quick = new.kind is not Kind.SOURCE_FILE and _may_be_judged_here(new.output, written, version)
        is_dear = not (may_be_quick and is_quick(submitted, contract))
    except (UnreadableError, InvalidSchema):  # the worker tells it, once for each time that it is sent
        return _queue(intake, written, is_dear=False, said=new.generation.said)
    if is_dear:
        # Before it is judged, so that of many at once only those are taken in that the account has room for.
        most = float(settings.RETRYCONTRACT.check_seconds)
        seconds = min(RESERVED * estimated_seconds(submitted, contract), most)
        with reserved_work(agent.pk, seconds, now=now, is_bounded=is_bounded):
            return _queue(intake, written, is_dear=True, reserved=seconds, said=new.generation.said)
    if settings.RETRYCONTRACT.judge == "worker" or has_waiting(call):
        return _queue(intake, written, is_dear=False, said=new.generation.said)
    # Before the transaction: on SQLite every writer would wait until the check is done.
    try:
        checked = check_here(submitted, contract)
    except InvalidSchema:  # an earlier release took it: compiling it, which comes only now, tells
        return _queue(intake, written, is_dear=False, said=new.generation.said)
    note_work(agent.pk, checked.cpu_seconds, now=now)
    return _record(intake, checked)


def _with_safe_words(new: NewAttempt, contract: PinnedContract | None) -> NewAttempt:
    """Take out of what the model said what the schema marks; it may be the output, in the wrong place."""
    said = new.generation.said
    if not said or contract is None or not contract.index.marks_anything:
        return new
    safe = sanitizer().for_schema(marks_of(contract.index)).redact_output(said, is_talk=True)
    return replace(new, generation=replace(new.generation, said=safe))


def _record(intake: Intake, checked: Checked) -> Attempt:
    """Store attempt, verdict, state, escalation and events in one transaction; the raw text never touches the disk."""
    new, now = intake.new, intake.now
    stored = StoredOutput.of(checked.examined, new.output)
    with write_transaction():
        call = intake.take_call(may_wait=False)
        attempt = Attempt(
            call=call,
            number=call.attempts_made + 1,
            tool_call_id=new.tool_call_id,
            turn=new.turn,
            traceparent=new.traceparent,
            submitted_at=now,
            **asdict(new.generation),
        )
        taken_over, changes = intake.taken_over(call), intake.identify(call)
        verdict = fill_in(attempt, stored, new.output, now=now, duration_us=checked.duration_us, options=new.feedback)
        # The move comes first: it inserts the row of a new call, to which the attempt refers.
        apply_verdict(
            attempt, verdict, now=now, door=Door.API, told=taken_over, attempts_made=attempt.number, **changes
        )
        attempt.call = call
        insert(attempt)
        remember_attempt(intake.agent, new.key, attempt, now=now)
        if verdict.opens_escalation:
            open_escalation(call, now=now, door=Door.API)
        ring_after_commit(call=call)
    log_verdict(attempt)
    return attempt


def _record_unasked(intake: Intake) -> Attempt:
    """Store a try for which the model could not be asked: there is nothing to judge, and nothing to be read."""
    new, now = intake.new, intake.now
    with write_transaction():
        call = intake.take_call(may_wait=True)
        source, number = CallState(call.state), call.attempts_made + 1
        budget = Budget(number, call.attempts_allowed)
        unread = unread_answer(call, now) if budget.is_used_up else None
        move = move_unasked(source, budget, gives_up=new.gives_up, is_unread=unread is not None)
        changes, renewed = dict[str, int](), dict[str, int]()
        if move.renews_grant and unread is not None:
            budget = budget.granted(unread.granted)
            changes, renewed = {"attempts_allowed": budget.allowed}, {"granted": unread.granted}
        attempt = Attempt(
            call=call, number=number, state=AttemptState.UNASKED, status=move.status, tool_call_id=new.tool_call_id,
            turn=new.turn, traceparent=new.traceparent, submitted_at=now,
            api_error=sanitizer().redact_ends(new.api_error or "", MAX_API_ERROR),
        )  # fmt: skip
        attempt.shown_attempt, attempt.shown_max = budget.shown
        # What waits to be judged decides where the call goes on.
        target = source if call.pk is not None and has_waiting(call) and not move.state.has_ended else move.state
        if target.has_ended and call.pk is not None:
            call.attempts.discard()
        taken_over = intake.taken_over(call)
        call.move(target, now, attempts_made=number, **changes, **intake.identify(call))
        attempt.call = call
        insert(attempt)
        remember_attempt(intake.agent, new.key, attempt, now=now)
        event = Event.record(
            "attempt.unasked",
            call=call,
            actor=intake.agent.name,
            door=Door.API,
            at=now,
            from_state=source,
            attempt=number,
            **renewed,
            **taken_over,
        )
        count_unasked(attempt, source=source, now=event.at)
        ring_after_commit(call=call)
    return attempt


def _queue(intake: Intake, written: bytes, *, is_dear: bool, said: str | None, reserved: float = 0) -> Attempt:
    new, now = intake.new, intake.now
    rejected = new.callback_error
    sealed = seal(
        {
            "tool": new.tool,
            "is_known": intake.version is not None,
            "finish_reason": new.finish_reason,
            "callback_error": rejected
            if rejected is None or isinstance(rejected, str)
            else [error.to_json() for error in rejected],
            "said": said,
            "feedback": asdict(new.feedback),
            "request_id": new.request_id,
            "reserved": reserved,
        },
        beside=written,
    )
    with write_transaction():
        call = intake.take_call(may_wait=True)
        source = CallState(call.state)
        waits = source in (CallState.PENDING, CallState.RETRYING)
        target = CallState.PENDING if waits else source
        taken_over = intake.taken_over(call)
        call.move(target, now, attempts_made=call.attempts_made + 1, **intake.identify(call))
        attempt = Attempt(
            call=call,
            number=call.attempts_made,
            state=AttemptState.QUEUED,
            tool_call_id=new.tool_call_id,
            turn=new.turn,
            traceparent=new.traceparent,
            submitted_at=now,
            sealed=sealed,
            is_dear=is_dear,
            lease_token=NO_LEASE,
            lease_until=now,
            **asdict(new.generation),
        )
        insert(attempt)
        follow(attempt_id=attempt.pk)
        remember_attempt(intake.agent, new.key, attempt, now=now)
        Event.record(
            "attempt.queued", call=call, actor=intake.agent.name, door=Door.API, at=now, from_state=source,
            attempt=attempt.number, **taken_over,
        )  # fmt: skip
        ring_after_commit(attempt_id=attempt.pk, is_dear=is_dear)
    return attempt


def _may_be_judged_here(output: Any, written: bytes, version: ToolVersion | None) -> bool:
    """Tell whether an output is worth a look at what it would cost: not what is large, or has crashed a check."""
    if version is not None and version.quarantined_at is not None:
        return False
    # JSON can write lone surrogates, which UTF-8 refuses: here they are only to be counted.
    size = len(output.encode("utf-8", "surrogatepass")) if isinstance(output, str) else len(written)
    return size <= settings.RETRYCONTRACT.door_max_bytes
