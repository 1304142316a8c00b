"""Our side of every row: the functions that the library itself calls."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from retrycontract import ErrorFormatter, RetryConfiguration, RetryContract, Tool, ValueSanitizer
from retrycontract.contract.checks.failure import Findings
from retrycontract.contract.feedback.answer import examine
from retrycontract.contract.tool import CompiledTool

NAME = "book_flight"


def findings(schema: dict[str, Any]) -> Callable[[bytes], Findings]:
    """Parse, check, explain, sanitise and sort."""
    tool, sanitizer = CompiledTool.of(Tool(name=NAME, input_schema=schema)), ValueSanitizer()
    return lambda arguments: examine(arguments, tool, sanitizer, tool_name=NAME)


def text(schema: dict[str, Any]) -> Callable[[bytes], str]:
    """Write the feedback for a call's bytes."""
    examined, formatter = findings(schema), ErrorFormatter(RetryConfiguration())
    return lambda arguments: formatter.format_feedback(NAME, examined(arguments).errors, attempt=1, max_attempts=3)


def whole(schema: dict[str, Any]) -> Callable[[bytes], str]:
    """Check through the public door: calls found and counted, history kept, the answer made. Each is a new call."""
    contract = RetryContract([Tool(name=NAME, input_schema=schema)])
    ids = (f"call_{number}" for number in count())
    return lambda arguments: contract.check(NAME, next(ids), arguments).status.value


def register(schema: dict[str, Any]) -> None:
    """Take a tool in."""
    RetryContract().register(Tool(name=NAME, input_schema=schema))
