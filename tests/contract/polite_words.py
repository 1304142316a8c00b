"""A package that offers formatters, as `pip install` would leave it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from retrycontract.config.installed_formatters import _installed

CODE = "def kindly(feedback):\n    return feedback.text.replace('Please', 'Kindly')\n"
# The second cannot be loaded.
ENTRY_POINTS = (
    "[retrycontract.formatters]\nrea* = polite_words:kindly\ndeploy = polite_words:kindly\nwrite = polite_words:no\n"
)


@pytest.fixture
def polite_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package is installed, and what is installed is read anew."""
    (tmp_path / "polite_words.py").write_text(CODE)
    info = tmp_path / "polite_words-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: polite-words\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    _installed.cache_clear()
    yield
    _installed.cache_clear()
