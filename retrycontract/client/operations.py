"""What an agent can do, as conversations: each yields requests, is sent their answers and returns a result."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, TypeAlias, TypedDict
from urllib.parse import quote, urlencode

from retrycontract.client import reading
from retrycontract.client.errors import CorrectionError, TooLargeError, UnreachableError, refusal
from retrycontract.client.exchange import Conversation, Lost, Patience, Reply, Request, Submissions, T, a_time
from retrycontract.client.guarding import tool_list
from retrycontract.client.results import (
    CallSummary,
    DryRun,
    Guidance,
    ImportedTools,
    KnownTool,
    Listed,
    Listing,
    LoggedResponse,
    Outcome,
    RegisteredTool,
    Settlement,
    answered,
    settled,
)
from retrycontract.contract.errors import MAX_PLUGIN_ERRORS, ValidationError, WrongInputError
from retrycontract.contract.lifecycle import CallState, Status
from retrycontract.contract.outputs import MAX_WORDS, Kind
from retrycontract.contract.webhooks import ResponseStatus

WAIT = 60.0  # seconds for a verdict; most come at once
PAGE = 100  # calls; the most that the service lists at once
MAX_OWN_WORDS = 4_000  # characters of what an agent's own check says
# As the API takes the place of an error.
MAX_POINTER = 1_000
OURS = frozenset({"keyword", "patch"})  # what an agent does not say of its own errors
# As the service takes or keeps them.
LONGEST_TEXTS = {"callback_error": MAX_OWN_WORDS, "prompt": MAX_WORDS, "said": MAX_WORDS}
SEND_LESS = "send a shorter one, or several smaller ones"
SEND_FLATTER = "send a flatter value"
LONGEST_POLL = 50  # seconds; proxies cut what is silent for 60


class Details(TypedDict, total=False):
    """What else is said of an attempt; what is left out, or None, is not sent."""

    call_id: str | None  # of the call that this attempt continues: always the surest way
    session_id: str | None  # of one conversation; without it, and without call_id, each attempt begins a call
    turn: int | None  # in that session: attempts of one turn are parallel calls
    task_id: str | None
    correlation_id: str | None
    finish_reason: str | None
    callback_error: str | Sequence[ValidationError] | None  # what a check of the agent's own has against it
    kind: str | None  # as the tool is registered: "tool_call", "agent_response", "extraction"
    max_attempts: int | None  # of the call that this attempt begins
    version: str | None  # hash of the schema's version to judge by
    context: dict[str, Any] | None  # what helps a person: goal, last_user_message, trace_url
    model: str | None  # which one wrote it
    prompt: str | None  # what it read before this attempt
    said: str | None  # its own words, beside the output
    tokens_in: int | None
    tokens_out: int | None
    seconds: float | None  # how long it took
    api_error: str | None  # why the model could not be asked; there are no arguments then
    gives_up: bool  # with an api_error: it will not be asked again
    feedback: dict[str, Any] | None  # how the feedback is written: form ("extraction", "correction"), max_length
    traceparent: str | None  # of the trace that this attempt belongs to (W3C Trace Context)


# What a person has corrected was written by no model, and no check of the agent's own has looked at it.
OF_A_PERSON = Details(
    callback_error=None, model=None, prompt=None, said=None, tokens_in=None, tokens_out=None, seconds=None
)


class ToolOptions(TypedDict, total=False):
    """How a tool is judged; what is left out stays as it was."""

    description: str
    kind: str
    strict: bool
    hold: bool
    mode: str
    max_attempts: int
    expires_after: int | str
    on_expiry: str


class ToolListOptions(TypedDict, total=False):
    """How all tools of a list are judged; what is left out stays as it was."""

    kind: str
    strict: bool
    hold: bool
    mode: str
    max_attempts: int


class CallQuery(TypedDict, total=False):
    """Which calls are listed; filters narrow each other, and what is left out, or None, does not."""

    state: CallState | str | None
    tool: str | None
    session_id: str | None
    task_id: str | None
    correlation_id: str | None
    model: str | None


class LogQuery(TypedDict, total=False):
    """Which lines of the agent-response log are read; filters narrow each other. Times need their zone."""

    call_id: str | None
    tool: str | None
    task_id: str | None
    turn: int | None
    status: ResponseStatus | str | None
    since: datetime | None
    until: datetime | None


class DryRunOptions(TypedDict, total=False):
    """How an output is tried: its kind, the tool's name in the feedback, `strict`, and which attempt of how many."""

    kind: str
    tool: str
    strict: bool
    attempt: int
    max_attempts: int


