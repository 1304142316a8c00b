"""Coding agents' hooks over HTTP, in the shape of Claude Code's: each tool call is judged before the agent runs it.

What the agent's own rules would allow or ask stays theirs: a valid call is answered without a decision. Only arguments
that a person has corrected or accepted are allowed.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qs

import httpx2

from retrycontract.client import AsyncClient, ClientError, NotFoundError
from retrycontract.client.clients import remembering
from retrycontract.client.exchange import Submissions
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.lifecycle import CallState
from retrycontract.contract.matching import is_unfilled
from retrycontract.contract.redaction.sanitizer import ValueSanitizer, visible
from retrycontract.contract.schemas.document import excerpt
from retrycontract.judging.service_judge import ServiceJudge
from retrycontract.mcp.checkpoint import MAX_SHOWN, Checkpoint, ConnectionCall, Forward, OpenCalls, Refusal, refused
from retrycontract.mcp.json_places import equal_keys
from retrycontract.mcp.messages import Message, UnreadableMessageError, output_at, read_payload
from retrycontract.mcp.visiting import (
    HERE,
    KeyedVisit,
    NoPayloadError,
    answer,
    answer_problem,
    aside,
    gone,
)

logger = logging.getLogger("retrycontract.hooks")

WAIT_SECONDS, LONGEST_WAIT = 45.0, 600.0  # for a person; agents end a hook after 60 seconds unless told otherwise
MAX_SESSIONS: Final = 10_000  # whose open calls are remembered; those of the others are asked for again
LONGEST_ID: Final = 150  # of a call, of which the service keeps 200 characters, the judge's own among them
LONGEST_SESSION: Final = 200  # characters, as the API takes it
MAX_LISTED: Final = 20  # calls of one session and tool
ASKED_OF_A_PERSON = (CallState.BLOCKED, CallState.GUIDED)
# The same event, and the same fields, of Cursor and of Gemini CLI.
ELSEWHERE = ("preToolUse", "BeforeTool")
# Events without a tool, those whose tool is not about to run, and those before which another event asks.
PASSED = frozenset({
    "SessionStart", "SessionEnd", "UserPromptSubmit", "Stop", "SubagentStart", "SubagentStop", "PreCompact",
    "PostToolUse", "PostToolUseFailure", "PostToolBatch", "PermissionRequest", "PermissionDenied", "Notification",
    "postToolUse", "postToolUseFailure", "AfterTool", "afterShellExecution", "afterMCPExecution",
})  # fmt: skip
BEFORE, AFTER = "PreToolUse", ("PostToolUse", "PostToolUseFailure")

NAMELESS = "This call could not be checked: it names no tool. Nothing was executed."
HALF = "This call could not be checked: its names hold half a character. Nothing was executed."
TWICE = "This call could not be checked: {!r} stands twice in it. Nothing was executed."
UNKNOWN = (
    "This call could not be checked: the hook event {!r} is not known here. Nothing was executed. Set the hook up for "
    "PreToolUse (Claude Code), preToolUse (Cursor) or BeforeTool (Gemini CLI)."
)
Said = tuple[int, dict[str, Any]]  # status and body of an answer


@dataclass(frozen=True, slots=True)
class HookOptions:
    """Hold what the hook's address says: how long it waits for a person, and whom it asks when none answers."""

    wait: float = WAIT_SECONDS
    asks_user: bool = False

    @classmethod
    def of(cls, query: str) -> HookOptions:
        """Read `wait=SECONDS` and `unanswered=ask`; raises NoPayloadError."""
        given = parse_qs(query, keep_blank_values=True)
        if unknown := sorted(given.keys() - {"wait", "unanswered"}):
            raise NoPayloadError(
                422, f"'{excerpt(unknown[0])}' is no parameter of this address: known are wait, unanswered."
            )
        if repeated := sorted(name for name, values in given.items() if len(values) > 1):
            raise NoPayloadError(422, f"{repeated[0]} stands in this address more than once: give it once.")
        unanswered = given.get("unanswered", ["deny"])[-1]
        try:
            wait = float(given.get("wait", [WAIT_SECONDS])[-1])
        except ValueError:
            wait = -1
        if not 0 <= wait <= LONGEST_WAIT or unanswered not in ("ask", "deny"):
            raise NoPayloadError(422, f"wait is 0 to {LONGEST_WAIT:g} seconds, unanswered is ask or deny")
        return cls(wait, unanswered == "ask")


