"""The nearest known name to a misspelt one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches
from functools import lru_cache

MAX_COMPARED = 500  # names; a longer list costs more than the suggestion is worth
MAX_LENGTH = 100  # characters; what is longer is text, not a name
MIN_PART = 3  # letters; shorter parts stand in too many names
SURE = 0.8  # of difflib's ratio
CUTOFF = 0.6  # the same; 'uft8' still finds 'utf-8', 'north-america' finds nothing


def did_you_mean(value: object, options: Iterable[object]) -> str | None:
    """Return the one option that the value most likely stands for, or None.

    Case, dashes, underscores and spaces are forgiven first, then a few wrong letters.
    """
    if not isinstance(value, str) or not 0 < len(value) <= MAX_LENGTH:
        return None
    names = [option for option in options if isinstance(option, str) and len(option) <= MAX_LENGTH]
    return _nearest(value, tuple(names[:MAX_COMPARED]))


@lru_cache(maxsize=128)
def _nearest(value: str, names: tuple[str, ...]) -> str | None:
    """Remembered, since an error, its hint and the trials of its patch all ask the same."""
    folded = _fold(value)
    same = [name for name in names if _fold(name) == folded]
    if same:
        return same[0]
    by_fold = {_fold(name): name for name in reversed(names)}
    around = _around(folded, by_fold)
    # One of several names that share a word with the value would be a guess: only a misspelling is not.
    cutoff = SURE if len(around) > 1 else CUTOFF
    candidates = [name for name in by_fold if _may_resemble(folded, name, cutoff)]
    close = get_close_matches(folded, candidates, n=1, cutoff=cutoff) if candidates else []
    if close:
        return by_fold[close[0]]
    return by_fold[around[0]] if len(around) == 1 else None


def nearest(value: str, options: Iterable[str], most: int) -> list[str]:
    """Give the options that are most like a value, the nearest first, however far that is."""
    names = [option for option in options if len(option) <= MAX_LENGTH][:MAX_COMPARED]
    return sorted(names, key=lambda name: (-_likeness(value[:MAX_LENGTH], name), name))[:most]


def unmistakable(value: object, options: Iterable[object]) -> str | None:
    """Return the option that the value stands for when no other is as near: what a patch may put in its place."""
    candidates = list(options)
    guess = did_you_mean(value, candidates)
    rival = did_you_mean(value, [option for option in candidates if option != guess]) if guess else None
    return guess if rival is None or _likeness(value, rival) < _likeness(value, guess) else None


def _likeness(value: object, name: str | None) -> float:
    return SequenceMatcher(None, _fold(str(value)), _fold(str(name))).ratio()


def _may_resemble(one: str, other: str, cutoff: float) -> bool:
    """Tell whether difflib's ratio can reach the cutoff: what they have in common is at most the letters they share."""
    shared = min(sum(map(other.__contains__, one)), sum(map(one.__contains__, other)))
    return 2 * shared >= cutoff * (len(one) + len(other))


def _fold(name: str) -> str:
    folded = name.casefold()
    return folded if folded.isalnum() else "".join(filter(str.isalnum, folded))


def _around(folded: str, names: Iterable[str]) -> list[str]:
    """Find the names that begin or end with the value, or the other way round ('path', 'file_path')."""
    if len(folded) < MIN_PART:
        return []
    return [
        other
        for other in names
        if len(other) >= MIN_PART
        and (other.startswith(folded) or other.endswith(folded) or folded.startswith(other) or folded.endswith(other))
    ]
