"""Files of the data folder: readable by their owner only, complete or absent, and one service at a time on them."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from django.conf import settings

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
        # A link fails where the name is taken; a rename would put the draft into its place.
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


VARIABLE = "RETRYCONTRACT_ENCRYPTION_KEYS"


class KeysAreGivenError(RuntimeError):
    """Raised where the keys come from the environment: who gives them must change them."""

    def __init__(self, wanted: Sequence[str]) -> None:
        self.wanted = list(wanted)
        super().__init__(f"{VARIABLE} is given to the service: change it where you keep it")


def is_given(variable: str) -> bool:
    """Tell whether keys come from the environment; for what is empty the service keeps a file."""
    text = os.environ.get(variable, "")
    if path := os.environ.get(f"{variable}_FILE"):
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):  # given, and the service says at its start what is wrong with it
            return True
    return bool(text.strip(", \n"))


def write_keys(keys: Sequence[str]) -> Path:
    """Put other keys into the file's place, whole or not at all; raises KeysAreGivenError."""
    if is_given(VARIABLE):
        raise KeysAreGivenError(keys)
    path: Path = settings.RETRYCONTRACT.data_dir / "encryption_key"
    handle, draft = tempfile.mkstemp(dir=path.parent)  # for its owner only
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write("\n".join(keys))
        file.flush()
        # On the disk before it takes the place of the old keys: after a power cut an empty file would open nothing.
        os.fsync(file.fileno())
    Path(draft).replace(path)
    return path


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
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / NAME
    # Not "w", which would empty the file of the service that holds the lock, and so lose its number.
    with open(path, "a+", encoding="ascii", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        try:
            if sys.platform == "win32":
                import msvcrt

                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            else:
                import fcntl

                # The system gives the lock back with its process, however that ends: no file of a crashed service has
                # to be removed.
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            number = ""
            with suppress(OSError):  # Windows lets nobody read what is locked
                number = path.read_text(encoding="ascii", errors="replace").strip()
            raise DataInUseError(folder, number if number.isdigit() else "") from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
