"""One service at a time on one data folder: a lock that ends with the process that holds it, however it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

NAME = "service.lock"


class DataInUseError(RuntimeError):
    """Raised when another process serves a data folder; `pid` is its number, as far as it is known."""

    def __init__(self, folder: Path, pid: str) -> None:
        self.folder, self.pid = folder, pid
        who = f"process {pid}" if pid else "another process"
        super().__init__(f"A service is running on {folder} ({who}). Stop it first")


@contextmanager
def sole_service(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; raises DataInUseError. The file stays, it is the lock on it that counts."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    with path.open("a+", encoding="ascii") as file:
        try:
            _lock(file)
        except OSError:
            raise DataInUseError(folder, _read(path)) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _read(path: Path) -> str:
    with suppress(OSError):  # Windows lets nobody read what is locked
        text = path.read_text(encoding="ascii", errors="replace").strip()
        return text if text.isdigit() else ""
    return ""


def _lock(file: IO[str]) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
