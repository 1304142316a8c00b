"""Give back to the system what large requests took of memory.

Garbage that holds itself stays until the collector comes, and what is free then the C library keeps, in a heap of each
thread.
"""

from __future__ import annotations

import ctypes
import gc
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

LOOKS_EVERY: Final = 2.0  # seconds; 0.02 ms each
WORTH_IT: Final = 64_000_000  # bytes more than after the last time: less comes and goes with every minute
# All threads stand still while garbage is looked for: 90 ms with 300 large schemas, 0.1 to 0.6 s with large requests
# under way, 1.6 s for what had come together to 2.5 GB. Nearly all is free without it.
AT_ONCE: Final = 4 * WORTH_IT
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


def keep_small() -> Callable[[], None]:
    """Collect garbage and give memory back whenever much was taken, in a thread of its own; gives what ends it."""
    ending = threading.Event()

    def look() -> None:
        least = used()
        while not ending.wait(LOOKS_EVERY):
            if used() > least + WORTH_IT:
                give_back()
                if used() > least + AT_ONCE:
                    gc.collect()
                    give_back()
                    least = used()
            least = min(least, used())

    threading.Thread(target=look, name="memory", daemon=True).start()
    return ending.set
