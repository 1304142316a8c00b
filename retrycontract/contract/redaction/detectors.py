"""Detectors: a name, a pattern, and what proves the find."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import re2

from retrycontract.contract.redaction.heads import Allowance, compiled


class SecretSpan(NamedTuple):
    """Name one stretch of a text and the kind of secret that stands in it."""

    start: int
    end: int
    mark: str


@dataclass(frozen=True, slots=True)
class Detector:
    """Find one kind of secret, which `mark` names.

    The pattern's first group, or the whole match where there is none, is the secret; `verify` may reject it.
    The texts are ASCII, so that a pattern can run on their bytes and its positions are those of the text.
    """

    mark: str
    pattern: str
    verify: Callable[[str], bool] | None = None

    def find(self, text: str, allowance: Allowance) -> Iterator[SecretSpan]:
        """Give the spans of the credentials in the text."""
        pattern = compiled(self.pattern)
        group = 1 if pattern.groups else 0
        for match in pattern.finditer(text.encode()):
            start, end = match.span(group)
            if self.verify is None or self.verify(text[start:end]):
                allowance.spend(start)
                yield SecretSpan(start, end, self.mark)


def varied(text: str) -> bool:
    """Reject place-holders such as xxxx: fewer than six different characters are no credential."""
    return len(set(text)) >= 6


def mixed(text: str) -> bool:
    """Ask for a digit beside letters, which kebab-case names and words lack."""
    return varied(text) and any(c.isdigit() for c in text) and not text.isdigit()


def prefixed(mark: str, prefixes: str, body: str, verify: Callable[[str], bool] | None = varied) -> Detector:
    """Describe credentials of a fixed prefix: one of the prefixes (separated by spaces), then the body."""
    return Detector(mark, rf"(?:^|[^A-Za-z0-9])((?:{_any(prefixes)}){body})", verify)


def anywhere(mark: str, prefixes: str, body: str) -> Detector:
    """Describe credentials whose prefix is so rare that it may follow a letter, as behind an escape."""
    return Detector(mark, rf"(?:{_any(prefixes)}){body}", varied)


def _any(prefixes: str) -> str:
    return "|".join(map(re2.escape, prefixes.split()))
