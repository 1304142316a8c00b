"""The tools and calls that everyone is given: ours, the floors and the peers. Needs the standard library only."""

from __future__ import annotations

import json
from string import ascii_lowercase
from typing import Any

BOOK_FLIGHT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "origin": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "destination": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "passengers": {"type": "integer", "minimum": 1, "maximum": 9},
        "seat": {"type": "string"},
        "cabin": {"enum": ["economy", "premium", "business", "first"]},
        "flexible": {"type": "boolean"},
        "api_key": {"type": "string", "maxLength": 40},
        "contact": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "email": {"type": "string"}},
            "required": ["name", "email"],
            "additionalProperties": False,
        },
    },
    "required": ["origin", "destination", "passengers", "contact"],
    "additionalProperties": False,
}
IMPORT_ORDERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "orders": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "sku": {"type": "string"},
                    "quantity": {"type": "integer"},
                    "note": {"type": "string"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["sku", "quantity"],
            },
        }
    },
    "required": ["orders"],
}
CONTACT = {"name": "Ana", "email": "ana@example.org"}
# Put together here, so that no scanner takes it for a leak; nobody ever issued it.
SECRET = "-".join(["sk", "proj", "Zx8QmT3vLr6YkWn1PdHs", "c4GfBj7UaEo9RtVi2KqMy5N"])


def encoded(value: Any) -> bytes:
    """Write the bytes that a model's provider hands over."""
    return json.dumps(value).encode()


VALID = encoded({"origin": "BER", "destination": "LIS", "passengers": 2, "cabin": "economy", "contact": CONTACT})
BUSINESS = "business"


def _four_faults(cabin: str) -> bytes:
    """Write a call whose origin is not the pattern, without a destination, with a wrong type and a wrong choice."""
    return encoded({"origin": "Berlin", "passengers": "two", "cabin": cabin, "contact": CONTACT})


# Another choice each time, so that nobody who remembers answers looks quick: one like none of the choices, or misspelt.
FOUR_FAULTS = tuple(_four_faults(f"{one}{other}hammock") for one in ascii_lowercase for other in ascii_lowercase)
FOUR_WITH_A_NEAR_MISS = tuple(
    _four_faults(f"{word[:at]}{letter}{word[at:]}")
    for word in (BUSINESS, BUSINESS.upper())
    for at in range(2, 7)
    for letter in ascii_lowercase
)
# Two types, two patterns, a misspelt choice, too long (with a secret inside), a nested field missing, an unknown key.
EIGHT_FAULTS = encoded(
    {
        "origin": "Berlin",
        "destination": "Lisbon",
        "passengers": "two",
        "saet": "12A",
        "cabin": "busines",
        "flexible": "maybe",
        "api_key": SECRET,
        "contact": {"name": "Ana"},
    }
)


def orders(count: int, *, wrong: bool, kilobytes: int = 0) -> bytes:
    """Write a call with so many orders, each with a quantity of the wrong type, that is about so large."""
    room = kilobytes * 1000 // count
    # Half of the room is one text, half are short words: neither the kindest nor the worst that a parser may get.
    note, tags = "n" * (room // 2), ["lorem"] * (room // 2 // 9)
    quantity = "many" if wrong else 3
    order = {"sku": "A-1", "quantity": quantity, "note": note, "tags": tags}
    return encoded({"orders": [order] * count})


def unnamed_orders(count: int) -> bytes:
    """Write a call with so many orders that lack their name: like mistakes, and nothing else."""
    return encoded({"orders": [{"quantity": 1}] * count})


def many_fields(count: int) -> dict[str, Any]:
    """Ask for so many fields beside a large one."""
    names = [f"field_{number}" for number in range(count)]
    properties = {name: {"type": "string"} for name in names}
    return {
        "type": "object",
        "properties": properties | {"orders": IMPORT_ORDERS["properties"]["orders"]},
        "required": [*names, "orders"],
    }