AnyCall: TypeAlias = Outcome | Guidance | CallSummary | str


@dataclass(frozen=True, slots=True)
class Operations:
    """Hold what conversations need beside their arguments; `new_key` gives a key for each submission."""

    url: str
    patience: Patience
    sent: Submissions
    new_key: Callable[[], str]

    def submit(
        self, tool: str, tool_call_id: str, arguments: Any, details: Details, wait: float
    ) -> Conversation[Outcome]:
        """Submit an attempt, which its key makes repeatable, and wait for its verdict with requests of their own."""
        a_time("wait", wait)
        # None is what a caller passes on who has nothing to say: it is left out, and not sent as null.
        known = {name: _sendable(name, value) for name, value in details.items() if value is not None}
        body = {"tool": tool, "tool_call_id": tool_call_id, **known, **_output(arguments)}
        # Not held open: the verdict is waited for by bounded GETs, which break off and are asked again without
        # consequence.
        trace = body.pop("traceparent", None)
        headers = {"Prefer": "wait=0", "Idempotency-Key": self.new_key()} | ({"traceparent": trace} if trace else {})
        try:
            asked = _post("/calls", body, **headers)
        except _TooDeepError:  # the model's mistake, unless it is somewhere else
            arguments, body = None, body | _instead("it is nested too deeply to be read", SEND_FLATTER)
            asked = _post("/calls", body, **headers)
        try:
            reply = yield from self._asked(asked)
        except TooLargeError as error:  # the model's mistake, unless all the rest is too large as well
            body = {name: value for name, value in body.items() if name != "raw"} | _too_large(asked, error)
            arguments = None
            reply = yield from self._asked(_post("/calls", body, **headers | {"Idempotency-Key": self.new_key()}))
        call_id, number = self._read(reply, reading.place)
        # Whatever the verdict: a correction comes as a patch of exactly this text, since redacted values never travel
        # back.
        self.sent.keep(call_id, number, _text(arguments), tool_call_id)
        # 202 says that the attempt is stored and not judged yet.
        if reply.status == 200 or wait <= 0:
            return self._outcome(reply)
        return (yield from self._verdict(call_id, number, wait))

    def settle(
        self, tool: str, tool_call_id: str, arguments: Any, details: Details, wait: float, timeout: float | None
    ) -> Conversation[Settlement[Any]]:
        """Submit an attempt and, as long as its call is Blocked, take over what people answer."""
        a_time("timeout", timeout, or_none=True)
        outcome = yield from self._judged(tool, tool_call_id, arguments, details, wait, timeout)
        # What a person corrected is judged like any attempt, and may leave the call Blocked: then a person is asked
        # again.
        while outcome.status is Status.BLOCKED:
            guidance = yield from self.wait_for_guidance(outcome, timeout)
            if guidance.decision is not None:
                yield from self.acknowledge(guidance)
            if guidance.decision is None or not guidance.decision.entry.takes_arguments:
                return settled(answered(outcome, guidance), tool, tool_call_id)
            try:
                corrected = guidance.arguments
            except CorrectionError:  # what it rests on was sent by another process: the model reads it as a hint
                return settled(answered(outcome, guidance), tool, tool_call_id)
            further = details | OF_A_PERSON | Details(call_id=outcome.call_id)
            outcome = yield from self._judged(tool, tool_call_id, corrected, further, wait, timeout)
        return settled(outcome, tool, tool_call_id)

    def _judged(
        self, tool: str, tool_call_id: str, arguments: Any, details: Details, wait: float, timeout: float | None
    ) -> Conversation[Outcome]:
        """Submit an attempt and wait for its verdict as long as for a person: a busy worker takes its time."""
        outcome = yield from self.submit(tool, tool_call_id, arguments, details, wait)
        if outcome.status is not None:
            return outcome
        return (yield from self._verdict(outcome.call_id, outcome.attempt_number, timeout))

    def wait_for_verdict(self, call: AnyCall, timeout: float) -> Conversation[Outcome]:
        """Wait for the verdict on the attempt of an outcome, else on the newest of the call."""
        a_time("timeout", timeout)
        number = call.attempt_number if isinstance(call, Outcome) else None
        return (yield from self._verdict(_id(call), number, timeout))

    def wait_for_guidance(self, call: AnyCall, timeout: float | None) -> Conversation[Guidance]:
        """Wait until a person has answered, or the call has ended, or time is up."""
        a_time("timeout", timeout, or_none=True)
        reply = yield from self._polled(f"{_path(call)}/wait?for=guidance", timeout)
        return self._read(reply, partial(reading.guidance, self.sent))

    def acknowledge(self, call: AnyCall) -> Conversation[bool]:
        """Say that the guidance has arrived."""
        said = _post(f"{_path(call)}/guidance/ack", **{"Idempotency-Key": self.new_key()})
        reply = yield from self._asked(said)
        return self._read(reply, reading.acknowledged)

    def cancel(self, call: AnyCall) -> Conversation[CallState]:
        reply = yield from self._asked(_post(f"{_path(call)}/cancel"))
        return self._read(reply, reading.state)

    def calls(self, filters: CallQuery) -> Listing[CallSummary]:
        """List the agent's calls."""
        asked = {name: value for name, value in filters.items() if value is not None}
        return Listing(f"/calls?{urlencode(asked | {'limit': PAGE})}", reading.call_page)

    def agent_responses(self, filters: LogQuery) -> Listing[LoggedResponse]:
        asked = {name: value for name, value in filters.items() if value is not None}
        times = {name: value.isoformat() for name, value in asked.items() if isinstance(value, datetime)}
        return Listing(f"/agent-responses?{urlencode(asked | times | {'limit': PAGE})}", reading.response_page)

    def tools(self, kind: Kind | str | None) -> Listing[KnownTool]:
        return Listing(
            f"/tools?{urlencode({'kind': kind, 'limit': PAGE} if kind else {'limit': PAGE})}", reading.tool_page
        )

    def page(self, path: str, listing: Listing[T]) -> Conversation[Listed[T]]:
        """Read one page of a list: its first, or one that the page before has named."""
        return self._read((yield from self._asked(Request("GET", path))), listing.reader)

    def tool(self, name: str) -> Conversation[KnownTool]:
        reply = yield from self._asked(Request("GET", _tool_path(name)))
        return self._read(reply, reading.known_tool)

    def register_tool(self, name: str, input_schema: Any, options: ToolOptions) -> Conversation[RegisteredTool]:
        body = _json({"input_schema": input_schema, **options})
        reply = yield from self._asked(Request("PUT", _tool_path(name), body))
        return self._read(reply, reading.registered_tool)

    def register_tools(self, tools: Any, options: ToolListOptions) -> Conversation[ImportedTools]:
        query = urlencode({name: json.dumps(value).strip('"') for name, value in options.items()})
        reply = yield from self._asked(_post(f"/tools/import{'?' if query else ''}{query}", tool_list(tools)))
        return self._read(reply, reading.imported_tools)

    def dry_run(self, input_schema: Any, arguments: Any, options: DryRunOptions) -> Conversation[DryRun]:
        """Try an output against a schema."""
        body = {"input_schema": input_schema, **options, **_output(arguments)}
        reply = yield from self._asked(_post("/check", body))
        return self._read(reply, reading.dry_run)

    def _verdict(self, call_id: str, number: int | None, timeout: float | None) -> Conversation[Outcome]:
        attempt = "" if number is None else f"&attempt={number}"
        reply = yield from self._polled(f"{_path(call_id)}/wait?for=verdict{attempt}", timeout)
        return self._outcome(reply)

    def _outcome(self, reply: Reply) -> Outcome:
        outcome = self._read(reply, partial(reading.outcome, self.sent))
        if outcome.state in (CallState.VALID, CallState.OBSERVED):
            self.sent.forget(outcome.call_id)  # nobody will correct it any more
        return outcome

    def _polled(self, path: str, timeout: float | None) -> Conversation[Reply]:
        """Ask by long polls until there is an answer, at most `timeout` seconds."""
        deadline = math.inf if timeout is None else self.patience.clock() + timeout
        pause = 0.0
        while True:
            # Less the pause, which passes before the question is asked.
            left = max(0.0, deadline - self.patience.clock() - pause)
            # `Prefer: wait` takes whole seconds.
            wait = math.ceil(min(LONGEST_POLL, left))
            request = Request("GET", path, headers={"Prefer": f"wait={wait}"}, wait=wait, after=pause)
            reply = yield from self._asked(request)
            left = deadline - self.patience.clock()
            if reply.status != 202 or left <= 0:
                return reply
            pause = min(left, reply.retry_after)  # a service that stops answers at once what it holds

    def _read(self, reply: Reply, reader: Callable[[Any], T]) -> T:
        return reading.read(reply, self.url, reader)

    def _asked(self, request: Request) -> Conversation[Reply]:
        result = yield from self.patience.until_answered(request)
        if isinstance(result, Lost):
            raise UnreachableError(self.url, result.reason)
        if result.status >= 400:
            raise refusal(result)
        return result


