"""Estimate what it takes to search the texts and names of an output for secrets.

Short ones are rated by what they are made of. What a long one takes hangs on hundreds of patterns: parts of it are
searched to tell.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

from retrycontract.contract.schemas.cost_table import NANOSECONDS

Search = Callable[[str], float]
"""Searches a text for secrets, and gives the nanoseconds of processor time that it took."""

SIGNS = b"=:<&%@/+_\\\"'"  # what the search stops at; at digits and beyond ASCII it stops more shortly
DIGITS = b"0123456789"
# Words of short texts that announce a secret, which is looked for in each of them by itself.
ANNOUNCING = ("passw", "passphrase", "pwd", "secret", "token", "bearer", "private key", " key ", "key is", " -p", " -u")
SHORT = 100  # characters: what is longer is searched by itself
OFTEN = 8  # texts that differ in their numbers alone are known after so many
OF_NAME = 2.6  # names are not asked for together: a new one takes so much more than a text
BETWEEN = "\0"
FEW = 800  # characters of which even the dearest are searched in a few milliseconds
# Names of secrets; without one, so many are. Of longer texts three parts are searched, else one.
TELLING = (
    "pass", "pwd", "secret", "token", "key", "auth", "cred", "login", "cookie", "session", "phrase", "bearer",
    "mnemonic", "seed",
)  # fmt: skip
VERY_LONG = 3_000
OF_PART = 300  # characters
# What is known when it comes again takes less: of a text that is ten times as long a character takes 10**0.2 times
# less, where it repeats itself 10**0.3, and 10**0.5 behind so many characters; but never less than one of prose.
SAVED, SAVED_OF_SAME, SAVED_BEYOND, WINDOW = 0.2, 0.3, 0.2, 8
HUGE = 100_000


def by_length(text: str) -> float:
    """Rate a text without a search."""
    return NANOSECONDS["searched"] * len(text)


def unsearched(_: str) -> float:
    """Rate a text that is searched elsewhere."""
    return 0


def of_long(texts: Sequence[str], search: Search) -> list[float]:
    """Estimate what it takes to search each of some long texts, from what it takes for parts of them."""
    ends = list(accumulate(map(len, texts), initial=0))[1:]
    if not ends or ends[-1] <= FEW or (ends[-1] <= VERY_LONG and not any(map(_tells, texts))):
        return [by_length(text) for text in texts]
    parts, room = list[str](), ends[-1] - OF_PART
    for at in [0, room // 2, room] if ends[-1] > VERY_LONG else [room // 2]:
        number = min(bisect_right(ends, at), len(texts) - 1)
        start = max(0, min(at - ends[number], -OF_PART) + len(texts[number]))
        parts.append(texts[number][start : start + OF_PART])
    sample = "\n".join(parts)
    each = search(sample) / len(sample)
    windows = [sample[at : at + WINDOW] for at in range(0, len(sample), WINDOW // 2)]
    is_same = 2 * len(set(windows)) < len(windows)
    least = NANOSECONDS["character"] * (2 if "\\" in sample else 1)  # what is escaped is searched once more

    def of_one(size: int) -> float:
        rate: float = each * min(1, len(sample) / size) ** (SAVED_OF_SAME if is_same else SAVED)
        beyond: float = min(1, HUGE / size) ** SAVED_BEYOND if is_same else 1
        return max(rate * beyond, least) * size

    return [of_one(len(text)) for text in texts]


def _tells(text: str) -> bool:
    lowered = text.lower()
    return not text.isascii() or any(word in lowered for word in TELLING)


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
        if len(name) > SHORT:
            self._long.append((times, name))
        else:
            self._names.setdefault(name, times)

    def cost(self, search: Search) -> float:
        """Estimate what it takes to search them all."""
        total = sum(_of_short(texts, times) for times, texts in self._short.items() if texts)
        of_texts = of_long([text for _, text in self._long], search)
        total += sum(times * of_text for (times, _), of_text in zip(self._long, of_texts, strict=True))
        names: dict[float, list[str]] = {}
        for name, times in self._names.items():
            names.setdefault(times, []).append(name)
        return total + sum(_of_short(some, times, OF_NAME) for times, some in names.items())


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
