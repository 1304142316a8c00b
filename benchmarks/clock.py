"""Time functions side by side: in turns, so that what slows the machine down slows all of them.

Processor time is what counts: every row is work in one process, and what else runs on the machine is not its cost.
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import cycle
from time import process_time

Action = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Effort:
    """Say how long to measure: rounds, the seconds that one turn of one function takes at least, the share of sizes."""

    rounds: int = 15
    turn: float = 0.02
    share: int = 1


THOROUGH = Effort()
QUICK = Effort(rounds=1, turn=0.0, share=100)


@dataclass(frozen=True, slots=True)
class Timing:
    """Hold the seconds that one call took, round by round."""

    rounds: tuple[float, ...]

    @property
    def best(self) -> float:
        """Give the undisturbed round, which is what ratios are taken of."""
        return min(self.rounds)

    @property
    def median(self) -> float:
        """Give the usual round."""
        return statistics.median(self.rounds)

    def over(self, other: Timing) -> float:
        """Give how many times as long this took as the other."""
        return self.best / other.best


def in_turn(function: Callable[[bytes], object], arguments: Iterable[bytes]) -> Action:
    """Give the function the next of the arguments each time."""
    following = cycle(arguments)
    return lambda: function(next(following))


def race(actions: Mapping[str, Action], effort: Effort = THOROUGH) -> dict[str, Timing]:
    """Measure functions in turns, without the garbage collector; each is warmed up first."""
    counts = {name: _calls_per_turn(action, effort.turn) for name, action in actions.items()}
    rounds: dict[str, list[float]] = {name: [] for name in actions}
    gc.collect()
    gc.disable()
    try:
        for _ in range(effort.rounds):
            for name, action in actions.items():
                rounds[name].append(_turn(action, counts[name]))
    finally:
        gc.enable()
    return {name: Timing(tuple(seconds)) for name, seconds in rounds.items()}


def _calls_per_turn(action: Action, seconds: float) -> int:
    count = 1
    while (taken := _turn(action, count) * count) < seconds:
        count = max(count * 2, int(count * seconds / max(taken, 1e-9)))
    return count


def _turn(action: Action, count: int) -> float:
    started = process_time()
    for _ in range(count):
        action()
    return (process_time() - started) / count
