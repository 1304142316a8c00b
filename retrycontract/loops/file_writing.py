"""Write a file whole or not at all: whoever reads it sees the old text or the new one."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

NEW_FILE = 0o666  # less what the process's umask takes away


def writable(target: str | os.PathLike[str]) -> Path:
    """Give the path to write to; raises NotADirectoryError before any work is spent on a file without a folder."""
    path = Path(target)
    if not path.parent.is_dir():
        raise NotADirectoryError(f"there is no folder {str(path.parent)!r} to write {path.name!r} to; make it first")
    return path.resolve()  # of a link, what it points to is replaced


def write_whole(path: Path, text: str) -> None:
    """Replace a file in one step, its permissions kept; raises OSError and leaves the old file as it was."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(_permissions(path))
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _permissions(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return NEW_FILE & ~mask
