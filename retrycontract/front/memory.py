"""Keep a server's process fit: no thread holds up all others, and what large requests took of memory is given back.

Garbage that holds itself stays until the collector comes, and what is free then the C library keeps, in a heap of each
thread.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Final

LOOKS_EVERY: Final = 2.0  # seconds; 0.02 ms each
WORTH_IT: Final = 64_000_000  # bytes more than after the last time: less comes and goes with every minute
# All threads stand still while garbage is looked for, longer the more values are alive, used or not: 0.7 to 1.5 s with
# those of one large page under way. It waits until they are gone, as nearly all are without it.
AT_ONCE: Final = 4 * WORTH_IT
FAR_TOO_MUCH: Final = 32 * WORTH_IT  # bytes: not waited for any longer
COLLECTED_EVERY, COLLECTED_AT_LAST = 60.0, 1800.0  # seconds
FEW: Final = 500_000  # small pieces of memory more than after the last time, gone through in up to 0.1 s
# New objects between two collections of the young, and how many of these come before one of the middle-aged. The old
# are left to `keep_small`, for when few are alive.
COLLECTIONS: Final = (10_000, 3, 2**31 - 1)
# A thread that computes keeps the interpreter for so many seconds, and whatever waits does so several times: with the
# default of 5 ms a page of 100 ms that was loaded again and again cut submits from 1,000/s to 72. With 0.1 ms and a
# thread pool of their own for pages it was 441 to 507.
SWITCHES_EVERY: Final = 0.0001
_STATM: Final = Path("/proc/self/statm")


def used() -> int:
    """Tell how many bytes of memory this process holds; 0 where the system does not say so."""
    try:
        return int(_STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def give_back() -> None:
    """Return what nobody uses of all heaps; only glibc knows how."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def settle() -> Callable[[], None]:
    """Keep a thread of a server, or the collector, from holding up all others; gives what ends that.

    What is loaded by now stays for good: what is garbage of it goes first, and the rest is never looked through again.
    """
    sys.setswitchinterval(SWITCHES_EVERY)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTIONS)
    return keep_small()


def keep_small() -> Callable[[], None]:
    """Collect garbage and give memory back, in a thread of its own; gives what ends it.

    The collector is not to look at the old of its own accord: it would do so while most is alive.
    """
    ending = threading.Event()

    def look(least: int, pieces: int, collected: float) -> None:
        while not ending.wait(LOOKS_EVERY):
            if used() > least + WORTH_IT:
                give_back()
            more, since = used() - least, monotonic() - collected
            if more > AT_ONCE or since > COLLECTED_EVERY:
                is_quick = sys.getallocatedblocks() < pieces + FEW
                if is_quick or more > FAR_TOO_MUCH or since > COLLECTED_AT_LAST:
                    gc.collect()
                    give_back()
                    least, pieces, collected = used(), sys.getallocatedblocks(), monotonic()
            least = min(least, used())

    # Read before the thread begins, which on a busy machine is after much has come already.
    first = used(), sys.getallocatedblocks(), monotonic()
    threading.Thread(target=look, args=first, name="memory", daemon=True).start()
    return ending.set
