"""Files that only their owner may read, complete or not there at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
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
