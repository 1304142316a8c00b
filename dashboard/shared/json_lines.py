"""Tell on which line of a JSON text each of its values stands."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import islice
from typing import Final

from retrycontract.contract import pointers

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


@dataclass(slots=True)
class _Container:
    """Follow an object or an array while it is read."""

    pointer: str
    is_object: bool
    index: int = 0
    name: str | None = None

    @property
    def place(self) -> str:
        """Give the pointer of the member that is read."""
        return pointers.join(self.pointer, self.index if self.name is None else self.name)

    def go_on(self) -> None:
        """Step behind a comma."""
        self.index, self.name = self.index + 1, None


MOST_PLACED = 100_000  # words and signs of a text whose lines are told; what stands behind is told by what holds it


def lines_of(text: str) -> dict[str, int]:
    """Tell by pointer on which line of a valid JSON text each value begins, counted from 1; of members, the name."""
    lines: dict[str, int] = {}
    within: list[_Container] = []
    line = end = 0
    for match in islice(_TOKEN.finditer(text), MOST_PLACED):
        line += text.count("\n", end, match.start())
        end, token = match.start(), match.group()
        if token in ("}", "]"):
            within.pop()
        elif token == ",":
            within[-1].go_on()
        elif token != ":":
            inner = within[-1] if within else None
            if inner is not None and inner.is_object and inner.name is None:
                inner.name = str(json.loads(token))
                lines[inner.place] = line + 1
            else:
                place = inner.place if inner is not None else pointers.ROOT
                lines.setdefault(place, line + 1)
                if token in ("{", "["):
                    within.append(_Container(place, token == "{"))
    return lines


def line_at(lines: dict[str, int], pointer: str) -> int:
    """Give the line of a value, or of the container that lacks it."""
    while pointer and pointer not in lines:
        pointer = pointers.parent(pointer)
    return lines.get(pointer, 1)
