"""Judge in this process: no server, no history, nobody at a desk."""

from __future__ import annotations

import operator
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from retrycontract.contract.outputs import Kind
from retrycontract.contract.schemas.admission import InvalidSchema
from retrycontract.contract.schemas.tool_lists import DeclaredTool
from retrycontract.contract.tool import Tool
from retrycontract.in_process import Outcome, RetryContract
from retrycontract.judging.judge import ModelOutput, Runner, Steps, Verdict, refuse_other

if TYPE_CHECKING:
    from retrycontract.client import CallSummary, Guidance

KNOWN_DETAILS = ("session_id", "turn", "correlation_id")  # the others are for a history, which is not kept here
QUICK = 0.001  # seconds, as long as an event loop may stand still for one check
MOST_SMALL = 200  # values, or characters by the sixteen


@dataclass(slots=True)
class InProcessJudge:
    """Judge with a RetryContract.

    `origin` begins the tool_call_ids that are made up here. `run` takes work to another thread where an event loop must
    go on meanwhile. `details` go along with every attempt, `settings` are those of imported tools.
    """

    contract: RetryContract
    origin: str
    max_attempts: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    run: Runner = operator.call
    registered: dict[str, Tool] = field(default_factory=dict)
    # Seconds of the last check for each tool; the first one for a schema is never quick.
    took: dict[str, float] = field(default_factory=dict)

    def register(self, tool: Tool) -> Steps[int]:
        """Admit and compile the schema."""
        yield partial(self.run, partial(self.contract.register, tool))
        self.registered[tool.name] = tool
        self.took.pop(tool.name, None)
        return tool.max_attempts or self.contract.configuration.for_tool(tool.name).max_attempts

    def import_tools(self, tools: Sequence[DeclaredTool], kind: Kind = Kind.TOOL_CALL) -> Steps[dict[str, str]]:
        """Register each; schemas that are refused are told apart from the others."""
        refused = {}
        for declared in tools:
            try:
                tool = Tool(
                    name=declared.name, input_schema=declared.schema, description=declared.description, kind=kind,
                    **self.settings,
                )  # fmt: skip
                yield from self.register(tool)
            except InvalidSchema as fault:
                refused[declared.name] = f"{fault}"
            except ValueError as fault:  # a name that is none: the others are judged all the same
                refused[declared.name] = str(fault)
        return refused

    def judge(self, output: ModelOutput) -> Steps[Verdict]:
        """Check one attempt; its tool_call_id is new each time, so that only `call_id` continues a call."""
        if output.api_error is not None:
            unasked = partial(
                self.contract.check_unasked, output.tool_name, call_id=output.call_id, max_attempts=self.max_attempts,
                gives_up=output.gives_up,
            )  # fmt: skip
            return Verdict.of((yield partial(self.run, unasked)), None)
        details = {name: self.details[name] for name in KNOWN_DETAILS if name in self.details}
        check = partial(
            self.contract.check, output.tool_name, f"{self.origin}-{uuid.uuid4().hex}", output.value,
            call_id=output.call_id, finish_reason=output.finish_reason, callback_error=output.failure,
            max_attempts=self.max_attempts, said=output.generation.get("said"), feedback=output.feedback, **details,
        )  # fmt: skip
        timed = partial(self._timed, output.tool_name, check)
        outcome = yield timed if self.is_quick(output.tool_name, output.value) else partial(self.run, timed)
        return Verdict.of(outcome, outcome.arguments, escalation=outcome.escalation)

    def is_quick(self, tool_name: str, value: Any) -> bool:
        """Tell whether an output is small, and its tool's last check was quick.

        It is checked here then: the way to another thread and back takes longer.
        """
        is_known_as_quick = self.took.get(tool_name, QUICK) < QUICK
        return is_known_as_quick and is_small(value) and not self.contract.is_judged_apart(tool_name)

    def _timed(self, tool_name: str, check: Callable[[], Outcome]) -> Outcome:
        began = perf_counter()
        outcome = check()
        # Kept for tools that are known: a model may make up any number of names.
        if tool_name in self.registered:
            self.took[tool_name] = perf_counter() - began
        return outcome

    def resume(self, call_id: str, tool_name: str) -> Steps[Verdict]:
        """Read what became of the newest attempt."""
        outcome = yield partial(self.contract.last_outcome, call_id)
        refuse_other(call_id, outcome.tool, tool_name)
        return Verdict.of(outcome, None, escalation=outcome.escalation)

    def guidance(self, call_id: str, wait: float | None) -> Steps[Guidance | None]:  # noqa: ARG002 - nobody is asked
        """Return None at once: there is no desk."""
        # Nothing is waited for, but a judge's methods are generators, and this makes the function one.
        yield from ()
        return None

    def cancel(self, call_id: str) -> Steps[None]:  # noqa: ARG002 - it is forgotten with its contract
        yield from ()

    def tools(self, kind: Kind | None = None) -> Steps[dict[str, str]]:
        """Name what was registered through this judge."""
        yield from ()
        return {tool.name: tool.description for tool in self.registered.values() if kind in (None, tool.kind)}

    def tool(self, name: str) -> Steps[Tool]:
        yield from ()
        return self.registered[name]

    def open_calls(self) -> Steps[list[CallSummary] | None]:
        """Leave it to the caller, whose calls are all there are."""
        yield from ()
        return None


def is_small(output: Any) -> bool:
    """Tell whether an output can be checked in no time, without looking at all of a large one."""
    left, waiting = MOST_SMALL, [output]
    while waiting and left > 0:
        value = waiting.pop()
        left -= 1
        if isinstance(value, str | bytes):
            left -= len(value) // 16
        elif isinstance(value, Mapping):
            left -= len(value)
            waiting += [*value, *value.values()] if left > 0 else ()
        elif isinstance(value, list):
            left -= len(value)
            waiting += value if left > 0 else ()
    return left > 0
