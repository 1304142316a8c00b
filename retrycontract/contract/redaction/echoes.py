"""Redact what was told secret in one place wherever else it stands, without a name: in an error, a log, a note."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import re2

from retrycontract.contract.redaction.detectors import mixed, uncaptured
from retrycontract.contract.redaction.field_names import is_secret_name
from retrycontract.contract.redaction.foreign import MARK, NUMBERS, is_mark
from retrycontract.contract.redaction.literals import Literal
from retrycontract.contract.redaction.previews import Cut

# A word or a number stands in other places by chance. Behind so many secrets no more are looked for elsewhere.
SHORTEST, LONGEST, MOST = 6, 200, 1_000
# What code and documents call things, such as `test-3.8` or `base64_encoded_hash`.
_IDENTIFIER = re.compile(r"[_./:-]*[A-Za-z0-9]+(?:[_./:-]+[A-Za-z0-9]+)+:?")
_ESCAPES = frozenset({rb"\n", rb"\r", rb"\t"})


class Echoes:
    """Remember the secrets of a text or a value, and redact them where nothing tells that they are secret."""

    __slots__ = ("_marks", "_pattern")

    def __init__(self) -> None:
        self._marks: dict[str, str] = {}
        self._pattern: Any = None

    def __bool__(self) -> bool:
        return bool(self._marks)

    def add(self, secret: str, mark: str) -> None:
        """Remember one, unless other texts may well hold it without meaning it."""
        secret = secret.strip()
        if len(self._marks) < MOST and secret not in self._marks and _is_telling(secret):
            self._marks[secret], self._pattern = mark, None

    def update(self, others: Echoes) -> None:
        """Remember those of another text of the same value."""
        for secret, mark in others._marks.items():
            if len(self._marks) < MOST and secret not in self._marks:
                self._marks[secret], self._pattern = mark, None

    def hidden_in(self, text: str) -> str:
        """Redact those that stand in a text as words of their own; the same text where none does."""
        if not self._marks or len(text) < SHORTEST:
            return text
        written = text.encode("utf-8", "surrogatepass")
        pieces, done = list[bytes](), 0
        for match in self._compiled().finditer(written):
            start, end = match.span()
            if _joins(written[max(start - 2, 0) : start]) or _joins(written[end : end + 1]):
                continue
            mark = self._marks[match.group().decode()]
            pieces += (written[done:start], f"{MARK}{mark}]".encode())
            done = end
        return b"".join((*pieces, written[done:])).decode("utf-8", "surrogatepass") if pieces else text

    def _compiled(self) -> Any:
        if self._pattern is None:
            longest_first = sorted(map(str.encode, self._marks), key=len, reverse=True)
            self._pattern = re2.compile(b"|".join(map(re2.escape, longest_first)), uncaptured())
        return self._pattern

    def hide_in(self, value: Any, settle: Callable[[str], str]) -> Any:
        """Redact them in the strings and names of a value that was made anew; `settle` looks at such strings again."""
        if not self._marks:
            return value
        if type(value) is str:
            return self.hidden_in(value)
        pending = [value]
        while pending:
            item = pending.pop()
            if type(item) is Cut:
                item.entries = [
                    (self.hidden_in(name), self._settled(child, settle, pending)) for name, child in item.entries
                ]
            elif type(item) is dict:
                members = [
                    (self.hidden_in(name), self._settled(child, settle, pending)) for name, child in item.items()
                ]
                item.clear()
                for name, child in members:
                    item[f"{name} ({len(item)})" if name in item else name] = child
            elif type(item) is list:
                item[:] = [child if type(child) in NUMBERS else self._settled(child, settle, pending) for child in item]
        return value

    def _settled(self, child: Any, settle: Callable[[str], str], pending: list[Any]) -> Any:
        if type(child) is not str:
            pending.append(child)
            return child
        return child if (shown := self.hidden_in(child)) is child else settle(shown)


def _is_telling(secret: str) -> bool:
    if not SHORTEST <= len(secret) <= LONGEST or not secret.isprintable() or " " in secret or is_mark(secret):
        return False
    if Literal.whole(secret).is_noise:
        return True
    return mixed(secret) and not _IDENTIFIER.fullmatch(secret) and not is_secret_name(secret)


def _joins(before: bytes) -> bool:
    """Say whether a word goes on: the letter of an escape, as in `\\n`, is none of a word."""
    return before not in _ESCAPES and (before[-1:].isalnum() or before[-1:] == b"_")
