"""Write the text that the model reads, format version 1; one function makes it, everything else shows it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from retrycontract.contract import pointers
from retrycontract.contract.checks.composition import SchemaIndex
from retrycontract.contract.checks.secret_choices import secret_choices
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.errors import ErrorSeverity, ValidationError, whole_errors
from retrycontract.contract.feedback.feedback_text import (
    MAX_POINTER,
    WITH_DESK,
    Endings,
    first_line,
    parse_feedback,
    shown_pointer,
)
from retrycontract.contract.feedback.hints import ErrorGroup, fold, hint_line, in_order
from retrycontract.contract.feedback.progress import Progress, compare
from retrycontract.contract.json_types import Schema
from retrycontract.contract.outputs.json_faults import CARET
from retrycontract.contract.redaction.sanitizer import ValueSanitizer, elide_middle, visible
from retrycontract.contract.schemas.type_expressions import describe
from retrycontract.contract.tracker import AttemptRecord

SHORT_POINTER = 80  # where even one pointer of full length does not fit
SHORT_VALUE = 40  # characters of expected and actual values once the message must be shortened
FULL_BULLETS = 5  # with more errors than these a bullet leaves out what its message says already
SHORTEST_BULLET = 20  # characters that an error takes at least
MAX_PLACES = 6  # pointers of one sort in the line of progress; the bullets have them all
# Codes whose message says what was expected, and codes whose message says what was sent.
TELLS_EXPECTED = frozenset(
    {
        ErrorCode.ARRAY_LENGTH_VIOLATION, ErrorCode.PATTERN_MISMATCH, ErrorCode.STRING_LENGTH_VIOLATION,
        ErrorCode.UNIQUE_CONSTRAINT_VIOLATION,
    }
)  # fmt: skip
TELLS_ACTUAL = frozenset(
    {
        ErrorCode.TYPE_MISMATCH, ErrorCode.ARRAY_LENGTH_VIOLATION, ErrorCode.INVALID_ENUM_VALUE,
        ErrorCode.STRING_LENGTH_VIOLATION, ErrorCode.NUMBER_RANGE_VIOLATION, ErrorCode.UNIQUE_CONSTRAINT_VIOLATION,
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Layout:
    """Say how much room is spent; tried from generous to tight until the message fits."""

    errors: int
    values: int | None = None
    hints: bool = True
    places: int = MAX_PLACES
    pointer: int = MAX_POINTER
    bodies: bool = True
    repeats: bool = True


@dataclass(frozen=True, slots=True)
class _MessageFrame:
    """Hold what stands around the bullets."""

    first: str
    progress: Progress | None = None
    hints: bool = True
    ending: str = ""


class ErrorFormatter:
    """Turn errors into the message of format version 1, never longer than the configuration allows."""

    def __init__(self, configuration: RetryConfiguration | None = None) -> None:
        self._configuration = configuration or RetryConfiguration()

    def format_errors(
        self,
        tool_name: str,
        errors: Iterable[ValidationError] | None,
        attempt_number: int,
        max_attempts: int,
        *,
        kind: str = "tool",
        schema: Schema | None = None,
        previous_errors: Iterable[ValidationError] | None = None,
    ) -> str:
        """Write the message: first line, bullets, progress, one line of hints. `kind` is the subject's word.

        From `schema` errors that don't say what was expected take the failing part's type expression.
        `previous_errors` are those of the attempt before; with them the message says what became of them.
        """
        found = whole_errors(errors)
        if schema is not None:
            index = SchemaIndex(schema)
            found = [_with_expected(error, index, ValueSanitizer(self._configuration)) for error in found]
        before = [AttemptRecord(attempt_number - 1, tuple(whole_errors(previous_errors)))] if previous_errors else []
        first = first_line(kind, tool_name or "", attempt_number, max_attempts)
        return self._fit(_MessageFrame(first, compare(found, before)), found)

    def format_feedback(
        self,
        name: str,
        errors: Sequence[ValidationError],
        *,
        attempt: int,
        max_attempts: int,
        kind: str = "tool",
        blocked: bool = False,
        previous: Sequence[AttemptRecord] = (),
        max_length: int | None = None,
        words: str = "",
        endings: Endings = WITH_DESK,
    ) -> str:
        """Write what the agent is answered: the errors, and what comes next when the attempts run out.

        `previous` are the failed attempts before this one, oldest first. With `max_length`, in characters, as many
        errors are shown as fit into that. `words` are a person's, fenced: they stand before what comes next.
        """
        first = first_line(kind, name, attempt, max_attempts)
        if blocked:
            return self._fit(_MessageFrame(first, hints=False, ending=endings.blocked), errors, max_length)
        last = endings.last_attempt if max_attempts - attempt == 1 else ""
        ending = "\n\n".join(filter(None, (words, last)))
        return self._fit(_MessageFrame(first, compare(errors, previous), ending=ending), errors, max_length)

    def format_held(
        self, name: str, *, attempt: int, max_attempts: int, kind: str = "tool", endings: Endings = WITH_DESK
    ) -> str:
        """Write the answer to a valid attempt of a tool whose gate only a person opens."""
        return f"{first_line(kind, name, attempt, max_attempts)}\n\n{endings.held}"

    def _fit(self, frame: _MessageFrame, errors: Iterable[ValidationError], max_length: int | None = None) -> str:
        limit = max_length or self._configuration.max_message_length
        ordered = in_order(errors)
        shown = min(len(ordered), limit // SHORTEST_BULLET) if max_length else self._configuration.max_errors_shown
        folded: tuple[ErrorGroup, ...] = ()
        text = frame.first
        for layout in _layouts(shown, with_hints=frame.hints and self._configuration.include_hints):
            if len(ordered) <= layout.errors:
                groups = tuple(ErrorGroup(error) for error in ordered)
            else:
                # Every layout that folds takes the same groups: folding thousands of errors is costly.
                groups = folded = folded or fold(ordered, layout.errors)
            text = self._write(frame, groups, layout)
            if len(text) <= limit:
                return text
        # The last resort, for a `kind` that is no word or a person's long words within the smallest limit.
        return elide_middle(text, limit)

    def _write(self, frame: _MessageFrame, groups: Sequence[ErrorGroup], layout: _Layout) -> str:
        groups, hidden = groups[: layout.errors], max(0, len(groups) - layout.errors)
        parts = [frame.first]
        if groups:
            full = len(groups) <= FULL_BULLETS
            said: set[str] = set()
            bullets = [self._bullet(group, layout, said, repeats=full and layout.repeats) for group in groups]
            text = ("\n\n" if full else "\n").join(bullets)
            if hidden:
                text += f"\n\n...and {hidden} more"
            parts.append(f"Errors:\n{text}" if len(groups) > 1 or hidden else text)
        if frame.progress and layout.places:
            parts.append(frame.progress.line(layout.places))
        if layout.hints and groups:
            parts.append(hint_line([group.advised for group in groups], full=len(groups) <= FULL_BULLETS))
        if frame.ending:
            parts.append(frame.ending)
        return "\n\n".join(parts)

    def _bullet(self, group: ErrorGroup, layout: _Layout, said: set[str], *, repeats: bool) -> str:
        error = group.error
        severity = "" if error.severity is ErrorSeverity.ERROR else f" [{error.severity.name.lower()}]"
        head = f"• {shown_pointer(error.field_path, layout.pointer)} ({error.error_code}){severity}:"
        if not layout.bodies:
            return head
        message = error.message if layout.values is None else _shorten(error.message, SHORT_VALUE * 3)
        lines = [f"{head} {visible(message)}"]
        if group.like:
            lines[0] += f" … and {group.more} ({shown_pointer(group.pattern)})"
        if layout.values == 0:
            return "\n".join(lines)
        expected, actual, code = error.expected_value, error.actual_value, error.error_code
        if expected is not None and (
            repeats or not (code in TELLS_EXPECTED or f"expected {expected}, got" in error.message)
        ):
            line = f"  Expected: {visible(_shorten(expected, layout.values))}"
            # Which fields there are is told once, not for each of many unknown ones.
            if line not in said or code is not ErrorCode.UNKNOWN_FIELD:
                said.add(line)
                lines.append(line)
        if actual is not None and self._configuration.include_actual_values and (repeats or code not in TELLS_ACTUAL):
            lines += _actual(actual, layout.values)
        return "\n".join(lines)


def _actual(actual: str, limit: int | None) -> Iterator[str]:
    """Write the numbered lines of a file below each other, only the one with the caret in a tight message."""
    if not _NUMBERED.fullmatch(actual):
        yield f"  Actual: {visible(_shorten(actual, limit))}"
        return
    lines = actual.split("\n")
    if limit is not None:
        lines = [line for line in lines if CARET in line][:1] or lines[:1]
    yield "  Actual:"
    yield from (f"    {visible(_shorten(line, limit))}" for line in lines)


def _layouts(shown: int, *, with_hints: bool) -> Iterator[_Layout]:
    # In the order that docs/format.md promises: first what repeats the message, whole errors last.
    yield _Layout(shown, None, with_hints)
    yield _Layout(shown, None, with_hints, repeats=False)
    yield _Layout(shown, SHORT_VALUE, with_hints, places=MAX_PLACES // 2, repeats=False)
    yield _Layout(shown, 0, with_hints, places=1)
    yield _Layout(shown, 0, hints=False, places=1)
    fewer = shown
    while fewer > 0:
        yield _Layout(fewer, 0, hints=False, places=0)
        fewer -= max(1, fewer // 10)  # of many errors whole tenths go at once: each try writes all of them
    yield _Layout(1, 0, hints=False, places=0, bodies=False)
    yield _Layout(1, 0, hints=False, places=0, bodies=False, pointer=SHORT_POINTER)


def _with_expected(error: ValidationError, index: SchemaIndex, sanitizer: ValueSanitizer) -> ValidationError:
    """Add the type expression of the schema's part at the error's place, unless the error says what was expected."""
    if error.expected_value is not None:
        return error
    place = index.root
    for token in pointers.tokens(error.field_path):
        position = pointers.index_of(token)
        # Digits are an index only where the schema does not declare a member of that name.
        place = place.child(token if position is None or token in place.declared else position)
    described = [schema for schema in place.schemas if schema]
    if not described:
        return error
    choices = secret_choices(index, sanitizer)
    expected = describe(described[0], index.resolve, sanitizer.redact_identifier, choices)
    return replace(error, expected_value=visible(expected))


def _shorten(text: str, limit: int | None) -> str:
    return text if limit is None or len(text) <= limit else elide_middle(text, limit)


# What a line begins with, a number, is no part of the format: text in it can pose as nothing else.
_NUMBERED = re.compile(r"(?: *[0-9]+ \|.*(?:\n|\Z))+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """Hold what a custom formatter may word anew: `text` is the standard message, all else is what it is made of.

    `errors` are all errors, sanitised; `previous` are the failed attempts before, oldest first.
    """

    name: str
    kind: str
    attempt: int
    max_attempts: int
    errors: tuple[ValidationError, ...]
    previous: tuple[AttemptRecord, ...] = ()
    is_blocked: bool = False
    max_length: int
    text: str


Formatter = Callable[[Feedback], str]
Report = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class Formatters:
    """Hold formatters by tool name or glob; `report` is told the tool and the reason when one is passed over."""

    by_pattern: Mapping[str, Formatter] = field(default_factory=dict)
    report: Report = lambda _name, _reason: None

    def word(self, feedback: Feedback) -> str:
        """Give the text of the tool's own formatter, or the standard one when there is none or it fails."""
        formatter = self.by_pattern.get(feedback.name)
        if formatter is None:  # for that very name, else the first whose glob matches it
            matching = (one for pattern, one in self.by_pattern.items() if fnmatchcase(feedback.name, pattern))
            formatter = next(matching, None)
        if formatter is None:
            return feedback.text
        try:
            text = formatter(feedback)
            fault = _fault(text, feedback)
        except Exception as error:  # noqa: BLE001 - foreign code may raise anything
            # Its type only: the message may quote a value.
            fault = f"it raised {type(error).__name__}"
        if fault is None:
            return text
        self.report(feedback.name, fault)
        return feedback.text


def _fault(text: object, feedback: Feedback) -> str | None:
    """Say what makes a text no version-1 message of the same errors, or None."""
    if not isinstance(text, str):
        return f"it returned {type(text).__name__}, not str"
    if len(text) > feedback.max_length:
        return f"its text has {len(text)} characters, allowed are {feedback.max_length}"
    # UTF-8 cannot encode it, so that it could be neither stored nor sent.
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "its text has a lone surrogate"
    try:
        said, meant = parse_feedback(text), parse_feedback(feedback.text)
    except ValueError:
        return "its text cannot be read as a version-1 message"
    for part in ("subject", "name", "attempt", "max_attempts", "errors", "hidden", "is_blocked"):
        if getattr(said, part) != getattr(meant, part):
            return f"its text changes the {part}"
    return "its text has no hint line" if meant.hint and not said.hint else None
