"""Check the arguments of a tool call against the tool's schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any, TypeAlias

from retrycontract.contract.advice import did_you_mean, near
from retrycontract.contract.advice.spot import Spot
from retrycontract.contract.checks.failure import Findings, blocks, subject
from retrycontract.contract.checks.reading import number_errors, read_output, safe, syntax_error, was_cut_off
from retrycontract.contract.checks.schema_engine import bounded, violations
from retrycontract.contract.checks.secret_choices import secret_choices
from retrycontract.contract.checks.sensitive_places import secret_values, without_secret_names
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import MAX_PLUGIN_ERRORS, ErrorSeverity, ValidationError
from retrycontract.contract.feedback.hints import in_order
from retrycontract.contract.outputs.json_text import (
    HAS_VALUE,
    MAX_DEPTH,
    FaultKind,
    JsonFault,
    depth_fault,
    no_numbers,
    read_json,
    with_zeros,
)
from retrycontract.contract.redaction.sanitizer import ValueSanitizer, elide_middle, visible
from retrycontract.contract.schemas.type_expressions import describe
from retrycontract.contract.tool import CompiledTool, PluginCheck

# What the agent's own checks have against an output: a reason in words, or errors.
Rejection: TypeAlias = str | Iterable[ValidationError]

UNKNOWN_TOOL = "tool"  # keyword of the error that nobody registered such a tool
CHECKER = "checker"  # where a schema's error names its keyword: the check could not be finished
MAX_TOOLS_NAMED, MAX_TOOLS_LISTED = 3, 10  # near to a name that nobody registered, and of all where none is near
CUT_OFF_HINT = "send the whole value again, shorter: it was cut off by the length limit"


def check_arguments(
    arguments: str | bytes | Any, tool: CompiledTool, sanitizer: ValueSanitizer, *, finish_reason: str | None = None
) -> Findings:
    """Judge arguments given as JSON text, bytes or a parsed value; never raises on what the model wrote."""
    cut_off = was_cut_off(finish_reason)
    value, fault = read_output(arguments, truncated=cut_off)
    # Reading has refused what nests deeper than MAX_DEPTH; a recursive schema may bear less than that.
    if (fault is None or fault.kind in HAS_VALUE) and tool.schema.max_depth < MAX_DEPTH:
        fault = depth_fault(value, tool.schema.max_depth) or fault
    if fault is not None and fault.kind not in HAS_VALUE:
        return Findings(in_order([syntax_error(fault, sanitizer), *_beside(fault, tool, sanitizer)]))
    if fault is not None and fault.kind is FaultKind.NOT_A_NUMBER:
        odd = bounded(_odd_numbers(value, tool, sanitizer))
        return Findings(in_order(without_secret_names(odd, value, tool.schema.index, sanitizer)))
    found = _violations(tool, value, sanitizer)
    if fault is None and not found and not tool.tool.checks:
        return Findings((), parsed=value, is_parsed=True)
    if fault is not None:
        # What cannot be carried is not kept as a value: nobody shall accept or edit what was never sent.
        large = without_secret_names(bounded(number_errors(value, sanitizer)), value, tool.schema.index, sanitizer)
        return Findings(in_order([*found, *large]))
    if cut_off:
        # A field that the length limit cut away was not forgotten.
        found = [
            replace(error, hint=CUT_OFF_HINT)
            if error.error_code is ErrorCode.REQUIRED_FIELD_MISSING and error.hint is None
            else error
            for error in found
        ]
    # Checks of the developer's own may rely on a value that fits the schema.
    if any(blocks(error) for error in found):
        return Findings(in_order(found), parsed=value, is_parsed=True)
    return with_own_checks(found, value, tool, sanitizer)


def _violations(tool: CompiledTool, value: Any, sanitizer: ValueSanitizer) -> list[ValidationError]:
    return violations(tool.schema, value, strict=tool.tool.strict, sanitizer=sanitizer, called=tool.tool.name)


def with_own_checks(
    found: Iterable[ValidationError], value: Any, tool: CompiledTool, sanitizer: ValueSanitizer
) -> Findings:
    """Add what the developer's own checks find in a value to what was found before."""
    # Only what they say of a value may quote its secrets: most find nothing.
    hiding = cache(lambda: sanitizer.hiding(secret_values(tool.schema.index, value, sanitizer)))
    told, faults = run_checks(tool.tool.checks, value, hiding)
    return Findings(in_order([*found, *told]), parsed=value, is_parsed=True, faults=faults)


