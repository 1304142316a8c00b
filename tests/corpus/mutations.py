"""Real calls made wrong in the ways that models get them wrong: seeded, so that the same ones come each time."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

MOST_AT_ONCE = 4  # mistakes of one call: recorded ones have up to four
OTHER_VALUES = (None, "", "null", "true", 0, 1, -1, 2.5, [], {}, "somewhere else", ["a", "b"], {"value": 1})


def mutated_calls(rows: list[dict[str, Any]], count: int, *, seed: int) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield so many pairs of a schema and arguments that were valid for it before they were changed."""
    chance = random.Random(seed)
    for _ in range(count):
        row = chance.choice(rows)
        value = json.loads(row["arguments_raw"])
        for _ in range(chance.randint(1, MOST_AT_ONCE)):
            value = _mutated(value, chance)
        yield row["schema"], value


def _mutated(value: Any, chance: random.Random) -> Any:
    """Change one place, chosen among all of them; now and then the whole."""
    if chance.random() < 0.05:
        return chance.choice([{"arguments": value}, {"name": "t", "arguments": value}, json.dumps(value), [value], {}])
    changed = copy.deepcopy(value)
    containers = list(_containers(changed))
    if not containers:
        return chance.choice(OTHER_VALUES)
    container = chance.choice(containers)
    key = chance.choice(list(container) if isinstance(container, dict) else range(len(container)))
    if isinstance(container, dict) and chance.random() < 0.5:
        _rename(container, key, containers, chance)
    else:
        container[key] = _other(container[key], chance)
    return changed


def _containers(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list) and value:
        yield value
        for member in value.values() if isinstance(value, dict) else value:
            yield from _containers(member)


def _rename(container: dict[str, Any], key: str, containers: list[Any], chance: random.Random) -> None:
    """Spell a field in another way, leave it out, put it elsewhere or give one that nobody knows."""
    match chance.randrange(6):
        case 0:
            del container[key]
        case 1:
            container[chance.choice(["note", "reason", "extra_field"])] = "x"
        case 2:
            elsewhere = chance.choice([each for each in containers if isinstance(each, dict)])
            elsewhere[key] = container.pop(key)
        case 3:
            container["options"] = {key: container.pop(key)}
        case _:
            container[_misspelt(key, chance)] = container.pop(key)


def _other(value: Any, chance: random.Random) -> Any:
    """Give a value in the wrong clothes, misspelt, or another one."""
    match chance.randrange(8):
        case 0:
            return json.dumps(value)
        case 1:
            return [value]
        case 2:
            return {"value": value}
        case 3 if isinstance(value, list) and value:
            return value[0]
        case 4 | 5 if isinstance(value, str) and value:
            return _misspelt(value, chance)
        case 6:
            return str(value)
    return chance.choice(OTHER_VALUES)


def _misspelt(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) or 1)
    return chance.choice(
        [
            text.upper(), text.replace("_", "-"), text.replace("_", ""), f"{text}s", text[:at] + text[at + 1 :],
            text[:at] + text[at:][1:2] + text[at:][:1] + text[at + 2 :], f"my_{text}", f"{text}_name",
        ]
    )  # fmt: skip
