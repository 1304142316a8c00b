"""Which call an attempt belongs to: the one that it continues, else a new one; and what it changes of that call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any

from retrycontract.config.logs import follow
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.feedback.feedback_forms import PLAIN, FeedbackOptions
from retrycontract.contract.json_types import read_written, text_of
from retrycontract.contract.lifecycle import CallState
from retrycontract.contract.matching import Submission, match
from retrycontract.contract.outputs import UNTOLD, Generation, Kind
from retrycontract.contract.redaction.sanitizer import elide_middle
from retrycontract.store.models import Agent, Call, LostRaceError, Tool, ToolVersion
from retrycontract.store.models.calls import candidates
from retrycontract.store.sealing import keyed_hash
from retrycontract.usecases.calls.repeat_request import RequestKey
from retrycontract.usecases.tools.contracts import attempts_allowed, sanitizer

MAX_CONTEXT = 20  # members of a context that are kept; an operator has ten seconds for all of them
MAX_CONTEXT_VALUE = 2_000  # characters kept of each
LONGEST_CONTEXT_VALUE = 10_000  # characters of JSON that are read as what they are; of more the ends are


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
    """Raised when an attempt names another kind of output than its call began with, or its tool is registered for."""

    def __init__(self, owner: Tool | Call) -> None:
        self.kind = Kind(owner.kind)
        whose = "the call began as" if isinstance(owner, Call) else "the tool is registered for"
        super().__init__(f"{whose} another kind of output; send kind: {self.kind}")


class UnknownVersionError(LookupError):
    """Raised for a version hash that the tool does not have."""


@dataclass(frozen=True, slots=True)
class Intake:
    """Hold what an attempt is taken in with: whose it is, the tool and its version, and the call found beforehand."""

    agent: Agent
    new: NewAttempt
    tool: Tool | None
    version: ToolVersion | None
    call: Call | None
    now: datetime

    def take_call(self, *, may_wait: bool) -> Call:
        """Give the call to continue, or a new one that is not stored; what was found before is compared when it moves.

        Raises LostRaceError for a call that asks for another version, or that is judged in order and has to wait.
        """
        new, version, call = self.new, self.version, self.call
        # Else such an attempt begins a call: there is nothing to look for, and nobody to wait for.
        if not call and (new.call_id is not None or new.session_id is not None):
            self.agent.lock()  # of submissions that may begin the same call one after the other looks for it
            call = find_call(self.agent, new)
            # What was prepared outside of the lock, the check and the version, was prepared for another call than this.
            if call and (call.version_id != (version and version.pk) or (not may_wait and has_waiting(call))):
                raise LostRaceError("the submission continues a call that is judged in another way")
        call = call or Call(
            agent=self.agent,
            kind=new.kind,
            tool_name=new.tool,
            tool=self.tool,
            version=self.version,
            session_id=new.session_id,
            task_id=new.task_id,
            correlation_id=new.correlation_id,
            last_turn=new.turn,
            last_tool_call_id=new.tool_call_id,
            model=new.generation.model,
            attempts_allowed=new.max_attempts or attempts_allowed(self.tool, new.tool),
            context=new.context,
            created_at=self.now,
            updated_at=self.now,
        )
        follow(call_id=call.public_id, correlation_id=call.correlation_id)
        return call

    def taken_over(self, call: Call) -> dict[str, str]:
        """Name the tool for the history if the call, of an unknown one so far, is about to take it over."""
        is_found = call.pk is not None and call.version_id is None and self.version is not None
        return {"tool": self.new.tool} if is_found else {}

    def identify(self, call: Call) -> dict[str, Any]:
        """Put into the call what its newest attempt says of it, and give the changes to be stored.

        A call of an unknown tool takes the tool over that is named next.
        """
        new = self.new
        changes: dict[str, Any] = {"last_tool_call_id": new.tool_call_id}
        if new.turn is not None:
            changes["last_turn"] = new.turn
        if new.generation.model is not None:
            changes["model"] = new.generation.model
        if call.version_id is None:
            changes |= {"tool": self.tool, "version": self.version, "tool_name": new.tool, "kind": new.kind}
        if new.context and call.context is None:
            changes["context"] = new.context
        for name, value in changes.items():
            setattr(call, name, value)
        return changes


def find_call(agent: Agent, new: NewAttempt) -> Call | None:
    """Look for the call that an attempt continues; None begins one.

    Raises CallNotFoundError, CallEndedError, CallOfOtherToolError, OtherKindError and AmbiguousCallError.
    """
    if new.call_id is not None:
        calls = Call.objects.of(agent).select_related("agent", "tool", "version")
        call = calls.filter(public_id=new.call_id).first()
        if call is None:
            raise CallNotFoundError
        if call.has_ended:
            raise CallEndedError(call)
        if call.tool_name != new.tool and not call.is_of_unknown_tool:
            raise CallOfOtherToolError(call)
        if call.kind != new.kind and not call.is_of_unknown_tool:
            raise OtherKindError(call)
        return call
    submission = Submission(new.tool, new.tool_call_id, new.session_id, new.turn)
    # A call keeps the kind that it began with, whatever its tool is registered for meanwhile.
    found = [call for call in candidates(agent, submission) if call.kind == new.kind or call.is_of_unknown_tool]
    return match(submission, found, is_repeated=partial(_is_repeated, new))


def _is_repeated(new: NewAttempt, call: Call) -> bool:
    """Tell whether the newest attempt of a call named the tool and had the output that come in now."""
    newest = call.attempts.filter(number=call.attempts_made)
    return (
        call.tool_name == new.tool and newest.filter(output_hash=keyed_hash(text_of(read_written(new.output)))).exists()
    )


def safe_context(context: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Redact and bound what the agent says of its task."""
    if not context:
        return None
    # Redacted before it is shortened: of a secret that was cut, the rest is no longer recognised.
    ends = partial(sanitizer().redact_ends, most=MAX_CONTEXT_VALUE, margin=MAX_CONTEXT_VALUE)
    members: dict[str, Any] = {}
    for name, value in islice(context.items(), MAX_CONTEXT):
        is_long = len(text := text_of(value)) > LONGEST_CONTEXT_VALUE
        members[ends(name)] = ends(text) if is_long else value
    kept: dict[str, Any] = sanitizer().redact(members)
    for name, value in kept.items():
        if len(text := text_of(value)) > MAX_CONTEXT_VALUE:
            kept[name] = elide_middle(text, MAX_CONTEXT_VALUE) if isinstance(value, str) else sanitizer().preview(value)
    return kept


def version_for(tool: Tool | None, new: NewAttempt, call: Call | None) -> ToolVersion | None:
    """Give the version to judge by: the one that the call is pinned to, the one named, or the current one."""
    if call is not None and call.version is not None:
        return call.version
    if tool is None:
        return None
    if new.version is not None and not names_current(tool, new):
        found = tool.versions.filter(schema_hash=new.version).first()
        if found is None:
            raise UnknownVersionError
        return found
    return tool.current_version


def names_current(tool: Tool | None, new: NewAttempt) -> bool:
    """Tell whether the version that an attempt names is the current one, which is at hand."""
    return bool(tool and tool.current_version and tool.current_version.schema_hash == new.version)


def has_waiting(call: Call | None) -> bool:
    """Tell whether an earlier attempt of the call still waits: attempts of one call are judged in order."""
    if call is None or call.state == CallState.RETRYING:  # it is pending while one waits
        return False
    return call.attempts.waiting_in_call().exists()
