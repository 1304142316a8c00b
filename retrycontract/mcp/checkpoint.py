"""Decide which call an attempt continues, and what becomes of it: forwarded, or answered in the upstream's place."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections import deque
from dataclasses import dataclass, replace
from typing import Any, assert_never

from retrycontract.client import CorrectionError, Guidance
from retrycontract.contract.feedback.feedback_text import WAIT_TEXT
from retrycontract.contract.feedback.tool_result import ToolResult
from retrycontract.contract.lifecycle import Status
from retrycontract.contract.redaction.sanitizer import ValueSanitizer, visible
from retrycontract.judging import Judge, ModelOutput, Verdict, as_text
from retrycontract.judging.asking import (
    CallNotOpenError,
    ClientPatience,
    NoVerdictError,
    Tick,
    ask,
    guidance_on,
    verdict_on,
)


def connection_details(session: str, model: str | None = None) -> dict[str, Any]:
    """Give what goes along with every attempt of a connection.

    The session is this connection's alone: an earlier one's calls are not ours. One turn for all of it, so that a call
    is continued by its call_id only. MCP names no model: whoever starts the connection may.
    """
    return {"session_id": f"{session}-{uuid.uuid4().hex}", "turn": 0} | ({"model": model} if model else {})


# Compared by identity: two calls of one tool may read alike, and the right one has to be taken out of the queue.
@dataclass(slots=True, eq=False)
class ConnectionCall:
    """Hold a call between its attempts."""

    tool_name: str
    call_id: str | None = None
    is_blocked: bool = False
    has_ended: bool = False
    burst: int = 0
    answered_at: float = 0.0  # on the clock that only goes on

    def take_over(self, verdict: Verdict) -> None:
        """Note where an attempt has left the call."""
        self.call_id = verdict.call_id
        self.is_blocked = verdict.status is Status.BLOCKED
        self.has_ended = verdict.status is Status.VALID


TOGETHER = 0.05  # seconds between calls that were sent in parallel; a model thinks longer before it tries again
LONGEST_BURST = 1.0  # seconds: also where calls never cease, answers are given


class OpenCalls:
    """Hand out the calls of one connection.

    A call of a tool continues the one of the same tool that failed longest ago and that nobody is trying at the
    moment. Calls that come within `together` seconds of one another are a burst and always different calls: whoever
    answers a mistake awaits `settled` first, so that nobody who has read the answer is taken for a part of the burst.
    What came before a call was answered is another call, however late it is looked at.
    """

    def __init__(self, together: float = TOGETHER) -> None:
        self._idle: dict[str, deque[ConnectionCall]] = {}
        self._together, self._burst, self._burst_ends, self._latest_end = together, 0, 0.0, 0.0
        self._settling = asyncio.Lock()

    def take(self, tool_name: str, call_id: str | None = None, *, came_at: float | None = None) -> ConnectionCall:
        """Take out the call to continue, the one with that id if one is given; or begin a new one.

        `came_at` is when the attempt came, in `time.monotonic`'s seconds; None for now.
        """
        now = time.monotonic()
        came_at = now if came_at is None else came_at
        if now >= self._burst_ends:
            self._burst, self._latest_end = self._burst + 1, now + LONGEST_BURST
        self._burst_ends = min(now + self._together, self._latest_end)
        # The one that failed longest ago first: parallel calls fail in their order and are retried in it.
        waiting = self._idle.get(tool_name, deque())
        call = next((call for call in waiting if self._continues(call, call_id, came_at)), None)
        if call is None:
            return ConnectionCall(tool_name, call_id)
        waiting.remove(call)
        if not waiting:
            del self._idle[tool_name]
        return call

    def _continues(self, call: ConnectionCall, call_id: str | None, came_at: float) -> bool:
        if call_id:
            return call.call_id == call_id
        return call.burst < self._burst and call.answered_at <= came_at

    def idle(self) -> list[ConnectionCall]:
        """List the calls that wait for their next attempt."""
        return [call for waiting in self._idle.values() for call in waiting]

    def begin_anew(self, tool_name: str) -> None:
        """Continue no call of a tool that has changed: it was begun with a schema that nobody can meet any more.

        One that is Blocked goes on, for a person has been asked.
        """
        self._idle[tool_name] = deque(call for call in self._idle.get(tool_name, ()) if call.is_blocked)

    def put_back(self, call: ConnectionCall) -> None:
        """Let the next attempt continue a call, unless the call has ended or never began."""
        call.burst = self._burst
        if call.call_id is not None and not call.has_ended:
            self._idle.setdefault(call.tool_name, deque()).append(call)

    async def settled(self) -> None:
        """Wait until all calls that were sent together have come; who waits first goes on first."""
        burst = self._burst
        async with self._settling:
            while burst == self._burst and (rest := self._burst_ends - time.monotonic()) > 0:
                await asyncio.sleep(rest)


# Of a burst, which leaves in its order anyway: a service is done with all of it sooner than when it is asked at once.
MOST_AT_ONCE = 8
MAX_SHOWN = 4000  # characters of the arguments that a note repeats
NOTHING_RAN = "Nothing was executed."
CALL_AGAIN = "Call the tool again to get the answer."
NOBODY = f"A person has been asked; nobody answered within {{seconds:g}} seconds. {CALL_AGAIN}"


@dataclass(frozen=True, slots=True)
class Forward:
    """Let a call through as it was sent; or with `arguments` that a person gave, and a `note` that tells the model."""

    arguments: Any = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Answer a call in the upstream's place; `is_unanswered` tells that a person was asked in vain."""

    result: ToolResult
    is_unanswered: bool = False


