"""Let the service judge: it keeps the history, has a desk, and hands over what a person answers."""

from __future__ import annotations

import logging
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any, TypeVar

import anyio

from retrycontract.client import (
    AsyncClient,
    CallSummary,
    ClientError,
    Guidance,
    RefusedError,
    UnavailableError,
    UnreachableError,
)
from retrycontract.contract.json_types import Schema
from retrycontract.contract.kinds import Kind
from retrycontract.contract.lifecycle import CallState
from retrycontract.contract.schemas.tool_lists import MAX_NAME, DeclaredTool
from retrycontract.contract.tool import Tool
from retrycontract.mcp.judging import CallEndedError, NoVerdictError, Ruling, as_text

PATIENCE = 5.0  # seconds; a restart of the service takes a few, and clients give up after 30 to 60
PAUSE = 1.0  # second between two questions that a service cannot answer at the moment
ENDED = frozenset({"call-ended", "call-not-found"})
MAX_LISTED = 200  # calls in one state, extractions; a list is read by a model

T = TypeVar("T")

logger = logging.getLogger("retrycontract.mcp")


class ServiceJudge:
    """Judge through a client of the service."""

    def __init__(self, client: AsyncClient, *, session: str, settings: Mapping[str, Any]) -> None:
        self._client, self._settings = client, settings
        self._session_id = f"{session}-{uuid.uuid4().hex}"  # ours alone: an earlier connection's calls are not ours
        self._versions: dict[str, str] = {}
        self._numbers = count(1)

    async def register(self, tools: Sequence[DeclaredTool], kind: Kind = Kind.TOOL_CALL) -> dict[str, str]:
        """Import the tools; those with settings or a kind of their own are registered one by one."""
        refused = {tool.name: "its name cannot be registered" for tool in tools if not _is_name(tool.name)}
        named = [tool for tool in tools if tool.name not in refused]
        listed = [{"name": tool.name, "description": tool.description, "inputSchema": tool.schema} for tool in named]
        with _translated():
            done = await self._client.register_tools(listed)
            refused |= {tool.name: f"{tool.pointer or '(root)'}: {tool.detail}" for tool in done.refused}
            # The version is named with each call: another server behind the same key may have a tool of that name.
            self._versions |= {tool.name: tool.schema_hash for tool in done.registered}
            own = self._settings if kind is Kind.TOOL_CALL else {**self._settings, "kind": kind.value}
            for tool in named if own else ():
                if tool.name not in refused:
                    await self._client.register_tool(tool.name, tool.schema, **own)
        return refused

    async def rule(self, tool_name: str, arguments: Any, *, call_id: str | None, kind: Kind = Kind.TOOL_CALL) -> Ruling:
        """Submit an attempt and wait for the verdict."""
        with _translated():
            outcome = await self._client.submit(
                tool_name,
                f"mcp-{next(self._numbers)}",
                as_text(arguments) if isinstance(arguments, str) else arguments,
                call_id=call_id,
                session_id=self._session_id,
                turn=0,  # one turn for the whole connection: a call is continued by its call_id only
                version=self._versions.get(tool_name),
                kind=kind.value,
            )
        if outcome.status is None:
            raise NoVerdictError("the service did not judge it in time.")
        return Ruling(outcome.call_id, outcome.status, outcome.tool_result)

    async def known_tools(self) -> dict[str, str]:
        """List the tools of the agent's namespace."""
        with _translated():
            return {tool.name: tool.description async for tool in _first(MAX_LISTED, self._client.tools())}

    async def extractions(self) -> list[str]:
        """Name the extractions of the agent's namespace."""
        with _translated():
            return [tool.name async for tool in _first(MAX_LISTED, self._client.tools(Kind.EXTRACTION))]

    async def extraction(self, name: str) -> Tool:
        """Ask for it, as the service shows it."""
        with _translated():
            known = await self._client.tool(name)
        return Tool(name=name, input_schema=known.input_schema, strict=known.strict, kind=Kind.EXTRACTION)

    async def schema_of(self, name: str) -> Schema:
        """Ask for the schema, as the service shows it."""
        with _translated():
            schema: Schema = (await self._client.tool(name)).input_schema
        return schema

    async def guidance(self, call_id: str, *, wait: float) -> Guidance | None:
        """Wait until somebody has answered; what goes wrong on the way is tried again."""
        deadline = anyio.current_time() + wait
        with _translated():
            while True:
                left = max(deadline - anyio.current_time(), 0)
                try:
                    return await self._taken_over(await self._client.wait_for_guidance(call_id, timeout=left))
                except (UnreachableError, UnavailableError) as error:
                    logger.warning("Cannot ask for guidance at the moment: %s", error)
                if anyio.current_time() >= deadline:
                    return None
                await anyio.sleep(PAUSE)

    async def open_calls(self) -> list[CallSummary] | None:
        """List the open calls of the agent whose key we have, those of other connections too."""
        with _translated():
            return [
                call
                for state in CallState
                if not state.has_ended
                async for call in _first(MAX_LISTED, self._client.calls(state=state))
            ]

    async def _taken_over(self, answer: Guidance) -> Guidance | None:
        if answer.decision is None:
            return answer if answer.text else None
        try:
            await self._client.acknowledge(answer)
        except ClientError as error:  # the person does not see that it arrived; the model has it all the same
            logger.warning("Cannot acknowledge guidance: %s", error)
        return answer


async def _first(most: int, listed: AsyncIterator[T]) -> AsyncIterator[T]:
    for _ in range(most):
        try:
            yield await anext(listed)
        except StopAsyncIteration:
            return


def _is_name(name: str) -> bool:
    return 0 < len(name) <= MAX_NAME and name.isprintable()


@contextmanager
def _translated() -> Iterator[None]:
    """Say what went wrong in words that may reach the model; what to do about it is for the log."""
    try:
        yield
    except RefusedError as error:
        if error.code in ENDED:
            raise CallEndedError(error.detail) from error
        raise NoVerdictError(f"the service says {error.code or error.status}: {error.detail}") from error
    except ClientError as error:
        logger.warning("Cannot ask the service: %s", error)
        reached = "cannot be reached" if isinstance(error, UnreachableError) else "answers not as retrycontract does"
        raise NoVerdictError(f"the service {reached}.") from error
    except ValueError as error:
        raise NoVerdictError("it holds a number that is too long to be sent.") from error
