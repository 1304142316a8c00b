"""Make the contract that a request carries: its schemas, compiled once for all requests that bear the same ones."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import operator
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from retrycontract.client import AsyncClient
from retrycontract.contract.configuration import Mode, RetryConfiguration
from retrycontract.contract.outputs import Kind
from retrycontract.contract.schemas.tool_lists import DeclaredTool, InvalidToolListError, read_tool_list
from retrycontract.in_process import RetryContract
from retrycontract.judging import InProcessJudge, Judge, ModelOutput, Verdict
from retrycontract.judging.asking import CallNotOpenError, NoVerdictError, settled, verdict_on
from retrycontract.judging.service_judge import ServiceJudge
from retrycontract.proxy.wire import Terms

MAX_CONTRACTS: Final = 256  # sets of tools that are kept compiled; an agent has one, or a few
LARGE: Final = 50_000  # characters of an output that is judged in a thread: what is smaller takes microseconds
ORIGIN: Final = "proxy"

logger = logging.getLogger("retrycontract.proxy")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingSettings:
    """Say how outputs are judged: `mode` for every tool that the configuration's overrides give none."""

    mode: Mode = "observe"
    strict: bool = True
    configuration: RetryConfiguration = field(default_factory=RetryConfiguration)

    def mode_of(self, tool_name: str) -> Mode:
        mode: Mode = self.configuration.overrides_of(tool_name).get("mode", self.mode)
        return mode


@dataclass(slots=True)
class RequestContract:
    """Judge by one set of schemas; `faults` names those that cannot be judged by, with the reason."""

    local: InProcessJudge
    service: ServiceJudge | None = None
    names: frozenset[str] = frozenset()
    faults: dict[str, str] = field(default_factory=dict)
    output: str = ""
    enforces: bool = False

    def checks(self, name: str) -> bool:
        """Tell whether outputs of this name are judged; a name that nobody declared is a mistake, and is."""
        return name not in self.faults

    def knows(self, name: str) -> bool:
        return name in self.names

    async def cancel(self, call_id: str) -> None:
        """End a call that the model has given up."""
        if self.service is not None:
            try:
                await settled(self.service.cancel(call_id))
            except (NoVerdictError, CallNotOpenError) as error:
                logger.warning("A call cannot be cancelled: %s", error)

    async def judge(self, output: ModelOutput, details: Mapping[str, Any]) -> Verdict:
        """Judge one attempt; where the service cannot be asked the verdict is given here, and nobody reads of it."""
        if self.service is not None:
            judge = replace(self.service, details=details)
            try:
                return await self._verdict(judge, output)
            except NoVerdictError as error:
                logger.warning("An attempt is judged without the service: %s", error)
        is_large = isinstance(output.value, str) and len(output.value) > LARGE
        return await self._verdict(replace(self.local, run=asyncio.to_thread) if is_large else self.local, output)

    async def _verdict(self, judge: Judge, output: ModelOutput) -> Verdict:
        try:
            return await verdict_on(judge, output)
        except CallNotOpenError:  # it ended meanwhile, or is the other judge's: this attempt begins a call
            return await verdict_on(judge, replace(output, call_id=None))


class Contracts:
    """Keep the contracts of the newest requests; `service` keeps history, and has a desk."""

    def __init__(self, settings: JudgingSettings, service: AsyncClient | None = None) -> None:
        self._settings, self._service = settings, service
        self._known: OrderedDict[bytes, asyncio.Task[RequestContract]] = OrderedDict()

    async def of(self, terms: Terms) -> RequestContract:
        """Give the contract of a request; its schemas are compiled when they come for the first time."""
        declared = [[tool.name, tool.description, tool.schema] for tool in (*terms.tools, terms.output) if tool]
        key = hashlib.sha256(json.dumps([terms.output is not None, declared, dict(terms.faults)]).encode()).digest()
        known = self._known.get(key)
        # What failed may succeed the next time.
        if known is None or (known.done() and (known.cancelled() or known.exception() is not None)):
            # A task: a client that leaves must not end the work that others wait for as well.
            self._known[key] = asyncio.create_task(self._made(terms))
            if len(self._known) > MAX_CONTRACTS:
                self._known.popitem(last=False)
        # By use: an agent that asks all day keeps its contract, however many others come once.
        self._known.move_to_end(key)
        # Shielded, for awaiting a task hands a cancellation on to it.
        contract = await asyncio.shield(self._known[key])
        if contract.service is None is not self._service:
            self._known.pop(key, None)  # the service may be back for the next request
        return contract

    async def _made(self, terms: Terms) -> RequestContract:
        contract = RetryContract(configuration=self._settings.configuration)
        local = InProcessJudge(contract, ORIGIN, run=asyncio.to_thread)
        # Schemas are compiled in a thread, for they may take long; outputs are judged at once, as most take less than a
        # thread.
        made = RequestContract(replace(local, run=operator.call), faults=dict(terms.faults))
        groups: dict[tuple[Kind, Mode], list[DeclaredTool]] = {}
        for tool in terms.tools:
            # Settings go along with a whole list, so that tools of one mode are registered together.
            groups.setdefault((Kind.TOOL_CALL, self._settings.mode_of(tool.name)), []).append(tool)
        if terms.output is not None:
            # Both are names of one registry, where the output's schema would replace the tool's.
            is_taken = any(tool.name == terms.output.name for tool in terms.tools)
            output = replace(terms.output, name=f"output {terms.output.name}") if is_taken else terms.output
            groups.setdefault((Kind.EXTRACTION, self._settings.mode_of(output.name)), []).append(output)
            made.output = output.name
        for (kind, mode), tools in groups.items():
            settings = {"strict": self._settings.strict, "mode": mode}
            made.faults |= await settled(replace(local, settings=settings).import_tools(tools, kind))
            made.enforces |= mode == "enforce"
        made.names = frozenset(tool.name for tools in groups.values() for tool in tools)
        if self._service is not None:
            judge = ServiceJudge(self._service, ORIGIN, is_patient=False)
            try:
                for (kind, mode), tools in groups.items():  # in the namespace of our key
                    settings = {"strict": self._settings.strict, "mode": mode}
                    await settled(replace(judge, settings=settings).import_tools(tools, kind))
                made.service = judge
            except NoVerdictError as error:
                logger.warning("The tools of a request cannot be registered: %s", error)
        return made


def read_declared(tools: list[Any]) -> tuple[tuple[DeclaredTool, ...], dict[str, str]]:
    """Read each tool by itself, and say of those that cannot be read why: they alone are left alone."""
    found, faults = list[DeclaredTool](), dict[str, str]()
    for place, tool in enumerate(tools):
        try:
            found += read_tool_list([tool], is_registry=False)
        except InvalidToolListError as fault:
            inner = tool.get("function") if isinstance(tool.get("function"), dict) else tool
            faults[str(inner.get("name") or f"tool {place + 1}")] = f"{fault.pointer[2:] or '(root)'}: {fault.reason}"
    # Of two with one name the one that can be read is what calls are held to.
    known = {tool.name for tool in found}
    return tuple(found), {f"{name} (another)" if name in known else name: why for name, why in faults.items()}
