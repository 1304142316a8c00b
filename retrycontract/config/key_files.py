"""Write a key into the data folder, so that nobody reads a half of it and one of several processes wins."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def put_once(path: Path, key: str) -> None:
    """Write a key, readable by its owner only, unless somebody was quicker; makes the folder, and raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # keys and database are their owner's alone
    # Written aside (mkstemp: for its owner only) and linked, so that nobody reads a half-written key.
    handle, draft = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(key)
    with suppress(FileExistsError):
        os.link(draft, path)
    Path(draft).unlink()
