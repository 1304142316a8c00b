"""Check what LLM agents produce against its contract, feed mistakes back, and ask a person when the model is stuck.

The names below are the contract, usable alone: no Django, no server. They are imported when first used, so that
`import retrycontract` stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retrycontract.config.configuration_file import load_configuration
    from retrycontract.contract.codes import ErrorCode
    from retrycontract.contract.configuration import RetryConfiguration
    from retrycontract.contract.errors import ErrorSeverity, ValidationError
    from retrycontract.contract.feedback.escalation import EscalationFormatter
    from retrycontract.contract.feedback.feedback_text import parse_feedback
    from retrycontract.contract.feedback.formatter import ErrorFormatter
    from retrycontract.contract.feedback.hints import ErrorAggregator
    from retrycontract.contract.feedback.tool_result import ToolResult
    from retrycontract.contract.outputs import Kind
    from retrycontract.contract.redaction.sanitizer import ValueSanitizer
    from retrycontract.contract.tool import Tool
    from retrycontract.contract.tracker import InMemoryRetryTracker, RetryTracker
    from retrycontract.in_process import Outcome, RetryContract

__version__ = "0.1.0"

# A second list beside the imports above, which are for type checkers: they would load everything at once.
_HOMES = {
    "ErrorAggregator": "retrycontract.contract.feedback.hints",
    "ErrorCode": "retrycontract.contract.codes",
    "ErrorFormatter": "retrycontract.contract.feedback.formatter",
    "ErrorSeverity": "retrycontract.contract.errors",
    "EscalationFormatter": "retrycontract.contract.feedback.escalation",
    "InMemoryRetryTracker": "retrycontract.contract.tracker",
    "Kind": "retrycontract.contract.outputs",
    "Outcome": "retrycontract.in_process",
    "RetryConfiguration": "retrycontract.contract.configuration",
    "RetryContract": "retrycontract.in_process",
    "RetryTracker": "retrycontract.contract.tracker",
    "Tool": "retrycontract.contract.tool",
    "ToolResult": "retrycontract.contract.feedback.tool_result",
    "ValidationError": "retrycontract.contract.errors",
    "ValueSanitizer": "retrycontract.contract.redaction.sanitizer",
    "load_configuration": "retrycontract.config.configuration_file",
    "parse_feedback": "retrycontract.contract.feedback.feedback_text",
}

__all__ = [
    "ErrorAggregator",
    "ErrorCode",
    "ErrorFormatter",
    "ErrorSeverity",
    "EscalationFormatter",
    "InMemoryRetryTracker",
    "Kind",
    "Outcome",
    "RetryConfiguration",
    "RetryContract",
    "RetryTracker",
    "Tool",
    "ToolResult",
    "ValidationError",
    "ValueSanitizer",
    "load_configuration",
    "parse_feedback",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'retrycontract' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
