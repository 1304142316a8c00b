"""Near misses of a field: the right value under another name, or on another level."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from retrycontract.contract import pointers
from retrycontract.contract.advice.names import unmistakable
from retrycontract.contract.advice.spot import ABSENT, Proposal, Spot, Step, added, moved, replaced, sole_answer
from retrycontract.contract.advice.values import decoded

ENVELOPE = ("name", "tool", "tool_name", "function", "type", "id", "call_id")  # beside the arguments of a whole call
MAX_KEYS = 20  # unknown fields of one object; where there are more, another tool was meant


def misspelt_name(spot: Spot) -> Iterator[Proposal]:
    """Propose to rename an unknown field to the known one that is spelt almost like it.

    The unknown field and the missing one are two errors and one story: both find the same pair.
    """
    container = spot.container
    if container is None:
        return
    # A name that two could mean has none
    unknown = container.undeclared
    if not unknown or len(unknown) > MAX_KEYS:
        renames = {}
    else:
        renames = _paired(tuple(unknown), tuple(sorted(container.place.declared - container.value.keys())))
    for key, name in renames.items():
        if spot.key in (key, name):
            operation = moved(pointers.join(container.pointer, key), pointers.join(container.pointer, name))
            yield Proposal((operation,), f"rename '{spot.name(key)}' to '{spot.name(name)}'")


@lru_cache(maxsize=16)
def _paired(unknown: tuple[str, ...], free: tuple[str, ...]) -> dict[str, str]:
    """Remembered, since every unknown and every missing field of an object asks the same."""
    pairs = {key: name for key in unknown if (name := unmistakable(key, free)) is not None}
    meant = list(pairs.values())
    return {key: name for key, name in pairs.items() if meant.count(name) == 1}


def other_level(spot: Spot) -> Iterator[Proposal]:
    """Propose to move a field that stands one level too high or too low."""
    here = spot.here
    others = list(_homes(spot) if here.value is not ABSENT else _strays(spot))
    # Where there are two places to choose from, a patch would be a guess.
    if len(others) == 1:
        other = others[0]
        source, path = (other, here.pointer) if here.value is ABSENT else (here.pointer, other)
        yield Proposal((moved(source, path),), f"move '{spot.pointer(source)}' to '{spot.pointer(path)}'")


def _homes(spot: Spot) -> Iterator[str]:
    """Yield where a field that is unknown here would be known: in the object around, or in one beside it."""
    container, outer = spot.container, spot.outer
    # Only where the name is free: a move would replace what already stands there.
    if outer is not None and spot.key in outer.place.declared and outer.lacks(spot.key):
        yield pointers.join(outer.pointer, spot.key)
    for beside in _objects_in(container):
        if spot.key in beside.place.declared and beside.lacks(spot.key):
            yield pointers.join(beside.pointer, spot.key)


def _strays(spot: Spot) -> Iterator[str]:
    """Yield where the missing field stands without being known there."""
    for step in (spot.outer, *_objects_in(spot.container)):
        if step is not None and spot.key in step.undeclared:
            yield pointers.join(step.pointer, spot.key)


def _objects_in(container: Step | None) -> Iterator[Step]:
    """Yield the known members of an object that are objects themselves."""
    if container is None or not isinstance(container.value, dict):
        return
    for name, value in container.value.items():
        if isinstance(value, dict) and name in container.place.declared:
            yield Step(pointers.join(container.pointer, name), value, container.place.child(name))


def wrapped(spot: Spot) -> Iterator[Proposal]:
    """Propose the content of a wrapper that the schema does not know, such as {"arguments": {…}}."""
    container = spot.container
    inner = _wrapper(container) if container else None
    if container is None or inner is None:
        return
    words = f"send the content of {spot.subject(inner)} itself as {spot.subject(container)}"
    if isinstance(inner.value, dict):
        yield Proposal((moved(inner.pointer, container.pointer),), words)
    elif isinstance(content := decoded(inner.value), dict):
        yield Proposal((replaced(container.pointer, content),), words)


def _wrapper(container: Step) -> Step | None:
    """Find the one member of an object that knows none of its own; an envelope's other members say who is called."""
    keys = container.undeclared
    # A declared field beside the wrapper would be lost: the patch puts the content in the place of the whole object.
    if not keys or len(keys) < len(container.value):
        return None
    inner = [key for key in keys if key not in ENVELOPE] if len(keys) > 1 else keys
    return container.child(inner[0]) if len(inner) == 1 else None


def not_enclosed(spot: Spot) -> Iterator[Proposal]:
    """Propose to put fields that are unknown here into the object that knows them and was not sent."""
    container = spot.container
    unknown = container.undeclared if container else []
    if container is None or not unknown or len(unknown) > MAX_KEYS:
        return
    homes = {}
    # Sorted, as a set has another order in each process, and the patch and its words have to read the same each time.
    for name in sorted(container.place.declared - container.value.keys()):
        known = container.place.child(name).declared
        fields = [key for key in unknown if key in known]
        if fields and spot.key in (name, *fields):
            homes[name] = fields
    if len(homes) == 1:
        ((name, fields),) = homes.items()
        home = pointers.join(container.pointer, name)
        moves = (moved(pointers.join(container.pointer, key), pointers.join(home, key)) for key in fields)
        listed = ", ".join(f"'{spot.name(key)}'" for key in fields)
        yield Proposal((added(home, {}), *moves), f"put {listed} inside '{spot.name(name)}'")


def only_answer(spot: Spot) -> Iterator[Proposal]:
    """Propose the one value that the schema leaves for a missing field."""
    answer = sole_answer(spot.here.place) if spot.here.value is ABSENT else ABSENT
    if answer is not ABSENT:
        words = f"provide the missing {spot.subject(spot.here)} field"
        operation = (added(spot.here.pointer, answer),)
        if answer == []:
            yield Proposal(operation, f"{words} ([] if there are none)")
        else:
            yield Proposal(operation, words, answer)
