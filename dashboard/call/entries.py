"""What stands in a call's history: its attempts, and the answers that people gave."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import accumulate
from typing import Final, TypeVar

from django.utils.html import escape

from dashboard.call.diagnosis import Change, compare
from dashboard.shared.json_view import is_long
from dashboard.shared.mistakes import MistakePattern, by_pattern
from dashboard.shared.near_lines import NEAR_TEXT
from dashboard.shared.text_view import is_long_text
from retrycontract.contract.decisions import Decision
from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.contract.lifecycle import Status
from retrycontract.contract.redaction.sanitizer import elide_middle
from retrycontract.store.models import Attempt, AttemptState, Guidance

MOST_MISTAKES: Final = 4  # shown of an attempt with more; the link beside them shows it to its end
MOST_EARLIER: Final = 2  # of an attempt that another followed
MOST_TOLD: Final = 300  # bytes of one, as it is written
MOST_CHANGES: Final = 8
MOST_WHOLE: Final = 200  # shown of an attempt to its end: of 30,000 a page would have 19 MB
MOST_CHANGED: Final = 800  # bytes of them
MOST_SAID: Final = 2_000  # characters of what the model said
MOST_READ: Final = 400  # characters of what it read, of an attempt that is not shown to its end
MOST_ANSWERED: Final = 1_000  # characters of what it read of a person's answer
MOST_WHERE: Final = 40  # characters of a place in a line
MOST_CARD: Final = 7_000  # bytes of an attempt that is shown to its end unasked, by estimate
CARD: Final = 1_000  # bytes of a card that holds nothing
Item = TypeVar("Item")
_AT_LINE = re.compile(r" at line (\d{1,6})\b")


def _first(items: tuple[Item, ...], part: Callable[[Item], object], most: int) -> tuple[Item, ...]:
    """Keep the first, as many as their parts have bytes; one at least."""
    sizes = accumulate(len(repr(part(item)).encode(errors="replace")) for item in items)
    return tuple(item for item, size in zip(items, sizes, strict=True) if item is items[0] or size <= most)


@dataclass(frozen=True)
class AttemptEntry:
    """Show one attempt; what a page asks for several times is found out once, for there may be thousands of errors."""

    attempt: Attempt
    is_newest: bool
    before: Attempt | None = None  # the attempt before it, when that one is known
    is_whole: bool = False  # shown to its end
    is_aim: bool = False  # the address leads to it
    is_far: bool = False  # so much stands before it that only its line is shown

    @cached_property
    def _told(self) -> tuple[ValidationError, ...]:
        return self.attempt.errors

    @cached_property
    def changes(self) -> tuple[Change, ...] | None:
        """Tell what changed since the attempt before; None when there is nothing to compare."""
        before = self.before
        # Text that is no JSON has no places that could be compared.
        if before is None or not before.is_parsed or not self.attempt.is_parsed:
            return None
        return () if self.is_repeat else compare(before.output, self.attempt.output)

    @property
    def shown_changes(self) -> tuple[Change, ...]:
        """Give the first of the changes: as many as fit beside the rest, or as anybody reads."""
        changes = self.changes or ()
        if self.is_whole:
            return changes[:MOST_WHOLE]
        return _first(changes[:MOST_CHANGES], lambda one: (one.before, one.after), MOST_CHANGED)

    @property
    def hidden_changes(self) -> int:
        return len(self.changes or ()) - len(self.shown_changes)

    @property
    def shown_mistakes(self) -> tuple[MistakePattern, ...]:
        if not self.is_cut:
            return self.mistakes
        most = MOST_EARLIER if self.is_brief else MOST_MISTAKES
        return _first(self.mistakes[:most], lambda one: one.first, MOST_TOLD * most)

    @cached_property
    def is_cut(self) -> bool:
        """Tell whether it is not shown to its end."""
        return not self.is_whole and (
            self.is_long
            or len(self.mistakes) > MOST_MISTAKES
            or len(self.shown_changes) < len(self.changes or ())
            or self.weight > MOST_CARD
        )

    @property
    def is_brief(self) -> bool:
        """Tell whether its mistakes alone are shown: the newest attempt says what an answer is about."""
        return self.is_cut and not self.is_open

    @property
    def is_open(self) -> bool:
        """Tell whether it is unfolded."""
        return self.is_newest or self.is_aim or self.is_whole

    @cached_property
    def weight(self) -> int:
        """Estimate the bytes of its card: most of them say what was wrong, what came, and what the model read."""
        told = [one.first for one in self.mistakes[:MOST_MISTAKES]]
        size = len(escape(f"{told}{self.attempt.feedback}{self.shown_said}").encode(errors="replace"))
        # The output stands in it once as a whole, and in parts before and after a change.
        output = NEAR_TEXT if self.is_long else 3 * len(escape(repr(self.attempt.output)).encode(errors="replace"))
        return CARD + size + output

    @property
    def shown_said(self) -> str:
        """Give what the model said, or how it begins and ends."""
        said: str = self.attempt.said or ""
        return said if self.is_whole else elide_middle(said, MOST_SAID)

    @property
    def shown_feedback(self) -> str:
        """Give what the model read, or how it begins and ends."""
        feedback = self.attempt.feedback
        return elide_middle(feedback, MOST_READ) if self.is_cut else feedback

    @property
    def is_repeat(self) -> bool:
        """Tell whether the agent sent the same text again."""
        before = self.before
        return before is not None and bool(before.output_hash) and before.output_hash == self.attempt.output_hash

    @property
    def at(self) -> datetime:
        return self.attempt.submitted_at

    @cached_property
    def errors(self) -> tuple[ValidationError, ...]:
        """Give its errors, the worst first."""
        return tuple(sorted(self._told, key=lambda error: -error.severity))

    @cached_property
    def mistakes(self) -> tuple[MistakePattern, ...]:
        """Give its errors, those that are alike as one."""
        return by_pattern(self._told)

    @property
    def where(self) -> str:
        """Name the place of its first mistake, as much of it as stands in a line."""
        return elide_middle(self.mistakes[0].pattern, MOST_WHERE)

    @property
    def account(self) -> list[tuple[str, str]]:
        """Say how the output came about, as far as the agent told it: the model, its tokens, its time, its end."""
        attempt = self.attempt
        told = [("Model", attempt.model or "")]
        ways = (("in", attempt.tokens_in), ("out", attempt.tokens_out))
        told.append(("Tokens", ", ".join(f"{amount:,} {way}" for way, amount in ways if amount is not None)))
        told.append(("Took", "" if attempt.seconds is None else f"{attempt.seconds:g} s"))
        told.append(("Ended", attempt.finish_reason or ""))
        return [(name, value) for name, value in told if value]

    @property
    def failing_lines(self) -> tuple[int, ...]:
        """Name the lines of a source file that its compiler complained about."""
        return tuple(int(found[1]) for error in self._told for found in _AT_LINE.finditer(error.message))

    @cached_property
    def is_long(self) -> bool:
        """Tell whether the output is longer than what is shown around its failing places."""
        output = self.attempt.output
        return is_long_text(output) if isinstance(output, str) else is_long(output, self._told)

    @property
    def blocking(self) -> int:
        """Count the errors that block execution."""
        return sum(error.severity is ErrorSeverity.ERROR for error in self.errors)

    @property
    def outcome(self) -> tuple[str, str]:
        """Name the icon and the word for how it went."""
        attempt = self.attempt
        if attempt.is_waiting:
            return "pending", "Being checked"
        if attempt.state == AttemptState.UNASKED:
            return "alert", "The model could not be asked"
        if attempt.state == AttemptState.DISCARDED:
            return "cancelled", "Discarded"
        if attempt.state == AttemptState.DEAD:
            return "alert", "Could not be checked"
        if not attempt.is_valid:
            return "failed", "Failed"
        return ("valid", "Valid") if attempt.status != Status.BLOCKED else ("valid", "Valid, held for a person")

    @property
    def tone(self) -> str:
        """Name the colour of its mark, of those of states."""
        tones = {"failed": "blocked", "alert": "blocked", "valid": "good", "pending": "work"}
        return tones.get(self.outcome[0], "ended")

    @property
    def anchor(self) -> str:
        return f"attempt-{self.attempt.number}"

    @property
    def all_mistakes(self) -> str:
        """Say what the rest of its mistakes is shown by."""
        return f"Show all {len(self.mistakes)} mistakes"

    @property
    def title(self) -> str:
        """Say which attempt it is, as the agent was told."""
        attempt = self.attempt
        if attempt.shown_max and attempt.number > attempt.shown_max:
            return f"Attempt {attempt.number}, while Blocked"
        return f"Attempt {attempt.number}" + (f" of {attempt.shown_max}" if attempt.shown_max else "")


@dataclass(frozen=True, slots=True)
class GuidanceEntry:
    """Show one operator's answer."""

    guidance: Guidance
    expiries: tuple[datetime, ...] = ()
    whole: str = ""  # what the page shows to its end

    @property
    def anchor(self) -> str:
        return f"guidance-{self.guidance.pk}"

    @property
    def is_whole(self) -> bool:
        return self.whole == self.anchor

    @property
    def shown_text(self) -> str:
        """Give what the model reads, or how that begins and ends."""
        text = self.guidance.rendered
        return text if self.is_whole else elide_middle(text, MOST_ANSWERED)

    @property
    def at(self) -> datetime:
        return self.guidance.given_at

    @property
    def decision(self) -> Decision:
        return Decision(self.guidance.decision)

    @property
    def is_late(self) -> bool:
        """Tell whether nobody had answered in time."""
        asked = self.guidance.escalation.opened_at
        return any(asked <= expired <= self.at for expired in self.expiries)
