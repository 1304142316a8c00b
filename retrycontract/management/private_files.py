"""Files that only their owner may read, complete or not there at all."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

STANDARD: Final = "-"  # standard input or output, in the place of a file


@contextmanager
def new_private_file(path: Path) -> Iterator[Path]:
    """Give a draft beside the file to be written, and put it into place when the block ends without an error.

    Raises FileExistsError rather than overwrite, also when somebody else was quicker.
    """
    if path.exists():
        raise FileExistsError(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        draft.chmod(0o600)
        os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def standard_input_or(path: Path) -> Iterator[Path]:
    """Give the file, or, for `-`, what standard input holds, as a file of its own that is gone afterwards."""
    if str(path) != STANDARD:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:  # its owner's alone
        spooled = Path(folder, "standard input")
        with spooled.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield spooled


def keep_private(folder: Path) -> None:
    """Let only their owner read the files of a folder; what others own is left as it is."""
    for path in folder.iterdir():
        with suppress(PermissionError, FileNotFoundError):  # somebody else's, or gone meanwhile
            if path.is_file() and not path.is_symlink() and stat.S_IMODE(path.stat().st_mode) & 0o077:
                path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o700)
