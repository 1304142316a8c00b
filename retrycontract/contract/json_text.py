"""Read JSON text strictly (RFC 8259), and name what is wrong with it in a way a model can act on."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn

from retrycontract.contract import pointers

MAX_DEPTH = 100  # both checking engines stay safe well beyond; nobody writes such arguments by hand
MAX_NUMBER_LENGTH = 400  # digits; more is an attack on the parser, not a number
CARET = "‸"
CONTEXT = 8_000  # characters kept on each side of a syntax error: room to recognise a secret, a private key included


class FaultKind(StrEnum):
    """Name the ways in which JSON text can be wrong."""

    SYNTAX = "syntax"
    EMPTY = "empty"
    ENCODING = "encoding"
    TRUNCATED = "truncated"
    TRAILING = "trailing"
    FENCED = "fenced"
    DEPTH = "depth"
    NUMBER = "number"
    NOT_A_NUMBER = "nan"
    DUPLICATE_KEY = "duplicate-key"
    SURROGATE = "surrogate"


@dataclass(frozen=True, slots=True)
class JsonFault:
    """Say what is wrong with a text that should be JSON; `pointer` where the fault has a place in the value.

    `context` is the raw text around the fault, with a caret at the place: it may hold secrets.
    """

    kind: FaultKind
    reason: str
    line: int | None = None
    column: int | None = None
    context: str | None = None
    pointer: str = pointers.ROOT


class _RefusalError(ValueError):
    """Raised inside the decoder's hooks to leave it with a fault."""

    def __init__(self, kind: FaultKind, reason: str) -> None:
        self.kind, self.reason = kind, reason
        super().__init__(reason)


def parse_json(text: str | bytes, *, truncated: bool = False) -> tuple[Any, JsonFault | None]:
    """Parse strictly and return (value, None) or (None, fault); never raises.

    `truncated` tells that the model itself said that it was cut off (finish_reason 'length').
    """
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            return None, JsonFault(FaultKind.ENCODING, f"the text is not UTF-8 (byte {error.start})")
    if text.count("[") + text.count("{") > MAX_DEPTH and depth_of(text) > MAX_DEPTH:
        return None, JsonFault(FaultKind.DEPTH, f"nested deeper than {MAX_DEPTH} levels")
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        return None, _syntax_fault(text, error, truncated=truncated)
    except _RefusalError as refusal:
        return None, JsonFault(refusal.kind, refusal.reason)
    if _may_hold_surrogates(text):
        return _without_surrogates(value)
    return value, None


def depth_fault(value: Any, max_depth: int) -> JsonFault | None:
    """Refuse a parsed value that nests deeper than its schema can be checked in bounded time."""
    level = [value]
    for _ in range(max_depth):
        level = [member for item in level for member in _members(item)]
        if not level:
            return None
    return JsonFault(FaultKind.DEPTH, f"nested deeper than {max_depth} levels")


def _members(item: Any) -> Iterable[Any]:
    if isinstance(item, dict):
        return item.values()
    return item if isinstance(item, list | tuple) else ()


def fault_in(value: Any) -> JsonFault | None:
    """Find what a value handed over as Python objects holds that JSON cannot: NaN, surrogates, depth, types."""
    stack: list[tuple[str, Any, int]] = [(pointers.ROOT, value, 0)]
    while stack:
        pointer, item, depth = stack.pop()
        if depth > MAX_DEPTH:
            return JsonFault(FaultKind.DEPTH, f"nested deeper than {MAX_DEPTH} levels")
        if isinstance(item, dict):
            for key, member in item.items():
                if not isinstance(key, str):
                    return JsonFault(FaultKind.SYNTAX, "object keys must be strings", pointer=pointer)
                if fault := _text_fault(key, pointer):
                    return fault
                stack.append((pointers.join(pointer, key), member, depth + 1))
        elif isinstance(item, list | tuple):
            stack.extend((pointers.join(pointer, index), member, depth + 1) for index, member in enumerate(item))
        elif fault := _scalar_fault(item, pointer):
            return fault
    return None


def depth_of(text: str) -> int:
    """Measure how deep brackets nest outside of strings; linear, without parsing."""
    depth = deepest = 0
    for run in _RUNS.findall(_brackets(text)):
        depth += len(run) if run[0] in b"[{" else -len(run)
        deepest = max(deepest, depth)
    return deepest


def _brackets(text: str) -> bytes:
    """Leave the brackets outside of strings."""
    raw = text.encode("utf-8", "replace")
    if b"\\" not in raw or b'\\"' not in raw:  # one character is sought much more quickly than two
        brackets = raw.translate(None, _ELSE).replace(b'""', b"")
        # A quote is left where a string holds brackets, or does not end: only then it matters where strings are.
        if b'"' not in brackets:
            return brackets
    return b"".join(token.encode() for token in _STRUCTURE.findall(text) if token in _BRACKETS)


_BRACKETS = "[]{}"
_ELSE = bytes(set(range(256)) - set(b'[]{}"'))
_RUNS = re.compile(rb"[\[{]+|[\]}]+")
# An unterminated string runs to the end of the text, so that each character is visited once.
_STRUCTURE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise _RefusalError(FaultKind.DUPLICATE_KEY, f"the key {json.dumps(twice)} appears twice in one object")
    return value