def _post(path: str, body: Any = None, **headers: str) -> Request:
    return Request("POST", path, None if body is None else _json(body), headers)


def _json(value: Any) -> bytes:
    """Write what the service reads; NaN and lone surrogates in arguments are the model's mistake, and get a verdict."""
    return _written(value).encode()


def _written(value: Any) -> str:
    try:
        return json.dumps(value)
    except RecursionError:
        raise _TooDeepError("what is sent or its arguments are nested too deeply to be written as JSON") from None
    except (TypeError, ValueError) as error:
        raise WrongInputError(f"what is sent or its arguments cannot be written as JSON: {error}") from None


class _TooDeepError(WrongInputError):
    pass


def _output(arguments: Any) -> dict[str, Any]:
    return {"raw": _text(arguments)} if isinstance(arguments, str | bytes) else {"arguments": arguments}


def _too_large(asked: Request, refused: TooLargeError) -> dict[str, Any]:
    """Give what is submitted in the place of an output that no request can hold: none, and the reason."""
    most = f", and the service takes at most {refused.limit:,}" if refused.limit else ", more than the service takes"
    told = f"it is too large to be checked: with what goes along it has {len(asked.body or b''):,} bytes{most}"
    return _instead(told, SEND_LESS)


def _instead(told: str, hint: str) -> dict[str, Any]:
    return {"arguments": None, "callback_error": [{"message": told, "hint": hint}]}


