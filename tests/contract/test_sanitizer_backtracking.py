"""No pattern of Python's own engine tries ever more ways where what it describes is repeated and then breaks off."""

from __future__ import annotations

import importlib
import pkgutil
import random
import re
import signal
from collections.abc import Iterator
from types import FrameType

import pytest

import retrycontract.contract.redaction as redaction

SIGNS = [*" ;\n\t\"'\\$.,:=-_()[]{}<>|&/a1A@%`#*+?!~", "  ", " \n ", '\\"', "::", "a1", "=>", "- ", "&&", "||"]
LENGTH = 240  # characters: what takes their cube is done at once, what doubles with each repetition never ends
SECONDS = 5.0  # of processor time, which only that takes


def patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    known = set[str]()
    for module in pkgutil.iter_modules(redaction.__path__):
        values = vars(importlib.import_module(f"{redaction.__name__}.{module.name}")).items()
        pending = [(f"{module.name}.{name}", value) for name, value in values]
        while pending:
            name, value = pending.pop()
            if isinstance(value, re.Pattern) and isinstance(value.pattern, str) and value.pattern not in known:
                known.add(value.pattern)
                yield name, value
            elif isinstance(value, tuple | list):
                pending += ((f"{name}[{at}]", each) for at, each in enumerate(value))
            elif isinstance(value, dict):
                pending += ((f"{name}[{key}]", each) for key, each in value.items())


PATTERNS = dict(patterns())


def repetitions(pattern: str, count: int) -> Iterator[str]:
    """Repeat signs and the pattern's own words, behind one of these, and break off."""
    chosen, words = random.Random(pattern), re.findall(r"[A-Za-z]{2,}", pattern)[:60] or ["a"]
    for _ in range(count):
        atoms = (chosen.choice(SIGNS if chosen.random() < 0.5 else words) for _ in range(chosen.choice((1, 2, 2, 3))))
        repeated = "".join(atoms)
        before = chosen.choice(words) + chosen.choice(("", '"', "'", " ", "(", "=", ": ", "\n"))
        yield before + repeated * (LENGTH // len(repeated)) + chosen.choice(("", "x", "!", '"', ")", " x"))


def stop(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError


def ends(pattern: re.Pattern[str], text: str) -> bool:
    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        pattern.search(text)
        pattern.fullmatch(text)
    except TimeoutError:
        return False
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return True


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_ends_where_what_it_describes_is_repeated(name: str) -> None:
    pattern = PATTERNS[name]
    for text in repetitions(pattern.pattern, 200):
        assert ends(pattern, text), text


@pytest.mark.parametrize("tried", [r"(?:[ \t]*;[ \t]*(?:echo)?)+\s*\Z", r"(?:[_.-]?(?:text|box|textbox))+\Z"])
def test_one_that_would_not_end_is_found(tried: str) -> None:
    assert not all(ends(re.compile(tried), text) for text in ("a" + " ; " * 40 + "x", "textbox" * 40 + "x"))
