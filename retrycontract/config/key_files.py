"""Keys in the data folder: nobody reads a half of one, of several processes one wins, and all follow a change."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import overload

from cryptography.fernet import Fernet


class KeptKeys(Sequence[str]):
    """Give the encryption keys of a file, newest first, as it has them now: they are replaced while services run."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: tuple[object, list[str]] = (None, [])

    def _now(self) -> list[str]:
        stamp, keys = self._known
        # What cannot be read at the moment, or holds no key, changes nothing.
        with suppress(OSError, ValueError):
            found = self._path.stat()
            if stamp != (stamp := (found.st_ino, found.st_mtime_ns)):
                keys = usable_keys(self._path.read_text(encoding="utf-8").split()) or keys
                self._known = stamp, keys
        return keys

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        return self._now()[at]

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())


def usable_keys(keys: list[str]) -> list[str]:
    """Give the keys back; raises ValueError for what is no Fernet key."""
    for key in keys:
        try:
            Fernet(key)
        except ValueError:
            raise ValueError("must be a Fernet key: 32 bytes in URL-safe base64") from None
    return keys


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
