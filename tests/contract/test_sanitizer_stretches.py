"""Where in a long text patterns are looked for: everywhere they may match, and nowhere else."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from retrycontract.contract.redaction.allowance import SecretSpan
from retrycontract.contract.redaction.detectors import Finder, Head, Look, bounded
from retrycontract.contract.redaction.reach import MOST_CROSSED, ends_crossed
from retrycontract.contract.redaction.scan_copies import FOREIGN, LONG
from retrycontract.contract.redaction.scanner import Scanner
from retrycontract.contract.redaction.sieve import MOST_PLACES, Sieve
from tests.contract.credentials import sample

SIEVES = {"balanced": Scanner(strict=False)._sieve, "strict": Scanner(strict=True)._sieve}
FINDERS = SIEVES["strict"]._finders


@pytest.mark.parametrize(
    ("pattern", "ends"),
    [
        (r"key[ \t]*=\w+", 0),
        (r"[^\n]*|.*|[^\W]\d", 0),
        (r"(?m)^key$", 0),
        (r"key\z", 0),
        (r"key\nvalue", 1),
        (r"key\s*=", 1),
        (r"key\s{0,400}=", 1),
        (r"key\s*=\s*value", 2),
        (r"(?:^|[^a-z])key", 1),
        (r"(?s:.)key", 1),
        (r"(?:a|b\n\n|c\n)", 2),
        (r"(?:\n\w){0,5}", 5),
        (rf"(?:\n\w){{0,{MOST_CROSSED + 1}}}", None),
        (r"(?:\s+\w+)*", None),
        (r"'[^']*'", None),
        (r"(?s)a.*b", None),
        (r"as only RE2 has it: \pN", None),
    ],
)
def test_a_pattern_goes_over_so_many_ends_of_lines(pattern: str, ends: int | None) -> None:
    assert ends_crossed(pattern) == ends


REACHES = {pattern: ends for each in FINDERS if (ends := ends_crossed(pattern := each.pattern or "")) is not None}


@pytest.mark.parametrize("pattern", REACHES)
def test_nothing_that_matches_goes_over_more(pattern: str) -> None:
    for seed in range(5):
        text = sample(pattern.replace(r"\z", r"\Z"), seed)
        assert len(re.findall(r"\s*\n\s*", text)) <= REACHES[pattern]


def forms(seed: int) -> Iterator[str]:
    """Give for each finder something that its pattern matches, whole or cut off."""
    chosen = random.Random(seed)
    for finder in FINDERS:
        with suppress(re.error):  # few are written as only RE2 reads them
            form = sample(finder.pattern or finder.prefilter, seed)
            yield form if chosen.random() < 0.7 else form[: chosen.randrange(len(form) + 1)]


def ascii_of(text: str) -> str:
    return "".join(c if c.isascii() else FOREIGN for c in text)


def everywhere(sieve: Sieve, text: str) -> list[SecretSpan]:
    return [*bounded(map(Look, sieve._finders), text)]


@pytest.mark.parametrize("parting", ["\n", "\r\n", "\r", "\f", "\n\n  \n", " ", ", ", '"\n"'])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mode", SIEVES)
def test_what_is_sought_at_its_places_is_found_as_if_it_were_sought_everywhere(
    mode: str, seed: int, parting: str
) -> None:
    sieve, chosen = SIEVES[mode], random.Random(seed)
    telling, placed = [*map(ascii_of, forms(seed))], list[Look]()
    # Few of them in each text, among much that is ordinary: many would make it too dense to be looked at.
    for start in range(0, len(telling), 20):
        pieces = [f"an ordinary line of words, with {number} numbers" for number in range(400)]
        for form in telling[start : start + 20]:
            pieces.insert(chosen.randrange(len(pieces)), form)
        text = parting.join(pieces)
        looks = sieve.looks_at(text)
        assert len(text) > LONG
        assert [*bounded(looks, text)] == everywhere(sieve, text)
        placed += (look for look in looks if look.stretches is not None)
    assert "\n" not in parting or placed


def ordinary(count: int) -> str:
    return "an ordinary line of words\n" * count


def place_of(finder: Finder, text: str) -> Any:
    """Give where one of two that are alike is sought."""
    return Sieve([finder] * 2).looks_at(text)[0].stretches


COOKIE = Finder.of(Head(r"cookie\s+jar"), lambda *_: iter(()))


def test_only_the_lines_are_looked_at_over_which_a_match_may_go() -> None:
    text = f"{ordinary(500)}a cookie\n\n\njar\n{ordinary(500)}"
    ((start, end),) = place_of(COOKIE, text)
    assert text[start:end].startswith("a cookie\n\n\njar")
    assert end - start < 100


def test_what_matches_in_many_places_is_sought_everywhere() -> None:
    few, many = (f"a cookie jar\n{ordinary(5)}" * count for count in (MOST_PLACES, MOST_PLACES + 1))
    assert len(place_of(COOKIE, few)) == MOST_PLACES
    assert place_of(COOKIE, many) is None


def test_lines_that_follow_one_another_are_read_as_one_place() -> None:
    in_lines = "a cookie jar, and another cookie jar\n" * MOST_PLACES
    text = f"{ordinary(500)}{'a cookie jar' * 2_000}{in_lines}{ordinary(500)}"
    ((start, end),) = place_of(COOKIE, text)
    assert text[start:end].count("cookie") == text.count("cookie")
