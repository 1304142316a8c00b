"""Take an attempt in: judge it at the door when the work is bounded, else queue it sealed for a worker."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any

from django.conf import settings

from retrycontract.config.logs import follow
from retrycontract.config.telemetry import span, told, traceparent_of
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.feedback.feedback_forms import PLAIN, FeedbackOptions
from retrycontract.contract.generation import UNTOLD, Generation
from retrycontract.contract.kinds import Kind
from retrycontract.contract.lifecycle import Budget, CallState, move_unasked
from retrycontract.contract.matching import Submission, match
from retrycontract.contract.redaction.sanitizer import elide_middle
from retrycontract.contract.schemas.document import InvalidSchema
from retrycontract.store.models import Agent, Attempt, AttemptState, Call, Door, Event, LostRaceError, Tool, ToolVersion
from retrycontract.store.models.attempts import MAX_API_ERROR
from retrycontract.store.models.open_calls import candidates
from retrycontract.store.sealing import UnreadableError, seal
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.calls.check_output import Checked, Submitted, check_here, estimated_seconds, is_quick
from retrycontract.usecases.calls.record_verdict import (
    apply_verdict,
    call_attributes,
    fill_in,
    log_verdict,
    open_escalation,
    text_of,
)
from retrycontract.usecases.calls.repeat_request import (
    RequestKey,
    made_before,
    remember_attempt,
    safe_identifier,
    safe_tool_name,
)
from retrycontract.usecases.counts.keep_count import charge, count_unasked, note_work
from retrycontract.usecases.notify.doorbell import ring_after_commit
from retrycontract.usecases.tools.contracts import attempts_allowed, pinned, sanitizer

MAX_RACES = 50  # tries before a submission gives up on a call that keeps changing
MAX_CONTEXT = 20  # members of a context that are kept; an operator has ten seconds for all of them
MAX_CONTEXT_VALUE = 2_000  # characters kept of each


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAttempt:
    """Hold a submission as it came in; `output` is the raw text, or the parsed arguments.

    A submission with a `key` is made once, however often it is sent.
    """

    tool: str
    tool_call_id: str
    output: Any
    kind: Kind = Kind.TOOL_CALL
    call_id: str | None = None
    session_id: str | None = None
    turn: int | None = None
    task_id: str | None = None
    correlation_id: str | None = None
    finish_reason: str | None = None
    callback_error: str | tuple[ValidationError, ...] | None = None
    api_error: str | None = None  # why the model could not be asked: then there is no output
    gives_up: bool = False
    feedback: FeedbackOptions = PLAIN
    version: str | None = None
    context: dict[str, Any] | None = None
    max_attempts: int | None = None  # of the call that this attempt begins
    generation: Generation = UNTOLD
    traceparent: str | None = None
    request_id: str | None = None
    key: RequestKey | None = None


class CallNotFoundError(LookupError):
    """Raised for a `call_id` that this agent does not have."""


class CallEndedError(RuntimeError):
    """Raised for an attempt at a call that has ended."""

    def __init__(self, call: Call) -> None:
        self.call = call
        super().__init__(f"the call has ended: it is {call.state}")


class CallOfOtherToolError(ValueError):
    """Raised when an attempt names a call of another tool."""

    def __init__(self, call: Call) -> None:
        self.call = call
        super().__init__("the call belongs to another tool; leave call_id out to begin a new one")


class OtherKindError(ValueError):
    """Raised when an attempt names another kind of output than its tool was registered for."""

    def __init__(self, tool: Tool) -> None:
        self.kind = Kind(tool.kind)
        super().__init__(f"the tool is registered for another kind of output; send kind: {self.kind}")


class UnknownVersionError(LookupError):
    """Raised for a version hash that the tool does not have."""


def submit_attempt(agent: Agent, new: NewAttempt, *, now: datetime) -> Attempt:
    """Take one attempt in and return it, judged or queued.

    Raises CallNotFoundError, CallEndedError, CallOfOtherToolError, OtherKindError, UnknownVersionError,
    AmbiguousCallError and IdempotencyConflictError.
    """
    # First of all: identifiers are stored and compared in their safe form only, so one that was not changed here would
    # match no call of its own.
    without_secrets = replace(
        new,
        tool=safe_tool_name(new.tool),
        tool_call_id=safe_identifier(new.tool_call_id),
        session_id=safe_identifier(new.session_id),
        task_id=safe_identifier(new.task_id),
        correlation_id=safe_identifier(new.correlation_id),
        generation=replace(
            new.generation.kept_by(sanitizer()),
            model=safe_identifier(new.generation.model),
            finish_reason=safe_identifier(new.finish_reason),
        ),
    )
    new = without_secrets
    is_named = new.call_id is not None or new.version is not None  # a version is asked for in vain if one is pinned
    with span("submit", {"gen_ai.agent.name": agent.name}, parent=new.traceparent, kind="SERVER") as step:
        # The verdict and the person's answer, which come later and from elsewhere, belong to the same trace.
        new = replace(new, traceparent=traceparent_of(step) or new.traceparent)
        for race in range(MAX_RACES):
            try:
                attempt = _submit(agent, new, now, looks_first=is_named or race > 0)
            except LostRaceError:
                continue
            if step is not None:
                step.update_name(f"submit {attempt.call.tool_name}")
                step.set_attributes(told(call_attributes(attempt.call, attempt)))
            return attempt
        raise LostRaceError("the call kept changing while this attempt came in; send it again")


def _submit(agent: Agent, new: NewAttempt, now: datetime, *, looks_first: bool) -> Attempt:
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
    elif tool.kind != new.kind:
        raise OtherKindError(tool)
    if new.api_error is not None:
        return _record_unasked(agent, new, tool, now)
    call = _find(agent, new) if looks_first else None
    version = _version(tool, new, call)
    try:
        contract = pinned(tool, version) if tool and version else None
        submitted = Submitted(
            output=new.output, tool_name=new.tool, finish_reason=new.finish_reason, callback_error=new.callback_error,
            known_tools=() if contract else tuple(Tool.objects.names(agent.namespace)), said=new.generation.said,
        )  # fmt: skip
        may_be_quick = new.kind is not Kind.SOURCE_FILE and _may_be_judged_here(new, version)
        is_dear = not (may_be_quick and is_quick(submitted, contract))
    except (UnreadableError, InvalidSchema):  # the worker tells it, once for each time that it is sent
        return _queue(agent, new, tool, version, call, now, is_dear=False)
    reserved = estimated_seconds(submitted, contract) if is_dear else 0.0
    if is_dear:
        # Before it is judged, so that of many at once only those are taken in that the account has room for.
        charge(agent.pk, reserved, now=now)
    if is_dear or settings.RETRYCONTRACT.judge == "worker" or _has_waiting(call):
        return _queue(agent, new, tool, version, call, now, is_dear=is_dear, reserved=reserved)
    # Before the transaction: on SQLite every writer would wait until the check is done.
    try:
        checked = check_here(submitted, contract)
    except InvalidSchema:  # an earlier release took it: compiling it, which comes only now, tells
        return _queue(agent, new, tool, version, call, now, is_dear=False)
    note_work(agent.pk, checked.cpu_seconds, now=now)
    return _record(agent, new, tool, version, call, checked, now=now)


def _record(
    agent: Agent,
    new: NewAttempt,
    tool: Tool | None,
    version: ToolVersion | None,
    call: Call | None,
    checked: Checked,
    *,
    now: datetime,
) -> Attempt:
    """Store attempt, verdict, state, escalation and events in one transaction; the raw text never touches the disk."""
    with write_transaction():
        call = _take(agent, new, version, call, may_wait=False) or _begin(agent, new, tool, version, now)
        follow(call_id=call.public_id, correlation_id=call.correlation_id)
        attempt = Attempt(
            call=call,
            number=call.attempts_made + 1,
            tool_call_id=new.tool_call_id,
            turn=new.turn,
            traceparent=new.traceparent,
            submitted_at=now,
            **asdict(new.generation),
        )
        changes = _identity(new, tool, version, call)
        verdict = fill_in(
            attempt, checked.examined, new.output, now=now, duration_us=checked.duration_us, options=new.feedback
        )
        # The move comes first: it inserts the row of a new call, to which the attempt refers.
        apply_verdict(attempt, verdict, now=now, door=Door.API, attempts_made=attempt.number, **changes)
        attempt.call = call
        attempt.save(force_insert=True)
        remember_attempt(agent, new.key, attempt, now=now)
        if verdict.opens_escalation:
            open_escalation(call, now=now, door=Door.API)
        ring_after_commit(call=call)
    log_verdict(attempt)
    return attempt


def _record_unasked(agent: Agent, new: NewAttempt, tool: Tool | None, now: datetime) -> Attempt:
    """Store a try for which the model could not be asked: there is nothing to judge, and nothing to be read."""
    version = _version(tool, new, _find(agent, new))
    with write_transaction():
        call = _take(agent, new, version, None, may_wait=True) or _begin(agent, new, tool, version, now)
        follow(call_id=call.public_id, correlation_id=call.correlation_id)
        source, number = CallState(call.state), call.attempts_made + 1
        budget = Budget(number, call.attempts_allowed)
        move = move_unasked(source, budget, gives_up=new.gives_up)
        attempt = Attempt(
            call=call, number=number, state=AttemptState.UNASKED, status=move.status, tool_call_id=new.tool_call_id,
            turn=new.turn, traceparent=new.traceparent, submitted_at=now,
            api_error=elide_middle(sanitizer().redact_text(new.api_error or ""), MAX_API_ERROR),
        )  # fmt: skip
        attempt.shown_attempt, attempt.shown_max = budget.shown
        # What waits to be judged decides where the call goes on.
        target = source if call.pk is not None and _has_waiting(call) and not move.state.has_ended else move.state
        if target.has_ended and call.pk is not None:
            call.attempts.discard()
        call.move(target, now, attempts_made=number, **_identity(new, tool, version, call))
        attempt.call = call
        attempt.save(force_insert=True)
        remember_attempt(agent, new.key, attempt, now=now)
        Event.record(
            "attempt.unasked", call=call, actor=agent.name, door=Door.API, at=now, from_state=source, attempt=number
        )
        count_unasked(attempt, source=source, now=now)
        ring_after_commit(call=call)
    return attempt


def _queue(
    agent: Agent,
    new: NewAttempt,
    tool: Tool | None,
    version: ToolVersion | None,
    call: Call | None,
    now: datetime,
    *,
    is_dear: bool,
    reserved: float = 0,
) -> Attempt:
    rejected = new.callback_error
    sealed = seal(
        {
            "tool": new.tool,
            "is_known": version is not None,
            "output": new.output,
            "finish_reason": new.finish_reason,
            "callback_error": rejected
            if rejected is None or isinstance(rejected, str)
            else [error.to_json() for error in rejected],
            "said": new.generation.said,
            "feedback": asdict(new.feedback),
            "request_id": new.request_id,
            "reserved": reserved,
        }
    )
    with write_transaction():
        call = _take(agent, new, version, call, may_wait=True) or _begin(agent, new, tool, version, now)
        follow(call_id=call.public_id, correlation_id=call.correlation_id)
        source = CallState(call.state)
        waits = source in (CallState.PENDING, CallState.RETRYING)
        target = CallState.PENDING if waits else source
        call.move(target, now, attempts_made=call.attempts_made + 1, **_identity(new, tool, version, call))
        attempt = Attempt.objects.create(
            call=call,
            number=call.attempts_made,
            state=AttemptState.QUEUED,
            tool_call_id=new.tool_call_id,
            turn=new.turn,
            traceparent=new.traceparent,
            submitted_at=now,
            sealed=sealed,
            is_dear=is_dear,
            **asdict(new.generation),
        )
        follow(attempt_id=attempt.pk)
        remember_attempt(agent, new.key, attempt, now=now)
        Event.record(
            "attempt.queued", call=call, actor=agent.name, door=Door.API, at=now, from_state=source,
            attempt=attempt.number,
        )  # fmt: skip
        ring_after_commit(attempt_id=attempt.pk)
    return attempt


def _find(agent: Agent, new: NewAttempt) -> Call | None:
    if new.call_id is not None:
        calls = Call.objects.of(agent).select_related("agent", "tool", "version")
        call = calls.filter(public_id=new.call_id).first()
        if call is None:
            raise CallNotFoundError
        if call.has_ended:
            raise CallEndedError(call)
        if call.tool_name != new.tool and not call.is_of_unknown_tool:
            raise CallOfOtherToolError(call)
        return call
    submission = Submission(new.tool, new.tool_call_id, new.session_id, new.turn)
    return match(submission, candidates(agent, submission))


def _take(
    agent: Agent, new: NewAttempt, version: ToolVersion | None, call: Call | None, *, may_wait: bool
) -> Call | None:
    """Give the call to continue, or None to begin one; a call that was found before is compared when it moves.

    Raises LostRaceError for a call that asks for another version, or that is judged in order and has to wait.
    """
    if call is not None:
        return call
    if new.call_id is None and new.session_id is None:
        return None  # each such attempt begins a call of its own: there is nothing to look for, and nobody to wait for
    agent.lock()  # of submissions that may begin the same call one after the other looks for it
    found = _find(agent, new)
    # What was prepared outside of the lock, the check and the version, was prepared for another call than this one.
    if found is not None and (found.version_id != (version and version.pk) or (not may_wait and _has_waiting(found))):
        raise LostRaceError("the submission continues a call that is judged in another way")
    return found


def _begin(agent: Agent, new: NewAttempt, tool: Tool | None, version: ToolVersion | None, now: datetime) -> Call:
    return Call(
        agent=agent,
        kind=new.kind,
        tool_name=new.tool,
        tool=tool,
        version=version,
        session_id=new.session_id,
        task_id=new.task_id,
        correlation_id=new.correlation_id,
        last_turn=new.turn,
        last_tool_call_id=new.tool_call_id,
        model=new.generation.model,
        attempts_allowed=new.max_attempts or attempts_allowed(tool, new.tool),
        context=_context(new),
        created_at=now,
        updated_at=now,
    )


def _identity(new: NewAttempt, tool: Tool | None, version: ToolVersion | None, call: Call) -> dict[str, Any]:
    """Put into the call what its newest attempt says of it, and give the changes to be stored.

    A call of an unknown tool takes the tool over that is named next.
    """
    changes: dict[str, Any] = {"last_tool_call_id": new.tool_call_id}
    if new.turn is not None:
        changes["last_turn"] = new.turn
    if new.generation.model is not None:
        changes["model"] = new.generation.model
    if call.version_id is None:
        changes |= {"tool": tool, "version": version, "tool_name": new.tool}
    if new.context and call.context is None:
        changes["context"] = _context(new)
    for name, value in changes.items():
        setattr(call, name, value)
    return changes


def _context(new: NewAttempt) -> dict[str, Any] | None:
    """Redact and bound what the agent says of its task."""
    if not new.context:
        return None
    # Redacted before it is shortened: of a secret that was cut, the rest is no longer recognised.
    redacted: dict[str, Any] = sanitizer().redact(new.context)
    return {
        elide_middle(name, MAX_CONTEXT_VALUE): _bounded(value)
        for name, value in islice(redacted.items(), MAX_CONTEXT)
    }  # fmt: skip


def _bounded(value: Any) -> Any:
    text = text_of(value)
    if len(text) <= MAX_CONTEXT_VALUE:
        return value
    return elide_middle(text, MAX_CONTEXT_VALUE) if isinstance(value, str) else sanitizer().preview(value)


def _version(tool: Tool | None, new: NewAttempt, call: Call | None) -> ToolVersion | None:
    """Give the version to judge by: the one that the call is pinned to, the one named, or the current one."""
    if call is not None and call.version is not None:
        return call.version
    if tool is None:
        return None
    if new.version is not None:
        found = tool.versions.filter(schema_hash=new.version).first()
        if found is None:
            raise UnknownVersionError
        return found
    return tool.current_version


def _may_be_judged_here(new: NewAttempt, version: ToolVersion | None) -> bool:
    """Tell whether an output is worth a look at what it would cost: not what is large, or has crashed a check."""
    if version is not None and version.quarantined_at is not None:
        return False
    # JSON can write lone surrogates, which UTF-8 refuses: here they are only to be counted.
    return len(text_of(new.output).encode("utf-8", "surrogatepass")) <= settings.RETRYCONTRACT.door_max_bytes


def _has_waiting(call: Call | None) -> bool:
    """Tell whether an earlier attempt of the call still waits: attempts of one call are judged in order."""
    if call is None or call.state == CallState.RETRYING:  # it is pending while one waits
        return False
    return call.attempts.waiting().exists()
