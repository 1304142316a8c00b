"""Redact what was told secret in one place wherever else it stands, without a name: in an error, a log, a note."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import Any

import re2

from retrycontract.contract.redaction.detectors import mixed, uncaptured
from retrycontract.contract.redaction.field_names import is_secret_name
from retrycontract.contract.redaction.foreign import MARK, is_mark
from retrycontract.contract.redaction.literals import Literal
from retrycontract.contract.redaction.previews import Cut

# A word or a number stands in other places by chance. Behind so many secrets no more are looked for elsewhere.
SHORTEST, LONGEST, MOST = 6, 200, 1_000
MOST_READ = 100_000  # characters of JSON in the strings of one value that are read as values
MEMORY = 64 << 20  # bytes; with less RE2 takes a slower automaton for a thousand long ones
FEW = 8  # secrets that are looked for one by one
# What code and documents call things, such as `test-3.8` or `base64_encoded_hash`.
_IDENTIFIER = re.compile(r"[_./:-]*[A-Za-z0-9]+(?:[_./:-]+[A-Za-z0-9]+)+:?")
_ESCAPES = frozenset({rb"\n", rb"\r", rb"\t"})


class Echoes:
    """Remember the secrets of a text or a value, and redact them where nothing tells that they are secret."""

    __slots__ = ("_left", "_marks", "_pattern")

    def __init__(self) -> None:
        self._marks: dict[str, str] = {}
        self._pattern: Any = None
        self._left = MOST_READ

    def __bool__(self) -> bool:
        return bool(self._marks)

    def reads(self, characters: int) -> bool:
        """Say whether so many more characters of JSON in strings are read for what they tell, and count them."""
        self._left -= characters
        return self._left >= 0

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
        # Most texts hold none, and of a few it is told at once.
        if len(self._marks) <= FEW and not any(secret in text for secret in self._marks):
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
            # The longer of two that begin alike comes first; in this order RE2 joins what they begin with.
            longest_first, options = sorted(map(str.encode, self._marks), reverse=True), uncaptured()
            options.max_mem = MEMORY
            self._pattern = re2.compile(b"|".join(map(re2.escape, longest_first)), options)
        return self._pattern

    def hide_in(self, value: Any, settle: Callable[[Collection[str]], dict[str, str]]) -> Any:
        """Redact them in the strings and names of a value that was made anew; `settle` looks at such strings again."""
        if not self._marks:
            return value
        if type(value) is str:
            return self.hidden_in(value)
        pending, changed = [value], list[tuple[Any, Any, str]]()
        while pending:
            item = pending.pop()
            if type(item) is Cut:
                names, item = [self.hidden_in(name) for name, _ in item.entries], item.entries
                item[:] = zip(names, (child for _, child in item), strict=True)
                members: Iterable[tuple[Any, Any]] = ((at, child) for at, (_, child) in enumerate(item))
            elif type(item) is dict:
                named = [(self.hidden_in(name), child) for name, child in item.items()]
                item.clear()
                for name, child in named:
                    item[f"{name} ({len(item)})" if name in item else name] = child
                members = item.items()
            else:
                members = enumerate(item)
            for at, child in members:
                if type(child) is str:
                    if (shown := self.hidden_in(child)) is not child:
                        changed.append((item, at, shown))
                elif type(child) in (list, dict, Cut):
                    pending.append(child)
        settled = settle({shown: None for _, _, shown in changed}) if changed else {}
        for item, at, shown in changed:
            item[at] = (item[at][0], settled[shown]) if type(item[at]) is tuple else settled[shown]
        return value


def _is_telling(secret: str) -> bool:
    if not SHORTEST <= len(secret) <= LONGEST or not secret.isprintable() or " " in secret or is_mark(secret):
        return False
    if Literal.whole(secret).is_noise:
        return True
    return mixed(secret) and not _IDENTIFIER.fullmatch(secret) and not is_secret_name(secret)


def _joins(before: bytes) -> bool:
    """Say whether a word goes on: the letter of an escape, as in `\\n`, is none of a word."""
    return before not in _ESCAPES and (before[-1:].isalnum() or before[-1:] == b"_")
