"""Write as JSON Patch (RFC 6902) what a person changed in an output whose secrets are redacted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any

from retrycontract.contract import pointers
from retrycontract.contract.json_types import count_nodes
from retrycontract.contract.patches import Operation
from retrycontract.contract.redaction.sanitizer import has_redaction


def make_patch(before: Any, after: Any) -> list[Operation]:
    """List the add, replace and remove operations that turn one document into the other.

    What is equal in both is not named: a value that was redacted in `before` and left alone never travels. Where it
    cannot be told which of several an item with a mark was, the item is named whole, its mark with it.
    """
    return list(_difference(before, after, pointers.ROOT))


def _difference(before: Any, after: Any, pointer: str) -> Iterator[Operation]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before:
            if key not in after:
                yield {"op": "remove", "path": pointers.join(pointer, key)}
        for key, value in after.items():
            where = pointers.join(pointer, key)
            if key in before and _has_moved(before, key, value):
                yield {"op": "replace", "path": where, "value": value}
            elif key in before:
                yield from _difference(before[key], value, where)
            else:
                yield {"op": "add", "path": where, "value": value}
    elif isinstance(before, list) and isinstance(after, list) and has_redaction(before):
        yield from _difference_around_marks(before, after, pointer)
    elif isinstance(before, list) and isinstance(after, list):
        shared = min(len(before), len(after))
        for index in range(shared):
            yield from _difference(before[index], after[index], pointers.join(pointer, index))
        # From the end: each removal would move the items behind it.
        for index in range(len(before) - 1, shared - 1, -1):
            yield {"op": "remove", "path": pointers.join(pointer, index)}
        for value in after[shared:]:
            yield {"op": "add", "path": f"{pointer}/-", "value": value}
    elif not _same(before, after):
        yield {"op": "replace", "path": pointer, "value": after}


def _has_moved(before: dict[str, Any], key: str, value: Any) -> bool:
    """Tell a value with a mark that stood under another name before: the secret below this name is not its own."""
    if not isinstance(value, dict | list) or not has_redaction(value) or _exact(before[key]) == _exact(value):
        return False
    return any(_exact(other) == _exact(value) for name, other in before.items() if name != key)


MOST_COMPARED = 250_000  # items of one list times those of the other


def _difference_around_marks(before: list[Any], after: list[Any], pointer: str) -> Iterator[Operation]:
    """List what became of each item, and not of each position: a mark stands for the secret of its own item."""
    origins = _origins(before, after)
    kept = {place for place in origins if place is not None}
    for place, value in zip(origins, after, strict=True):
        if place is not None:
            yield from _difference(before[place], value, pointers.join(pointer, place))
    # From the end: each removal would move the items behind it.
    for place in range(len(before) - 1, -1, -1):
        if place not in kept:
            yield {"op": "remove", "path": pointers.join(pointer, place)}
    length = len(kept)
    for at, place in enumerate(origins):
        if place is None:
            yield {"op": "add", "path": pointers.join(pointer, "-" if at == length else at), "value": after[at]}
            length += 1


def _origins(before: list[Any], after: list[Any]) -> list[int | None]:
    """Tell of each item which one it was, in the order of the list; None where that is not sure, or it is new."""
    old, new = [_exact(item) for item in before], [_exact(item) for item in after]
    if len(old) * len(new) > MOST_COMPARED:
        known = set(old)
        stays = [len(old) == len(new) and (old[at] == new[at] or new[at] not in known) for at in range(len(new))]
        return [at if is_own else None for at, is_own in enumerate(stays)]
    origins: list[int | None] = []
    for kind, first, last, begin, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            origins += range(first, last)
        else:
            is_as_long = last - first == end - begin
            origins += [
                _likest(before, after[at], first + at - begin if is_as_long else None) for at in range(begin, end)
            ]
    # Of equal items, some of which are gone, nobody can tell which ones stayed.
    gone = Counter(old) - Counter(old[place] for place in origins if place is not None)
    newest = -1
    for at, place in enumerate(origins):
        if place is None:
            continue
        if place <= newest or (gone[old[place]] and old[place] == new[at] and has_redaction(after[at])):
            origins[at] = None
        else:
            newest = place
    return origins


def _likest(before: list[Any], item: Any, own: int | None) -> int | None:
    """Find which item became this one: the one at its own position, if no other is liker."""
    if not has_redaction(item):
        return own
    distances = {place: _distance(held, item) for place, held in enumerate(before)}
    least = min(distances.values(), default=0)
    likest = [place for place, distance in distances.items() if distance == least]
    return own if own in likest else likest[0] if len(likest) == 1 else None


def _distance(before: Any, after: Any) -> int:
    """Count the values that differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        return sum(
            _distance(before[key], after[key]) if key in before and key in after else 1 for key in {*before, *after}
        )
    if isinstance(before, list) and isinstance(after, list):
        return sum(map(_distance, before, after)) + abs(len(before) - len(after))
    if isinstance(before, dict | list) or isinstance(after, dict | list):
        return count_nodes(before) + count_nodes(after)  # what is of another shape is not the same thing
    return not _same(before, after)


def _exact(value: Any) -> str:
    """Write JSON so that what is equal is equal as JSON: true is not 1, and neither is 1.0."""
    return json.dumps(value, sort_keys=True)


def _same(before: Any, after: Any) -> bool:
    """Compare JSON scalars; true is not 1, and neither is 1.0, which is no integer to draft 4."""
    return type(before) is type(after) and bool(before == after)
