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
    cannot be told which of several a record with a mark was, at any depth, the record is named whole, its mark with it.
    """
    comparison = _Comparison()
    patch = list(comparison.operations(before, after, pointers.ROOT))
    if not has_redaction(before):
        return patch
    mixed = frozenset(_mixed_up(before, comparison.successors))
    return list(_Comparison(mixed).operations(before, after, pointers.ROOT)) if mixed else patch


class _Comparison:
    """Compare two documents; `successors` says what has become of each container, by the place where it stood."""

    def __init__(self, named: frozenset[str] = frozenset()) -> None:
        self._named = named  # the places whose record is replaced as a whole
        self.successors: dict[str, Any] = {}

    def operations(self, before: Any, after: Any, pointer: str) -> Iterator[Operation]:
        """Yield what turns the one value into the other."""
        if pointer in self._named:
            yield {"op": "replace", "path": pointer, "value": after}
        elif isinstance(before, dict) and isinstance(after, dict):
            self.successors[pointer] = after
            yield from self._in_object(before, after, pointer)
        elif isinstance(before, list) and isinstance(after, list):
            self.successors[pointer] = after
            in_list = self._around_marks if has_redaction(before) else self._in_list
            yield from in_list(before, after, pointer)
        elif not _same(before, after):
            yield {"op": "replace", "path": pointer, "value": after}

    def _in_object(self, before: dict[str, Any], after: dict[str, Any], pointer: str) -> Iterator[Operation]:
        for key in before:
            if key not in after:
                yield {"op": "remove", "path": pointers.join(pointer, key)}
        for key, value in after.items():
            where = pointers.join(pointer, key)
            if key in before:
                yield from self.operations(before[key], value, where)
            else:
                yield {"op": "add", "path": where, "value": value}

    def _in_list(self, before: list[Any], after: list[Any], pointer: str) -> Iterator[Operation]:
        shared = min(len(before), len(after))
        for index in range(shared):
            yield from self.operations(before[index], after[index], pointers.join(pointer, index))
        # From the end: each removal would move the items behind it.
        for index in range(len(before) - 1, shared - 1, -1):
            yield {"op": "remove", "path": pointers.join(pointer, index)}
        for value in after[shared:]:
            yield {"op": "add", "path": f"{pointer}/-", "value": value}

    def _around_marks(self, before: list[Any], after: list[Any], pointer: str) -> Iterator[Operation]:
        """List what became of each item, and not of each position: a mark stands for the secret of its own item."""
        origins = _origins(before, after)
        kept = {place for place in origins if place is not None}
        for place, value in zip(origins, after, strict=True):
            if place is not None:
                yield from self.operations(before[place], value, pointers.join(pointer, place))
        # From the end: each removal would move the items behind it.
        for place in range(len(before) - 1, -1, -1):
            if place not in kept:
                yield {"op": "remove", "path": pointers.join(pointer, place)}
        length = len(kept)
        for at, place in enumerate(origins):
            if place is None:
                yield {"op": "add", "path": pointers.join(pointer, "-" if at == length else at), "value": after[at]}
                length += 1


Traits = frozenset[tuple[str, str]]  # what tells a record from others: places inside it, and what stands there
MOST_HOLDERS = 64  # a trait that more records share tells none of them from the others


def _mixed_up(before: Any, successors: dict[str, Any]) -> Iterator[str]:
    """Yield the places of records with a mark whose successor may just as well be another record's.

    It is, where it equals another one, has taken over as much of another that has changed as it has kept of its own,
    or has taken over what that one has lost.
    """
    records = dict(_records(before, pointers.ROOT))
    changed = [
        place
        for place, record in records.items()
        if has_redaction(record) and place in successors and _exact(record) != _exact(successors[place])
    ]
    if not changed:
        return
    was = {place: frozenset(_traits(record, pointers.ROOT)) for place, record in records.items()}
    now = {place: frozenset(_traits(successors.get(place), pointers.ROOT)) for place in records}
    holders: dict[tuple[str, str], list[str]] = {}
    for place, traits in was.items():
        for trait in traits:
            holders.setdefault(trait, []).append(place)
    alike: dict[str, list[str]] = {}
    for place, record in records.items():
        alike.setdefault(_exact(record), []).append(place)
    for place in changed:
        others = [other for other in alike.get(_exact(successors[place]), ()) if has_redaction(records[other])]
        if others or _rearranged(records[place], successors[place]):
            yield place
            continue
        shared: Counter[str] = Counter()
        is_moved = False
        own = 0
        for trait in now[place]:
            held_by = holders.get(trait, [])
            if len(held_by) > MOST_HOLDERS:
                continue
            own += trait in was[place]
            rivals = [other for other in held_by if other != place and _is_rival(records[other], records[place])]
            shared.update(rivals)
            if trait not in was[place] and rivals and not any(trait in now[other] for other in rivals):
                is_moved = True
        if is_moved or any(
            not now[place] & was[other] <= was[place]
            and (own == 0 or (count >= own and not _is_kept(was[other], now[other], other, place)))
            for other, count in shared.items()
        ):
            yield place


def _records(value: Any, pointer: str) -> Iterator[tuple[str, Any]]:
    """Yield the objects, and the lists that hold marks side by side with other values, each with its place."""
    if isinstance(value, dict) or (isinstance(value, list) and any(map(_is_bare, value))):
        yield pointer, value
    if isinstance(value, dict | list):
        for step, member in _members(value):
            yield from _records(member, pointers.join(pointer, step))


def _members(value: dict[str, Any] | list[Any]) -> list[tuple[str | int, Any]]:
    return list(value.items() if isinstance(value, dict) else enumerate(value))


def _is_bare(value: Any) -> bool:
    """Tell a mark, or a container that holds marks and nothing that would say whose they are."""
    if isinstance(value, dict | list):
        return bool(value) and all(_is_bare(member) for _, member in _members(value))
    return isinstance(value, str) and has_redaction(value)


def _is_rival(other: Any, record: Any) -> bool:
    """Tell whether a record's mark could be the other's as well: it has one of its own, or is of the same form."""
    if any(_is_bare(member) for _, member in _members(other)):
        return True
    return isinstance(other, dict) and isinstance(record, dict) and other.keys() == record.keys()


def _traits(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    """Yield what tells a record from another: no marks, no lists with marks, whose items are records, no booleans."""
    if isinstance(value, dict) or (isinstance(value, list) and pointer == pointers.ROOT):
        for step, member in _members(value):
            yield from _traits(member, pointers.join(pointer, step))
    elif value is not None and not isinstance(value, bool) and not has_redaction(value):
        yield pointer, _exact(value)


def _is_kept(was: Traits, now: Traits, place: str, inner: str) -> bool:
    """Tell whether a record has all that it had, whatever became of the one inside it that is looked at."""
    below = inner.removeprefix(place) + "/" if inner.startswith(f"{place}/") else None
    return all(below is not None and pointer.startswith(below) for pointer, _ in was - now)


def _rearranged(before: Any, after: Any) -> bool:
    """Tell whether values of a record that holds several marks changed places among themselves, and the marks did not.

    So {"users": ["ada", "bob"], "passwords": [mark, mark]} with the users exchanged.
    """
    bare = [member for _, member in _members(before) if _is_bare(member)]
    if isinstance(before, list):
        kept = [(at, place) for at, place in enumerate(_origins(before, after)) if place is not None]
        kept = [(at, place) for at, place in kept if _exact(before[place]) == _exact(after[at])]
        lost = {_exact(before[place]) for place in {*range(len(before))} - {place for _, place in kept}}
        gained = {_exact(after[at]) for at in {*range(len(after))} - {at for at, _ in kept}}
        if len(bare) > 1 and lost & gained:
            return True
    elif len(bare) > 1 and _has_moved(before, after):
        return True
    shapes = [_steps(member) for member in bare if isinstance(member, dict | list) and len(member) > 1]
    now = dict(_members(after))
    parallel = [
        (member, now[step])
        for step, member in _members(before)
        if isinstance(member, dict | list)
        and step in now
        and type(now[step]) is type(member)
        and _steps(member) in shapes
    ]
    return any(_has_moved(dict(_members(member)), dict(_members(other))) for member, other in parallel)


def _steps(value: Any) -> list[Any]:
    return sorted(value) if isinstance(value, dict) else [*range(len(value))]


def _has_moved(before: dict[Any, Any], after: dict[Any, Any]) -> bool:
    """Tell whether a value stands under another name than before, and no longer under its own."""
    old, new = (
        {(name, _exact(value)) for name, value in each.items() if value is not None and not isinstance(value, bool)}
        for each in (before, after)
    )
    return bool({value for _, value in old - new} & {value for _, value in new - old})


MOST_COMPARED = 250_000  # items of one list times those of the other


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