@dataclass(frozen=True, slots=True)
class VisitorsCall:
    """Hold a tool call as somebody else is about to make it; `output` is what the model wrote."""

    tool: str
    use_id: str
    output: Any
    session: str


@dataclass(frozen=True, slots=True)
class HookSession:
    """Hold a session's open calls of one tool, and what was sent: a person may accept it, secrets and all."""

    calls: OpenCalls = field(default_factory=OpenCalls)
    sent: Submissions = field(default_factory=Submissions)


class Sessions:
    """Remember the sessions that came last; a service that was started again asks for their open calls."""

    def __init__(self) -> None:
        self._found: OrderedDict[str, HookSession] = OrderedDict()

    async def find(self, client: AsyncClient, key: str, session: str, tool: str) -> HookSession:
        """Give a session's calls of one tool; without a session nothing is continued."""
        if not session:
            return HookSession()
        # The agent's key is part of it: sessions are named by agents, and two of them may use one name.
        place = hashlib.sha256(json.dumps([key, session, tool]).encode()).hexdigest()
        if place not in self._found:
            found = HookSession()
            for call_id, state in await _open_calls(client, session, tool):
                found.calls.put_back(ConnectionCall(tool, call_id, state in ASKED_OF_A_PERSON))
            # Not replaced: a call of the same session may have come first while the service was asked.
            self._found.setdefault(place, found)
            if len(self._found) > MAX_SESSIONS:
                self._found.popitem(last=False)
        self._found.move_to_end(place)
        return self._found[place]


_sessions = Sessions()


class CheckedVisit(KeyedVisit):
    """Judge the tool calls of one payload as soon as it is whole, and let a person answer those that are Blocked."""

    def __init__(self, app: Any, scope: Any, *, is_closing: Callable[[], bool]) -> None:
        super().__init__(app, scope, is_closing=is_closing)
        self._looking = asyncio.Lock()
        self._found: dict[str, HookSession | None] = {}

    async def answer(self, client: AsyncClient, key: str, receive: Any, send: Any, max_body_bytes: int) -> None:
        """Say what is to be done with tool calls; whatever is wrong is said in a problem document."""
        try:
            self.refuse_what_no_agent_sends()
            payload = await self._payload(client, receive, max_body_bytes)
            decision = await aside(lambda _: self.decision(client, key, payload), payload.text)
        except NoPayloadError as wrong:
            await answer_problem(send, wrong)
            return
        # Two tasks, for only a read of the connection tells that the agent has left.
        asked = asyncio.ensure_future(decision)
        left = asyncio.ensure_future(gone(receive))
        try:
            await asyncio.wait((asked, left), return_when=asyncio.FIRST_COMPLETED)
        finally:  # also when this request itself is cancelled
            left.cancel()
            asked.cancel()
            # To its end: the client that it uses is closed after this.
            await asyncio.wait((asked, left))
        if asked.cancelled():  # the agent waits no longer; the call stays open
            return
        if asked.exception() is None:
            status, said = asked.result()
        else:
            logger.error("A tool call could not be checked", exc_info=asked.exception())
            status, said = self.unchecked(payload)
        await answer(send, status, {b"content-type": b"application/json"}, json.dumps(said).encode())

    async def _payload(self, client: AsyncClient, receive: Any, limit: int) -> Message:
        body = await self.read(client, receive, limit)
        try:
            # Any bytes: what is no UTF-8 in the tool's input is the model's mistake, and gets a verdict.
            read = await aside(read_payload, body.decode("utf-8", "surrogateescape"))
        except UnreadableMessageError as error:
            raise NoPayloadError(400, f"The payload is {error}.") from None
        if not isinstance(read, Message):
            raise NoPayloadError(422, "The payload is one object: a hook, a guardrail's request or an MCP request.")
        return read

    @abstractmethod
    def decision(self, client: AsyncClient, key: str, payload: Message) -> Coroutine[Any, Any, Said]:
        """Give what finds status and body of the answer; raises NoPayloadError for what nobody here sends."""

    @abstractmethod
    def unchecked(self, payload: Message) -> Said:
        """Give the answer where something has failed: nothing may run."""

    async def judged(
        self, client: AsyncClient, key: str, call: VisitorsCall, *, wait: float
    ) -> Forward | Refusal | None:
        """Judge one call in its session; None for a tool that is not registered."""
        try:
            async with self._looking:  # once for all calls of a tool in a payload
                if call.tool not in self._found:
                    self._found[call.tool] = await _session_of(client, key, call)
        except ClientError as error:
            return refused(f"This call could not be checked: {error}. Nothing was executed.")
        found = self._found[call.tool]
        if found is None:
            return None
        # One turn for all of the session, so that a call is continued by its call_id only.
        details = {"session_id": call.session, "turn": 0} if call.session else {}
        judge = ServiceJudge(remembering(client, found.sent), short_id(call.use_id), details=details, is_patient=False)
        sanitizer = ValueSanitizer(RetryConfiguration())
        # Both waits are the address's: nobody hears signs of life, and who set it up knows how long its agent waits.
        checkpoint = Checkpoint(judge, sanitizer, wait=wait, silent_wait=wait, calls=found.calls)
        decision = await checkpoint.decide(call.tool, call.output, _tick, is_heard=False, came_at=self._came_at)
        if isinstance(decision, Refusal):
            await found.calls.settled()
        return decision


