"""Check outputs without counting them."""

from __future__ import annotations

from typing import Any

from retrycontract.contract.checks.findings import Findings
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.feedback.answer import examine, redacted_output
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.tool import CompiledTool, Tool
from retrycontract.languages import compiler_of


class Examiner:
    """Check outputs for one tool and count nothing; raises InvalidSchema."""

    def __init__(self, tool: Tool, configuration: RetryConfiguration | None = None) -> None:
        self.tool = CompiledTool.of(tool, compiler_of)
        self.sanitizer = ValueSanitizer(configuration or RetryConfiguration())

    def examine(self, output: Any, finish_reason: str | None = None) -> Findings:
        """Find everything wrong with an output; never raises on what a model wrote."""
        name = self.tool.tool.name
        return examine(output, self.tool, self.sanitizer, tool_name=name, finish_reason=finish_reason)

    def redacted(self, findings: Findings, output: Any) -> Any:
        """Give what may be stored or shown of an output."""
        return redacted_output(findings, output, self.tool, self.sanitizer)
