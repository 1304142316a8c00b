"""Find the lines of a text that may head a table with secrets; most lines that hold the name of one do not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import digits

from retrycontract.contract.redaction.allowance import Allowance
from retrycontract.contract.redaction.detectors import Head, compiled
from retrycontract.contract.redaction.field_names import NAME_WORDS, RULES, SECRET_NAME, judge, word_set

LONGEST_LINE = 2_000  # characters
MOST_WORDS, LONGEST_NAME = 4, 100  # of a column
# So many lines are sought one by one, and one more for so many characters; no ordinary text has half as many. Behind
# them the lines are taken in stretches of so many characters, and those that differ in their numbers alone judged once.
MOST_SOUGHT, CHARACTERS_A_LINE = 3_000, 300
STRETCH = 100_000
# A secret's name in a cell, by what parts it from others or by the rule below; whether it is one of a table shows by
# its line and those below. With counted repetitions RE2 would take a hundred times as long.
NAMED = Head(
    rf"(?im)(?:^|[|,;\t\"]|  )[^|,;\t\n=]*?{SECRET_NAME}[^|,;\t\n=]*(?:[|,;\t]|  )"
    rf"|(?:^ |[|,;\t]|  )[^|,;\t\n=]*?{SECRET_NAME}[^|,;\t\n=]*(?:\r|$)"
    rf"|^[^|,;\t\n=]*?{SECRET_NAME}[^|,;\t\n=]*\r?\n[ \t>#*/0-9]*[-=|+]"
)
_ANY_RULE = "\n-"
_NUMBERS = str.maketrans(dict.fromkeys(digits, "0"))
_SIGN, _BLANKS, _SIGNS_OR_BLANKS = re.compile(r"[|,;\t]"), re.compile(" {2,}"), re.compile(r"[|,;\t]| {2,}")


# A column of users, and what one of passwords holds beside it, other than kinds.
_USERS = re.compile(
    r"(?i)(?:e-?mail|users?|user[ _-]?names?|login|account|benutzer(?:name)?|usuario|utilisateur|utente|uzytkownik)"
)
NO_PASSWORDS = RULES | word_set(
    "changed unchanged expired same unknown blank empty stored hashed encrypted generated never always redacted hidden"
    " masked unset"
)


def are_of_users(names: list[str]) -> bool:
    """Say whether the columns are those of users, so that a word beside one is a password rather than a type."""
    return any(map(_USERS.fullmatch, names))


def names_secret(names: list[str]) -> bool:
    """Say whether one of some cells has the name of a secret."""
    for name in names:  # noqa: SIM110 - asked of most lines of a text, and a generator takes a third of it
        if len(name) <= LONGEST_NAME and len(name.split()) <= MOST_WORDS and judge(name).mark:
            return True
    return False


class Headers:
    """Give the lines that may head a table, in their order."""

    def __init__(self, text: str, allowance: Allowance) -> None:
        self._text, self._written, self._allowance = text, text.encode(), allowance
        self._left = MOST_SOUGHT + len(text) // CHARACTERS_A_LINE
        self._rest: Iterator[tuple[int, int, int]] | None = None

    def behind(self, done: int) -> tuple[int, int, int] | None:
        """Give the first from a place on: where it begins, where in it a name stands, and where it ends."""
        text, search = self._text, compiled(NAMED.pattern, captures=False).search
        while self._left and (match := search(self._written, done)):
            self._left -= 1
            first, end = match.span()
            at = end - 1  # where it begins, the line before may end
            if (end := self._written.find(b"\n", first, at)) >= 0:
                at = end
            earliest = max(at - LONGEST_LINE, done)
            begin = text.rfind("\n", earliest, at) + 1 or (
                earliest if earliest == 0 or text[earliest - 1] == "\n" else at
            )
            stop = text.find("\n", begin, begin + LONGEST_LINE)
            if stop < 0:
                if len(text) - begin > LONGEST_LINE:  # the line is too long for one of a table
                    done = at + LONGEST_LINE + 1
                    continue
                stop = len(text)
            if _heads(text, begin, at, stop):
                return begin, at, stop
            done = stop + 1
        if self._left:
            return None
        self._rest = self._rest or self._in_stretches(done)
        return next((found for found in self._rest if found[0] >= done), None)

    def _in_stretches(self, begin: int) -> Iterator[tuple[int, int, int]]:
        """Give those behind a place; lines that are the same are judged once."""
        known = dict[str, int]()
        while begin < len(self._text):
            end = self._text.find("\n", begin + STRETCH) + 1 or len(self._text)
            lines = self._text[begin:end].translate(_NUMBERS).split("\n")
            for line in {*lines}.difference(known):
                known[line] = self._place_in(line, begin)
            for line in lines:
                if (at := known[line]) >= 0:
                    yield begin, begin + at, begin + len(line)
                begin += len(line) + 1
            begin = end

    def _place_in(self, line: str, begin: int) -> int:
        """Say where a name stands in a line that may head a table, -1 in one that does not."""
        written = f"{line}{_ANY_RULE}".encode()
        match = compiled(NAMED.pattern, captures=False).search(written) if len(line) <= LONGEST_LINE else None
        if match is None:
            return -1
        self._allowance.look(begin)
        at = min(match.end() - 1, len(line))
        return at if _heads(line, 0, at, len(line)) else -1


def _heads(text: str, begin: int, at: int, stop: int) -> bool:
    """Say whether a line may head a table, by the cell with the name that was found and those behind it."""
    # Of most lines only the cell that was found need be judged, with those that blanks part from it.
    behind = _SIGN.search(text, at, stop)
    end = behind.start() if behind else stop
    if text.find("=", end, stop) >= 0:  # code
        return False
    rfind = text.rfind
    before = max(rfind("|", begin, at), rfind(",", begin, at), rfind(";", begin, at), rfind("\t", begin, at))
    cell = text[max(before + 1, begin) : end]
    if cell.rfind('":') > 0 and not _has_word(cell.rpartition('":')[2]):
        return False  # a name in JSON, such as `{"key": "…"}`, heads no column
    return names_secret(_BLANKS.split(cell) if "  " in cell else [cell]) or (
        end < stop and names_secret(_SIGNS_OR_BLANKS.split(text[end:stop]))
    )


def _has_word(text: str) -> bool:
    return compiled(rf"(?i){NAME_WORDS}", captures=False).search(text.encode()) is not None
