"""Advise the model in a few words how to correct each error, and put many errors into an order that it can read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from retrycontract.contract import pointers
from retrycontract.contract.advice import unmistakable
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ValidationError, whole_errors
from retrycontract.contract.redaction.sanitizer import elide_middle, visible


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Hold one error and how many like it stand at other items of the same arrays, or are of the same object."""

    error: ValidationError
    like: int = 0
    are_fields: bool = False

    @property
    def more(self) -> str:
        """Say how many more there are: 'in 9 more items'."""
        return f"{self.like} more unknown fields" if self.are_fields else f"in {self.like} more items"

    @property
    def advised(self) -> ValidationError:
        if not self.are_fields:
            return self.error
        return replace(self.error, hint=f"remove '{_name(self.error)}' and the other unknown fields")

    @property
    def pattern(self) -> str:
        """Give the pointer with every index as `*`, and the name of an unknown field: '/items/*/sku'."""
        return _object_pattern(self.error) if self.are_fields else pointers.pattern(self.error.field_path)


class ErrorAggregator:
    """Deduplicate, sort and limit errors; the rest is counted, not lost."""

    def __init__(self, max_errors: int = 10) -> None:
        self._max_errors = max_errors

    def aggregate(self, errors: Iterable[ValidationError] | None) -> tuple[ValidationError, ...]:
        """Return at most `max_errors` errors, worst first, then by pointer; none for None."""
        return tuple(group.error for group in self.group(errors)[0])

    def group(self, errors: Iterable[ValidationError] | None) -> tuple[tuple[ErrorGroup, ...], int]:
        """Return the groups to show and how many groups are left out.

        Like errors over array items are folded into one group only when there are too many to show.
        """
        ordered = in_order(whole_errors(errors))
        fits = len(ordered) <= self._max_errors
        groups = tuple(ErrorGroup(error) for error in ordered) if fits else fold(ordered, self._max_errors)
        return groups[: self._max_errors], max(0, len(groups) - self._max_errors)


class Ordered(tuple[ValidationError, ...]):  # noqa: SLOT001 - a tuple has no room for slots
    """Hold errors that are in order, and remember how they were folded: both take milliseconds for a thousand."""

    def __init__(self, _: Iterable[ValidationError]) -> None:
        self.folded: dict[int, tuple[ErrorGroup, ...]] = {}


def in_order(errors: Iterable[ValidationError]) -> Ordered:
    """Drop repetitions (same pointer, code and keyword) and sort: severity first, then pointer.

    The first of them stays, unless a later one is worse: a warning must not hide an error.
    """
    if isinstance(errors, Ordered):
        return errors
    unique: dict[tuple[str, str, str], ValidationError] = {}
    for error in errors:
        key = (error.field_path, error.error_code, error.keyword)
        if key not in unique or error.severity > unique[key].severity:
            unique[key] = error
    if len(unique) < 2:
        return Ordered(unique.values())
    ordered = sorted(
        unique.values(), key=lambda error: (-error.severity, pointers.sort_key(error.field_path), error.error_code)
    )
    return Ordered(ordered)


def fold(errors: Sequence[ValidationError], room: int) -> tuple[ErrorGroup, ...]:
    """Keep the first of the errors that differ in array indices only, and count the others.

    Where that leaves more than `room` groups, the unknown fields of an object become one: else a missing field stands
    behind all those that a model has made up.
    """
    if isinstance(errors, Ordered):
        if room not in errors.folded:
            errors.folded[room] = _folded(errors, room)
        return errors.folded[room]
    return _folded(errors, room)


def _folded(errors: Sequence[ValidationError], room: int) -> tuple[ErrorGroup, ...]:
    groups = _grouped(errors, lambda error: pointers.pattern(error.field_path))
    if len(groups) <= room:
        return groups

    def place(error: ValidationError) -> str:
        unknown = error.error_code is ErrorCode.UNKNOWN_FIELD
        return _object_pattern(error) if unknown else pointers.pattern(error.field_path)

    return _grouped(errors, place)


def _grouped(errors: Sequence[ValidationError], place: Callable[[ValidationError], str]) -> tuple[ErrorGroup, ...]:
    counts: dict[tuple[str, str, str], int] = {}
    first: dict[tuple[str, str, str], ValidationError] = {}
    names: dict[tuple[str, str, str], str] = {}
    for error in errors:
        key = (place(error), error.error_code, error.keyword)
        counts[key] = counts.get(key, 0) + 1
        first.setdefault(key, error)
        if key[0] != pointers.pattern(first[key].field_path):
            names[key] = key[0]
    return tuple(ErrorGroup(error, counts[key] - 1, key in names) for key, error in first.items())


def _object_pattern(error: ValidationError) -> str:
    return f"{pointers.pattern(pointers.parent(error.field_path))}/*"


