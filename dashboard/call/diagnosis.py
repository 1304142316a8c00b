"""What is wrong with a call in one line, its course as a small drawing, and what changed between two attempts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import takewhile
from typing import Any, Final

from django.contrib.humanize.templatetags.humanize import ordinal

from dashboard.shared.mistakes import by_pattern, kinds_of
from retrycontract.contract import pointers
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.lifecycle import CallState
from retrycontract.store.models import Attempt

STEP: Final = 72  # px between two marks
EDGE: Final = 16  # px beside the first and the last: half a mark and its line
MOST_MARKS: Final = 9  # as many as fit beside the answer; beyond, the oldest are left out and counted
ARTICLES: Final = {
    "string": "a", "number": "a", "boolean": "a", "integer": "an", "array": "an", "object": "an"
}  # fmt: skip
MARK: Final = "[REDACTED: "
EXCERPT: Final = 60  # characters of a value: what is longer is read below


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Say in one line what is wrong: how it came, where, what should be there, and what was."""

    lead: str
    place: str  # empty where the whole output is meant
    what: str
    found: str
    others: int  # mistakes of other kinds

    @classmethod
    def of(cls, failed: Sequence[Attempt], *, has_older: bool = False) -> Diagnosis | None:
        """Diagnose the failed attempts of a call, the newest first; None where none failed.

        `has_older` where these are the newest of more, so that what all of them have in common may have come before.
        """
        made = [kinds_of(attempt.errors) for attempt in failed]
        if not made or not made[0]:
            return None
        patterns = by_pattern(failed[0].errors)
        # What came most often in a row is what the agent does not understand.
        runs = {one.kind: sum(1 for _ in takewhile(lambda kinds, k=one.kind: k in kinds, made)) for one in patterns}  # type: ignore[misc]
        worst = max(patterns, key=lambda one: (one.is_blocking, runs[one.kind]))
        run = runs[worst.kind]
        lead = f"{ordinal(run)} time the same" if run > 1 else "A new mistake" if len(made) > 1 else ""
        if has_older and run == len(made):
            lead = f"The same {run} times or more"
        error = worst.first
        place, what, found = worst.pattern, rule_of(error), ""
        # Of the whole output, or where nothing certain is expected, the error's own words say more.
        if not place or not what:
            place, what = "", error.message
        elif error.error_code is not ErrorCode.UNKNOWN_FIELD:
            found = _excerpt(error.actual_value or "")
        return cls(lead, place, what, found, sum(one.is_blocking for one in patterns if one is not worst))


def rule_of(error: ValidationError) -> str:
    """Say what the place of an error asks of every output; empty where nothing is certain."""
    if error.expected_value is None:
        return ""
    if error.error_code is ErrorCode.UNKNOWN_FIELD:
        return f"is not known: use {error.expected_value}"
    must = "is missing:" if error.actual_value is None else "must be"
    # What is expected begins with a type or with words of its own: the type becomes a part of the sentence.
    article = ARTICLES.get(re.split(r"[ ,:]", error.expected_value, maxsplit=1)[0])
    return f"{must} {article} {error.expected_value}" if article else f"{must} {error.expected_value}"


def _excerpt(value: str) -> str:
    """Show how a value begins: its middle may be left out already. A redaction mark is kept whole or left out."""
    if len(value) <= EXCERPT:
        return value
    end = EXCERPT - 1
    mark = value.rfind(MARK, 0, end + len(MARK) - 1)
    return f"{value[: mark if mark >= 0 and value.find(']', mark) >= end else end]}…"


@dataclass(frozen=True, slots=True)
class Mark:
    """Hold one point of a call's course."""

    at: datetime
    icon: str
    word: str
    tone: str  # of the colours of states in call.css


@dataclass(frozen=True, slots=True)
class Course:
    """Hold what happened to a call in order, to be drawn: attempts, asking, answers, end."""

    marks: tuple[Mark, ...]
    hidden: int = 0

    @classmethod
    def of(cls, marks: Sequence[Mark]) -> Course:
        """Put marks in their order, and keep the last ones."""
        ordered = sorted(marks, key=lambda mark: mark.at)
        return cls(tuple(ordered[-MOST_MARKS:]), max(len(ordered) - MOST_MARKS, 0))

    @property
    def width(self) -> int:
        """Give the width of the drawing in px."""
        return 2 * EDGE + STEP * (len(self.marks) - 1)

    @property
    def placed(self) -> list[tuple[int, Mark]]:
        return [(EDGE + STEP * index, mark) for index, mark in enumerate(self.marks)]

    @property
    def spans(self) -> list[tuple[int, datetime, datetime]]:
        """Give the times between marks: the middle of each line, its beginning and its end."""
        pairs = zip(self.marks, self.marks[1:], strict=False)
        return [(EDGE + STEP * index + STEP // 2, one.at, two.at) for index, (one, two) in enumerate(pairs)]

    @property
    def said(self) -> str:
        """Say the whole course in words, for who does not see it."""
        return ", ".join(mark.word for mark in self.marks)


# How an end looks; a call that goes on ends in its state, which says whose turn it is.
TONES: Final = {
    CallState.BLOCKED: "blocked",
    CallState.VALID: "good",
    CallState.ACCEPTED: "good",
    CallState.GUIDED: "guided",
    CallState.PENDING: "work",
    CallState.RETRYING: "work",
}


class ChangeKind(StrEnum):
    """Name what happened to a place."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Change:
    """Hold one place that differs; what is not there on one side is None on it, and `kind` says so."""

    pointer: str
    kind: ChangeKind
    before: Any = None
    after: Any = None


def compare(before: Any, after: Any) -> tuple[Change, ...]:
    """List the places where two JSON documents differ, the deepest that tell it, in the order of the documents.

    Items of arrays are compared by position.
    """
    return tuple(_compare(before, after, None))


def _compare(before: Any, after: Any, place: pointers.Steps) -> Iterator[Change]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            its_place = (place, key)
            if key in after:
                yield from _compare(value, after[key], its_place)
            else:
                yield Change(pointers.from_steps(its_place), ChangeKind.REMOVED, before=value)
        for key in after:
            if key not in before:
                yield Change(pointers.from_steps((place, key)), ChangeKind.ADDED, after=after[key])
    elif isinstance(before, list) and isinstance(after, list):
        shared = min(len(before), len(after))
        for index in range(shared):
            yield from _compare(before[index], after[index], (place, index))
        for index in range(shared, len(before)):
            yield Change(pointers.from_steps((place, index)), ChangeKind.REMOVED, before=before[index])
        for index in range(shared, len(after)):
            yield Change(pointers.from_steps((place, index)), ChangeKind.ADDED, after=after[index])
    # As JSON compares: true is not 1, and 1 is 1.0.
    elif isinstance(before, bool) != isinstance(after, bool) or before != after:
        yield Change(pointers.from_steps(place), ChangeKind.CHANGED, before, after)
