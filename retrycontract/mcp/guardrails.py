"""Gateways' external checks: what a model wants to call is judged before the gateway passes it on.

LiteLLM's generic guardrail API sends the tool calls of an answer; Envoy's external authorization over HTTP, which Envoy
AI Gateway and agentgateway speak too, sends an MCP client's request. Neither takes other arguments in their place: what
a person has corrected is said in words.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from difflib import get_close_matches
from typing import Any, Final

from retrycontract.client import AsyncClient
from retrycontract.mcp.checkpoint import Refusal
from retrycontract.mcp.hooks import (
    HALF,
    LONGEST_WAIT,
    CheckedVisit,
    Said,
    VisitorsCall,
    corrected_words,
    is_whole,
    session_in,
)
from retrycontract.mcp.messages import Message, output_at
from retrycontract.mcp.visiting import KeyedVisit, NoPayloadError, answer, answer_problem

MAX_CALLS: Final = 100  # of one payload; each is an attempt that is stored
MOST_SECONDS: Final = 12.0  # to check the calls of one payload, which gateways wait for
LATE = (
    f"The check was not done within {MOST_SECONDS:g} seconds: others are checked now, or this takes long. "
    "Nothing was executed. Try again; if it stays so, make fewer and smaller calls at once."
)
UNCHECKED = "The tool calls could not be checked. Nothing was executed."
INVALID_PARAMS, REFUSED = -32602, 403


class GuardrailVisit(CheckedVisit):
    """Judge the tool calls of one payload side by side."""

    KEY_HEADERS = (b"x-retrycontract-key", b"x-api-key")

    async def reasons(self, client: AsyncClient, key: str, calls: list[VisitorsCall], wait: float) -> list[str]:
        """Say what keeps calls from being made; nothing where all may."""
        if len(calls) > MAX_CALLS:
            return [f"At most {MAX_CALLS} tool calls can be checked at once. Nothing was executed."]
        if not all(is_whole(f"{call.tool}{call.session}") for call in calls):
            return [HALF]
        try:
            async with asyncio.timeout(MOST_SECONDS + wait):
                decisions = await asyncio.gather(*(self.judged(client, key, call, wait=wait) for call in calls))
        except TimeoutError:
            return [LATE]
        found = []
        for call, decision in zip(calls, decisions, strict=True):
            if isinstance(decision, Refusal):
                found.append(decision.result.content)
            elif decision is not None and decision.note is not None:
                try:
                    written = json.loads(call.output) if isinstance(call.output, str) else call.output
                except ValueError:
                    written = call.output
                if decision.arguments != written:
                    found.append(corrected_words(call.tool, decision.arguments))
        return found


class LiteLLMVisit(GuardrailVisit):
    """Answer LiteLLM's generic guardrail API."""

    def decision(self, client: AsyncClient, key: str, payload: Message) -> Coroutine[Any, Any, Said]:
        """Block an answer of which one tool call is not valid; what goes to the model is not looked at."""
        if payload.value.get("input_type") not in ("request", "response"):
            raise NoPayloadError(422, "input_type is request or response.")
        made = payload.value.get("tool_calls") if payload.value["input_type"] == "response" else None
        own = payload.value.get("additional_provider_specific_params")
        given = own if isinstance(own, dict) else {}
        wait = given.get("wait", 0)
        if near := get_close_matches("wait", [name for name in given if name != "wait"], 1, 0.7):
            raise NoPayloadError(422, f"additional_provider_specific_params.{near[0][:50]}: did you mean wait?")
        names = [name for name in payload.value if name != "tool_calls"]
        odd = next((name for name in names if name.replace("_", "").lower() in ("toolcalls", "functioncall")), None)
        if payload.value["input_type"] == "response" and odd and payload.value[odd]:
            raise NoPayloadError(422, f"{odd[:50]} is not read here: the calls of an answer are tool_calls.")
        if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait <= LONGEST_WAIT:
            raise NoPayloadError(422, f"additional_provider_specific_params.wait is 0 to {LONGEST_WAIT:g} seconds.")
        session = session_in(payload.value.get("litellm_trace_id"))
        if not isinstance(made, list | None) or not all(isinstance(each, dict) for each in made or ()):
            raise NoPayloadError(422, "tool_calls is a list of calls.")
        calls = []
        for call in made or ():
            if call.get("type") == "custom":  # of OpenAI's: it takes a text, which no schema is held to
                continue
            function = call.get("function")
            if not isinstance(function, dict) or not isinstance(function.get("name"), str):
                raise NoPayloadError(422, "Each of tool_calls has a function with name and arguments.")
            # Models write nothing for a tool that takes nothing, and whoever runs it reads that as no arguments.
            use_id, arguments = str(call.get("id") or "guardrail"), function.get("arguments") or {}
            calls.append(VisitorsCall(function["name"], use_id, arguments, session))
        return self._decision(client, key, calls, wait)

    def unchecked(self, payload: Message) -> Said:  # noqa: ARG002 - others look at it
        """Block the answer."""
        return 200, {"action": "BLOCKED", "blocked_reason": UNCHECKED}

    async def _decision(self, client: AsyncClient, key: str, calls: list[VisitorsCall], wait: float) -> Said:
        reasons = await self.reasons(client, key, calls, wait)
        blocked = {"action": "BLOCKED", "blocked_reason": "\n\n".join(reasons)}
        return 200, blocked if reasons else {"action": "NONE"}


