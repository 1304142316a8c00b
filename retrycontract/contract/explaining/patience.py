"""How much work one check may be: counted in steps, not in time, so that the same value always ends alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

MAX_STEPS = 10_000  # of some 10 µs: an error of a union's branch, read and compared


class OutOfPatienceError(Exception):
    """Raised within a check that has used up its steps; it ends with what is known by then."""


class Patience:
    """Count the steps of one check down."""

    def __init__(self, steps: int = MAX_STEPS) -> None:
        self._left = steps
        self._known = set[object]()

    def spend(self, steps: int = 1) -> None:
        """Take steps; raises OutOfPatienceError when there are no more."""
        self._left -= steps
        if self._left < 0:
            raise OutOfPatienceError

    def spend_once(self, steps: int, what: object) -> None:
        """Take steps for what is dear the first time in a check, whatever was kept of it from another one."""
        if what not in self._known:
            self._known.add(what)
            self.spend(steps)

    def over(self, errors: Iterable[Any]) -> Iterator[Any]:
        """Yield what takes a step each."""
        for error in errors:
            self.spend()
            yield error