MAX_NAME = 80  # characters of a field's name
MAX_EXPECTED = 120  # characters of what was expected; the bullet has more of it
MAX_HINTS = 6  # more advice than this is not followed
MAX_NAMES = 5  # fields named by one piece of advice
REMAINING, ALL = "correct the remaining errors above", "correct all errors above"
ALLOWED = " to one of the allowed values"  # which the bullet lists
# Advice that begins so says what the bullet says, in other words: the first to go where there are many errors.
ROUTINE = frozenset(
    {
        "provide the missing ", "send ", "correct the type of ", "reduce ", "increase ", "add items to ",
        "remove items from ", "rewrite ", "write ", "make ", "bring ", "remove ", "correct ",
    }
)  # fmt: skip
Advice = dict[str, dict[str, dict[str, None]]]  # what stands before the name, what stands behind it, the names


def hint_line(errors: Sequence[ValidationError], *, full: bool) -> str:
    """Write the line of advice: like advice for several fields is said once.

    Without `full` what only repeats the bullets gives way to what says more.
    """
    advice: Advice = {}
    renamed = {
        _place(error, (error.hint or "").rpartition(" to '")[2].removesuffix("'"))
        for error in errors
        if error.error_code is ErrorCode.UNKNOWN_FIELD
    }
    for error in errors:
        called = _name(error)
        if error.error_code is ErrorCode.REQUIRED_FIELD_MISSING and _place(error, called) in renamed:
            continue  # renaming the unknown field provides it
        # Split around the field's name; what doesn't name the field stands before it as a whole.
        advised = visible(advise(error))
        before, name, behind = advised.partition(f"'{called}'") if error.field_path else (advised, "", "")
        advice.setdefault(before, {}).setdefault(behind, {})[name] = None
    telling = {
        before: kept
        for before, by_ending in advice.items()
        if (kept := {behind: names for behind, names in by_ending.items() if not _repeats(before, behind)})
    }
    # What repeats the bullets is the first to go, and goes at once where there are many.
    ranked = [*telling, *(before for before in advice if before not in telling)] if full else list(telling)
    chosen = set(ranked[:MAX_HINTS])
    phrases = {before: _phrase(before, by_ending) for before, by_ending in (advice if full else telling).items()}
    # Advice that is one story of two fields is split around either name, and comes out the same.
    said = list(dict.fromkeys(phrase for before, phrase in phrases.items() if before in chosen))
    if len(chosen) < len(advice) or (not full and telling != advice):
        said.append(REMAINING if chosen else ALL)
    return f"Please {_and(said)}."


def _place(error: ValidationError, name: str) -> tuple[str, str]:
    return pointers.parent(error.field_path), name


def _repeats(before: str, behind: str) -> bool:
    """Tell advice that says what the bullet says; a suggestion or a value stands behind the name."""
    return behind == ALLOWED or (before in ROUTINE and " (" not in behind and ": " not in behind)


def _phrase(before: str, by_ending: dict[str, dict[str, None]]) -> str:
    parts = []
    for behind, names in by_ending.items():
        ending = f"{behind}s" if behind == " field" and len(names) > 1 else behind
        more = [f"{len(names) - MAX_NAMES} more"] if len(names) > MAX_NAMES else []
        parts.append(_and([*names][:MAX_NAMES] + more) + ending)
    return before + _and(parts)


def _and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def advise(error: ValidationError) -> str:
    """Give the error's own hint, else the one of its code, filled with what the error says."""
    if error.hint:
        hint = error.hint.rstrip(".")
        # It goes on after "Please"; abbreviations and names in capitals keep theirs.
        return hint[0].lower() + hint[1:] if hint[:1].isupper() and hint[1:2].islower() else hint
    advice = _advice(error)
    if not error.field_path:
        return advice.replace("'{name}'", "the whole value")
    # Not `format`: the advice may hold the braces of a type expression by now.
    return advice.replace("{name}", _name(error))


def _name(error: ValidationError) -> str:
    return elide_middle(visible(pointers.label(error.field_path)), MAX_NAME)


def _advice(error: ValidationError) -> str:
    expected = elide_middle(error.expected_value or "", MAX_EXPECTED)
    match error.error_code:
        case ErrorCode.STRING_LENGTH_VIOLATION | ErrorCode.ARRAY_LENGTH_VIOLATION if "exceeds" in error.message:
            return "reduce '{name}' length"
        case ErrorCode.STRING_LENGTH_VIOLATION | ErrorCode.ARRAY_LENGTH_VIOLATION if "below" in error.message:
            return "increase '{name}' length"
        case ErrorCode.TYPE_MISMATCH | ErrorCode.FORMAT_VIOLATION if expected:
            return f"send '{{name}}' as {expected}"
        case ErrorCode.INVALID_ENUM_VALUE:
            options = (error.expected_value or "").removeprefix("one of: ").split(", ")
            guess = unmistakable((error.actual_value or "").strip('"'), options)
            return error.error_code.hint + (f" (did you mean '{guess}'?)" if guess else "")
    return error.error_code.hint
