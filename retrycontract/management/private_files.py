"""Files that only their owner may read, complete or not there at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


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


def keep_private(folder: Path) -> None:
    """Let only their owner read the files of a folder; what others own is left as it is."""
    for path in folder.iterdir():
        with suppress(PermissionError, FileNotFoundError):  # somebody else's, or gone meanwhile
            if path.is_file() and not path.is_symlink() and stat.S_IMODE(path.stat().st_mode) & 0o077:
                path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o700)