def _beside(fault: JsonFault, tool: CompiledTool, sanitizer: ValueSanitizer) -> Iterator[ValidationError]:
    """Hold the value within a fence, words or slips against the contract: its errors need not cost another attempt.

    They carry no patch, since nothing was parsed that it could be applied to.
    """
    if fault.within is None:
        return
    value, worse = read_json(fault.within)
    if worse is None and depth_fault(value, tool.schema.max_depth) is None:
        for error in _violations(tool, value, sanitizer):
            yield replace(error, patch=())


def _odd_numbers(value: Any, tool: CompiledTool, sanitizer: ValueSanitizer) -> Iterator[ValidationError]:
    """Report NaN and the infinities, each at its place, and what else is wrong with the value."""
    places = dict(no_numbers(value))
    judged = with_zeros(value)
    hidden = {sanitizer.redact_pointer(pointer) for pointer in places}
    for error in _violations(tool, judged, sanitizer):
        if error.field_path not in hidden or error.error_code is ErrorCode.UNKNOWN_FIELD:
            yield replace(error, patch=())
    for pointer, leaf in places.items():
        spot = Spot.find(judged, tool.schema.index, pointer, sanitizer)
        wanted, may_lack = _asked_for(spot, tool, sanitizer) if spot else (None, False)
        advice = f"send {subject(pointer, sanitizer)} as {wanted or 'a number or null'}"
        name = json.dumps(leaf)  # as the model wrote it: NaN, Infinity, -Infinity
        yield ValidationError(
            error_code=ErrorCode.INVALID_JSON_SYNTAX,
            field_path=sanitizer.redact_pointer(pointer),
            message=ErrorCode.INVALID_JSON_SYNTAX.template.format(parse_error=f"{name} is no number in JSON"),
            expected_value=wanted,
            actual_value=name,
            keyword=FaultKind.NOT_A_NUMBER,
            hint=f"{advice} or leave it out" if may_lack else advice,
        )


def _asked_for(spot: Spot, tool: CompiledTool, sanitizer: ValueSanitizer) -> tuple[str | None, bool]:
    """Give the type expression of a place, and tell whether the field may be missing."""
    schemas = [schema for schema in spot.here.place.schemas if schema]
    index, redact = tool.schema.index, sanitizer.redact_identifier
    choices = secret_choices(index, sanitizer)
    wanted = describe(schemas[0], index.resolve, redact, choices) if schemas else None
    if spot.container is None or not isinstance(spot.container.value, dict):
        return wanted and visible(wanted), False
    required = [name for schema in spot.container.place.schemas for name in schema.get("required", ())]
    return wanted and visible(wanted), spot.key not in required


def run_checks(
    checks: Iterable[PluginCheck], value: Any, hiding: Callable[[], ValueSanitizer]
) -> tuple[list[ValidationError], tuple[str, ...]]:
    """Run the developer's own checks; returns what they found and, for the log, which of them failed and where."""
    found: list[ValidationError] = []
    faults: list[str] = []
    for check in checks:
        try:
            found.extend(_plugin_errors(islice(check(value), MAX_PLUGIN_ERRORS), hiding))
        except Exception as error:  # noqa: BLE001 - foreign code may raise anything
            # The exception's text may quote the value and stays out
            code = ErrorCode.OBJECT_SCHEMA_VIOLATION
            message = f"A check of this tool could not run ({type(error).__name__})"
            # An error: what could not be checked is not valid, and a person reads why.
            found.append(ValidationError(code, "", message, keyword="plugin"))
            trace = error.__traceback__
            while trace is not None and trace.tb_next is not None:
                trace = trace.tb_next
            where = f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
            faults.append(f"{getattr(check, '__qualname__', type(check).__name__)}: {type(error).__name__}{where}")
    return found, tuple(faults)


