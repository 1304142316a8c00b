"""Which check judges which kind of output: all of them have one signature."""

from __future__ import annotations

from typing import Any, Protocol

from retrycontract.contract.checks.agent_response import check_response
from retrycontract.contract.checks.findings import Findings
from retrycontract.contract.checks.source_file import check_source
from retrycontract.contract.checks.tool_arguments import check_arguments
from retrycontract.contract.kinds import Kind
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.tool import CompiledTool


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
