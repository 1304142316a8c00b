"""Read an output as JSON, and tell what keeps it from being JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.outputs.json_faults import AROUND, embedded_value
from retrycontract.contract.outputs.json_text import (
    CARET,
    HAS_VALUE,
    FaultKind,
    JsonFault,
    fault_in,
    no_utf8,
    parse_json,
    plain,
    read_json,
    too_large,
)
from retrycontract.contract.redaction.sanitizer import ValueSanitizer

MAX_REASON = 200  # characters of a reason that comes from outside: a callback's, a plug-in's
EXCERPT = 30  # characters shown on each side of a syntax error
MAX_EXCERPT = 100  # characters of them once all are visible
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
NEWLINE, RETURN, LEFT_OUT = "\n", "\r", "…"
MARK = "[REDACTED: "

# How providers say that the model reached a length limit: OpenAI (Chat, then Responses), Anthropic, Mistral, Gemini
# (in capitals).
CUT_OFF = frozenset(
    {
        "length", "incomplete", "max_output_tokens", "max_tokens", "model_context_window_exceeded", "model_length",
    }
)  # fmt: skip
WRAPPINGS = (FaultKind.FENCED, FaultKind.TRAILING, FaultKind.SYNTAX)  # may have a whole value within
FINE_WITHIN = " (the value itself is correct JSON)"


def was_cut_off(finish_reason: str | None) -> bool:
    """Tell whether the provider says that the model reached its length limit."""
    return finish_reason is not None and finish_reason.lower() in CUT_OFF


def read_output(output: str | bytes | Any, *, truncated: bool = False) -> tuple[Any, JsonFault | None]:
    """Parse JSON text or bytes strictly, or look through a value that was parsed elsewhere.

    A number too large to be carried is a fault that comes with the value; for every other the value is None.
    """
    if not isinstance(output, str | bytes):
        fault = fault_in(output)
        return plain(output) if fault is None or fault.kind in HAS_VALUE else output, fault
    value, fault = read_json(output, truncated=truncated)
    if fault is not None and fault.kind in WRAPPINGS and (within := unwrapped(output)):
        around = within[1]
        if fault.kind is not FaultKind.TRAILING:
            fault = replace(fault, kind=around.kind, reason=around.reason)
        fault = replace(fault, reason=fault.reason + FINE_WITHIN, within=within[0])
    return value, fault


def unwrapped(output: str | bytes | Any) -> tuple[str, JsonFault] | None:
    """Take the one JSON value out of a Markdown fence or of the words around it; None where something might be lost."""
    if isinstance(output, bytes):
        output = output.decode("utf-8", "surrogateescape")
    # Read with signs replaced, another value than the one sent would pass.
    found = embedded_value(output) if isinstance(output, str) and not no_utf8(output) else None
    if found is None or parse_json(found[0])[1] is not None:
        return None
    text, kind = found
    return text, JsonFault(kind, AROUND[kind])


def syntax_error(fault: JsonFault, sanitizer: ValueSanitizer) -> ValidationError:
    """Report what keeps a text from being JSON, with a short excerpt around the place."""
    reason, hint = fault.reason, fault.hint
    if fault.kind is FaultKind.DUPLICATE_KEY:
        reason = QUOTED.sub(lambda match: json.dumps(sanitizer.redact_key(json.loads(match[0]))), reason)
    # What is exact says more than what the kind has in common; around a value both are to be done.
    around = SYNTAX_HINTS.get(fault.kind.value)
    if around and (hint is None or "within it" in fault.reason):
        hint = around if hint is None else f"{around}; {hint}"
    return ValidationError(
        error_code=ErrorCode.INVALID_JSON_SYNTAX,
        field_path=sanitizer.redact_pointer(fault.pointer),
        message=ErrorCode.INVALID_JSON_SYNTAX.template.format(parse_error=safe(reason, sanitizer)),
        expected_value="one JSON value",
        actual_value=_excerpt(fault.context, sanitizer) if fault.context else None,
        keyword=fault.kind.value,
        hint=hint,
    )


def _excerpt(context: str, sanitizer: ValueSanitizer) -> str:
    """Cut a line around the caret, after the redaction: a part of a secret is not recognised as one."""
    before, caret, after = sanitizer.redact_output(context).partition(CARET)
    lead, rest = before.rpartition(NEWLINE)[2], after.partition(NEWLINE)[0].removesuffix(RETURN)
    # Redaction came first, so a mark may stand where the excerpt ends; half a mark would read as text of the model's.
    start, end = _beyond_mark(lead, max(0, len(lead) - EXCERPT)), _beyond_mark(rest, EXCERPT)
    line = f"{LEFT_OUT * bool(start)}{lead[start:]}{caret}{rest[:end]}{LEFT_OUT * (end < len(rest))}"
    return sanitizer.preview_text(line, MAX_EXCERPT)


def _beyond_mark(text: str, position: int) -> int:
    """Move a place where a text is cut behind the redaction mark that it would halve."""
    start = text.rfind(MARK, 0, position + len(MARK) - 1)
    end = text.find("]", start) + 1 if start >= 0 else 0
    return max(position, end)


def number_errors(value: Any, sanitizer: ValueSanitizer) -> Iterator[ValidationError]:
    """Report the numbers that cannot be carried."""
    code = ErrorCode.NUMBER_RANGE_VIOLATION
    message = code.template.format(actual="of this size", constraint="it is too large to be represented")
    for pointer in map(sanitizer.redact_pointer, too_large(value)):
        yield ValidationError(code, pointer, message, keyword=FaultKind.NUMBER, hint=SYNTAX_HINTS["number"])


def safe(text: str, sanitizer: ValueSanitizer) -> str:
    """Show a text that comes from outside: sanitised, bounded, one line."""
    return sanitizer.preview_text(text, MAX_REASON)


SYNTAX_HINTS = {
    "truncated": "send the whole value again, shorter: it was cut off",
    "fenced": "send the JSON value alone, without a Markdown fence",
    "prose": "send the JSON value alone, with no text around it",
    "trailing": "send the JSON value alone, with no text after it",
    "empty": "send the arguments as one JSON object",
    "duplicate-key": "send each key once",
    "nan": "use a number or null",
    "number": "send a smaller number, or a string",
    "surrogate": "send complete Unicode characters",
    "depth": "send a flatter value",
    "encoding": "send UTF-8 text",
}