class Checkpoint:
    """Judge the calls of one connection, and wait at most `wait` seconds for a person when one is Blocked.

    A client that hears no signs of life would give up: it is told after `silent_wait` seconds that it may ask again.
    """

    def __init__(
        self,
        judge: Judge,
        sanitizer: ValueSanitizer,
        *,
        wait: float,
        silent_wait: float,
        calls: OpenCalls | None = None,
    ) -> None:
        self._judge, self._sanitizer = judge, sanitizer
        self._wait, self._silent_wait = wait, min(wait, silent_wait)
        self.calls = calls or OpenCalls()
        self._at_once = asyncio.Semaphore(MOST_AT_ONCE)

    def is_quick(self, tool_name: str, output: Any) -> bool:
        """Tell whether an attempt is decided on in no time, with nobody to be waited for."""
        return self._wait <= 0 and self._judge.is_quick(tool_name, output)

    async def decide(
        self, tool_name: str, output: Any, tick: Tick, *, is_heard: bool, came_at: float | None = None
    ) -> Forward | Refusal:
        """Judge an attempt; `tick` is awaited again and again while a person is waited for, if anybody hears it or not.

        `output` is what the model wrote, as `as_text` gives it. A refusal is answered once the `calls` are settled.
        """
        call = self.calls.take(tool_name, came_at=came_at)
        patience = ClientPatience.of(self._wait if is_heard else self._silent_wait, tick)
        try:
            decision = await self._decide(call, output, patience)
            call.answered_at = time.monotonic()
        except NoVerdictError as error:
            return refused(f"This call could not be checked: {error} {NOTHING_RAN}")
        finally:
            # Also when the client gives up meanwhile, unanswered: its next attempt continues this call.
            self.calls.put_back(call)
        return decision

    async def _decide(self, call: ConnectionCall, output: Any, patience: ClientPatience) -> Forward | Refusal:
        # An answer that came after the client had given up waiting is given with its next call.
        if call.is_blocked and call.call_id is not None:
            answer = await guidance_on(self._judge, call.call_id, wait=0)
            if answer is not None and answer.decision is not None:
                return await self._follow(call, answer, patience)
        return await self._submit(call, output, patience, Forward())

    async def _submit(
        self, call: ConnectionCall, output: Any, patience: ClientPatience, if_valid: Forward
    ) -> Forward | Refusal:
        attempt = ModelOutput(call.tool_name, output, call_id=call.call_id)
        async with self._at_once:
            try:
                verdict = await verdict_on(self._judge, attempt)
            # Rejected, expired or forgotten since its last attempt: this one begins a new call.
            except CallNotOpenError:
                verdict = await verdict_on(self._judge, replace(attempt, call_id=None))
        call.take_over(verdict)
        match verdict.status:
            case Status.VALID:
                return if_valid
            case Status.RETRY:
                return _feedback(verdict)
            case Status.BLOCKED | Status.UNAVAILABLE:
                blocked = _feedback(verdict)
                content = blocked.result.content
                before, waits, after = content.rpartition(WAIT_TEXT)
                if patience.seconds <= 0:
                    return (
                        Refusal(replace(blocked.result, content=f"{before}{CALL_AGAIN}{after}")) if waits else blocked
                    )
                answer = await ask(self._judge, verdict.call_id, patience)
                if answer is None:
                    nobody = NOBODY.format(seconds=patience.seconds)
                    # Who has to call again must not read that it is not to.
                    told = f"{before.rstrip()}\n\n{nobody}{after}" if waits else f"{content}\n\n{nobody}"
                    return Refusal(replace(blocked.result, content=told), is_unanswered=True)
                return await self._follow(call, answer, patience)
        assert_never(verdict.status)

    async def _follow(self, call: ConnectionCall, answer: Guidance, patience: ClientPatience) -> Forward | Refusal:
        call.is_blocked = answer.decision is None
        if answer.decision is None:  # its text says that the time for an answer is over
            return refused(answer.text)
        # Before the arguments are looked at: the call has ended even where they are not held here.
        call.has_ended = answer.decision.leads_to.has_ended
        if not (answer.decision.entry.takes_arguments or answer.decision.entry.keeps_output):
            return refused(answer.text)
        try:
            arguments = answer.arguments
        except CorrectionError:  # it was the attempt of another connection
            return refused(f"{answer.text}\n\nThe gateway no longer has what the answer refers to. {NOTHING_RAN}")
        did, tool = "corrected" if answer.decision.entry.takes_arguments else "accepted", call.tool_name
        shown = json.dumps(self._sanitizer.redact(arguments), ensure_ascii=False)
        lines = [
            f"A person {did} the arguments of your Blocked call of tool '{tool}'. It was executed with these,",
            "and the result below is that call's. If you sent other arguments just now, they were not executed.",
            visible(shown) if len(shown) <= MAX_SHOWN else "(too long to repeat here)",
            *(f"> {visible(line)}" for line in answer.operator_text.strip().splitlines()),
        ]
        answered = Forward(arguments, "\n".join(lines))
        if answer.decision.entry.keeps_output:
            return answered
        return await self._submit(call, as_text(arguments), patience, answered)  # checked again, like any attempt


def _feedback(verdict: Verdict) -> Refusal:
    assert verdict.tool_result is not None, "only a valid attempt has no result"
    return Refusal(verdict.tool_result)


def refused(reason: str) -> Refusal:
    """Answer a call in a few words."""
    return Refusal(ToolResult(tool_call_id="", content=reason))
