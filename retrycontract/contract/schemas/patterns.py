"""Patterns of a schema: few, short, matched in linear time, and a short text that matches a simple one."""

from __future__ import annotations

import re
from collections.abc import Iterable

import jsonschema_rs

from retrycontract.contract import pointers
from retrycontract.contract.schemas.document import DearSchema, InvalidSchema, SchemaFault, excerpt
from retrycontract.contract.schemas.graph import SchemaPlace

MAX_PATTERNS = 200
MAX_LENGTH = 512
# Compiled size in bytes. One pattern may need what the engine allows by itself; all of a schema share the double,
# which takes about 100 ms to build.
MAX_COMPILED = 10 * 1024 * 1024
MAX_COMPILED_TOGETHER = 2 * MAX_COMPILED

MAX_COMPILED_APART = 64 * 1024 * 1024  # of one pattern, and of all together, where a child process judges
MAX_STEPS = 5_000_000  # of one search that goes back and tries again: about 0.1 s

_LOOK_AROUND = re.compile(r"\(\?<?[=!]")
_BACKREFERENCE = re.compile(r"\\[1-9]|\\k<|\(\?P=")


def check_patterns(places: Iterable[SchemaPlace]) -> list[DearSchema]:
    """Check every pattern of a schema; raises InvalidSchema that points at the first bad one.

    Gives the faults for which it may be used only where its work can be cut off.
    """
    found: list[tuple[str, str, bool]] = []  # pointer and pattern, and whether it is one of names
    for place in places:
        pattern, by_name = place.schema.get("pattern"), place.schema.get("patternProperties")
        if isinstance(pattern, str):
            found.append((pointers.join(place.pointer, "pattern"), pattern, False))
        if isinstance(by_name, dict):
            found += [(pointers.join(place.pointer, "patternProperties", name), name, True) for name in by_name]
    if not found:
        return []
    dear = []
    if len(found) > MAX_PATTERNS:
        reason = f"A schema has at most {MAX_PATTERNS} patterns; this is one too many."
        dear.append(DearSchema(found[MAX_PATTERNS][0], reason, SchemaFault.PATTERN))
        names = [pointer for pointer, _, is_name in found if is_name]
        if len(names) > MAX_PATTERNS:  # the service itself looks for them in names
            raise InvalidSchema(names[MAX_PATTERNS], reason, SchemaFault.PATTERN)
    for pointer, pattern, is_name in found:
        fault = _fault(pattern, is_name=is_name, among=len(found))
        if fault is not None:
            kind, reason = fault
            if kind is not DearSchema:
                raise kind(pointer, reason, SchemaFault.PATTERN)
            dear.append(DearSchema(pointer, reason, SchemaFault.PATTERN))
    return dear


def _fault(pattern: str, *, is_name: bool, among: int) -> tuple[type[InvalidSchema], str] | None:
    """Tell what is wrong with a pattern, and whether a child process could judge by it all the same."""
    if len(pattern) > MAX_LENGTH and is_name:
        return InvalidSchema, f"A pattern has at most {MAX_LENGTH} characters."
    share = min(MAX_COMPILED, MAX_COMPILED_TOGETHER // among)
    # Asked of the engine that will match with it: no other one has just its syntax and its limits.
    if _compiles(pattern, jsonschema_rs.RegexOptions(size_limit=share)):
        return (DearSchema, f"A pattern has at most {MAX_LENGTH} characters.") if len(pattern) > MAX_LENGTH else None
    larger = share if is_name else MAX_COMPILED_APART // among
    backtracks = _LOOK_AROUND.search(pattern) or _BACKREFERENCE.search(pattern)
    fancy = jsonschema_rs.FancyRegexOptions(size_limit=larger, backtrack_limit=MAX_STEPS)
    apart = fancy if backtracks else jsonschema_rs.RegexOptions(size_limit=larger)
    kind = DearSchema if _compiles(pattern, apart) else InvalidSchema
    if not backtracks:
        said = "is no regular expression of ECMAScript's linear subset, or compiles to too much; simplify it"
        said = said if kind is InvalidSchema else "compiles to too much; simplify it"
    elif _LOOK_AROUND.search(pattern):
        said = "uses look-around, which cannot be matched in linear time; say it with plain alternatives"
    else:
        said = "uses a backreference, which cannot be matched in linear time; remove it"
    return kind, f"The pattern '{excerpt(pattern)}' {said}."


def _compiles(pattern: str, options: jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions) -> bool:
    try:
        jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=options)
    except ValueError:
        return False
    return True


# Of a pattern: a property, another escape, a class, what opens a group, a count, and any other sign.
_PART = re.compile(
    r"\\[pP](?:\{[^{}]*\}|.)|\\(?:x..|u\{\w*\}|u....|.)|\[\^?\]?(?:\\.|[^\]\\])*\]"
    r"|\((?:\?(?:<?[=!]|[:>]|P?<\w*>?|[a-zA-Z-]*:?))?|\{(\d*)(,?)(\d*)\}|.",
    re.DOTALL,
)
# What each is compiled to, in letters: a class of ASCII, any character but some, and a property of Unicode.
OF_CLASS, OF_ANY, OF_NEGATED, OF_PROPERTY = 2, 20, 40, 1_100
MOST_LETTERS = 10**12  # by far more than any engine compiles


def pattern_steps(pattern: str) -> int:
    """Count, about, what a pattern is compiled to, in letters: what is repeated is written out as often."""
    groups, last = [0], 0
    for part in _PART.finditer(pattern):
        sign = part[0]
        if sign[0] == "(":
            groups.append(0)
        elif sign == ")":
            last = groups.pop() if len(groups) > 1 else 0
            groups[-1] += last
        elif part[2] is not None:
            times = max(int(number[:6]) if (number := part[3] or part[1]) else 1, 1)
            # No number of digits makes it endless: of what stands for nothing the engine takes any count.
            repeated = min(last * times, MOST_LETTERS)
            groups[-1] += repeated - last
            last = repeated
        elif sign not in "*+?|^$":
            properties = OF_PROPERTY * (sign.count(r"\p") + sign.count(r"\P"))
            is_any = sign == "." or sign.startswith("[^")
            of_one = OF_NEGATED if sign in _NEGATED else OF_ANY if is_any else OF_CLASS if sign[0] in "[\\" else 1
            last = properties or of_one
            groups[-1] += last
    return sum(groups)


_NEGATED = frozenset({r"\S", r"\W", r"\D"})
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
