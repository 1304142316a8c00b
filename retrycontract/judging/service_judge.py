"""Judge through a service: it keeps the history, has a desk, and hands over what a person answers."""

from __future__ import annotations

import logging
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from time import monotonic
from typing import Any, TypeVar

from retrycontract.client import AsyncClient, CallSummary, Client, ClientError, Guidance, Outcome
from retrycontract.contract.checks.failure import blocks
from retrycontract.contract.feedback.feedback_forms import FeedbackForm
from retrycontract.contract.lifecycle import CallState, Status
from retrycontract.contract.outputs import Kind
from retrycontract.contract.schemas.tool_lists import MAX_NAME, DeclaredTool
from retrycontract.contract.tool import Tool
from retrycontract.in_process import log_warnings
from retrycontract.judging.judge import TRACE, Examiner, ModelOutput, NotJudgedError, Steps, Verdict, refuse_other

AT_ONCE = 30.0  # seconds, of the sixty for which a client holds its question
MAX_LISTED = 200  # calls in one state, tools of one kind: such lists are read by a model

T = TypeVar("T")

logger = logging.getLogger("retrycontract.judging")


@dataclass(slots=True)
class ServiceJudge:
    """Submit to a service, which stores every attempt; a tool's own checks run here, before.

    `origin` begins the tool_call_ids that are made up here. `details` go along with every attempt (task_id, turn,
    session_id, correlation_id, context), `settings` with imported tools. Without `is_patient` an attempt that is not
    judged within the client's own wait raises NotJudgedError.
    """

    client: Client | AsyncClient
    origin: str
    max_attempts: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    is_patient: bool = True
    registered: dict[str, Tool] = field(default_factory=dict)
    # Named with each attempt: another agent behind the same key may have registered the name with another schema.
    versions: dict[str, str] = field(default_factory=dict)

    def register(self, tool: Tool) -> Steps[int]:
        """Register a tool, or change its schema and settings."""
        mode: dict[str, Any] = {"mode": tool.mode} if tool.mode else {}  # else it stays as the operators set it
        done = yield partial(
            self.client.register_tool, tool.name, tool.input_schema, kind=tool.kind.value, strict=tool.strict, **mode
        )
        log_warnings(tool.name, done.warnings)
        self.registered[tool.name], self.versions[tool.name] = tool, done.schema_hash
        allowed: int = done.max_attempts
        return allowed

    def import_tools(self, tools: Sequence[DeclaredTool], kind: Kind = Kind.TOOL_CALL) -> Steps[dict[str, str]]:
        """Import the list in one request."""
        # Taken out here, since the service refuses the whole list for one name that it cannot read.
        odd = [
            tool.name
            for tool in tools
            if not (0 < len(tool.name.strip()) <= len(tool.name) <= MAX_NAME and tool.name.isprintable())
        ]
        refused = dict.fromkeys(odd, "its name cannot be registered")
        named = [tool for tool in tools if tool.name not in refused]
        listed = [{"name": tool.name, "description": tool.description, "inputSchema": tool.schema} for tool in named]
        own = self.settings if kind is Kind.TOOL_CALL else {**self.settings, "kind": kind.value}
        done = yield partial(self.client.register_tools, listed, **own)
        refused |= {tool.name: f"{tool.pointer or '(root)'}: {tool.detail}" for tool in done.refused}
        self.versions |= {tool.name: tool.schema_hash for tool in done.registered}
        for tool in done.registered:
            log_warnings(tool.name, tool.warnings)
        return refused

    def judge(self, output: ModelOutput) -> Steps[Verdict]:
        """Submit one attempt and wait for its verdict."""
        tool = self.registered.get(output.tool_name)
        failure: Any = output.failure
        if not failure and tool is not None and tool.checks and output.api_error is None:
            # A tool's own checks run here, as the service cannot run them.
            findings = Examiner(tool).examine(output.value, output.finish_reason)
            failure = tuple(error for error in findings.errors if blocks(error)) or None
        account = {name: value for name, value in output.generation.items() if value is not None}
        if output.api_error is not None:
            account |= {"api_error": output.api_error, "gives_up": output.gives_up}
        if output.feedback.form is not FeedbackForm.ERRORS:
            account["feedback"] = {"form": output.feedback.form.value, "max_length": output.feedback.max_length}
        outcome = yield partial(
            # A new id for each attempt: in a session, one that came before would continue its call.
            self.client.submit, output.tool_name, f"{self.origin}-{uuid.uuid4().hex}", output.value,
            call_id=output.call_id, finish_reason=output.finish_reason, kind=output.kind.value,
            callback_error=failure or None, max_attempts=self.max_attempts,
            version=self.versions.get(output.tool_name), traceparent=TRACE.get(),
            **{**self.details, **account},
        )  # fmt: skip
        if outcome.status is None and not outcome.state.has_ended and not self.is_patient:
            raise NotJudgedError("the service did not judge it in time")
        outcome = yield from self._judged(outcome)
        value = outcome.arguments
        if tool is not None and tool.kind is Kind.SOURCE_FILE and outcome.status is Status.VALID:
            # Taken out of the words around it again, as the service returns no source; without the tool's own checks:
            # they have run before the output was sent.
            value = Examiner(replace(tool, checks=())).examine(output.value, output.finish_reason).parsed
        return Verdict.of(outcome, value)

    def is_quick(self, tool_name: str, value: Any) -> bool:  # noqa: ARG002 - every verdict is asked for
        """Tell that a service takes its time."""
        return False

    def resume(self, call_id: str, tool_name: str) -> Steps[Verdict]:
        """Ask for the verdict on the newest attempt, however long it takes."""
        outcome = yield partial(self.client.wait_for_verdict, call_id)
        refuse_other(call_id, outcome.tool, tool_name)
        outcome = yield from self._judged(outcome)
        return Verdict.of(outcome, outcome.arguments)

    def _judged(self, outcome: Outcome) -> Steps[Outcome]:
        """Ask until there is a verdict; raises NotJudgedError for an attempt that was dropped with its call's end."""
        is_dropped = False
        while outcome.status is None:
            if is_dropped or outcome.state.has_ended:
                raise NotJudgedError(f"the service dropped it unjudged: its call is {outcome.state}")
            began = monotonic()
            outcome = yield partial(self.client.wait_for_verdict, outcome)
            # The question is held while an attempt waits. What is answered at once was dropped, though a late answer
            # may have reopened the call since.
            is_dropped = outcome.state is not CallState.PENDING and monotonic() - began < AT_ONCE
        return outcome

    def guidance(self, call_id: str, wait: float | None) -> Steps[Guidance | None]:
        """Wait for a person's answer, and say that it has arrived."""
        if wait is None:
            return None
        answer: Guidance = yield partial(self.client.wait_for_guidance, call_id, wait)
        if answer.decision is None:
            return answer if answer.text else None
        try:
            yield partial(self.client.acknowledge, answer)
        except ClientError as error:  # the person does not see that it arrived; the model has it all the same
            logger.warning("Cannot acknowledge guidance: %s", error)
        return answer

    def cancel(self, call_id: str) -> Steps[None]:
        yield partial(self.client.cancel, call_id)

    def tools(self, kind: Kind | None = None) -> Steps[dict[str, str]]:
        """List the tools of the agent's namespace."""
        listed = yield partial(_first, MAX_LISTED, self.client.tools(kind))
        return {tool.name: tool.description for tool in listed}

    def tool(self, name: str) -> Steps[Tool]:
        """Ask for the tool, as the service shows it."""
        known = yield partial(self.client.tool, name)
        return Tool(name=name, input_schema=known.input_schema, strict=known.strict, kind=Kind(known.kind))

    def open_calls(self) -> Steps[list[CallSummary] | None]:
        """List the open calls of the agent whose key we have, those of other connections too."""
        found: list[CallSummary] = []
        for state in CallState:
            if not state.has_ended:
                found += yield partial(_first, MAX_LISTED, self.client.calls(state=state))
        return found


def _first(most: int, listed: Iterator[T] | AsyncIterator[T]) -> Any:
    """Take the first of a list that the client reads page by page; an awaitable for an asynchronous client."""

    async def awaited(listed: AsyncIterator[T]) -> list[T]:
        found: list[T] = []
        while len(found) < most:
            try:
                found.append(await anext(listed))
            except StopAsyncIteration:
                break
        return found

    return awaited(listed) if isinstance(listed, AsyncIterator) else list(islice(listed, most))
