"""Tell of a whole value that nothing in it can be wrong: most have no fault, and no pointer is needed to say so."""

from __future__ import annotations

import math
from typing import Any, Final

EXACT_TYPES: Final = frozenset({str, int, float, bool, type(None), dict, list})


def is_faultless(value: Any, *, depth: int, number: int) -> bool:
    """Tell that a value is JSON as it is, no deeper than `depth`, of numbers below `number`; by levels."""
    level, names = [value], list[Any]()
    for _ in range(depth + 1):
        kinds = set(map(type, level))
        if not kinds <= EXACT_TYPES or not set(map(type, names)) <= {str}:
            return False
        try:
            "".join([*names, *(item for item in level if type(item) is str)]).encode()
        except UnicodeEncodeError:
            return False
        if int in kinds and not all(-number < item < number for item in level if type(item) is int):
            return False
        if float in kinds and not all(math.isfinite(item) for item in level if type(item) is float):
            return False
        objects = [item for item in level if type(item) is dict]
        names = [name for item in objects for name in item]
        level = [each for item in level if type(item) is list for each in item]
        level += [each for item in objects for each in item.values()]
        if not level and not names:
            return True
    return False
