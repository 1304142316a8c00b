"""Compare an attempt's mistakes with those of the attempts before it, and say in one line what became of them.

Mistakes are compared by code and pointer pattern, as `escalation.fingerprint` does. What an attempt kept from being
looked at, by text that is no JSON or a parent of the wrong type, is neither fixed nor new: nothing is known of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from retrycontract.contract import pointers
from retrycontract.contract.checks.catalogue import NO_OUTPUT
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.contract.feedback.escalation import Fingerprint, fingerprint
from retrycontract.contract.feedback.feedback_text import NO_PROGRESS, listed_pointer
from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.no_attempt import NO_ATTEMPT
from retrycontract.contract.outputs.wrappers import CARRIERS
from retrycontract.contract.tracker import AttemptRecord

MAX_LISTED = 60  # characters of one pointer in the line; its bullet has more of it
# Where one of these is found, nothing below it was judged ...
HIDING = frozenset(
    {
        ErrorCode.REQUIRED_FIELD_MISSING, ErrorCode.TYPE_MISMATCH, ErrorCode.INVALID_JSON_SYNTAX,
        ErrorCode.UNKNOWN_FIELD, ErrorCode.OBJECT_SCHEMA_VIOLATION,
    }
)  # fmt: skip
# ... unless one of these keywords found it.
MISSING = frozenset({NO_OUTPUT, *NO_ATTEMPT})
OPEN = frozenset({"minProperties", "maxProperties", "callback", "plugin"})
# What these hide may have been read all the same.
READ = frozenset({ErrorCode.TYPE_MISMATCH, ErrorCode.INVALID_JSON_SYNTAX, ErrorCode.UNKNOWN_FIELD})
# What a mistake of the type ends in where an array was sent.
GOT_ARRAY = ", got array"
# What is asked only when the schema has found nothing.
LATE = frozenset({"callback", "plugin"})


@dataclass(frozen=True, slots=True)
class WrongPlace:
    """Hold one wrong place: its pointer, or its pattern for several items, and the attempt that first had the mistake.

    `since` is None for a mistake that no earlier attempt made.
    """

    pointer: str
    since: int | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """Hold what became of the mistakes; `same_as` is the first attempt with exactly these, None when some changed."""

    fixed: tuple[WrongPlace, ...] = ()
    still: tuple[WrongPlace, ...] = ()
    new: tuple[WrongPlace, ...] = ()
    same_as: int | None = None

    def line(self, shown: int) -> str:
        """Write the line with at most `shown` pointers of each sort."""
        if self.same_as is not None:
            said = "mistake is" if len(self.still) == 1 else "mistakes are"
            as_before = f"the {said} the same as in attempt {self.same_as}"
            return f"Progress: {NO_PROGRESS}{as_before}; take a different approach."
        sorts = (("fixed", self.fixed), ("still wrong", self.still), ("new", self.new))
        parts = (f"{word} {_listed(places, shown, stood=word == 'still wrong')}" for word, places in sorts if places)
        return f"Progress: {'; '.join(parts)}."


@dataclass(frozen=True, slots=True)
class _Earlier:
    """Hold what an earlier attempt got wrong."""

    number: int
    errors: tuple[ValidationError, ...]
    mistakes: Fingerprint
    omitted: int

    @classmethod
    def of(cls, record: AttemptRecord) -> _Earlier:
        errors = _blocking(record.errors)
        return cls(record.number, errors, fingerprint(errors), record.omitted)


def compare(errors: Iterable[ValidationError], previous: Sequence[AttemptRecord]) -> Progress | None:
    """Tell what became of the mistakes since the attempts before, oldest first; None when nothing can be said."""
    now = _blocking(errors)
    earlier = [attempt for record in previous if (attempt := _Earlier.of(record)).errors]
    if not now or not earlier:
        return None
    mistakes, places, last = fingerprint(now), _places(now), earlier[-1]
    # Fewer items with the same mistake are progress, although codes and patterns are equal.
    if mistakes == last.mistakes and len(now) >= len(last.errors) and not last.omitted:
        same = next(attempt.number for attempt in earlier if attempt.mistakes == mistakes)
        return Progress(still=tuple(map(WrongPlace, places.values())), same_as=same)
    read = next((attempt for attempt in reversed(earlier) if "" not in _hiding(attempt.errors)), last)
    before = _places(read.errors if read is last else (*read.errors, *last.errors))
    # By pattern, the number of the first attempt that made each mistake: the oldest is written last.
    since = {pattern: attempt.number for attempt in reversed(earlier) for _, pattern in mistakes & attempt.mistakes}
    # Of a history that is not whole nobody knows what it left out.
    fresh = [] if read.omitted else [pattern for pattern in places if pattern not in before]
    hiding = _hiding(read.errors) if fresh else set()
    fresh = [pattern for pattern in fresh if not _is_hidden(pattern, hiding)]
    hiding, gone = _hiding(now), before.keys() - places.keys()
    if gone and any(error.keyword not in LATE for error in now):
        gone -= {pointers.pattern(error.field_path) for error in read.errors if error.keyword in LATE}
    fixed = [pattern for pattern in before if pattern in gone and not _is_hidden(pattern, hiding)]
    # That an answer held no output is none of the mistakes, but the model read of it at this place: it is not new.
    unanswered = {pointers.pattern(error.field_path) for error in previous[-1].errors if error.keyword in MISSING}
    stood = [pattern for pattern in fresh if pattern in unanswered]
    progress = Progress(
        tuple(WrongPlace(before[pattern]) for pattern in fixed),
        tuple(WrongPlace(places[each], since.get(each)) for each in places if each in before or each in stood),
        tuple(WrongPlace(places[each], since.get(each)) for each in fresh if each not in stood),
    )
    return progress if progress != Progress() else None


def _blocking(errors: Iterable[ValidationError]) -> tuple[ValidationError, ...]:
    """Keep the mistakes; that there was no output is none of them, and nothing was seen of the others then."""
    kept = [error for error in errors if error.severity is ErrorSeverity.ERROR and error.keyword not in MISSING]
    wrappers = {error.field_path for error in kept if error.error_code is ErrorCode.UNKNOWN_FIELD}
    lists = {error.field_path for error in kept if error.message.endswith(GOT_ARRAY)}
    return tuple(_as_meant(error, wrappers, lists) for error in kept) if wrappers or lists else tuple(kept)


def _as_meant(error: ValidationError, wrappers: set[str], lists: set[str]) -> ValidationError:
    """Give a mistake within a wrapper, or in a list of one, the pointer that it has without what is around."""
    tokens, kept, here, at = pointers.tokens(error.field_path), list[str](), pointers.ROOT, 0
    while at < len(tokens):
        is_listed, here, at = here in lists and tokens[at] == "0", pointers.join(here, tokens[at]), at + 1
        if here in wrappers and at < len(tokens):
            carriers = (place for place, each in enumerate(tokens[at - 1 :], at) if each in CARRIERS)
            at = next(carriers, at)
            at += tokens[at : at + 1] == ("0",)  # what is in a wrapper is one object, or a list of it
            here = pointers.from_tokens(tokens[:at])
        elif not is_listed:
            kept.append(tokens[at - 1])
    return replace(error, field_path=pointers.from_tokens(kept)) if len(kept) < len(tokens) else error


def _places(errors: Iterable[ValidationError]) -> dict[str, str]:
    """Map each pattern to the one pointer that it stands for, or to itself where it stands for several."""
    places: dict[str, str] = {}
    for error in errors:
        pattern = pointers.pattern(error.field_path)
        known = places.setdefault(pattern, error.field_path)
        if known != error.field_path:
            places[pattern] = pattern
    return places


def _hiding(errors: Sequence[ValidationError]) -> set[str]:
    """Give the patterns below which nothing was judged; of text that is no JSON nothing was.

    Where something is told below a text or a wrapper, it was looked into.
    """
    read = [error for error in errors if error.error_code is not ErrorCode.INVALID_JSON_SYNTAX]
    told = {around for error in read for around in _around(pointers.pattern(error.field_path))}
    return {
        place for error in errors if error.error_code in HIDING and error.keyword not in OPEN
        for place in (_hidden_below(error),) if error.error_code not in READ or place not in told
    }  # fmt: skip


def _hidden_below(error: ValidationError) -> str:
    # NaN keeps nothing else from being judged.
    is_no_json = error.error_code is ErrorCode.INVALID_JSON_SYNTAX and error.keyword != FaultKind.NOT_A_NUMBER
    return pointers.ROOT if is_no_json else pointers.pattern(error.field_path)


def _around(pattern: str) -> Iterator[str]:
    while pattern:
        pattern = pointers.parent(pattern)
        yield pattern


def _is_hidden(pattern: str, hiding: set[str]) -> bool:
    return bool(hiding) and any(around in hiding for around in _around(pattern))


def _listed(places: Sequence[WrongPlace], shown: int, *, stood: bool) -> str:
    """List places with the attempt that first had their mistake; `stood` says that they were wrong before."""
    parts: list[str] = []
    for since, group in groupby(sorted(places[:shown], key=_by_attempt), key=_by_attempt):
        listed = [listed_pointer(place.pointer, MAX_LISTED) for place in group]
        several = len(listed) > 1
        if since:
            remark = f" (same {'mistakes' if several else 'mistake'} as attempt {since})"
        else:
            remark = f" ({'other mistakes' if several else 'another mistake'})" if stood else ""
        parts.append(", ".join(listed) + remark)
    more = f" and {len(places) - shown} more" if len(places) > shown else ""
    return f"{', '.join(parts)}{more}"


def _by_attempt(place: WrongPlace) -> int:
    return place.since or 0
