"""Check the arguments of a tool call against the tool's schema."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from retrycontract.contract.aggregator import in_order
from retrycontract.contract.checks.findings import Findings
from retrycontract.contract.checks.schema_engine import violations
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.json_text import CARET, MAX_DEPTH, JsonFault, depth_fault, fault_in, parse_json
from retrycontract.contract.near_misses import did_you_mean
from retrycontract.contract.sanitizer import ValueSanitizer, elide_middle, visible
from retrycontract.contract.tool import CompiledTool

MAX_REASON = 200  # characters of a reason that comes from outside: a callback's, a plug-in's
MAX_TOOLS_NAMED = 5
EXCERPT = 30  # characters shown on each side of a syntax error
MAX_EXCERPT = 100  # characters of them once all are visible
NEWLINE = "\n"
MARK = "[REDACTED: "


def check_arguments(
    arguments: str | bytes | Any, tool: CompiledTool, sanitizer: ValueSanitizer, *, finish_reason: str | None = None
) -> Findings:
    """Judge arguments given as JSON text, bytes or a parsed value; never raises on what the model wrote."""
    value, fault = read_output(arguments, truncated=finish_reason == "length")
    if fault is None and tool.schema.max_depth < MAX_DEPTH:
        fault = depth_fault(value, tool.schema.max_depth)
    if fault is not None:
        return Findings((syntax_error(fault, sanitizer),))
    found = violations(tool.schema, value, strict=tool.tool.strict, sanitizer=sanitizer)
    if not found:
        for check in tool.tool.checks:
            found.extend(_plugin_errors(check(value), sanitizer))
    return Findings(in_order(found), parsed=value, is_parsed=True)


def read_output(output: str | bytes | Any, *, truncated: bool = False) -> tuple[Any, JsonFault | None]:
    """Parse JSON text or bytes strictly, or look through a value that was parsed elsewhere."""
    if isinstance(output, str | bytes):
        return parse_json(output, truncated=truncated)
    return output, fault_in(output)


def syntax_error(fault: JsonFault, sanitizer: ValueSanitizer) -> ValidationError:
    """Report what keeps a text from being JSON, with a short excerpt around the place."""
    return ValidationError(
        error_code=ErrorCode.INVALID_JSON_SYNTAX,
        field_path=sanitizer.redact_pointer(fault.pointer),
        message=ErrorCode.INVALID_JSON_SYNTAX.template.format(parse_error=_safe(fault.reason, sanitizer)),
        expected_value="one JSON value",
        actual_value=_excerpt(fault.context, sanitizer) if fault.context else None,
        keyword=fault.kind.value,
        hint=SYNTAX_HINTS.get(fault.kind.value),
    )


def _excerpt(context: str, sanitizer: ValueSanitizer) -> str:
    """Cut a line around the caret, after the redaction: a part of a secret is not recognised as one."""
    before, caret, after = sanitizer.redact_text(context).partition(CARET)
    before = before[_beyond_mark(before, max(0, len(before) - EXCERPT)) :]
    after = after[: _beyond_mark(after, EXCERPT)]
    line = f"{before.rpartition(NEWLINE)[2]}{caret}{after.partition(NEWLINE)[0]}"
    return sanitizer.preview_text(line, MAX_EXCERPT)


def _beyond_mark(text: str, position: int) -> int:
    """Move a place where a text is cut behind the redaction mark that it would halve."""
    start = text.rfind(MARK, 0, position)
    end = text.find("]", start) + 1 if start >= 0 else 0
    return max(position, end)


def callback_rejection(reason: str, sanitizer: ValueSanitizer) -> Findings:
    """Turn the agent's own rejection of a schema-valid output into a failure like any other (VAL-015)."""
    return Findings(
        (_whole(_safe(reason, sanitizer), keyword="callback", hint="correct the arguments for that reason"),)
    )


def unknown_tool(name: str, known: Iterable[str], sanitizer: ValueSanitizer) -> Findings:
    """Report a call of a tool that nobody registered, with the nearest names."""
    names = sorted(known)
    guess = did_you_mean(name, names)
    shown = elide_middle(visible(sanitizer.redact_name(name)), 80)
    nearest = [guess] if guess else names[:MAX_TOOLS_NAMED]
    listed = ", ".join(f"'{visible(candidate)}'" for candidate in nearest)
    error = _whole(
        f"there is no tool '{shown}'",
        keyword="tool",
        hint=f"call {listed} instead" if guess else f"call a registered tool{f' such as {listed}' if listed else ''}",
    )
    return Findings((error,))


def _whole(reason: str, *, keyword: str, hint: str) -> ValidationError:
    code = ErrorCode.OBJECT_SCHEMA_VIOLATION
    return ValidationError(code, "", code.template.format(reason=reason), keyword=keyword, hint=hint)


def _plugin_errors(errors: Iterable[ValidationError], sanitizer: ValueSanitizer) -> Iterable[ValidationError]:
    """Pass a plug-in's errors on, its texts sanitised: it may have quoted the value."""
    for error in errors:
        yield ValidationError(
            error_code=error.error_code,
            field_path=sanitizer.redact_pointer(error.field_path),
            message=_safe(error.message, sanitizer),
            severity=error.severity,
            expected_value=_safe(error.expected_value, sanitizer) if error.expected_value else None,
            actual_value=_safe(error.actual_value, sanitizer) if error.actual_value else None,
            keyword=error.keyword or "plugin",
            hint=_safe(error.hint, sanitizer) if error.hint else None,
        )


def _safe(text: str, sanitizer: ValueSanitizer) -> str:
    return sanitizer.preview_text(text, MAX_REASON)


SYNTAX_HINTS = {
    "truncated": "send the whole value again, shorter: it was cut off",
    "fenced": "send the JSON value alone, without a Markdown fence",
    "trailing": "send the JSON value alone, with no text after it",
    "empty": "send the arguments as one JSON object",
    "duplicate-key": "send each key once",
    "nan": "use a number or null",
    "number": "send a smaller number, or a string",
    "surrogate": "send complete Unicode characters",
    "depth": "send a flatter value",
    "encoding": "send UTF-8 text",
}
