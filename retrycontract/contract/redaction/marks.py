"""The marks that stand where secrets stood."""

from __future__ import annotations

import re
from typing import Final

MARK: Final = "[REDACTED: "
MARK_PATTERN: Final = re.compile(r"\[REDACTED: [A-Z0-9][A-Z0-9_]{1,30}\]")


def is_mark(text: str) -> bool:
    """Say whether the text is one redaction mark and nothing else."""
    return text.startswith(MARK) and bool(MARK_PATTERN.fullmatch(text))


def without_marks(text: str) -> str:
    """Leave out the redaction marks."""
    return MARK_PATTERN.sub("", text) if MARK in text else text