class NoVisit(KeyedVisit):
    """Say that nobody answers at an address below those of the checks."""

    async def serve(self, receive: Any, send: Any, *, max_body_bytes: int) -> None:  # noqa: ARG002 - nothing is read
        """Refuse whoever asks: gateways and agents read an error as none where it is a page."""
        await answer_problem(send, NoPayloadError(404, "There is no check at this address: see Doors without code."))

    async def answer(self, client: AsyncClient, key: str, receive: Any, send: Any, max_body_bytes: int) -> None:
        """Answer nothing: no key is asked for."""


class AuthorizationVisit(GuardrailVisit):
    """Answer Envoy's external authorization over HTTP: the request that an MCP client has sent, at any path."""

    METHODS = ()

    async def answer(self, client: AsyncClient, key: str, receive: Any, send: Any, max_body_bytes: int) -> None:
        """Allow what holds no tool call, a stream that is opened or a session that ends."""
        if self._scope["method"] not in ("GET", "HEAD", "OPTIONS", "DELETE"):
            await super().answer(client, key, receive, send, max_body_bytes)
        else:
            await answer(send, 200, {})

    def decision(self, client: AsyncClient, key: str, payload: Message) -> Coroutine[Any, Any, Said]:
        """Allow a request whose tool calls are valid."""
        session = session_in(self._headers.get(b"mcp-session-id", b"").decode("latin-1"))
        if payload.repeated is not None:
            raise NoPayloadError(
                422, f"{payload.repeated!r} stands twice: one of them could be checked, and the other run."
            )
        if payload.method is None and not payload.is_answer:
            raise NoPayloadError(422, "This is no JSON-RPC message: it has no method, no result and no error.")
        calls = []
        if payload.method == "tools/call":
            name = payload.params.get("name")
            if not isinstance(name, str):
                raise NoPayloadError(422, "A tools/call names its tool.")
            calls = [VisitorsCall(name, "mcp", output_at(payload.text, "params", "arguments"), session)]
        return self._decision(client, key, payload, calls)

    def unchecked(self, payload: Message) -> Said:
        """Refuse the request."""
        return _refused(payload, [UNCHECKED])

    async def _decision(self, client: AsyncClient, key: str, payload: Message, calls: list[VisitorsCall]) -> Said:
        reasons = await self.reasons(client, key, calls, wait=0)
        return _refused(payload, reasons) if reasons else (200, {})


def _refused(payload: Message, reasons: list[str]) -> Said:
    error = {"code": INVALID_PARAMS, "message": "\n\n".join(reasons)}
    return REFUSED, {"jsonrpc": "2.0", "id": payload.value.get("id"), "error": error}
