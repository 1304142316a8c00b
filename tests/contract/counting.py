"""Count what work takes: the same in every run, on any machine."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any


def steps(work: Callable[[], object]) -> int:
    """Count the calls that the work makes, of Python and of C."""
    count = 0

    def step(*_: object) -> None:
        nonlocal count
        count += 1

    previous = sys.getprofile()
    sys.setprofile(step)
    try:
        work()
    finally:
        sys.setprofile(previous)
    return count


class CountingPattern:
    """Count the matches that are looked at."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern, self.looked = pattern, 0

    def finditer(self, *where: Any) -> Iterator[re.Match[str]]:
        for match in self.pattern.finditer(*where):
            self.looked += 1
            yield match
