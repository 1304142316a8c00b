"""Write the text that the model reads, format version 1; one function makes it, everything else shows it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from retrycontract.contract.aggregator import ErrorGroup, fold, in_order
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.contract.hints import advise
from retrycontract.contract.previews import fit, literal_text
from retrycontract.contract.sanitizer import elide_middle, visible

FORMAT = "retrycontract/1"
MAX_POINTER = 200
SHORT_POINTER = 80  # where even one pointer of full length does not fit
MAX_NAME = 80
SHORT_VALUE = 40  # characters of expected and actual values once the message must be shortened
MAX_HINTS = 6  # more advice than this is not followed
BLOCKED_TEXT = (
    "This call is now Blocked: nothing was executed and a person has been asked for guidance. "
    "Do not retry it yourself; continue when guidance arrives."
)
HELD_TEXT = (
    "The output is valid now, but a person was asked and must answer first: nothing was executed. "
    "Do not retry it yourself; continue when guidance arrives."
)
LAST_ATTEMPT_TEXT = "One attempt is left before a person is asked."


@dataclass(frozen=True, slots=True)
class ParsedFeedback:
    """Hold what a version-1 text says: the subject and its name, the attempt, and (code, pointer) of each bullet."""

    subject: str
    name: str
    attempt: int
    max_attempts: int
    errors: tuple[tuple[ErrorCode, str], ...]
    hidden: int
    is_blocked: bool

    @property
    def codes(self) -> tuple[ErrorCode, ...]:
        """List the codes, in the order of the text."""
        return tuple(code for code, _ in self.errors)

    @property
    def pointers(self) -> tuple[str, ...]:
        """List the pointers, in the order of the text; `""` is the whole document."""
        return tuple(pointer for _, pointer in self.errors)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Say how much room is spent; tried from generous to tight until the message fits."""

    errors: int
    values: int | None = None
    hints: bool = True
    pointer: int = MAX_POINTER
    bodies: bool = True


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
    ) -> str:
        """Write the message: first line, bullets, one line of hints. `kind` is the subject's word."""
        first = _first_line(kind, tool_name, attempt_number, max_attempts)
        return self._fit(first, list(errors or ()), ending="")

    def format_feedback(
        self,
        name: str,
        errors: Sequence[ValidationError],
        *,
        attempt: int,
        max_attempts: int,
        kind: str = "tool",
        blocked: bool = False,
    ) -> str:
        """Write what the agent is answered: the errors, and what comes next when the attempts run out."""
        first = _first_line(kind, name, attempt, max_attempts)
        if blocked:
            return self._fit(first, list(errors), ending=BLOCKED_TEXT, hints=False)
        ending = LAST_ATTEMPT_TEXT if max_attempts - attempt == 1 else ""
        return self._fit(first, list(errors), ending=ending)

    def format_held(self, name: str, *, attempt: int, max_attempts: int, kind: str = "tool") -> str:
        """Write the answer to a valid attempt of a tool whose gate only a person opens."""
        return f"{_first_line(kind, name, attempt, max_attempts)}\n\n{HELD_TEXT}"

    def _fit(self, first: str, errors: list[ValidationError], *, ending: str, hints: bool = True) -> str:
        limit = self._configuration.max_message_length
        ordered = in_order(errors)
        folded: tuple[ErrorGroup, ...] = ()
        text = first
        for layout in self._layouts(with_hints=hints and self._configuration.include_hints):
            if len(ordered) <= layout.errors:
                groups = tuple(ErrorGroup(error) for error in ordered)
            else:
                groups = folded = folded or fold(ordered)
            text = self._write(first, groups, layout, ending)
            if len(text) <= limit:
                return text
        return elide_middle(text, limit)

    def _layouts(self, *, with_hints: bool) -> Iterable[_Layout]:
        shown = self._configuration.max_errors_shown
        yield _Layout(shown, None, with_hints)
        yield _Layout(shown, SHORT_VALUE, with_hints)
        yield _Layout(shown, 0, with_hints)
        yield _Layout(shown, 0, hints=False)
        for fewer in range(shown - 1, 0, -1):
            yield _Layout(fewer, 0, hints=False)
        yield _Layout(1, 0, hints=False, bodies=False)
        yield _Layout(1, 0, hints=False, bodies=False, pointer=SHORT_POINTER)

    def _write(self, first: str, groups: Sequence[ErrorGroup], layout: _Layout, ending: str) -> str:
        groups, hidden = groups[: layout.errors], max(0, len(groups) - layout.errors)
        parts = [first]
        bullets = [self._bullet(group, layout) for group in groups]
        if hidden:
            bullets.append(f"...and {hidden} more")
        if len(bullets) > 1:
            parts.append("Errors:\n" + "\n\n".join(bullets))
        else:
            parts.extend(bullets)
        if layout.hints and groups:
            parts.append(_hint_line([group.error for group in groups]))
        if ending:
            parts.append(ending)
        return "\n\n".join(parts)

    def _bullet(self, group: ErrorGroup, layout: _Layout) -> str:
        error = group.error
        severity = "" if error.severity is ErrorSeverity.ERROR else f" [{error.severity.name.lower()}]"
        head = f"• {shown_pointer(error.field_path, layout.pointer)} ({error.error_code}){severity}:"
        if not layout.bodies:
            return head
        message = error.message if layout.values is None else _shorten(error.message, SHORT_VALUE * 3)
        lines = [f"{head} {visible(message)}"]
        if group.like:
            lines[0] += f" … and in {group.like} more items ({shown_pointer(group.pattern)})"
        if layout.values != 0:
            lines.extend(self._values(error, layout.values))
        return "\n".join(lines)

    def _values(self, error: ValidationError, limit: int | None) -> Iterable[str]:
        if error.expected_value is not None:
            yield f"  Expected: {visible(_shorten(error.expected_value, limit))}"
        if error.actual_value is not None and self._configuration.include_actual_values:
            yield f"  Actual: {visible(_shorten(error.actual_value, limit))}"


