"""Which check judges which kind of output: all of them have one signature."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from retrycontract.contract.checks.failure import Findings
from retrycontract.contract.checks.reading import syntax_error, unwrapped
from retrycontract.contract.checks.source_file import check_source
from retrycontract.contract.checks.tool_arguments import check_arguments
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ErrorSeverity
from retrycontract.contract.feedback.aggregator import in_order
from retrycontract.contract.kinds import Kind
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.tool import CompiledTool


def check_response(
    response: str | bytes | Any, contract: CompiledTool, sanitizer: ValueSanitizer, *, finish_reason: str | None = None
) -> Findings:
    """Judge a response; a value in a Markdown fence or between words is taken out when nothing is lost by that."""
    findings = check_arguments(response, contract, sanitizer, finish_reason=finish_reason)
    is_malformed = any(error.error_code is ErrorCode.INVALID_JSON_SYNTAX for error in findings.errors)
    within = unwrapped(response) if is_malformed else None
    if within is None:
        return findings
    text, around = within
    findings = check_arguments(text, contract, sanitizer, finish_reason=finish_reason)
    note = replace(syntax_error(around, sanitizer), severity=ErrorSeverity.INFO)
    return replace(findings, errors=in_order([*findings.errors, note]))


class Check(Protocol):
    """Find everything wrong with an output of one kind; never raises on what the model wrote."""

    def __call__(
        self, output: Any, contract: CompiledTool, sanitizer: ValueSanitizer, /, *, finish_reason: str | None = None
    ) -> Findings: ...


CHECKS: dict[Kind, Check] = {
    Kind.TOOL_CALL: check_arguments,
    Kind.EXTRACTION: check_arguments,
    Kind.AGENT_RESPONSE: check_response,
    Kind.SOURCE_FILE: check_source,
}
