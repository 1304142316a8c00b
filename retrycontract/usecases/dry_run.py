"""Try an output against a schema without storing anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from retrycontract.contract.answer import examine, write_feedback
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.kinds import Kind
from retrycontract.contract.tool import CompiledTool, Tool
from retrycontract.installed_formatters import gather_formatters
from retrycontract.languages import compiler_of
from retrycontract.usecases.contracts import configuration_for, sanitizer


@dataclass(frozen=True, slots=True)
class DryRun:
    """Hold a verdict and the exact feedback that a model would read, empty when valid."""

    is_valid: bool
    errors: tuple[ValidationError, ...]
    feedback: str


def dry_run(
    schema: Any,
    output: Any,
    *,
    tool_name: str,
    strict: bool,
    attempt: int,
    max_attempts: int,
    kind: Kind = Kind.TOOL_CALL,
) -> DryRun:
    """Check an output given as text or as a parsed value; raises InvalidSchema."""
    tool_name = sanitizer().redact_name(tool_name)
    tool = CompiledTool.of(Tool(name=tool_name, input_schema=schema, strict=strict, kind=kind), compiler_of)
    findings = examine(output, tool, sanitizer(), tool_name=tool_name)
    if findings.is_valid:
        return DryRun(True, findings.errors, "")
    feedback = write_feedback(
        tool_name, findings.errors, attempt=min(attempt, max_attempts), max_attempts=max_attempts,
        configuration=configuration_for(tool_name), kind=kind, blocked=attempt >= max_attempts,
        formatters=gather_formatters(),
    )  # fmt: skip
    return DryRun(False, findings.errors, feedback)