def shown_pointer(pointer: str, limit: int = MAX_POINTER) -> str:
    """Show a pointer in a message: bounded, one line, the whole document as `(root)`.

    One that could be misread, with a line break or a code inside, stands in quotes as JSON writes it.
    """
    if not pointer:
        return "(root)"
    if pointer[0] != "/" or " (VAL-" in pointer or visible(pointer) != pointer:
        return f'"{fit(pointer, limit - 2, literal_text)[0]}"'
    return elide_middle(pointer, limit)


def shown_name(name: str) -> str:
    """Show a tool's name in a message: bounded, one line, no quote that could end it early."""
    return elide_middle(visible(name), MAX_NAME).replace("'", "’")


def parse_feedback(text: str) -> ParsedFeedback:
    """Read a version-1 text back into its parts; raises ValueError when it is none."""
    match = _FIRST_LINE.match(text)
    if match is None:
        raise ValueError("not a retrycontract/1 message: its first line says no 'Validation failed for …'")
    subject, name, attempt, max_attempts = match.groups()
    bullets = _BULLET.findall(text)
    more = _MORE.search(text)
    return ParsedFeedback(
        subject=subject,
        name=name,
        attempt=int(attempt),
        max_attempts=int(max_attempts),
        errors=tuple((ErrorCode(code), _read_pointer(pointer)) for pointer, code in bullets),
        hidden=int(more.group(1)) if more else 0,
        is_blocked=text.endswith((BLOCKED_TEXT, HELD_TEXT)),
    )


def _read_pointer(shown: str) -> str:
    """Give back the pointer that `shown_pointer` shows."""
    if shown.startswith('"'):
        return str(json.loads(shown))
    return "" if shown == "(root)" else shown


_FIRST_LINE = re.compile(r"Validation failed for (\w+) '(.*)' \(attempt (\d+)/(\d+)\):(?:\n|$)")
_BULLET = re.compile(r"^• (\"(?:[^\"\\\n]|\\.)*\"|[^\"\n].*?) \((VAL-0(?:0[1-9]|1[0-5]))\)(?: \[\w+\])?:", re.MULTILINE)
_MORE = re.compile(r"^\.\.\.and (\d+) more$", re.MULTILINE)


def _first_line(kind: str, name: str, attempt: int, max_attempts: int) -> str:
    return f"Validation failed for {kind} '{shown_name(name)}' (attempt {attempt}/{max_attempts}):"


def _hint_line(errors: Sequence[ValidationError]) -> str:
    hints = list(dict.fromkeys(visible(advise(error)) for error in errors))
    if len(hints) > MAX_HINTS:
        hints = [*hints[:MAX_HINTS], "correct the remaining errors above"]
    listed = hints[0] if len(hints) == 1 else f"{', '.join(hints[:-1])} and {hints[-1]}"
    return f"Please {listed}."


def _shorten(text: str, limit: int | None) -> str:
    return text if limit is None or len(text) <= limit else elide_middle(text, limit)