async def _session_of(client: AsyncClient, key: str, call: VisitorsCall) -> HookSession | None:
    """Give a call's session; None where an agent's tool has no contract, as some of many do. Raises ClientError."""
    try:
        await client.tool(call.tool)
    except NotFoundError:
        return None
    return await _sessions.find(client, key, call.session, call.tool)


class HookVisit(CheckedVisit):
    """Answer one hook."""

    def decision(self, client: AsyncClient, key: str, payload: Message) -> Coroutine[Any, Any, Said]:
        """Say what the agent is to do with a tool call."""
        options = HookOptions.of(self._scope["query_string"].decode("latin-1"))
        if not isinstance(payload.value.get("hook_event_name"), str):
            raise NoPayloadError(422, "A hook's payload names its hook_event_name, as Claude Code writes it.")
        return self._answered(client, key, payload, options)

    async def _answered(self, client: AsyncClient, key: str, payload: Message, options: HookOptions) -> Said:
        status, said = await self._decision(client, key, payload, options)
        return status, said if not said or payload.value["hook_event_name"] == BEFORE else _said_elsewhere(said)

    def unchecked(self, payload: Message) -> Said:
        """Deny the call: any other status than 200 would let the tool run."""
        denied = _decided("deny", "This call could not be checked. Nothing was executed.")
        # What has run already can be denied no more.
        is_here = payload.value.get("hook_event_name") == BEFORE
        return 200, (denied if is_here else _said_elsewhere(denied)) if _asks(payload) else {}

    async def _decision(self, client: AsyncClient, key: str, payload: Message, options: HookOptions) -> Said:
        event, tool = payload.value.get("hook_event_name"), payload.value.get("tool_name")
        asks = _asks(payload)
        if asks and (twice := await aside(equal_keys, payload.text)) is not None:
            return 200, _decided("deny", TWICE.format(excerpt(str(twice))))
        if asks and event not in (BEFORE, *ELSEWHERE):
            return 200, _decided("deny", UNKNOWN.format(excerpt(str(event))))
        if not isinstance(tool, str) or not tool:
            return 200, _decided("deny", NAMELESS) if asks else {}
        session, use_id = (str(payload.value.get(name) or "") for name in ("session_id", "tool_use_id"))
        session = session_in(session)
        if not is_whole(f"{tool}{session}"):
            return 200, _decided("deny", HALF) if asks else {}
        if event in AFTER and session and use_id:
            # A call whose last attempt was run all the same, as a user allowed it, is ended: nobody need answer it.
            headers = {"Authorization": f"Bearer {key}"}
            async with httpx2.AsyncClient(transport=self._transport, headers=headers) as http:
                for call_id, _ in await _open_calls(client, session, tool):
                    found = (await http.get(f"{HERE}/api/v1/calls/{call_id}")).json()
                    # The whole of it, less what the judge adds: `call_1` is no part of `call_10`.
                    if any(
                        made["tool_call_id"].rpartition("-")[0] == short_id(use_id)
                        for made in found.get("attempts", ())[-1:]
                    ):
                        await client.cancel(call_id)
        if not asks:
            return 200, {}
        output = await aside(output_at, payload.text, "tool_input")
        call = VisitorsCall(tool, use_id or "hook", output, session)
        decision = await self.judged(client, key, call, wait=options.wait)
        if decision is None:
            return 200, {}
        if isinstance(decision, Forward) and decision.note is not None and event != BEFORE:
            # Where other agents read arguments in place of the model's is theirs to say: the model writes them.
            return 200, _decided("deny", corrected_words(tool, decision.arguments))
        return 200, _answered(decision, asks_user=options.asks_user)


