"""Judge one submission and write its answer: the pure heart that the library and the service share."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any

from retrycontract.contract.checks.composition import sensitive_pointers
from retrycontract.contract.checks.findings import Findings
from retrycontract.contract.checks.tool_arguments import (
    callback_rejection,
    check_arguments,
    read_output,
    unknown_tool,
)
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.formatter import ErrorFormatter
from retrycontract.contract.kinds import Kind
from retrycontract.contract.lifecycle import Budget, Status, Verdict
from retrycontract.contract.sanitizer import ValueSanitizer
from retrycontract.contract.tool import CompiledTool
from retrycontract.contract.tool_result import ToolResult, metadata


def examine(
    output: Any,
    tool: CompiledTool | None,
    sanitizer: ValueSanitizer,
    *,
    tool_name: str,
    known_tools: Iterable[str] = (),
    finish_reason: str | None = None,
    callback_error: str | None = None,
) -> Findings:
    """Find everything wrong with an output; `tool` is None for a tool that nobody registered.

    A callback's rejection counts only when the output is otherwise right: the schema's errors come first.
    """
    if tool is None:
        value, fault = read_output(output)
        errors = unknown_tool(tool_name, known_tools, sanitizer).errors
        return Findings(errors, value if fault is None else None, is_parsed=fault is None)
    findings = check_arguments(output, tool, sanitizer, finish_reason=finish_reason)
    if findings.is_valid and callback_error is not None:
        rejection = callback_rejection(callback_error, sanitizer)
        return Findings(rejection.errors + findings.errors, findings.parsed, findings.is_parsed)
    return findings


def write_answer(
    findings: Findings,
    verdict: Verdict,
    budget: Budget,
    *,
    tool_name: str,
    tool_call_id: str,
    configuration: RetryConfiguration,
    kind: Kind = Kind.TOOL_CALL,
) -> ToolResult | None:
    """Write the ToolResult of a judged attempt; None when the agent may go on and runs the tool itself."""
    if verdict.status is Status.VALID:
        return None
    formatter = ErrorFormatter(configuration)
    attempt, allowed = budget.shown
    if verdict.is_held:
        content = formatter.format_held(tool_name, attempt=attempt, max_attempts=allowed, kind=kind.subject)
    else:
        content = formatter.format_feedback(
            tool_name,
            findings.errors,
            attempt=attempt,
            max_attempts=allowed,
            kind=kind.subject,
            blocked=verdict.status is Status.BLOCKED,
        )
    twin = metadata(findings.errors, attempt=attempt, max_attempts=allowed, status=verdict.status.value)
    return ToolResult(tool_call_id=tool_call_id, content=content, metadata=twin)


def shown_output(findings: Findings, output: Any, tool: CompiledTool | None, sanitizer: ValueSanitizer) -> str:
    """Show an output on one line; of a large one only what the line has room for is looked at."""
    if findings.is_parsed:
        return sanitizer.preview(findings.parsed, marked=_marked(findings, tool))
    return sanitizer.preview(output.decode("utf-8", "replace") if isinstance(output, bytes) else output)


def redacted_output(findings: Findings, output: Any, tool: CompiledTool | None, sanitizer: ValueSanitizer) -> Any:
    """Give what may be stored of an output: its parsed value without secrets, or its text when it never parsed."""
    if findings.is_parsed:
        return sanitizer.redact(findings.parsed, marked=_marked(findings, tool))
    if isinstance(output, bytes):
        return sanitizer.redact_text(output.decode("utf-8", "replace"))
    if isinstance(output, str):
        return sanitizer.redact_text(output)
    try:
        return json.dumps(sanitizer.redact(output))
    except (RecursionError, ValueError):  # nested too deep, or a number that Python refuses to print
        return sanitizer.preview(output)


def _marked(findings: Findings, tool: CompiledTool | None) -> Collection[str]:
    """List the places that the tool's schema calls secret."""
    return sensitive_pointers(tool.schema.index, findings.parsed) if tool else ()
