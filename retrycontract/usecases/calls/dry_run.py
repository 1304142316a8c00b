"""Try an output against a schema without storing anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from retrycontract.checking import AT_ONCE
from retrycontract.config.installed_formatters import gather_formatters
from retrycontract.contract.checks.failure import Findings
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.feedback.answer import Examined, write_feedback
from retrycontract.contract.feedback.tool_result import ToolResult, metadata
from retrycontract.contract.kinds import Kind
from retrycontract.contract.lifecycle import Status
from retrycontract.contract.tool import Tool
from retrycontract.store.models import Agent
from retrycontract.usecases.calls.check_output import DESK, Submitted, ask_child
from retrycontract.usecases.counts.keep_count import charge
from retrycontract.usecases.tools.contracts import configuration_for, require_compiler_of, sanitizer

CALL_ID = "call_1"  # nobody called: the providers' shapes want one


@dataclass(frozen=True, slots=True)
class DryRun:
    """Hold a verdict and the exact answer that a model would read, None when it may go on."""

    examined: Examined
    kind: Kind
    answer: ToolResult | None

    @property
    def findings(self) -> Findings:
        """Give what was found."""
        return self.examined.findings

    @property
    def is_valid(self) -> bool:
        """Tell whether nothing is wrong."""
        return self.findings.is_valid

    @property
    def errors(self) -> tuple[ValidationError, ...]:
        """List everything that was found, warnings too."""
        return self.findings.errors

    @property
    def feedback(self) -> str:
        """Give the text that a model would read, empty when valid."""
        return self.answer.content if self.answer else ""

    @property
    def tokens_estimate(self) -> int:
        """Guess the tokens of the text: characters / 4, no tokenizer is asked."""
        return -(-len(self.feedback) // 4)

    @property
    def redacted(self) -> Any:
        """Give the output as it may be shown: its value without secrets, or its text when it never parsed."""
        return self.examined.kept


def dry_run(
    schema: Any,
    output: Any,
    *,
    tool_name: str,
    strict: bool,
    attempt: int,
    max_attempts: int,
    kind: Kind = Kind.TOOL_CALL,
    agent: Agent | None = None,
) -> DryRun:
    """Check an output given as text or as a parsed value, on an agent's account or the desk's; raises InvalidSchema.

    Nothing is known of such a schema, so that all of it is done in a child process.
    """
    tool_name, attempt = sanitizer().redact_name(tool_name), min(attempt, max_attempts)
    tool = Tool(name=tool_name, input_schema=schema, strict=strict, kind=kind)
    require_compiler_of(tool)
    submitted = Submitted(output=output, tool_name=tool_name)
    if agent is None:
        checked = ask_child(submitted, tool, DESK)
    else:
        # Few at once: each holds a thread of the web process while it waits for a child.
        checked = ask_child(submitted, tool, agent.pk, at_once=AT_ONCE)
        charge(agent.pk, checked.cpu_seconds, now=timezone.now())
    findings = checked.examined.findings
    if findings.is_valid:
        return DryRun(checked.examined, kind, None)
    status = Status.BLOCKED if attempt == max_attempts else Status.RETRY
    feedback = write_feedback(
        tool_name, findings.errors, attempt=attempt, max_attempts=max_attempts,
        configuration=configuration_for(tool_name), kind=kind, blocked=status is Status.BLOCKED,
        formatters=gather_formatters(),
    )  # fmt: skip
    twin = metadata(findings.errors, attempt=attempt, max_attempts=max_attempts, status=status.value)
    return DryRun(checked.examined, kind, ToolResult(CALL_ID, feedback, metadata=twin, name=tool_name))
