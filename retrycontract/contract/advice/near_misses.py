"""Near misses: the right value under another name, on another level, or in the wrong clothes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from retrycontract.contract import pointers
from retrycontract.contract.advice.lists import entries_of, looks_like_several, mapped, several
from retrycontract.contract.advice.names import did_you_mean, is_slip_of_a_short_name, unmistakable
from retrycontract.contract.advice.spot import (
    Proposal,
    Spot,
    Step,
    added,
    moved,
    replaced,
    sole_answer,
)
from retrycontract.contract.checks.composition import InstancePlace
from retrycontract.contract.json_types import is_of_a_type, type_name
from retrycontract.contract.outputs.encoded import ABSENT, decoded
from retrycontract.contract.outputs.json_text import TOO_LARGE
from retrycontract.contract.outputs.wrappers import Read, Wrapped, unwrap

MAX_DIGITS = 20  # of a number that is read out of a text
# In half of the world "1.000" is a thousand.
THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}\.\d\d0\s*")
NULL_WORDS = ("null", "none", "nil", "undefined", "n/a")


def misspelt_choice(spot: Spot) -> Iterator[Proposal]:
    """Propose the allowed value that is spelt almost like the one sent."""
    guess = unmistakable(spot.here.value, spot.here.place.options)
    if guess is not None:
        yield Proposal((replaced(spot.here.pointer, guess),))


def encoded(spot: Spot) -> Iterator[Proposal]:
    """Propose what a string holds when it is JSON itself: an array, an object, a number, a boolean."""
    value = decoded(spot.here.value)
    if value is ABSENT or isinstance(value, str):
        return
    text = spot.here.value
    is_unclear = len(text) > MAX_DIGITS or THOUSANDS.fullmatch(text)
    if isinstance(value, int | float) and (is_unclear or abs(value) >= 10**MAX_DIGITS):
        return
    if isinstance(value, float) and value.is_integer() and "integer" in spot.wanted and "number" not in spot.wanted:
        value = int(value)
    patch = (replaced(spot.here.pointer, value),)
    # 5 is an integer, but of a number nobody wants it to be one.
    is_any_number = type_name(value) == "integer" and "integer" not in spot.wanted and "number" in spot.wanted
    subject, kind = spot.subject(spot.here), "number" if is_any_number else type_name(value)
    if isinstance(value, dict | list):
        yield Proposal(patch, not_as_text(spot, value))
    elif value is None:
        yield Proposal(patch, f"send {subject} as null, without quotes")
    else:
        yield Proposal(patch, f"send {subject} as {kind}", value)


def not_as_text(spot: Spot, held: Any) -> str:
    """Say what to do where a string holds the array or object that should stand there."""
    return f"send {spot.subject(spot.here)} as an {type_name(held)}, not as a string that holds JSON"


def needless_null(spot: Spot) -> Iterator[Proposal]:
    """Propose to leave out an optional field that was sent as null, or its one answer where it is required."""
    value, container, place = spot.here.value, spot.container, spot.here.place
    written_out = is_null_word(value)
    if container is None or not (value is None or written_out):
        return
    sent = "null"
    if written_out:
        sent = json.dumps(value.strip())
        options = place.options
        if "null" in spot.wanted or None in options:
            yield Proposal(
                (replaced(spot.here.pointer, None),), f"send {spot.subject(spot.here)} as null, without quotes"
            )
            return
        # Where texts are wanted it is a choice of its own, and "none" of a thing is not what a default gives.
        is_text = "string" in spot.wanted or any(isinstance(option, str) for option in options)
        if is_text or any(schema.get("default") for schema in place.schemas):
            return
    # Not from an array: the items behind would move up, and the pointers of other patches would be wrong.
    if isinstance(container.value, dict):
        words = f"leave out {spot.subject(spot.here)} instead of sending {sent}"
        yield Proposal(({"op": "remove", "path": spot.here.pointer},), words)
    answer = sole_answer(place)
    if answer is not ABSENT:
        words = f"send a value instead of {sent} in {spot.subject(spot.here)}"
        yield Proposal((replaced(spot.here.pointer, answer),), words, answer)


def is_null_word(value: Any) -> bool:
    """Tell a text by which programs or people say that there is no value."""
    return isinstance(value, str) and value.strip().lower() in NULL_WORDS


def scalar_of_other_type(spot: Spot) -> Iterator[Proposal]:
    """Propose a number as text, or 0 and 1 as booleans.

    Only whole numbers: how a fraction was spelt is lost, and 3.10 may have been a version.
    """
    value, wanted = spot.here.value, spot.wanted
    if not isinstance(value, int) or abs(value) >= TOO_LARGE:  # Python does not write thousands of digits
        return
    other: Any = ABSENT
    if "boolean" in wanted and "string" not in wanted and value in (0, 1):
        other = bool(value)
    elif "string" in wanted or any(isinstance(option, str) for option in spot.here.place.options):
        other = json.dumps(value)
    if other is not ABSENT:
        words = f"send {spot.subject(spot.here)} as {type_name(other)}"
        yield Proposal((replaced(spot.here.pointer, other),), words, other)


def level_too_few(spot: Spot) -> Iterator[Proposal]:
    """Propose the array around a single item, and the object around the only argument."""
    here = spot.here
    if here.value is None or here.value is ABSENT or is_null_word(here.value):
        return
    if "array" in spot.wanted and (parts := several(here.value, spot.key)):
        words = f"send {spot.subject(here)} as an array, with each of its items by itself"
        yield Proposal((replaced(here.pointer, parts),), words, is_guess=True)
    elif "array" in spot.wanted and not isinstance(here.value, list) and not looks_like_several(here.value, spot.key):
        yield Proposal((replaced(here.pointer, [here.value]),), of_other_level(spot), [here.value])
    # For an empty text `other_emptiness` proposes {}; wrapped, it would become a value that nobody wrote.
    if spot.container is not None or here.value == "" or isinstance(here.value, dict):
        return
    if isinstance(decoded(here.value), dict | list):  # the arguments themselves, or several of them
        return
    # The one property that a tool requires, or has at all.
    names = list(here.place.required or here.place.declared)
    if len(names) == 1:
        whole = {names[0]: here.value}
        yield Proposal((replaced(here.pointer, whole),), f"send {spot.subject(here)} as an object", whole)


def of_other_level(spot: Spot) -> str:
    """Say what to do where a value stands one level too low or too high: in an array, without one, as entries."""
    if entries_of(spot.here.value, spot.here.place):
        return f"send {spot.subject(spot.here)} as an object of names to values"
    is_array = isinstance(spot.here.value, list)
    return f"send {spot.subject(spot.here)} {'without the array around it' if is_array else 'as an array'}"


def fitted(value: Any, place: InstancePlace, name: str) -> tuple[Any, str] | None:
    """Give a value as the place of that name wants it, right or wrong within, and where in the value that stands.

    That is the value itself, the one item that it holds, a list of it, or a map of its entries; None where none of
    these is wanted.
    """
    if is_of_a_type(value, place.types):
        return value, pointers.ROOT
    if entries := entries_of(value, place):
        named = mapped(entries)
        return (named, pointers.ROOT) if named else None
    if isinstance(value, list) and len(value) == 1 and takes(place, value[0]):
        return value[0], f"{pointers.ROOT}/0"
    if "array" not in place.types or value is None or is_null_word(value) or looks_like_several(value, name):
        return None
    item = place.child(0)
    # An object of other names may be a map of several.
    is_known = not isinstance(value, dict) or not item.declared.isdisjoint(value)
    return ([value], pointers.ROOT) if is_known and takes(item, value) else None


def takes(place: InstancePlace, value: Any) -> bool:
    """Tell whether a place takes values of this type, or of that which a text spells; it may be wrong all the same."""
    types = place.types or {type_name(option) for option in place.options}
    held = decoded(value)
    return not types or is_of_a_type(value, types) or (held is not ABSENT and is_of_a_type(held, types))


def listed_entries(spot: Spot) -> Iterator[Proposal]:
    """Propose the map that a list of entries stands for: [{"name": "A", "value": "b"}] for {"A": "b"}."""
    entries = entries_of(spot.here.value, spot.here.place)
    if entries and (named := mapped(entries)):
        yield Proposal((replaced(spot.here.pointer, named),), of_other_level(spot), named)


def level_too_many(spot: Spot) -> Iterator[Proposal]:
    """Propose the only item of an array, or the only member of an object, in place of its container."""
    here = spot.here
    if not isinstance(here.value, dict | list) or len(here.value) != 1 or entries_of(here.value, here.place):
        return
    inner = here.child("0" if isinstance(here.value, list) else next(iter(here.value)))
    if inner is None:
        return
    words = f"send the content of {spot.subject(inner)} itself as {spot.subject(here)}"
    if isinstance(here.value, list):
        words = of_other_level(spot)
    # Into an array a move would put a further item.
    in_array = spot.container is not None and isinstance(spot.container.value, list)
    operation = replaced(here.pointer, inner.value) if in_array else moved(inner.pointer, here.pointer)
    yield Proposal((operation,), words)


def other_emptiness(spot: Spot) -> Iterator[Proposal]:
    """Propose {} or [] for nothing of another type; in a field, null may have meant anything."""
    value = spot.here.value
    is_nothing = value is None or (isinstance(value, dict | list) and not value) or (value == "" and not spot.container)
    for kind, empty in (("object", {}), ("array", [])):
        if kind in spot.wanted and spot.container and (value is None or is_null_word(value)):
            words = f"send {spot.subject(spot.here)} as an {kind} ({json.dumps(empty)} if there is nothing to send)"
            yield Proposal((replaced(spot.here.pointer, empty),), words, is_guess=True)
        elif kind in spot.wanted and is_nothing and value != empty:
            words = f"send {spot.subject(spot.here)} as an empty {kind}"
            yield Proposal((replaced(spot.here.pointer, empty),), words, empty)


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
        free = tuple(sorted(container.place.declared - container.value.keys()))
        renames = _paired(tuple(unknown), free, container.pointer)
        missing = [name for name in free if name in container.place.required]
        # Of so few letters many make another word, but not where only one is wrong and one is missing.
        if not renames and len(unknown) == len(missing) == 1 and is_slip_of_a_short_name(unknown[0], missing[0]):
            renames = {unknown[0]: missing[0]}
    for key, name in renames.items():
        if spot.key in (key, name):
            operation = moved(pointers.join(container.pointer, key), pointers.join(container.pointer, name))
            yield Proposal((operation,), f"rename '{spot.name(key)}' to '{spot.name(name)}'")


@lru_cache(maxsize=16)
def _paired(unknown: tuple[str, ...], free: tuple[str, ...], of: str) -> dict[str, str]:
    """Remembered, since every unknown and every missing field of an object asks the same."""
    pairs = {key: name for key in unknown if (name := unmistakable(key, free, of=of)) is not None}
    # Whatever is near counts as a rival, however few of them could be mended.
    meant = [did_you_mean(key, free) for key in unknown]
    return {key: name for key, name in pairs.items() if meant.count(name) == 1}


def other_level(spot: Spot) -> Iterator[Proposal]:
    """Propose to move a field that stands one level too high or too low."""
    here = spot.here
    steps = [step for step in (spot.outer, *_objects_in(spot.container)) if step is not None]
    if here.value is ABSENT:  # where the missing field stands without being known there
        others = [step for step in steps if spot.key in step.undeclared]
    else:  # where the unknown one would be known, and its name is free: a move would replace what stands there
        others = [step for step in steps if spot.key in step.place.declared and step.lacks(spot.key)]
    # Where there are two places to choose from, a patch would be a guess.
    if len(others) == 1 and spot.container is not None:
        other = pointers.join(others[0].pointer, spot.key)
        source, path = (other, here.pointer) if here.value is ABSENT else (here.pointer, other)
        held, home = (others[0].value[spot.key], spot.container) if here.value is ABSENT else (here.value, others[0])
        words = f"move '{spot.pointer(source)}' to '{spot.pointer(path)}'"
        yield Proposal((moved(source, path),), words, is_plain=_belongs(home, spot.key, {spot.key: held}))


def _objects_in(container: Step | None) -> Iterator[Step]:
    """Yield the known members of an object that are objects themselves."""
    if container is None or not isinstance(container.value, dict):
        return
    for name, value in container.value.items():
        if isinstance(value, dict) and name in container.place.declared:
            yield Step(pointers.join(container.pointer, name), value, container.place.child(name))


def wrapped(spot: Spot) -> Iterator[Proposal]:
    """Propose the content of a wrapper that the schema does not know, such as {"arguments": {…}}."""
    container, found = spot.container, unwrapped(spot.container, spot.called)
    if container is None or found is None:
        return
    change = replaced(container.pointer, found.content)
    if not found.is_read:
        change = moved(_inner(container, found), container.pointer)
    yield Proposal((change,), out_of_wrapper(spot, container, found))


def unwrapped(around: Step | None, called: str, read: Read = decoded) -> Wrapped | None:
    """Find what an object wraps, if it is a wrapper of a call of that tool; `read` gives what a text within holds."""
    if around is None or not isinstance(around.value, dict):
        return None
    return unwrap(around.value, around.place.declared, around.place.declares, read, called)


def out_of_wrapper(spot: Spot, container: Step, found: Wrapped) -> str:
    """Say what to do with what a wrapper holds."""
    name = spot.name(pointers.label(_inner(container, found)))
    return f"send the content of '{name}' itself as {spot.subject(container)}"


def _inner(container: Step, found: Wrapped) -> str:
    return pointers.join(container.pointer, *found.way)


def not_enclosed(spot: Spot) -> Iterator[Proposal]:
    """Propose to put fields that are unknown here into the object that knows them and was not sent, or its one item."""
    container = spot.container
    unknown = container.undeclared if container else []
    if container is None or not unknown or len(unknown) > MAX_KEYS:
        return
    homes = {}
    # Sorted, as a set has another order in each process, and the patch and its words have to read the same each time.
    for name in sorted(container.place.declared - container.value.keys()):
        place = container.place.child(name)
        is_list = place.types == {"array"}
        known = (place.child(0) if is_list else place).declared
        fields = [key for key in unknown if key in known]
        if fields and spot.key in (name, *fields):
            homes[name] = fields, is_list
    if len(homes) == 1:
        ((name, (fields, is_list)),) = homes.items()
        home = pointers.join(container.pointer, name)
        inside = f"{home}/0" if is_list else home
        moves = (moved(pointers.join(container.pointer, key), pointers.join(inside, key)) for key in fields)
        listed = ", ".join(f"'{spot.name(key)}'" for key in fields)
        words = f"put {listed} inside {'an item of ' if is_list else ''}'{spot.name(name)}'"
        is_plain = _belongs(container, name, {key: container.value[key] for key in fields})
        yield Proposal((added(home, [{}] if is_list else {}), *moves), words, is_plain=is_plain)


def _belongs(home: Step, name: str, fields: dict[str, Any]) -> bool:
    """Tell whether fields belong to an object, or to its member or item of that name, be they right there or wrong."""
    if name in home.place.required:
        return True
    place, is_there = home.place, name in fields
    if not is_there:
        place = home.place.child(name)
        place = place.child(0) if place.types == {"array"} else place
    # What need not be sent was hardly begun with a part of what it needs.
    is_whole = is_there or place.required <= fields.keys()
    return is_whole and all(takes(place.child(key), held) for key, held in fields.items())


def relocated(spot: Spot) -> Proposal | None:
    """Give the move that puts a field where it belongs, be it right or wrong there."""
    if spot.container is None:
        return None
    proposals = (each for detect in (misspelt_name, other_level, not_enclosed) for each in detect(spot))
    return next((each for each in proposals if each.is_plain), None)


def only_answer(spot: Spot) -> Iterator[Proposal]:
    """Propose the one value that the schema leaves for a missing field; that a list is empty is a guess."""
    # What was sent under another name or elsewhere is not to be given anew.
    if spot.here.value is not ABSENT or relocated(spot):
        return
    words = f"provide the missing {spot.subject(spot.here)} field"
    answer = sole_answer(spot.here.place)
    if answer is not ABSENT:
        yield Proposal((added(spot.here.pointer, answer),), words, answer)
    elif spot.wanted == {"array"} and not (spot.container and spot.container.undeclared):
        # What stands beside it unknown may be its items.
        patch = (added(spot.here.pointer, []),)
        yield Proposal(patch, f"{words} ([] if there are none)", is_guess=True)
