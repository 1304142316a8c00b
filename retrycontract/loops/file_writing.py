"""Write a file whole or not at all: whoever reads it sees the old text or the new one."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

NEW_FILE = 0o666  # less what the process's umask takes away


def writable(target: str | os.PathLike[str]) -> Path:
    """Give the path to write to, of a link what it points to; raises OSError before any work is spent in vain."""
    try:
        path = Path(target).resolve()
    except RuntimeError:  # what older Pythons raise for links that lead in a circle
        path = Path(target)
    if not path.parent.is_dir():
        raise NotADirectoryError(f"there is no folder {str(path.parent)!r} to write {path.name!r} to; make it first")
    # Replacing it would take away a folder's place, or a device from the whole machine.
    if path.is_symlink() or (path.exists() and not path.is_file()):
        kind = IsADirectoryError if path.is_dir() else FileExistsError
        raise kind(f"{str(path)!r} is there and is no file; name the file to write")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"the folder {str(path.parent)!r} takes no {path.name!r}; change its permissions")
    return path


def write_whole(path: Path, text: str) -> None:
    """Replace a file in one step, its permissions kept; raises OSError and leaves the old file as it was."""
    # In the same folder, since only there one step replaces; its name is short, however long the file's own is.
    handle, name = tempfile.mkstemp(prefix=".writing-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
            file.flush()
            # Before it is renamed: else a crash of the machine can leave the new name with nothing in it.
            os.fsync(file.fileno())
        # `mkstemp` makes files that only their owner reads.
        Path(name).chmod(_permissions(path))
        Path(name).replace(path)
    # Ctrl-C as well must leave no half of a file beside the old one.
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _permissions(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_mode & 0o7777
    # The mask can only be read by setting it.
    mask = os.umask(0)
    os.umask(mask)
    return NEW_FILE & ~mask
