"""Custom formatters: chosen by the tool's name, held to the structure of version 1, passed over when they break it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from retrycontract.contract.errors import ValidationError
from retrycontract.contract.feedback.feedback_text import parse_feedback
from retrycontract.contract.tracker import AttemptRecord


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


def _stay_silent(_name: str, _reason: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Formatters:
    """Hold formatters by tool name or glob; `report` is told the tool and the reason when one is passed over."""

    by_pattern: Mapping[str, Formatter] = field(default_factory=dict)
    report: Report = _stay_silent

    def word(self, feedback: Feedback) -> str:
        """Give the text of the tool's own formatter, or the standard one when there is none or it fails."""
        formatter = self._chosen(feedback.name)
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

    def _chosen(self, name: str) -> Formatter | None:
        """Find the formatter of that very name, else the first whose glob matches it."""
        exact = self.by_pattern.get(name)
        if exact is not None:
            return exact
        return next((one for pattern, one in self.by_pattern.items() if fnmatchcase(name, pattern)), None)


def _fault(text: object, feedback: Feedback) -> str | None:
    """Say what makes a text no version-1 message of the same errors, or None."""
    if not isinstance(text, str):
        return f"it returned {type(text).__name__}, not str"
    if len(text) > feedback.max_length:
        return f"its text has {len(text)} characters, allowed are {feedback.max_length}"
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
