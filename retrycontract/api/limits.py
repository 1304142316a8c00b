"""How many requests a key may make: a bucket of a minute's requests that fills up steadily."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from math import ceil
from typing import Final

MAX_BUCKETS: Final = 10_000  # keys that are remembered; of more, the longest unseen begin anew


class RateLimiter:
    """Count the requests of each key in this process; `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: str, per_minute: int) -> int:
        """Take one request from a key's bucket; returns the seconds to wait when it is empty, else 0."""
        with self._lock:
            now = self._clock()
            left, seen = self._buckets.pop(key, (per_minute, now))
            left = min(left + (now - seen) * per_minute / 60, per_minute)
            taken = left >= 1
            self._buckets[key] = (left - taken, now)
            if len(self._buckets) > MAX_BUCKETS:
                self._buckets.popitem(last=False)
        return 0 if taken else max(1, ceil((1 - left) * 60 / per_minute))


limiter = RateLimiter()
