"""Schemas whose fault or warning quotes a text of theirs that is longer than a message shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.contract.secret_kinds import kinds

GITHUB = "ghp_" + "0L77SJQdIjZAx9LbRXHnssebfXwNL3W8TAt9"
SPOKEN = "Tr0ub4dor3xy" * 2
SHOWN = 6  # characters of a secret in a row that nobody would take for chance
# By the keyword that is quoted; the first is refused, and the second is registered with a warning.
REFUSED: dict[str, Callable[[str], Any]] = {
    "pattern": lambda text: {"pattern": f"({text}"},
    "look-around": lambda text: {"pattern": f"(?=a{{1,99999}}){text}("},
    "patternProperties": lambda text: {"patternProperties": {f"({text}": True}},
    "$ref elsewhere": lambda text: {"$ref": f"file:///etc/{text}"},
    "$ref here": lambda text: {"$ref": f"#/$defs/{text}"},
    "$ref to an anchor": lambda text: {"$ref": f"#{text}"},
    "$dynamicRef": lambda text: {"$dynamicRef": f"https://x.org/{text}"},
    "$recursiveRef": lambda text: {
        "$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveRef": f"https://x.org/{text}",
    },
    "$schema": lambda text: {"$schema": f"https://x.org/{text}"},
    "$id": lambda text: {"$id": f"http://[{text}"},
    "id": lambda text: {"$schema": "http://json-schema.org/draft-04/schema#", "id": f"http://[{text}"},
    "type": lambda text: {"type": text},
    "a name": lambda text: {"properties": {text: {"type": 5}}},
    "a field": lambda text: {"properties": {text: 5}},
}  # fmt: skip
WARNED: dict[str, Callable[[str], Any]] = {
    "format": lambda text: {"format": text},
    "required": lambda text: {"additionalProperties": False, "required": [text], "properties": {}},
    "cut out": lambda text: {"$ref": f"#/components/schemas/{text.replace('/', '_')}"},
}
EACH = 8  # of the many kinds one in so many goes through every keyword
PADDINGS = (0, 8, 16, 19, 24, 40)


def texts() -> list[tuple[str, str]]:
    """List short secrets of many kinds, each alone and within what makes a message cut through it."""
    some = [(GITHUB, GITHUB[4:]), (f"x?password={SPOKEN}", SPOKEN), *kinds()[::EACH]]
    found = []
    for number, (text, secret) in enumerate(some):
        before, after = PADDINGS[number % 6], PADDINGS[number // 6 % 6]
        found += [(text, secret), ("a/" * (before // 2) + text, secret), (f"{text}{' b' * (after // 2)}", secret)]
        found.append((f"{'a ' * (before // 2)}{text} {'b ' * (after // 2)}", secret))
    return found


def leaked(secret: str, told: str, whole: str) -> list[str]:
    """List the parts of a secret that are told and were not, had the whole text been redacted."""
    told = told.replace("correct the name", "")
    parts = {secret[at : at + SHOWN] for at in range(len(secret) - SHOWN + 1)}
    return sorted(part for part in parts if part in told and part not in whole)
