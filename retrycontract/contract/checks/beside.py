"""Know which values of an output are secret only by what stands beside them: an error shows its value alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from retrycontract.contract import pointers
from retrycontract.contract.redaction.sanitizer import ValueSanitizer

# Of what holds a value, so many levels are looked at together, as long as they hold no more than this.
MOST_LEVELS: Final = 4
MOST_NODES, MOST_CHARACTERS, LONGEST_BESIDE = 1_500, 50_000, 4_000
NEAR: Final = 50  # items of a longer list, and as many on both sides of them
Steps = tuple[str | int, ...]


class Beside:
    """Look at values together with what stands beside them; keeps what it found, since errors share their places."""

    def __init__(self, value: Any, sanitizer: ValueSanitizer) -> None:
        self._value, self._sanitizer = value, sanitizer
        self._small = dict[Steps, bool]()
        self._told = dict[Steps, frozenset[str]]()
        self._near = dict[tuple[Steps, int], frozenset[str]]()

    def told_at(self, path: Steps) -> frozenset[str]:
        """Give the pointers of the values, at the path and beside it, that their neighbours tell to be secret."""
        if not path or not self._sanitizer.redacts_secrets:
            return frozenset()
        holders = [self._value]
        for step in path[:-1]:
            holders.append(holders[-1][step])
        place: Steps = path[:-1]
        for depth in range(len(path) - 1, max(len(path) - 1 - MOST_LEVELS, -1), -1):
            if not self._is_small(path[:depth], holders[depth]):
                break
            place = path[:depth]
        if place not in self._told:
            holder = holders[len(place)]
            if isinstance(holder, list) and not self._small[place]:
                return self._told_near(place, int(path[-1]) // NEAR, holder)
            seen = holder if self._small[place] else _trimmed(holder)
            self._told[place] = frozenset(self._differences(seen, place))
        return self._told[place]

    def _told_near(self, place: Steps, block: int, items: list[Any]) -> frozenset[str]:
        """Look at a block of a long list with those beside it: at lines with the lines around them."""
        if (place, block) not in self._near:
            start, name = max(block - 1, 0) * NEAR, str(place[-1]) if place else ""
            near = items[start : (block + 2) * NEAR]
            holder = {name: near if _is_small(near) else []}
            shown = self._sanitizer.redact(holder, pointers.from_tokens(place[:-1]))
            found = zip(near, *shown.values(), strict=False)
            self._near[place, block] = frozenset(
                pointer
                for index, (item, redacted) in enumerate(found, start)
                if item != redacted and isinstance(item, str)
                and redacted != self._sanitizer.redact(item, pointer := pointers.from_tokens((*place, index)))
            )  # fmt: skip
        return self._near[place, block]

    def _is_small(self, place: Steps, holder: Any) -> bool:
        if place not in self._small:
            self._small[place] = _is_small(holder)
        return self._small[place]

    def _differences(self, holder: Any, place: Steps) -> Iterator[str]:
        """Yield the places of which more is hidden in their holder than there is by themselves."""
        where = pointers.from_tokens(place)
        for pointer, item, shown in leaves(holder, self._sanitizer.redact(holder, where), where):
            if item != shown and shown != self._sanitizer.redact(item, pointer):
                yield pointer


def leaves(value: Any, shown: Any, pointer: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Give each value that holds no others with its pointer, and what is shown of it."""
    if isinstance(value, dict) and isinstance(shown, dict):
        # The names may have been redacted, their order stays.
        for (key, member), other in zip(value.items(), shown.values(), strict=False):
            yield from leaves(member, other, pointers.join(pointer, key))
    elif isinstance(value, list) and isinstance(shown, list):
        for index, (item, other) in enumerate(zip(value, shown, strict=False)):
            yield from leaves(item, other, pointers.join(pointer, index))
    else:
        yield pointer, value, shown


def _is_small(holder: Any) -> bool:
    nodes, characters, pending = 0, 0, [holder]
    while pending:
        item = pending.pop()
        nodes += 1
        if isinstance(item, str):
            characters += len(item)
        elif isinstance(item, dict | list):
            pending += islice(item.values() if isinstance(item, dict) else item, MOST_NODES)
        if nodes + len(pending) > MOST_NODES or characters > MOST_CHARACTERS:
            return False
    return True


def _trimmed(holder: Any) -> Any:
    """Keep of a large object the short values, which tell what they are to each other."""
    if not isinstance(holder, dict):
        return []
    short = ((key, item) for key, item in holder.items() if not isinstance(item, dict | list))
    return {
        key: item for key, item in islice(short, MOST_NODES) if not isinstance(item, str) or len(item) < LONGEST_BESIDE
    }
