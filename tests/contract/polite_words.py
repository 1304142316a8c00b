"""A package that offers formatters, as `pip install` would leave it."""

from __future__ import annotations

from pathlib import Path

CODE = "def kindly(feedback):\n    return feedback.text.replace('Please', 'Kindly')\n"
# The second cannot be loaded.
ENTRY_POINTS = (
    "[retrycontract.formatters]\nrea* = polite_words:kindly\ndeploy = polite_words:kindly\nwrite = polite_words:no\n"
)


def install_polite_words(folder: Path) -> None:
    """Put the package into a folder, which the caller puts on the path."""
    (folder / "polite_words.py").write_text(CODE)
    info = folder / "polite_words-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: polite-words\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
