"""Patterns of a schema: few, short, matched in linear time, and a short text that matches a simple one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import jsonschema_rs

from retrycontract.contract import pointers
from retrycontract.contract.schemas.document import InvalidSchema, SchemaFault, excerpt
from retrycontract.contract.schemas.graph import SchemaPlace

MAX_PATTERNS = 200
MAX_LENGTH = 512
# Compiled size in bytes. One pattern may need what the engine allows by itself; all of a schema share the double,
# which takes about 100 ms to build.
MAX_COMPILED = 10 * 1024 * 1024
MAX_COMPILED_TOGETHER = 2 * MAX_COMPILED

_LOOK_AROUND = re.compile(r"\(\?<?[=!]")
_BACKREFERENCE = re.compile(r"\\[1-9]|\\k<|\(\?P=")


def check_patterns(places: Iterable[SchemaPlace]) -> None:
    """Check every pattern of a schema; raises InvalidSchema that points at the first bad one."""
    found = [item for place in places for item in _patterns(place)]
    if len(found) > MAX_PATTERNS:
        reason = f"A schema has at most {MAX_PATTERNS} patterns; this is one too many."
        raise InvalidSchema(found[MAX_PATTERNS][0], reason, SchemaFault.PATTERN)
    if not found:
        return
    share = min(MAX_COMPILED, MAX_COMPILED_TOGETHER // len(found))
    options = jsonschema_rs.RegexOptions(size_limit=share)
    for pointer, pattern in found:
        if len(pattern) > MAX_LENGTH:
            reason = f"A pattern has at most {MAX_LENGTH} characters."
            raise InvalidSchema(pointer, reason, SchemaFault.PATTERN)
        try:
            # Asked of the engine that will match with it: no other one has just its syntax and its limits.
            jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=options)
        except ValueError as error:
            if _LOOK_AROUND.search(pattern):
                fault = "uses look-around, which cannot be matched in linear time; say it with plain alternatives"
            elif _BACKREFERENCE.search(pattern):
                fault = "uses a backreference, which cannot be matched in linear time; remove it"
            else:
                fault = "is no regular expression of ECMAScript's linear subset, or compiles to too much; simplify it"
            raise InvalidSchema(pointer, f"The pattern '{excerpt(pattern)}' {fault}.", SchemaFault.PATTERN) from error


def _patterns(place: SchemaPlace) -> Iterator[tuple[str, str]]:
    pattern = place.schema.get("pattern")
    if isinstance(pattern, str):
        yield pointers.join(place.pointer, "pattern"), pattern
    by_name = place.schema.get("patternProperties")
    if isinstance(by_name, dict):
        for name in by_name:
            yield pointers.join(place.pointer, "patternProperties", name), name


CLASSES = {"d": "0", "w": "a", "s": " ", "D": "a", "W": "-", "S": "a"}
CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}
CANDIDATES = "aA0-_ .@/:xXzZ9!é"  # tried against a class that excludes characters
LONGEST_SAMPLE = 1_000  # of what is written


class _HardPatternError(ValueError):
    """Raised for what this reader does not write: look-arounds, back references, properties."""


def text_for(pattern: str) -> str | None:
    """Give a text that should match, None where the pattern is not simple; the caller checks the text."""
    reader = _Reader(pattern)
    try:
        text = reader.choice()
    except (_HardPatternError, IndexError, ValueError, RecursionError):
        return None
    return text if reader.is_done and len(text) <= LONGEST_SAMPLE else None


class _Reader:
    """Read a pattern from left to right and write the shortest text on the way."""

    def __init__(self, pattern: str) -> None:
        self._pattern, self._at = pattern, 0

    @property
    def is_done(self) -> bool:
        return self._at == len(self._pattern)

    def choice(self) -> str:
        """Read alternatives; the first one is taken."""
        first = self._sequence()
        while self._takes("|"):
            self._sequence()
        return first

    def _sequence(self) -> str:
        written = ""
        while not self.is_done and self._pattern[self._at] not in "|)":
            written += self._counted(self._item())
            if len(written) > LONGEST_SAMPLE:
                raise _HardPatternError
        return written

    def _item(self) -> str:
        match self._next():
            case "^" | "$":
                return ""
            case ".":
                return "a"
            case "(":
                return self._group()
            case "[":
                is_negated = self._takes("^")
                members: list[tuple[str, str]] = []
                while not members or self._pattern[self._at] != "]":
                    low = self._member()
                    high = low
                    if self._pattern[self._at] == "-" and self._pattern[self._at + 1] != "]":
                        self._at += 1
                        high = self._member()
                    members.append((low, high))
                self._at += 1
                if not is_negated:
                    return members[0][0]
                free = (each for each in CANDIDATES if not any(low <= each <= high for low, high in members))
                return next(free, "~")
            case "\\":
                return self._escape(self._next())
            case literal:
                return literal

    def _group(self) -> str:
        if self._takes("?"):
            self._takes("P")
            if self._takes("<"):
                if self._pattern[self._at] in "=!":
                    raise _HardPatternError
                self._at = self._pattern.index(">", self._at) + 1
            elif not self._takes(":"):
                raise _HardPatternError
        written = self.choice()
        if not self._takes(")"):
            raise _HardPatternError
        return written

    def _member(self) -> str:
        character = self._next()
        return self._escape(self._next()) if character == "\\" else character

    def _escape(self, character: str) -> str:
        if character in "bB" or character in "AzZ":
            return ""
        if character in CLASSES:
            return CLASSES[character]
        if character in CONTROLS:
            return CONTROLS[character]
        if character in "xu":
            digits = 2 if character == "x" else 4
            self._at += digits
            return chr(int(self._pattern[self._at - digits : self._at], 16))
        if character.isalnum():
            raise _HardPatternError
        return character

    def _counted(self, item: str) -> str:
        least = 1
        if self.is_done:
            return item
        if self._takes("*") or self._takes("?"):
            least = 0
        elif self._takes("+"):
            least = 1
        elif self._pattern[self._at] == "{":
            end = self._pattern.index("}", self._at)
            least = int(self._pattern[self._at + 1 : end].partition(",")[0] or 0)
            self._at = end + 1
        else:
            return item
        self._takes("?")  # lazy or not, the text is the same
        if least * len(item) > LONGEST_SAMPLE:
            raise _HardPatternError
        return item * least

    def _next(self) -> str:
        self._at += 1
        return self._pattern[self._at - 1]

    def _takes(self, character: str) -> bool:
        if self.is_done or self._pattern[self._at] != character:
            return False
        self._at += 1
        return True
