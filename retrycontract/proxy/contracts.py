"""Make the contract that a request carries: its schemas, compiled once for all requests that bear the same ones."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import operator
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable, Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, Final, NamedTuple

from retrycontract.checking import compiled_apart
from retrycontract.client import AsyncClient, UnavailableError
from retrycontract.contract.configuration import Mode, RetryConfiguration
from retrycontract.contract.outputs import Kind
from retrycontract.contract.schemas.document import told_at
from retrycontract.contract.schemas.tool_lists import DeclaredTool, InvalidToolListError, read_tool_list
from retrycontract.contract.tool import CompiledTool, Tool
from retrycontract.in_process import RetryContract
from retrycontract.judging import InProcessJudge, Judge, ModelOutput, Verdict
from retrycontract.judging.asking import CallNotOpenError, NoVerdictError, settled, verdict_on
from retrycontract.judging.service_judge import ServiceJudge
from retrycontract.proxy.visit import BusyError
from retrycontract.proxy.wire import Terms

MAX_CONTRACTS: Final = 256  # sets of tools that are kept compiled; an agent has one, or a few
MAX_DECLARED: Final = 4_000_000  # characters of them all, but for the newest
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


class ContractName(NamedTuple):
    """Tell a set of schemas from others; `size` is how many characters declare it."""

    digest: str
    size: int


class ContractInChildren(RetryContract):
    """Leave all schemas to child processes, in the turn of one key: the process has others to answer."""

    def __init__(self, configuration: RetryConfiguration, key: Hashable) -> None:
        self._key = key
        super().__init__(configuration=configuration)

    def _compiled(self, tool: Tool) -> CompiledTool:
        return compiled_apart(tool, key=self._key)


@dataclass(slots=True)
class RequestContract:
    """Judge by one set of schemas; `faults` names those that cannot be judged by, with the reason."""

    make_local: Callable[[], Coroutine[Any, Any, InProcessJudge]]
    service: ServiceJudge | None = None
    names: frozenset[str] = frozenset()
    faults: dict[str, str] = field(default_factory=dict)
    output: str = ""
    enforces: bool = False
    _local: asyncio.Task[InProcessJudge] | None = None

    async def local(self) -> InProcessJudge:
        """Give the judge that needs no service, which is made when it is first needed."""
        if self._local is None:
            self._local = asyncio.create_task(self.make_local())
        return await asyncio.shield(self._local)

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
        local = await self.local()
        is_long = isinstance(output.value, str) and len(output.value) > LARGE
        # Most outputs take less than a thread.
        is_quick = not (is_long or local.contract.is_judged_apart(output.tool_name))
        return await self._verdict(replace(local, run=operator.call) if is_quick else local, output)

    async def _verdict(self, judge: Judge, output: ModelOutput) -> Verdict:
        try:
            return await verdict_on(judge, output)
        except CallNotOpenError:  # it ended meanwhile, or is the other judge's: this attempt begins a call
            return await verdict_on(judge, replace(output, call_id=None))


class Contracts:
    """Keep the contracts of the newest requests; `service` keeps history, and has a desk.

    With a `turn` the service is this very process: schemas are read there alone, or by children in that turn.
    """

    def __init__(
        self, settings: JudgingSettings, service: AsyncClient | None = None, turn: Hashable | None = None
    ) -> None:
        self._settings, self._service, self._turn = settings, service, turn
        self._known: OrderedDict[ContractName, asyncio.Task[RequestContract]] = OrderedDict()

    def enforces(self, terms: Terms) -> bool:
        """Tell whether what a request asks for may be changed."""
        declared = (tool for tool in (*terms.tools, terms.output) if tool is not None)
        return any(self._settings.mode_of(tool.name) == "enforce" for tool in declared)

    async def of(self, terms: Terms, name: ContractName) -> RequestContract:
        """Give the contract of a request by its name; its schemas are compiled when they come for the first time.

        Raises BusyError where the service that the proxy is within takes no more work for now.
        """
        known = self._known.get(name)
        # What failed may succeed the next time.
        if known is None or (known.done() and (known.cancelled() or known.exception() is not None)):
            # A task: a client that leaves must not end the work that others wait for as well.
            self._known[name] = asyncio.create_task(self._made(terms))
        # By use: an agent that asks all day keeps its contract, however many others come once.
        self._known.move_to_end(name)
        while len(self._known) > MAX_CONTRACTS or (
            len(self._known) > 1 and sum(each.size for each in self._known) > MAX_DECLARED
        ):
            self._known.popitem(last=False)
        task = self._known[name]
        # Shielded, for awaiting a task hands a cancellation on to it.
        contract = await asyncio.shield(task)
        if contract.service is None is not self._service:
            self._known.pop(name, None)  # the service may be back for the next request
        return contract

    async def _made(self, terms: Terms) -> RequestContract:
        groups: dict[tuple[Kind, Mode], list[DeclaredTool]] = {}
        for tool in terms.tools:
            # Settings go along with a whole list, so that tools of one mode are registered together.
            groups.setdefault((Kind.TOOL_CALL, self._settings.mode_of(tool.name)), []).append(tool)
        output = terms.output
        if output is not None:
            # Both are names of one registry, where the output's schema would replace the tool's.
            is_taken = any(tool.name == output.name for tool in terms.tools)
            output = replace(output, name=f"output {output.name}") if is_taken else output
            groups.setdefault((Kind.EXTRACTION, self._settings.mode_of(output.name)), []).append(output)
        faults = dict(terms.faults)

        async def make_local() -> InProcessJudge:
            configuration = self._settings.configuration
            within = self._turn is not None
            contract = (
                ContractInChildren(configuration, self._turn) if within else RetryContract(configuration=configuration)
            )
            # In a thread, for they may take long.
            local = InProcessJudge(contract, ORIGIN, run=asyncio.to_thread)
            faults.update(await self._imported(local, groups))
            return local

        made = RequestContract(
            make_local, faults=faults, output="" if output is None else output.name,
            names=frozenset(tool.name for tools in groups.values() for tool in tools),
            enforces=any(mode == "enforce" for _, mode in groups),
        )  # fmt: skip
        if self._turn is None:
            await made.local()
        if self._service is not None:
            judge = ServiceJudge(self._service, ORIGIN, is_patient=False)
            try:
                refused = await self._imported(judge, groups)  # in the namespace of our key
                made.service = judge
            except NoVerdictError as error:
                cause = error.__cause__
                if self._turn is not None and isinstance(cause, UnavailableError):
                    raise BusyError(str(error), max(1, ceil(cause.retry_after))) from error
                logger.warning("The tools of a request cannot be registered: %s", error)
                await made.local()
            else:
                faults.update(refused if self._turn is not None else {})
        return made

    async def _imported(
        self, judge: InProcessJudge | ServiceJudge, groups: Mapping[tuple[Kind, Mode], list[DeclaredTool]]
    ) -> dict[str, str]:
        refused = dict[str, str]()
        for (kind, mode), tools in groups.items():
            settings = {"strict": self._settings.strict, "mode": mode}
            refused |= await settled(replace(judge, settings=settings).import_tools(tools, kind))
        return refused


def name_of(terms: Terms) -> ContractName:
    """Tell sets of schemas apart."""
    declared = [[tool.name, tool.description, tool.schema] for tool in (*terms.tools, terms.output) if tool]
    written = json.dumps([terms.output is not None, declared, dict(terms.faults)]).encode()
    return ContractName(hashlib.sha256(written).hexdigest(), len(written))


def read_declared(tools: list[Any]) -> tuple[tuple[DeclaredTool, ...], dict[str, str]]:
    """Read each tool by itself, and say of those that cannot be read why: they alone are left alone."""
    found, faults = list[DeclaredTool](), dict[str, str]()
    for place, tool in enumerate(tools):
        try:
            found += read_tool_list([tool], is_registry=False)
        except InvalidToolListError as fault:
            inner = tool.get("function") if isinstance(tool.get("function"), dict) else tool
            faults[str(inner.get("name") or f"tool {place + 1}")] = told_at(fault.pointer[2:], fault.reason)
    # Of two with one name the one that can be read is what calls are held to.
    known = {tool.name for tool in found}
    return tuple(found), {f"{name} (another)" if name in known else name: why for name, why in faults.items()}
