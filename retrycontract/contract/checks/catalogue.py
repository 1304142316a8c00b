"""Which check judges which kind of output, and why there may be none to be judged: declined, talked, said nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Protocol

from retrycontract.contract.checks.failure import Findings
from retrycontract.contract.checks.reading import safe, syntax_error, unwrapped
from retrycontract.contract.checks.source_file import check_source
from retrycontract.contract.checks.tool_arguments import check_arguments
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.contract.feedback.hints import in_order
from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.handing_over import is_handed_over, refuses_around
from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.json_text import parse_json
from retrycontract.contract.outputs.no_attempt import SAID, is_prose, no_attempt, refuses
from retrycontract.contract.outputs.thoughts import without_thoughts
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.tool import CompiledTool

NO_OUTPUT = "no-output"  # where a schema's error names its keyword
WHOLE_VALUE = "send the whole value"
MISSING = {
    Kind.TOOL_CALL: ("There are no arguments", "send the arguments as one JSON value"),
    Kind.EXTRACTION: ("There is no data", "send the data as one JSON value"),
    Kind.AGENT_RESPONSE: ("There is no response", "send the response as one JSON value"),
    Kind.SOURCE_FILE: ("There is no file", "send the file's whole text"),
}
_FENCED = re.compile(r"\s*```\w*\s*\n(?P<text>[^`]*)```\s*")  # one fence around all of it
CONFORMING = "send the JSON of your text, which conforms, where the output is due"


def no_output(
    reason: str,
    sanitizer: ValueSanitizer,
    *,
    said: str | None,
    tool: CompiledTool | None,
    hint: str,
) -> Findings:
    """Report an attempt that gave no output at all; `said` is what the model said instead, `hint` what it is to do.

    Where that is the output itself, only in the wrong place, the model is told so, with what is wrong with it.
    """
    kind = tool.tool.kind if tool else Kind.TOOL_CALL
    declined = no_attempt(said, kind=kind) if said is not None else None
    if declined is not None:
        return Findings((_missing(declined, kind, because=safe(reason, sanitizer)),))
    within = _value_in(said or "") if tool is not None and kind is not Kind.SOURCE_FILE else None
    if within is None or tool is None:
        return Findings((_without(safe(reason, sanitizer), hint),))
    found: Findings = (tool.check or check_arguments)(within, tool, sanitizer)
    if found.is_valid:
        return Findings((_without(safe(reason, sanitizer), CONFORMING),))
    return Findings(in_order([_without(safe(reason, sanitizer), hint), *found.errors]))


def instead_of_output(output: Any, findings: Findings, kind: Kind) -> Findings:
    """Replace the faults of a text that is no attempt by that finding; other findings stay as they are."""
    if isinstance(output, bytes):
        output = output.decode("utf-8", "replace")
    # Source files were asked about this by their own check, which knows what their language may look like.
    if not isinstance(output, str) or kind is Kind.SOURCE_FILE:
        return findings
    if findings.is_parsed:
        # A JSON string where something else is due may hold the refusal.
        said = findings.parsed
        is_refusal = isinstance(said, str) and is_prose(said) and refuses(said)
        return replace(findings, errors=(_missing(FaultKind.REFUSED, kind),)) if is_refusal else findings
    fenced = _FENCED.fullmatch(output)
    reason = no_attempt(fenced["text"] if fenced else output, kind=kind)
    if reason is None and kind is Kind.AGENT_RESPONSE and not fenced and refuses_around(output, kind):
        reason = FaultKind.REFUSED
    if reason is None or (reason is FaultKind.EMPTY and kind is Kind.TOOL_CALL):
        return findings  # some providers send nothing for a call without arguments: its syntax error says what to send
    return replace(findings, errors=(_missing(reason, kind),))


def _missing(reason: FaultKind, kind: Kind, because: str = "") -> ValidationError:
    what, advice = MISSING[kind]
    code = ErrorCode.INVALID_JSON_SYNTAX
    return ValidationError(
        code, "", f"{what}: {SAID[reason]}. {because}".removesuffix(". "), keyword=reason.value, hint=advice
    )


def _without(reason: str, hint: str) -> ValidationError:
    code = ErrorCode.OBJECT_SCHEMA_VIOLATION
    return ValidationError(code, "", f"There is no output: {reason}", keyword=NO_OUTPUT, hint=hint)


def _value_in(said: str) -> Any:
    """Find the one JSON value in a text, alone, in a fence or between words; None where there is none."""
    text = without_thoughts(said)
    value, fault = parse_json(text)
    within = unwrapped(text) if fault else None
    value, fault = parse_json(within[0]) if within else (value, fault)
    return value if fault is None and isinstance(value, dict | list) else None


def check_response(
    response: str | bytes | Any, contract: CompiledTool, sanitizer: ValueSanitizer, *, finish_reason: str | None = None
) -> Findings:
    """Judge a response; a value in a Markdown fence or between words is taken out when nothing is lost by that."""
    findings = check_arguments(response, contract, sanitizer, finish_reason=finish_reason)
    is_malformed = any(error.error_code is ErrorCode.INVALID_JSON_SYNTAX for error in findings.errors)
    # The plain reading comes first, so that an answer that is JSON already is never
    # searched for another value inside it.
    within = unwrapped(response) if is_malformed else None
    # A refusal may show what an answer would look like, and words may say what not to do: an action follows from it.
    said = response.decode("utf-8", "replace") if isinstance(response, bytes) else response
    if within is None or refuses_around(said, Kind.AGENT_RESPONSE) or not is_handed_over(said, within[0]):
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