def _plugin_errors(
    errors: Iterable[ValidationError], hiding: Callable[[], ValueSanitizer]
) -> Iterator[ValidationError]:
    """Sanitise what a plug-in found: its texts may quote the value. Raises for what is no ValidationError."""
    for error in errors:
        if not isinstance(error, ValidationError) or not isinstance(error.field_path, str):
            raise TypeError("a check gives ValidationErrors, each with a pointer")
        sanitizer = hiding()
        yield ValidationError(
            error_code=ErrorCode(error.error_code),
            field_path=sanitizer.redact_pointer(error.field_path),
            message=safe(error.message, sanitizer),
            severity=ErrorSeverity(error.severity),
            expected_value=_safe_or_none(error.expected_value, sanitizer),
            actual_value=_safe_or_none(error.actual_value, sanitizer),
            keyword=safe(error.keyword, sanitizer) or "plugin",
            hint=_safe_or_none(error.hint, sanitizer),
        )


def _safe_or_none(text: str | None, sanitizer: ValueSanitizer) -> str | None:
    return safe(text, sanitizer) if text else None


def rejections(reason: Rejection, sanitizer: ValueSanitizer) -> tuple[ValidationError, ...]:
    """Turn what the agent's own checks say of a schema-valid output into errors like any other.

    A reason in words is one of the whole (VAL-015); errors keep their codes, pointers and words. Raises TypeError for
    what is neither.
    """
    if isinstance(reason, str):
        return (_whole(safe(reason, sanitizer), keyword="callback", hint="correct what this reason names"),)
    if not isinstance(reason, Iterable):
        raise TypeError(f"callback_error is {reason!r:.80}: give a text, or a list of ValidationError")
    return tuple(_plugin_errors(islice(reason, MAX_PLUGIN_ERRORS), lambda: sanitizer))


def unfinished_check(reason: str, hint: str | None = None) -> Findings:
    """Report an output whose check was cut off, crashed, or could not begin: it is never valid."""
    return Findings((_whole(reason, keyword=CHECKER, hint=hint),))


def unknown_tool(name: str, known: Iterable[str], sanitizer: ValueSanitizer) -> Findings:
    """Report a call of a tool that nobody registered, with the near names or all, for the model and for a person."""
    names = sorted(known)
    guess = did_you_mean(name, names)
    closest = [guess] if guess else near(name, names, MAX_TOOLS_NAMED)
    shown = closest or names[:MAX_TOOLS_LISTED]
    listed = ", ".join(f"'{visible(sanitizer.redact_identifier(candidate))}'" for candidate in shown)
    if len(names) > len(shown) and not closest:
        listed += f" and {len(names) - len(shown)} more"
    message = f"There is no tool '{elide_middle(visible(sanitizer.redact_name(name)), 80)}'"
    if closest:
        message += f"; the nearest {'is' if len(closest) == 1 else 'are'} {listed}"
    elif names:
        message += f"; the tools are {listed}" if len(names) > 1 else f"; the only tool is {listed}"
    such = f"call a registered tool such as {listed}" if closest else "call one of the registered tools"
    return Findings((_whole(message, keyword=UNKNOWN_TOOL, hint=f"call {listed} instead" if guess else such),))


def _whole(message: str, *, keyword: str, hint: str | None) -> ValidationError:
    """Give an error of the whole in its own words: what is no matter of the schema must not name the schema."""
    return ValidationError(ErrorCode.OBJECT_SCHEMA_VIOLATION, "", message, keyword=keyword, hint=hint)
