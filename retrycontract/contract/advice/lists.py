"""Lists that were written in another form: a text that names several items, a map as a list of its entries."""

from __future__ import annotations

import re
from typing import Any

from retrycontract.contract.checks.composition import InstancePlace

# A text of this form may be a list that was written out, or JSON; as the one item of an array it would be a guess.
LOOKS_LIKE_SEVERAL = re.compile(r"[,;|\n]|\s(?:and|&)\s|^\s*[\[{]|^\s*$", re.IGNORECASE)
BETWEEN_ITEMS = re.compile(r"\s*[,;|\n]\s*(?:and\s)?\s*|\s+(?:and|&)\s+", re.IGNORECASE)
# A command with its options, or a text in a field of such a name: its words are items each.
OPTIONS, COMMANDS = re.compile(r"\S\s+-{1,2}[a-zA-Z]"), frozenset({"cmd", "command", "args", "argv"})
MAX_LISTED = 1_000  # characters of a text that is split
# Of an entry of a map that was sent as a list.
ENTRY_NAMES, ENTRY_VALUES = frozenset({"name", "key", "k"}), frozenset({"value", "val", "v"})


def looks_like_several(value: Any, name: str) -> bool:
    """Tell a text that may list several items, sent in a field of that name."""
    return isinstance(value, str) and (LOOKS_LIKE_SEVERAL.search(value) is not None or _is_command(value, name))


def several(value: Any, name: str) -> list[str]:
    """Split a text that plainly lists several items, in a field of that name; nothing where it may be a single one."""
    if not looks_like_several(value, name) or len(value) > MAX_LISTED:
        return []
    parts = value.split() if _is_command(value, name) else BETWEEN_ITEMS.split(value.strip())
    return parts if len(parts) > 1 and all(parts) else []


def _is_command(value: str, name: str) -> bool:
    return len(value.split(maxsplit=1)) > 1 and (name.casefold() in COMMANDS or OPTIONS.search(value) is not None)


def entries_of(value: Any, place: InstancePlace) -> list[dict[str, Any]]:
    """List the entries that a list holds in the place of a map; none where some item is something else."""
    if not isinstance(value, list) or "object" not in place.types or "array" in place.types:
        return []
    known = {name.casefold() for name in place.declared}
    for item in value:
        folded = {name.casefold() for name in item} if isinstance(item, dict) else set[str]()
        if not (folded & ENTRY_NAMES - known and folded & ENTRY_VALUES - known):
            return []
    return value


def mapped(entries: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Write entries as a map; None where something would be lost."""
    found = dict[str, Any]()
    for entry in entries:
        folded = {name.casefold(): held for name, held in entry.items()}
        names, values = folded.keys() & ENTRY_NAMES, folded.keys() & ENTRY_VALUES
        name = folded[next(iter(names))]
        if len(entry) != 2 or len(names) != 1 or len(values) != 1 or not isinstance(name, str) or name in found:
            return None
        found[name] = folded[next(iter(values))]
    return found
