"""What the schema of a tool finds in a value."""

from __future__ import annotations

import json
from typing import Any

from retrycontract import Tool, ValidationError, ValueSanitizer
from retrycontract.contract.checks.failure import Findings
from retrycontract.contract.checks.tool_arguments import check_arguments
from retrycontract.contract.tool import CompiledTool


def findings(schema: Any, value: Any, *, strict: bool = False, **tool: Any) -> Findings:
    """Check a value as the arguments of a tool with this schema."""
    compiled = CompiledTool.of(Tool(name="t", input_schema=schema, strict=strict, **tool))
    return check_arguments(json.dumps(value) if type(value) is str else value, compiled, ValueSanitizer())


def errors(schema: Any, value: Any, **options: Any) -> tuple[ValidationError, ...]:
    """Give what is wrong with a value."""
    return findings(schema, value, **options).errors


def one(schema: Any, value: Any, **options: Any) -> ValidationError:
    """Give the one error that a value has."""
    (error,) = errors(schema, value, **options)
    return error
