"""Let the service judge: it keeps the history, has a desk, and hands over what a person answers."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Mapping, Sequence
from itertools import count
from math import ceil
from typing import Any
from urllib.parse import quote

import anyio
import httpx2

from retrycontract.contract.lifecycle import Decision, Status
from retrycontract.contract.tool_lists import MAX_NAME, DeclaredTool
from retrycontract.contract.tool_result import ToolResult
from retrycontract.mcp.judging import CallEndedError, Expiry, Guidance, NoVerdictError, Ruling, as_text

API = "/api/v1"
ENDED = frozenset({"call-ended", "call-not-found"})
LONGEST_POLL = 60  # seconds that the service keeps one question open
JUDGING_SECONDS = 60.0  # a verdict takes milliseconds; a service that is this busy has a problem of its own
PAUSE = 1.0  # second between two questions: a service that is stopping holds none open
TIMEOUT = httpx2.Timeout(10.0, read=LONGEST_POLL + 15.0)

logger = logging.getLogger("retrycontract.mcp")


class _UnreachableError(NoVerdictError):
    """Raised when the service did not answer, or said that it cannot at the moment."""


class ServiceJudge:
    """Judge over HTTP; the API key stands in the client's headers."""

    def __init__(self, http: httpx2.AsyncClient, *, session: str, settings: Mapping[str, Any]) -> None:
        self._http, self._settings = http, settings
        self._session_id = f"{session}-{uuid.uuid4().hex}"  # ours alone: an earlier connection's calls are not ours
        self._versions: dict[str, str] = {}
        self._numbers = count(1)

    async def register(self, tools: Sequence[DeclaredTool]) -> dict[str, str]:
        """Import the tools; those with settings of their own are registered one by one."""
        refused = {tool.name: "its name cannot be registered" for tool in tools if not _is_name(tool.name)}
        named = [tool for tool in tools if tool.name not in refused]
        listed = [{"name": tool.name, "description": tool.description, "inputSchema": tool.schema} for tool in named]
        done = _body(await self._send("POST", "/tools/import", {"tools": listed}))
        refused |= {tool["name"]: f"{tool['pointer'] or '(root)'}: {tool['detail']}" for tool in done["refused"]}
        # The version is named with each call: another server behind the same key may have a tool of the same name.
        self._versions |= {tool["name"]: tool["schema_hash"] for tool in done["registered"]}
        for tool in named if self._settings else ():
            if tool.name not in refused:
                body = {"input_schema": tool.schema, **self._settings}
                await self._send("PUT", f"/tools/{quote(tool.name, safe='')}", body)
        return refused

    async def rule(self, tool_name: str, arguments: Any, *, call_id: str | None) -> Ruling:
        """Submit an attempt and wait for the verdict."""
        body = {
            "tool": tool_name,
            "tool_call_id": f"mcp-{next(self._numbers)}",
            "session_id": self._session_id,
            "turn": 0,  # one turn for the whole connection: a call is continued by its call_id only
            "call_id": call_id,
            "version": self._versions.get(tool_name),
        }
        sent = {name: value for name, value in body.items() if value is not None}
        sent |= {"raw": as_text(arguments)} if isinstance(arguments, str) else {"arguments": arguments}
        verdict = await self._verdict(await self._send("POST", "/calls", sent, wait=30))
        given = verdict["tool_result"]
        result = ToolResult(given["tool_call_id"], given["content"], metadata=given["metadata"]) if given else None
        return Ruling(verdict["call_id"], Status(verdict["status"]), verdict["attempt_number"], result)

    async def guidance(self, call_id: str, *, wait: float) -> Guidance | Expiry | None:
        """Poll until somebody has answered; what goes wrong on the way is tried again."""
        deadline = anyio.current_time() + wait
        while True:
            left = max(deadline - anyio.current_time(), 0)
            try:
                answer = await self._poll(call_id, min(ceil(left), LONGEST_POLL))
            except _UnreachableError as error:
                logger.warning("Cannot ask for guidance at the moment: %s", error)
            else:
                if answer.status_code == 200:
                    return await self._taken_over(call_id, answer.json())
            if anyio.current_time() >= deadline:
                return None
            await anyio.sleep(min(PAUSE, left))

    async def _poll(self, call_id: str, wait: int) -> httpx2.Response:
        return await self._send("GET", f"/calls/{call_id}/wait?for=guidance", wait=wait)

    async def _taken_over(self, call_id: str, body: Mapping[str, Any]) -> Guidance | Expiry | None:
        given = body["guidance"]
        if given is None:
            return Expiry(body["expiry"]) if body["expiry"] else None
        try:
            await self._send("POST", f"/calls/{call_id}/guidance/ack")
        except NoVerdictError as error:  # the person does not see that it arrived; the model has it all the same
            logger.warning("Cannot acknowledge guidance: %s", error)
        return Guidance(
            decision=Decision(given["decision"]),
            text=given["text"],
            words=given["operator_text"],
            arguments=given["arguments"],
            patch=given["patch"],
            base=given["base"]["attempt"] if given["base"] else None,
        )

    async def _verdict(self, answer: httpx2.Response) -> dict[str, Any]:
        with anyio.move_on_after(JUDGING_SECONDS):
            while answer.status_code == 202:
                path = answer.headers["Location"].removeprefix(API)
                answer = await self._send("GET", path, wait=30)
        if answer.status_code == 202:
            raise NoVerdictError("the service did not judge it in time.")
        return _body(answer)

    async def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, wait: int | None = None
    ) -> httpx2.Response:
        headers = {"Content-Type": "application/json"} | ({"Prefer": f"wait={wait}"} if wait is not None else {})
        try:
            # Written here: models send NaN, which the HTTP client would not encode and the service refuses in words.
            content = None if body is None else json.dumps(body)
            answer = await self._http.request(method, f"{API}{path}", content=content, headers=headers)
        except httpx2.HTTPError as error:
            raise _UnreachableError(f"the service cannot be reached ({type(error).__name__}).") from error
        except ValueError as error:
            raise NoVerdictError("it holds a number that is too long to be sent.") from error
        if answer.status_code >= 400:
            raise _problem(answer)
        return answer


def _is_name(name: str) -> bool:
    return 0 < len(name) <= MAX_NAME and name.isprintable()


def _body(answer: httpx2.Response) -> dict[str, Any]:
    found: dict[str, Any] = answer.json()
    return found


def _problem(answer: httpx2.Response) -> Exception:
    try:
        document = answer.json()
        code, detail = str(document["code"]), str(document["detail"])
    except (ValueError, KeyError, TypeError):
        code, detail = "", f"it answers {answer.status_code}, and not as retrycontract does."
    if code in ENDED:
        return CallEndedError(detail)
    kind = _UnreachableError if answer.status_code >= 500 else NoVerdictError
    return kind(f"the service says {code or answer.status_code}: {detail}")