def _text(arguments: Any) -> str:
    """Give the text; JSON carries what UTF-8 cannot, bytes that are none too, so that it gets a verdict as it is."""
    if isinstance(arguments, bytes):
        return arguments.decode("utf-8", "surrogateescape")
    return arguments if isinstance(arguments, str) else _written(arguments)


def _shortened(text: str, limit: int) -> str:
    from retrycontract.contract.redaction.previews import elide_middle  # its regex tables are slow to import

    if len(text) > 4 * limit:  # only the ends are looked at, and escaping all of a long text takes long
        text = text[: 2 * limit] + text[-2 * limit :]
    return elide_middle(text.encode("utf-8", "backslashreplace").decode(), limit)


def _sendable(name: str, value: Any) -> Any:
    """Shorten what is told of an attempt, and escape what UTF-8 cannot carry: neither may keep it from its verdict."""
    limit = LONGEST_TEXTS.get(name)
    if name == "callback_error" and not isinstance(value, str):
        if not isinstance(value, Sequence) or not all(isinstance(error, ValidationError) for error in value):
            raise WrongInputError(f"callback_error is a text or a list of ValidationError, not {value!r:.80}")
        found = []
        for error in value[:MAX_PLUGIN_ERRORS]:
            told = {part: said for part, said in error.to_json().items() if part not in OURS and said}
            found.append({
                part: _shortened(said, MAX_POINTER if part == "field_path" else MAX_OWN_WORDS)
                for part, said in told.items()
            })  # fmt: skip
        return found
    return value if limit is None or not isinstance(value, str) else _shortened(value, limit)


PATHS = frozenset({".", ".."})  # which addresses leave out, and ask for another thing


def _id(call: AnyCall) -> str:
    found = call if isinstance(call, str) else getattr(call, "call_id", None)
    if not isinstance(found, str) or not found.strip() or not PATHS.isdisjoint(found.split("/")):
        raise WrongInputError(f"a call is its id, or what submit() gave, not {call!r:.80}")
    return found


def _tool_path(name: str) -> str:
    if not isinstance(name, str) or not name or not PATHS.isdisjoint(name.split("/")):
        raise WrongInputError(f"a tool's name is a text, none of its parts '.' or '..', and not {name!r:.80}")
    return f"/tools/{quote(name, safe='')}"


def _path(call: AnyCall) -> str:
    return f"/calls/{quote(_id(call), safe='')}"