async def _open_calls(client: AsyncClient, session: str, tool: str) -> list[tuple[str, CallState]]:
    """List a session's open calls of a tool, the oldest first; none for a key that may not read."""
    found: list[tuple[str, CallState]] = []
    try:
        async for call in client.calls(session_id=session, tool=tool):
            found.append((call.call_id, call.state))
            if len(found) == MAX_LISTED:
                break
    except ClientError:
        return []
    return [(call_id, state) for call_id, state in reversed(found) if not state.has_ended]


def is_whole(names: str) -> bool:
    """Tell whether names can be stored: half a character cannot."""
    try:
        names.encode()
    except UnicodeEncodeError:
        return False
    return True


def short_id(given: str) -> str:
    """Give an id in a form behind which another one may be put, and both be found again: what is long is hashed."""
    if len(given) <= LONGEST_ID and given.isprintable():
        return given
    return f"use-{hashlib.sha256(given.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def session_in(given: object) -> str:
    """Give a session's name as the service takes it, what is too long hashed; nothing for a template's, unfilled."""
    if not isinstance(given, str):
        return ""
    return short_id(given) if len(given) > LONGEST_SESSION else "" if is_unfilled(given) else given


async def _tick() -> None:
    """Say nothing: a hook hears its answer only."""


def _answered(decision: Forward | Refusal, *, asks_user: bool) -> dict[str, Any]:
    if isinstance(decision, Refusal):
        asks = decision.is_unanswered and asks_user
        return _decided("ask" if asks else "deny", decision.result.content)
    if decision.note is None:
        return {}
    return _decided("allow", decision.note, updatedInput=decision.arguments)


def _asks(payload: Message) -> bool:
    """Tell whether a tool is about to run: at the events that say so, and at unknown ones that hold a call."""
    event = payload.value.get("hook_event_name")
    if event == BEFORE or event in ELSEWHERE:
        return True
    names = {name.replace("_", "").lower() for name in payload.value}
    return event not in PASSED and bool(names & {"toolname", "toolinput", "toolargs", "command"})


def _decided(decision: str, reason: str, **more: Any) -> dict[str, Any]:
    said = {"hookEventName": BEFORE, "permissionDecision": decision, "permissionDecisionReason": reason}
    return {"hookSpecificOutput": said | more}


def _said_elsewhere(said: dict[str, Any]) -> dict[str, Any]:
    """Say a denial in the words of other agents as well; Claude Code refuses an answer with members of theirs."""
    reason = said["hookSpecificOutput"]["permissionDecisionReason"]
    return {"decision": "block", "permission": "deny", "reason": reason, "agent_message": reason, **said}


def corrected_words(tool: str, arguments: Any) -> str:
    """Tell the model what a person has made of its arguments."""
    shown = json.dumps(arguments, ensure_ascii=False)
    asked = visible(shown) if len(shown) <= MAX_SHOWN else "(too long to repeat here)"
    return f"A person corrected the arguments of your call of tool '{tool}'. Call it again with exactly these:\n{asked}"
