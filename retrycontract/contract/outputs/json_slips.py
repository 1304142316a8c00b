"""Read past the slips that models make in JSON, to tell all of them at once, and what else is wrong."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass

from retrycontract.contract.outputs.json_slip_table import APPARENT, NAME, OUTSIDE_STRINGS, SLIPS, TRAILING, Slip

MAX_MENDS = 120  # slips read past in one text; each is another walk through it
MAX_READ = 1_000_000  # characters, in all these walks
MAX_MENDED = 50_000  # characters; of a longer text the first slip alone is told
MAX_AT_ONCE = 100_000  # characters that are walked through once more for all slips that their looks tell
MAX_SPAN = 10_000  # characters that one slip may take
MAX_TOLD = 4  # sorts of slips in one hint; more are not corrected at once
# Finds where a value goes wrong. Read as int, a long number raises; read as None, NaN is no fault of syntax.
READER = json.JSONDecoder(parse_int=float, parse_constant=lambda _: None)


@dataclass(frozen=True, slots=True)
class SlipFound:
    """Hold one slip of a text, with its place; lines and columns count from 1."""

    slip: Slip
    position: int
    line: int
    column: int

    @property
    def where(self) -> str:
        return f"line {self.line}, column {self.column}"


@dataclass(frozen=True, slots=True)
class MendedText:
    """Hold a text read past its slips: what they are, the mended text of its value, and where it goes wrong after all.

    `value` is None where the reading came to no end, or may not be what was meant. Where not `all_found`, more slips of
    the same sorts may follow.
    """

    found: tuple[SlipFound, ...] = ()
    value: str | None = None
    stuck: json.JSONDecodeError | None = None
    all_found: bool = True

    @property
    def reason(self) -> str:
        """Say what the slips are and where, the first of each sort."""
        return " and ".join(f"{first.slip.what} at {first.where}" for first, _ in self._sorts[:2])

    @property
    def hint(self) -> str:
        """Say what to write instead, once for each sort."""
        told = list[str]()
        for first, count in self._sorts[:MAX_TOLD]:
            more = "" if self.all_found else " and perhaps more places"
            if count > 1:
                least = "" if self.all_found else "at least "
                more = f" and {least}{count - 1} more {'place' if count == 2 else 'places'}"
            told.append(f"{first.slip.advice} ({first.where}{more})")
        return "; ".join(told)

    @property
    def _sorts(self) -> list[tuple[SlipFound, int]]:
        sorts: dict[str, list[SlipFound]] = {}
        for each in self.found:
            sorts.setdefault(each.slip.advice, []).append(each)
        return [(group[0], len(group)) for group in sorts.values()]


def read_past_slips(text: str, start: int = 0) -> MendedText:
    """Read the value that begins at `start`, mend each slip by its row, and go on behind it; never raises.

    Only what is told comes of this: no mended value is ever used as the output.
    """
    mended, shift, read, found = text, 0, 0, list[SlipFound]()
    while True:
        try:
            _, end = READER.raw_decode(mended, start)
        except json.JSONDecodeError as error:
            slip, match = _slip_at(mended, error)
            if slip is None or match is None:
                return MendedText(tuple(found), None, error)
            read += error.pos - start
            if len(found) == MAX_MENDS or (found and read > MAX_READ):
                value = _mended_at_once(mended, start)
                return MendedText(tuple(found), value, error if value is None else None, all_found=False)
            place = max(0, match.start() - shift)
            line, column = text.count("\n", 0, place) + 1, place - text.rfind("\n", 0, place)
            found.append(SlipFound(slip, place, line, column))
            if len(mended) > MAX_MENDED:
                return MendedText(tuple(found), _mended_at_once(mended, start), all_found=False)
            new = _mend(slip, match)
            mended = mended[: match.start()] + new + mended[match.end() :]
            shift += len(new) - len(match[0])
            continue
        except RecursionError:
            return MendedText(tuple(found))
        is_sure = all(each.slip.sure for each in found)
        return MendedText(tuple(found), mended[start:end] if is_sure else None)


def _slip_at(text: str, error: json.JSONDecodeError) -> tuple[Slip, re.Match[str]] | tuple[None, None]:
    # From Python 3.13 on the decoder stops at a trailing comma, before that behind it.
    is_at_comma = error.msg.startswith(TRAILING)
    message, position = (NAME, error.pos + 1) if is_at_comma else (error.msg, error.pos)
    before = len(text[:position].rstrip(" \t\r\n"))
    for slip in SLIPS:
        begin = before - slip.back if slip.back else position
        if begin >= 0 and message.startswith(slip.said) and (match := slip.looks.match(text, begin, begin + MAX_SPAN)):
            return slip, match
    return None, None


def _mended_at_once(text: str, start: int) -> str | None:
    """Mend all that is apparent in one walk; None where anything else is wrong."""
    if len(text) > MAX_AT_ONCE:
        return None
    parts, behind, at = list[str](), start, start
    while spot := OUTSIDE_STRINGS.search(text, at):
        at = spot.end()
        kind = spot[0] if spot.lastgroup == "word" else spot.lastgroup
        slip = APPARENT[kind] if kind else None
        if slip is None:
            continue
        match = slip.looks.match(text, spot.start(), spot.start() + MAX_SPAN)
        if match is None:
            break  # nothing mends this, and whatever opens here would be sought to its end again and again
        parts += [text[behind : match.start()], _mend(slip, match)]
        behind = at = match.end()
    mended = "".join([*parts, text[behind:]])
    with suppress(json.JSONDecodeError, RecursionError):
        return mended[: READER.raw_decode(mended)[1]]
    return None


def _mend(slip: Slip, match: re.Match[str]) -> str:
    return slip.mend(match) if callable(slip.mend) else match.expand(slip.mend)
