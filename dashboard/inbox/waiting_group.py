"""The calls that wait with one mistake: what is wrong with each, and what would mend it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import accumulate
from typing import Final

from django.db.models import TextField
from django.db.models.functions import Cast, Length

from dashboard.call.diagnosis import Change, compare
from dashboard.inbox.groups import Row
from dashboard.inbox.views import read_claims, read_snoozes
from dashboard.shared.mistakes import Kind, MistakePattern, kinds_of, patterns_of
from retrycontract.store.fields import without_long_values
from retrycontract.store.models import Attempt, Mistake
from retrycontract.usecases.answers.answer_group import Correct
from retrycontract.usecases.answers.give_guidance import check_correction
from retrycontract.usecases.answers.reuse_answers import proposed_arguments

SHOWN: Final = 100  # calls of one page, and so of one go: two seconds of work
# Characters of outputs that a page looks through for what mends them; the last one may go beyond.
MOST_READ: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class OwnFix:
    """Hold what the fix that a call's own errors suggest changes in it; nothing where none is suggested."""

    changes: tuple[Change, ...]
    is_enough: bool  # it leaves nothing wrong


@dataclass(frozen=True, slots=True)
class GroupMember:
    """Offer one call of the group."""

    row: Row
    attempt: Attempt | None  # the newest with a verdict
    is_chosen: bool
    is_taken: bool  # somebody else has it: it is left to them
    shared: frozenset[Kind]  # the mistakes of all

    @property
    def mistakes(self) -> tuple[MistakePattern, ...]:
        """Give what is wrong with it that all share."""
        return tuple(mistake for mistake in self.row.mistakes if mistake.kind in self.shared)

    @property
    def other_mistakes(self) -> tuple[MistakePattern, ...]:
        """Give what is wrong with it beside that: an answer to all may say nothing of it."""
        return tuple(mistake for mistake in self.row.mistakes if mistake.kind not in self.shared)

    @property
    def may_have_fix(self) -> bool:
        """Tell whether its errors suggest one; whether it fits, its output tells."""
        return any(error.patch for error in self.row.errors)


@dataclass(frozen=True)
class WaitingGroup:
    """Hold the calls that wait with one mistake, the longest waiting first, as far as they are shown."""

    choices: tuple[GroupMember, ...]
    has_more: bool

    @cached_property
    def chosen(self) -> list[GroupMember]:
        """Give the calls that an answer would go to."""
        return [choice for choice in self.choices if choice.is_chosen]

    @property
    def looked_at(self) -> Sequence[GroupMember]:
        """Give the calls that the page speaks of: those that are ticked, or all where none is."""
        return self.chosen or self.choices

    @property
    def mistakes(self) -> tuple[MistakePattern, ...]:
        """Give all mistakes of the calls that are looked at, each with what stood there."""
        return patterns_of([member.row.errors for member in self.looked_at])

    @property
    def with_others(self) -> int:
        """Count the ticked calls that have mistakes beside the shared ones."""
        return sum(bool(member.other_mistakes) for member in self.chosen)

    @cached_property
    def _fixes(self) -> list[OwnFix]:
        """Look for the fixes of as many as may be read; of none behind a first that leaves mistakes."""
        # All made the same mistakes: what is left of those of the first is left of the others', and cannot be sent.
        found = list[OwnFix]()
        members = {one.attempt.pk: one for one in self.looked_at if one.attempt is not None and one.may_have_fix}
        for attempt in with_outputs([one.attempt for one in members.values() if one.attempt is not None]):
            proposed = proposed_arguments(attempt)
            changes = () if proposed is None else compare(attempt.output, proposed)
            is_enough = bool(changes) and not check_correction(members[attempt.pk].row.call, proposed)
            found.append(OwnFix(changes, is_enough))
            if changes and not is_enough and not any(one.is_enough for one in found):
                break
        return found

    @property
    def with_fix(self) -> int:
        """Count the calls that a suggested fix mends, of those that were read; none where it is not enough."""
        return sum(one.is_enough for one in self._fixes)

    @property
    def untried(self) -> int:
        """Count those whose fix is not looked at here, since the outputs before them were large."""
        return sum(one.may_have_fix for one in self.looked_at) - len(self._fixes)

    @property
    def fix(self) -> tuple[Change, ...]:
        """Give the suggested fix of the first that has one, as the example of all."""
        return next((one.changes for one in self._fixes if one.changes), ())

    @property
    def first(self) -> Row | None:
        """Give the call that shows what is wrong with all, and that the preview is written for."""
        return next((member.row for member in self.looked_at), None)


def read_waiting(
    mistake: Mistake, operator: int, *, now: datetime, only: Collection[str] | None, alone: bool = False
) -> WaitingGroup:
    """Read the calls to choose from: chosen is what `only` names, or without it all that is not put off.

    With `alone` those are left out that have mistakes beside the shared ones.
    """
    calls = list(mistake.calls.select_related("agent", "tool", "version")[: SHOWN + 1])
    shown = calls[:SHOWN]
    claims, snoozes = read_claims(shown, now), read_snoozes(shown, now)
    # A hundred outputs may have two hundred megabytes: none is read that nothing is asked of.
    newest = without_long_values(Attempt.objects.newest_judged(shown), but=("errors_json",))
    attempts = {one.call_id: one for one in newest}
    made = [kinds_of(attempt.errors) for attempt in attempts.values()]
    shared = frozenset(set.intersection(*made)) if made else frozenset()
    members = []
    for call in shown:
        attempt, claim, snooze = attempts.get(call.pk), claims.get(call.pk), snoozes.get(call.pk)
        row = Row(call, {call.pk: attempt.errors} if attempt else {}, claim, snooze)
        is_taken = claim is not None and claim.operator_id != operator
        is_named = snooze is None if only is None else call.public_id in only
        is_left = alone and kinds_of(row.errors) != shared
        members.append(GroupMember(row, attempt, is_named and not is_taken and not is_left, is_taken, shared))
    return WaitingGroup(tuple(members), len(calls) > SHOWN)


def with_outputs(attempts: Sequence[Attempt], most: int = MOST_READ) -> Iterator[Attempt]:
    """Give as many attempts as may be read, one after another, each with its output for as long as it is looked at."""
    stored = Attempt.objects.order_by().filter(pk__in=[attempt.pk for attempt in attempts])  # a sort would copy them
    sizes = dict(stored.values_list("pk", Length("output"))) if attempts else {}
    before = accumulate((sizes.get(attempt.pk) or 0 for attempt in attempts), initial=0)
    read = [attempt for attempt, size in zip(attempts, before, strict=False) if size < most]
    texts = stored.filter(pk__in=[attempt.pk for attempt in read]).values_list("pk", Cast("output", TextField()))
    written = dict(texts) if read else {}
    for attempt in read:
        text = written.pop(attempt.pk)
        attempt.output = None if text is None else json.loads(text)
        try:
            yield attempt
        finally:
            del attempt.output  # to be read again by whoever asks for it


def changes_of(attempt: Attempt, correct: Correct) -> tuple[Change, ...]:
    """Tell what a correction changes in an output; nothing where it does not fit."""
    fixed = correct(attempt)
    return () if fixed is None else compare(attempt.output, fixed)
