"""The stylesheets: all are on every page, so a name means one thing."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent.parent / "dashboard" / "static" / "dashboard" / "css"
RULE = re.compile(r"^(\.[\w-]+(?:, \.[\w-]+)*) \{", re.MULTILINE)  # a whole class, outside of any condition


def test_a_class_is_defined_in_one_stylesheet() -> None:
    defined: dict[str, set[str]] = defaultdict(set)
    for sheet in sorted(FOLDER.glob("*.css")):
        for names in RULE.findall(sheet.read_text(encoding="utf-8")):
            for name in names.split(", "):
                defined[name].add(sheet.name)
    assert len(defined) > 100
    assert {name: sheets for name, sheets in defined.items() if len(sheets) > 1} == {}
