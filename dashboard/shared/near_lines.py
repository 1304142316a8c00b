"""Choose the lines of a long value that are shown: how it begins, and those that fail, with what stands beside them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice

from django.utils.html import escape

from retrycontract.contract.redaction.sanitizer import visible

MOST_NEAR = 24  # lines of a document that is shown as far as it failed: what fits on one screen with its errors
NEAR_STRING = 120  # characters of a string or of a line there
NEAR_TEXT = 3_000  # bytes that a document may have to be shown as a whole: a page is to have 60 kB
BESIDE = 2  # lines shown on each side of a failing one
HEAD = 4  # lines of the beginning, which say what it is
NearLine = tuple[bool, Callable[[], str]]  # whether it fails, and how it is written


def near_lines(lines: Iterable[NearLine | int], number: int, failing: int) -> list[str]:
    """Write the beginning, and the failing lines with their neighbours, until there are enough; of all `number`.

    A number in the place of a line stands for so many that are far from any failing one.
    """
    coming = _placed(lines)
    first = list(islice(coming, HEAD))
    written = {index: write() for index, (_, write) in first}
    left = failing or number
    around = deque[tuple[int, NearLine] | None](maxlen=2 * BESIDE + 1)
    around.extend([None] * (2 * BESIDE))
    for placed in chain(first, coming, [None] * BESIDE):
        around.append(placed)
        centre = around[BESIDE]
        if centre is None or (failing and not centre[1][0]):
            continue
        if len(written) >= MOST_NEAR or size_of(written.values()) >= NEAR_TEXT:
            break
        # Whole neighbourhoods, so that the last one may go beyond the bound by some lines.
        written |= {index: line[1]() for index, line in filter(None, around) if index not in written}
        left -= 1
        if not left:
            break
    shown: list[str] = []
    before = -1
    for index in [*sorted(written), number]:
        if index - before > 1:
            shown.append(gap(index - before - 1))
        if index < number:
            shown.append(written[index])
        before = index
    return shown


def _placed(lines: Iterable[NearLine | int]) -> Iterator[tuple[int, NearLine]]:
    """Number the lines, over those that are left out."""
    index = 0
    for line in lines:
        if not isinstance(line, int):
            yield index, line
        index += line if isinstance(line, int) else 1


def size_of(lines: Iterable[str]) -> int:
    """Count the bytes of some lines."""
    return sum(len(line.encode(errors="replace")) for line in lines)


def gap(number: int, more: str = "") -> str:
    """Say how many lines are left out."""
    return f'<span class="jx jmore">… {number:,} {more}line{"" if number == 1 else "s"}\n</span>'


def left_out(left: int) -> str:
    """Say how many characters are left out, if any."""
    return f'… <span class="jmore">{left:,} more character{"" if left == 1 else "s"}</span> ' if left else ""


def plain(text: str) -> str:
    """Write text that came from outside: escaped, nothing of it hidden."""
    return str(escape(visible(text)))
