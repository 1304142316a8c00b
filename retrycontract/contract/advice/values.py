"""Near misses of a value: the right thing in the wrong clothes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from retrycontract.contract.advice.names import unmistakable
from retrycontract.contract.advice.spot import ABSENT, Proposal, Spot, moved, options_of, replaced, sole_answer
from retrycontract.contract.json_types import type_name
from retrycontract.contract.outputs.json_text import parse_json

MAX_ENCODED = 8_000  # characters of a string that is tried as JSON; a patch carries far less
JSON_STARTS = tuple('[{"-0123456789tfnTF')  # a word is told from JSON without parsing it
NULL_WORDS = ("null", "none", "undefined")
# A text of this form may be a list that was written out, or JSON; as the one item of an array it would be a guess.
LOOKS_LIKE_SEVERAL = re.compile(r"[,;|\n]|^\s*[\[{]|^\s*$")


def misspelt_choice(spot: Spot) -> Iterator[Proposal]:
    """Propose the allowed value that is spelt almost like the one sent."""
    guess = unmistakable(spot.here.value, options_of(spot.here.place))
    if guess is not None:
        yield Proposal((replaced(spot.here.pointer, guess),))


def encoded(spot: Spot) -> Iterator[Proposal]:
    """Propose what a string holds when it is JSON itself: an array, an object, a number, a boolean."""
    value = decoded(spot.here.value)
    if value is ABSENT or isinstance(value, str):
        return
    if isinstance(value, float) and value.is_integer() and "integer" in spot.wanted and "number" not in spot.wanted:
        value = int(value)
    patch = (replaced(spot.here.pointer, value),)
    # 5 is an integer, but of a number nobody wants it to be one.
    is_any_number = isinstance(value, int) and "integer" not in spot.wanted and "number" in spot.wanted
    subject, kind = spot.subject(spot.here), "number" if is_any_number else type_name(value)
    if isinstance(value, dict | list):
        yield Proposal(patch, f"send {subject} as an {kind}, not as a string that holds JSON")
    elif value is None:
        yield Proposal(patch, f"send {subject} as null, without quotes")
    else:
        yield Proposal(patch, f"send {subject} as {kind}", value)


def decoded(text: Any) -> Any:
    """Read a string as JSON, strictly but for Python's True and False; ABSENT when it is none."""
    if not isinstance(text, str) or len(text) > MAX_ENCODED:
        return ABSENT
    plain = text.strip()
    if plain[:1] not in JSON_STARTS:
        return ABSENT
    value, fault = parse_json(plain.lower() if plain in ("True", "False") else plain)
    return ABSENT if fault else value


def needless_null(spot: Spot) -> Iterator[Proposal]:
    """Propose to leave out an optional field that was sent as null, or its one answer where it is required."""
    value, container = spot.here.value, spot.container
    written_out = isinstance(value, str) and value.lower() in NULL_WORDS and "string" not in spot.wanted
    if container is None or not (value is None or written_out):
        return
    # Not from an array: the items behind would move up, and the pointers of other patches would be wrong.
    if isinstance(container.value, dict):
        words = f"leave out {spot.subject(spot.here)} instead of sending null"
        yield Proposal(({"op": "remove", "path": spot.here.pointer},), words)
    answer = sole_answer(spot.here.place)
    # An empty array in the place of null is proposed by `other_emptiness`.
    if answer is not ABSENT and answer != []:
        words = f"send a value instead of null in {spot.subject(spot.here)}"
        yield Proposal((replaced(spot.here.pointer, answer),), words, answer)


def scalar_of_other_type(spot: Spot) -> Iterator[Proposal]:
    """Propose a number as text, or 0 and 1 as booleans.

    Only whole numbers: how a fraction was spelt is lost, and 3.10 may have been a version.
    """
    value, wanted = spot.here.value, spot.wanted
    if not isinstance(value, int):
        return
    other: Any = ABSENT
    if "boolean" in wanted and "string" not in wanted and value in (0, 1):
        other = bool(value)
    elif "string" in wanted or any(isinstance(option, str) for option in options_of(spot.here.place)):
        other = json.dumps(value)
    if other is not ABSENT:
        words = f"send {spot.subject(spot.here)} as {type_name(other)}"
        yield Proposal((replaced(spot.here.pointer, other),), words, other)


def level_too_few(spot: Spot) -> Iterator[Proposal]:
    """Propose the array around a single item, and the object around the only argument."""
    here = spot.here
    if here.value is None or here.value is ABSENT:
        return
    is_one = not isinstance(here.value, str) or not LOOKS_LIKE_SEVERAL.search(here.value)
    if "array" in spot.wanted and is_one and not isinstance(here.value, list):
        yield Proposal((replaced(here.pointer, [here.value]),), f"send {spot.subject(here)} as an array", [here.value])
    name = _only_argument(spot)
    # For an empty text `other_emptiness` proposes {}; wrapped, it would become a value that nobody wrote.
    if name is not None and here.value != "" and not isinstance(here.value, dict):
        whole = {name: here.value}
        yield Proposal((replaced(here.pointer, whole),), f"send {spot.subject(here)} as an object", whole)


def _only_argument(spot: Spot) -> str | None:
    """Name the one property that a tool requires, or has at all."""
    if spot.container is not None:
        return None
    required = {str(name) for schema in spot.here.place.schemas for name in schema.get("required", ())}
    names = required or spot.here.place.declared
    return next(iter(names)) if len(names) == 1 else None


def level_too_many(spot: Spot) -> Iterator[Proposal]:
    """Propose the only item of an array, or the only member of an object, in place of its container."""
    here = spot.here
    if isinstance(here.value, list) and len(here.value) == 1:
        words = f"send {spot.subject(here)} without the array around it"
        yield Proposal((moved(f"{here.pointer}/0", here.pointer),), words)
    elif isinstance(here.value, dict) and len(here.value) == 1:
        inner = here.child(next(iter(here.value)))
        if inner is not None:
            words = f"send the content of {spot.subject(inner)} itself as {spot.subject(here)}"
            yield Proposal((moved(inner.pointer, here.pointer),), words)


def other_emptiness(spot: Spot) -> Iterator[Proposal]:
    """Propose {} or [] for nothing of another type."""
    value = spot.here.value
    is_nothing = value is None or (isinstance(value, dict | list) and not value) or (value == "" and not spot.container)
    for kind, empty in (("object", {}), ("array", [])) if is_nothing else ():
        if kind in spot.wanted and value != empty:
            words = f"send {spot.subject(spot.here)} as an empty {kind}"
            yield Proposal((replaced(spot.here.pointer, empty),), words, empty)
