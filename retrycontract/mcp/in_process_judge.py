"""Judge in this process: no server, no history, nobody at a desk."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

from anyio.to_thread import run_sync

from retrycontract.client import CallSummary, Guidance
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.json_types import Schema
from retrycontract.contract.kinds import Kind
from retrycontract.contract.schemas.admission import InvalidSchema
from retrycontract.contract.schemas.tool_lists import DeclaredTool
from retrycontract.contract.tool import Tool
from retrycontract.in_process import RetryContract, UnknownCallError
from retrycontract.mcp.judging import CallEndedError, Ruling, as_text

logger = logging.getLogger("retrycontract.mcp")


class InProcessJudge:
    """Judge with a RetryContract of our own; an escalation is written to the log, the only desk there is."""

    def __init__(self, configuration: RetryConfiguration, *, settings: Mapping[str, Any]) -> None:
        self._contract, self._settings = RetryContract(configuration=configuration), settings
        self._session_id = uuid.uuid4().hex
        self._numbers = count(1)
        self._extractions: dict[str, Tool] = {}

    async def register(self, tools: Sequence[DeclaredTool], kind: Kind = Kind.TOOL_CALL) -> dict[str, str]:
        """Admit and compile the schemas; a thread does it, as hostile ones take their time."""
        return await run_sync(self._register, tools, kind)

    def _register(self, tools: Sequence[DeclaredTool], kind: Kind) -> dict[str, str]:
        refused = {}
        for tool in tools:
            try:
                declared = Tool(name=tool.name, input_schema=tool.schema, kind=kind, **self._settings)
                self._contract.register(declared)
                if kind is Kind.EXTRACTION:
                    self._extractions[tool.name] = declared
            except InvalidSchema as fault:
                refused[tool.name] = f"{fault.pointer or '(root)'}: {fault.reason}"
        return refused

    async def rule(
        self,
        tool_name: str,
        arguments: Any,
        *,
        call_id: str | None,
        kind: Kind = Kind.TOOL_CALL,  # noqa: ARG002 - the tool has been registered with it
    ) -> Ruling:
        """Judge in a thread: other calls go on meanwhile."""
        # One turn for the whole connection: the contract then continues a call by its call_id only.
        check = partial(self._contract.check, call_id=call_id, session_id=self._session_id, turn=0)
        output = as_text(arguments) if isinstance(arguments, str) else arguments
        try:
            outcome = await run_sync(check, tool_name, f"mcp-{next(self._numbers)}", output)
        except UnknownCallError as error:
            raise CallEndedError(call_id) from error
        if outcome.escalation is not None:
            logger.warning("Nobody is at a desk to read this:\n%s", outcome.escalation)
        return Ruling(outcome.call_id, outcome.status, outcome.tool_result)

    async def known_tools(self) -> dict[str, str]:
        """Give none: nobody else registers tools here."""
        return {}

    async def extractions(self) -> list[str]:
        """Name those of the command line."""
        return list(self._extractions)

    async def extraction(self, name: str) -> Tool:
        """Give it as it was registered."""
        return self._extractions[name]

    async def schema_of(self, name: str) -> Schema:
        """Give the schema as it was registered."""
        return self._extractions[name].input_schema

    async def guidance(self, call_id: str, *, wait: float) -> Guidance | None:  # noqa: ARG002 - nobody is asked
        """Give nothing: there is no desk."""
        return None

    async def open_calls(self) -> list[CallSummary] | None:
        """Leave it to the connection, whose calls are all there are."""
        return None