def _integer(digits: str) -> int:
    if len(digits) > MAX_NUMBER_LENGTH:
        raise _RefusalError(FaultKind.NUMBER, f"a number of {len(digits)} digits is too large")
    return int(digits)


def _real(digits: str) -> float:
    if len(digits) > MAX_NUMBER_LENGTH:
        raise _RefusalError(FaultKind.NUMBER, f"a number of {len(digits)} characters is too large")
    number = float(digits)
    if math.isinf(number):
        raise _RefusalError(FaultKind.NUMBER, "a number is too large")
    return number


def _constant(name: str) -> NoReturn:
    raise _RefusalError(FaultKind.NOT_A_NUMBER, f"{name} is not JSON; use a number or null")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_float=_real, parse_constant=_constant)


def _syntax_fault(text: str, error: json.JSONDecodeError, *, truncated: bool) -> JsonFault:
    if not text.strip():
        return JsonFault(FaultKind.EMPTY, "the text is empty")
    kind, reason = _diagnosis(text, error, truncated=truncated)
    return JsonFault(kind, reason, error.lineno, error.colno, _context(text, error.pos))


def _diagnosis(text: str, error: json.JSONDecodeError, *, truncated: bool) -> tuple[FaultKind, str]:
    where = f"at line {error.lineno}, column {error.colno}"
    if text.lstrip().startswith("```"):
        return FaultKind.FENCED, "the value stands in a Markdown fence; send the JSON alone"
    if text.startswith("\ufeff"):
        return FaultKind.ENCODING, "the text begins with a byte order mark"
    if error.msg == "Extra data":
        return FaultKind.TRAILING, f"text follows the JSON value {where}"
    if truncated or _ends_inside(text, error):
        return FaultKind.TRUNCATED, f"the text ends inside a value {where}: it was cut off"
    what = error.msg.removesuffix(" at")
    return FaultKind.SYNTAX, f"{what[0].lower()}{what[1:]} {where}"


def _ends_inside(text: str, error: json.JSONDecodeError) -> bool:
    """Tell a text that stops too early from one that goes wrong on its way."""
    if error.msg.startswith("Unterminated string"):
        # A raw newline ends a string in no JSON text, so an open one reaches the end only when nothing follows.
        return "\n" not in text[error.pos :].rstrip()
    rest = text[error.pos :].strip()
    opened = text.lstrip()[:1] in ("{", "[", '"')
    return opened and (_UNFINISHED.fullmatch(rest) is not None or _is_literal_prefix(rest))


# What may stand between the place where the decoder gave up and the end: nothing, an opener, a comma or colon, the
# beginning of a number's fraction or exponent, of an escape.
_UNFINISHED = re.compile(r"[\[{,:]?|-|\.|[eE][+-]?|\\?u[0-9a-fA-F]{0,4}")


def _is_literal_prefix(rest: str) -> bool:
    return any(literal.startswith(rest) and literal != rest for literal in ("true", "false", "null"))


def _context(text: str, position: int) -> str:
    return f"{text[max(0, position - CONTEXT) : position]}{CARET}{text[position : position + CONTEXT]}"


def _may_hold_surrogates(text: str) -> bool:
    """Tell from the whole text, which is cheap, whether its strings must be looked through."""
    if "\\" in text and ("\\ud" in text or "\\uD" in text):
        return True
    return not text.isascii() and _text_fault(text, pointers.ROOT) is not None


def _without_surrogates(value: Any) -> tuple[Any, JsonFault | None]:
    for pointer, text in _strings(value):
        if fault := _text_fault(text, pointer):
            return None, fault
    return value, None


def _strings(value: Any) -> Iterator[tuple[str, str]]:
    stack: list[tuple[str, Any]] = [(pointers.ROOT, value)]
    while stack:
        pointer, item = stack.pop()
        if isinstance(item, str):
            yield pointer, item
        elif isinstance(item, dict):
            for key, member in item.items():
                yield pointer, key
                stack.append((pointers.join(pointer, key), member))
        elif isinstance(item, list):
            stack.extend((pointers.join(pointer, index), member) for index, member in enumerate(item))


def _text_fault(text: str, pointer: str) -> JsonFault | None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        surrogate = f"\\u{ord(text[error.start]):04x}"
        return JsonFault(FaultKind.SURROGATE, f"a lone surrogate ({surrogate}) is no character", pointer=pointer)
    return None


def _scalar_fault(item: Any, pointer: str) -> JsonFault | None:
    if item is None or isinstance(item, bool):
        return None
    if isinstance(item, str):
        return _text_fault(item, pointer)
    if isinstance(item, int):
        if item.bit_length() > MAX_NUMBER_LENGTH * 4:
            return JsonFault(FaultKind.NUMBER, "a number is too large", pointer=pointer)
        return None
    if isinstance(item, float):
        if math.isfinite(item):
            return None
        return JsonFault(FaultKind.NOT_A_NUMBER, f"{item} is not JSON; use a number or null", pointer=pointer)
    return JsonFault(FaultKind.SYNTAX, f"a {type(item).__name__} is no JSON value", pointer=pointer)
