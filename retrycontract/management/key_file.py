"""The file of encryption keys that the service makes for itself: the newest first, one a line."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings

VARIABLE = "RETRYCONTRACT_ENCRYPTION_KEYS"


class KeysAreGivenError(RuntimeError):
    """Raised where the keys come from the environment: who gives them must change them."""

    def __init__(self, wanted: Sequence[str]) -> None:
        self.wanted = list(wanted)
        super().__init__(f"{VARIABLE} is given to the service: change it where you keep it")


def write_keys(keys: Sequence[str]) -> Path:
    """Put other keys into the file's place, whole or not at all; raises KeysAreGivenError."""
    if VARIABLE in os.environ or f"{VARIABLE}_FILE" in os.environ:
        raise KeysAreGivenError(keys)
    path: Path = settings.RETRYCONTRACT.data_dir / "encryption_key"
    handle, draft = tempfile.mkstemp(dir=path.parent)  # for its owner only
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write("\n".join(keys))
        file.flush()
        os.fsync(file.fileno())
    Path(draft).replace(path)
    return path
