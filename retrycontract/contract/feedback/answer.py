"""Judge one submission and write its answer: the pure heart that the library and the service share."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from retrycontract.contract.checks.catalogue import CHECKS, WHOLE_VALUE, Check, instead_of_output, no_output
from retrycontract.contract.checks.failure import Findings
from retrycontract.contract.checks.reading import read_output, safe
from retrycontract.contract.checks.sensitive_places import marks_of, secret_values, sensitive_pointers
from retrycontract.contract.checks.tool_arguments import Rejection, rejections, unknown_tool
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.feedback.feedback_forms import PLAIN, FeedbackOptions, ShownSchema, surrounded
from retrycontract.contract.feedback.feedback_text import WITH_DESK, Endings
from retrycontract.contract.feedback.formatter import ErrorFormatter, Feedback, Formatters
from retrycontract.contract.feedback.hints import in_order
from retrycontract.contract.feedback.tool_result import ToolResult, metadata
from retrycontract.contract.lifecycle import Budget, Move, Status
from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.thoughts import without_thoughts
from retrycontract.contract.redaction.echoes import Echoes
from retrycontract.contract.redaction.sanitizer import ValueSanitizer, elide_middle
from retrycontract.contract.redaction.scanner import remembering
from retrycontract.contract.tool import CompiledTool
from retrycontract.contract.tracker import AttemptRecord

STANDARD = Formatters()


@dataclass(frozen=True, slots=True)
class Examined:
    """Hold what was found of an output, and what may be kept of it: its value or its text without secrets.

    `hides` tells that what may be kept is not all of it. From another process `findings.parsed` does not come along.
    """

    findings: Findings
    kept: Any
    hides: bool = True


@remembering()
def examine_and_redact(
    output: Any,
    tool: CompiledTool | None,
    sanitizer: ValueSanitizer,
    *,
    tool_name: str,
    known_tools: Iterable[str] = (),
    finish_reason: str | None = None,
    callback_error: Rejection | None = None,
    said: str | None = None,
) -> Examined:
    """Do all that takes long with an output: find everything wrong with it, and take the secrets out of it."""
    findings = examine(
        output, tool, sanitizer, tool_name=tool_name, known_tools=known_tools, finish_reason=finish_reason,
        callback_error=callback_error, said=said,
    )  # fmt: skip
    kept = redacted_output(findings, output, tool, sanitizer)
    hides = not findings.is_parsed or kept != findings.parsed
    if hides and findings.errors:
        value = findings.parsed if findings.is_parsed else output
        if echoes := sanitizer.echoes_of(value, marked=_marked(value, tool)):
            findings = replace(findings, errors=tuple(_without(echoes, error) for error in findings.errors))
    return Examined(findings, kept, hides=hides)


def _without(echoes: Echoes, error: ValidationError) -> ValidationError:
    """Hide in an error of one place of an output what another place tells to be secret."""

    def hidden(text: str | None) -> str | None:
        return text and echoes.hidden_in(text)

    written = json.dumps(error.patch)  # which would bring the mark into the arguments
    return replace(
        error, message=echoes.hidden_in(error.message), expected_value=hidden(error.expected_value),
        actual_value=hidden(error.actual_value), hint=hidden(error.hint),
        patch=error.patch if echoes.hidden_in(written) == written else (),
    )  # fmt: skip


@remembering()
def examine(
    output: Any,
    tool: CompiledTool | None,
    sanitizer: ValueSanitizer,
    *,
    tool_name: str,
    known_tools: Iterable[str] = (),
    finish_reason: str | None = None,
    callback_error: Rejection | None = None,
    said: str | None = None,
) -> Findings:
    """Find everything wrong with an output; `tool` is None for a tool that nobody registered.

    A callback's rejection counts only when the output is otherwise right: the schema's errors come first. Without an
    output, None, it says why there is none; `said` is what the model said instead. Thoughts are no part of any output.
    """
    if output is None and callback_error is not None:
        told = callback_error
        reason = told if isinstance(told, str) else "; ".join(error.message for error in told)
        hints = [] if isinstance(told, str) else [safe(error.hint, sanitizer) for error in told if error.hint]
        if tool is not None:
            sanitizer = sanitizer.for_schema(marks_of(tool.schema.index))
        return no_output(reason, sanitizer, said=said, tool=tool, hint=hints[0] if hints else WHOLE_VALUE)
    if tool is None:
        value, fault = read_output(output)
        errors = unknown_tool(tool_name, known_tools, sanitizer).errors
        return Findings(errors, value if fault is None else None, is_parsed=fault is None)
    kind, sanitizer = tool.tool.kind, sanitizer.for_schema(marks_of(tool.schema.index))
    check: Check = tool.check or CHECKS[kind]
    findings = check(_answer_in(output, kind), tool, sanitizer, finish_reason=finish_reason)
    if not findings.is_valid:
        findings = instead_of_output(output, findings, kind)
    if findings.is_valid and callback_error is not None:
        sanitizer = sanitizer.hiding(secret_values(tool.schema.index, findings.parsed, sanitizer))
        return replace(findings, errors=in_order([*rejections(callback_error, sanitizer), *findings.errors]))
    return findings


def _answer_in(output: Any, kind: Kind) -> Any:
    """Leave the thoughts out; source files are looked through as they came, since they may hold such marks."""
    if kind is Kind.SOURCE_FILE or not isinstance(output, str | bytes):
        return output
    # What is not UTF-8 goes on as it came: the check itself says so.
    with suppress(UnicodeDecodeError):
        text = output.decode() if isinstance(output, bytes) else output
        answer = without_thoughts(text)
        return output if answer is text else answer
    return output


def write_answer(
    findings: Findings,
    verdict: Move,
    budget: Budget,
    *,
    tool_name: str,
    tool_call_id: str,
    configuration: RetryConfiguration,
    kind: Kind = Kind.TOOL_CALL,
    previous: Sequence[AttemptRecord] = (),
    formatters: Formatters = STANDARD,
    words: str = "",
    options: FeedbackOptions = PLAIN,
    shown: ShownSchema | None = None,
    output: Any = None,
    endings: Endings = WITH_DESK,
) -> ToolResult | None:
    """Write the ToolResult of a judged attempt; None when the agent may go on and runs the tool itself.

    `previous` are the failed attempts before this one, oldest first; only a retry tells of them.
    `words` are a person's, fenced: they join the feedback. `endings` say what comes next. With `options` it shows the
    schema `shown`, and `output`, too.
    """
    if verdict.status is Status.VALID:
        return None
    attempt, allowed = budget.shown
    if verdict.is_held:
        content = ErrorFormatter(configuration).format_held(
            tool_name, attempt=attempt, max_attempts=allowed, kind=kind.subject, endings=endings
        )
    else:
        content = write_feedback(
            tool_name,
            findings.errors,
            attempt=attempt,
            max_attempts=allowed,
            configuration=configuration,
            kind=kind,
            blocked=verdict.status is Status.BLOCKED,
            previous=previous,
            formatters=formatters,
            words=words,
            max_length=options.room_for_errors if shown else None,
            endings=endings,
        )
        if shown is not None:
            content = surrounded(
                content, options, shown, output, findings.errors, attempt=attempt, max_attempts=allowed,
                sanitizer=ValueSanitizer(configuration).for_schema(marks_of(shown.index)),
            )  # fmt: skip
    twin = metadata(findings.errors, attempt=attempt, max_attempts=allowed, status=verdict.status.value)
    return ToolResult(tool_call_id=tool_call_id, content=content, metadata=twin, name=tool_name)


def write_feedback(
    tool_name: str,
    errors: tuple[ValidationError, ...],
    *,
    attempt: int,
    max_attempts: int,
    configuration: RetryConfiguration,
    kind: Kind = Kind.TOOL_CALL,
    blocked: bool = False,
    previous: Sequence[AttemptRecord] = (),
    formatters: Formatters = STANDARD,
    words: str = "",
    max_length: int | None = None,
    endings: Endings = WITH_DESK,
) -> str:
    """Write the message that the model reads, in the words of the tool's own formatter where it has one.

    A person's `words` have half of the room at most, and stand at the end of a message that leaves them out. With
    `max_length`, in characters, as many errors are told as fit into that.
    """
    room = max_length or configuration.max_message_length
    words = elide_middle(words, room // 2)
    text = ErrorFormatter(configuration).format_feedback(
        tool_name,
        errors,
        attempt=attempt,
        max_attempts=max_attempts,
        kind=kind.subject,
        blocked=blocked,
        previous=previous,
        max_length=max_length,
        words=words,
        endings=endings,
    )
    worded = formatters.word(
        Feedback(
            name=tool_name,
            kind=kind.subject,
            attempt=attempt,
            max_attempts=max_attempts,
            errors=errors,
            previous=tuple(previous),
            is_blocked=blocked,
            max_length=room,
            text=text,
        )
    )
    return worded if words in worded else elide_middle(worded, room - len(words) - 2) + f"\n\n{words}"


def shown_output(findings: Findings, output: Any, tool: CompiledTool | None, sanitizer: ValueSanitizer) -> str:
    """Show an output on one line; of a large one only what the line has room for is looked at."""
    if findings.is_parsed:
        return sanitizer.preview(findings.parsed, marked=_marked(findings.parsed, tool))
    if isinstance(output, str | bytes):
        return sanitizer.preview(_safe_text(findings, output, tool, sanitizer))
    return sanitizer.preview(output, marked=_marked(output, tool))


def redacted_output(findings: Findings, output: Any, tool: CompiledTool | None, sanitizer: ValueSanitizer) -> Any:
    """Give what may be stored of an output: its parsed value without secrets, or its text when it never parsed."""
    if findings.is_parsed:
        return sanitizer.redact(findings.parsed, marked=_marked(findings.parsed, tool))
    if output is None:  # there was none
        return None
    if isinstance(output, str | bytes):
        return _safe_text(findings, output, tool, sanitizer)
    marked = _marked(output, tool)
    try:
        return json.dumps(sanitizer.redact(output, marked=marked))
    except (RecursionError, ValueError):  # nested too deep, or a number that Python refuses to print
        return sanitizer.preview(output, marked=marked)


def _safe_text(findings: Findings, output: str | bytes, tool: CompiledTool | None, sanitizer: ValueSanitizer) -> str:
    text = output.decode("utf-8", "replace") if isinstance(output, bytes) else output
    bound = sanitizer.for_schema(marks_of(tool.schema.index) if tool else None)
    is_talk = any(error.keyword in (FaultKind.REFUSED, FaultKind.ONLY_TALK) for error in findings.errors)
    return bound.redact_output(text, is_talk=is_talk)


def _marked(value: Any, tool: CompiledTool | None) -> Collection[str]:
    """List the places that the tool's schema calls secret."""
    return sensitive_pointers(tool.schema.index, value) if tool else ()
