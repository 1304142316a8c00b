"""Estimate what it takes to search the texts and names of an output for secrets, by what they are made of."""

from __future__ import annotations

import re
from collections.abc import Sequence

from retrycontract.contract.schemas.cost_table import NANOSECONDS

SIGNS = b"=:<&%@/+_\\\"'"  # what the search stops at; at digits and beyond ASCII it stops more shortly
DIGITS = b"0123456789"
SPOKEN = re.compile(r"(?:oken|ecret|word|key|phrase) is ")  # announces a secret, which is then looked for
# Words of short texts that announce a secret, which is looked for in each of them by itself.
ANNOUNCING = ("passw", "passphrase", "pwd", "secret", "token", "bearer", "private key", " key ", "key is", " -p", " -u")
SHORT = 100  # characters: what is longer is searched by itself
OFTEN = 8  # texts that differ in their numbers alone are known after so many
NEW = 2_000  # characters of a text in which nearly everything is seen for the first time
OF_NAME = 2.6  # names are not asked for together: a new one takes so much more than a text
BETWEEN = "\0"
SEEN, WINDOW = 200, 8  # places of a long text that tell whether it is always the same, and characters at each
LONGEST_SHOWN = 50_000  # characters of a text that is read once more beside its neighbours, where it is wrong


class Texts:
    """Gather the texts of a value and the names of its members that the schema does not know, each searched once."""

    __slots__ = ("_long", "_names", "_short")

    def __init__(self) -> None:
        self._short: dict[float, list[str]] = {}  # by how often each counts
        self._long: list[tuple[float, str]] = []
        self._names: dict[str, float] = {}

    def add(self, text: str, times: float) -> None:
        """Add a text that counts so often."""
        if len(text) > SHORT:
            self._long.append((times, text))
        elif times in self._short:
            self._short[times].append(text)
        else:
            self._short[times] = [text]

    def add_all(self, texts: Sequence[str], times: float) -> None:
        """Add texts that count so often each."""
        short = [text for text in texts if len(text) <= SHORT]
        self._short.setdefault(times, []).extend(short)
        if len(short) < len(texts):
            self._long.extend((times, text) for text in texts if len(text) > SHORT)

    def add_name(self, name: str, times: float) -> None:
        """Add the name of a member."""
        self._names.setdefault(name, times)

    def cost(self) -> tuple[float, float]:
        """Estimate what it takes to search them all, and to read those again of which a mistake shows a part."""
        total, again = 0.0, 0.0
        for times, texts in self._short.items():
            total += _of_short(texts, times) if texts else 0
        for times, text in self._long:
            total += (of_text := times * _of_long(text))
            again += of_text if len(text) <= LONGEST_SHOWN else 0
        names: dict[float, list[str]] = {}
        for name, times in self._names.items():
            names.setdefault(times, []).append(name[:NEW])
        for times, some in names.items():
            total += _of_short(some, times, OF_NAME)
        return total, again


def _of_short(texts: Sequence[str], times: float, dearer: float = 1) -> float:
    """Estimate what short texts take together: such as differ in their numbers alone are soon known.

    Names are not asked for together, which makes new ones so much `dearer`.
    """
    cost, count, joined = NANOSECONDS, len(texts), BETWEEN.join(texts)
    written = joined.encode("utf-8", "surrogatepass")
    letters = written.translate(None, DIGITS)
    digits, new = len(written) - len(letters), times
    if count > OFTEN and 2 * (kinds := len(set(letters.split(BETWEEN.encode())))) <= count:
        new = min(times, OFTEN * kinds / count)
    announced = cost["announced"] * sum(map(joined.lower().count, ANNOUNCING))
    made_of = cost["text"] * count + cost["letter"] * len(joined) + cost["digit-of-text"] * digits
    total = dearer * new * (made_of + announced)
    marks = cost["sign"] * (len(letters) - len(letters.translate(None, SIGNS)))
    marks += cost["far-of-text"] * (len(written) - len(joined))
    return total + times * (cost["digit-of-like"] * digits + marks)


def _of_long(text: str) -> float:
    written, cost = text.encode("utf-8", "surrogatepass"), NANOSECONDS
    signs, digits = (len(written) - len(written.translate(None, kind)) for kind in (SIGNS, DIGITS))
    marks = cost["sign"] * signs + cost["digit"] * digits + cost["far"] * (len(written) - len(text))
    marks += cost["spoken"] * len(SPOKEN.findall(text)) if " is " in text else 0
    if marks > cost["marks"]:
        # What comes again and again is looked at so often at most: noise alone has ever more that is new.
        marks = min(marks, cost["marks"] + (0 if _repeats(text) else cost["mark-of-noise"] * len(text)))
    return cost["text"] + cost["letter"] * min(len(text), NEW) + cost["character"] * len(text) + marks


def _repeats(text: str) -> bool:
    step = max(1, len(text) // SEEN)
    return len({text[at : at + WINDOW] for at in range(0, len(text), step)}) < SEEN // 2
