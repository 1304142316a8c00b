"""Say what keeps a text from being JSON: where it goes wrong, whether it was cut off, and what stands around it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum

from retrycontract.contract import pointers

CARET, LIKE_CARET = "‸", "^"  # the second stands for a caret of the text's own
CONTEXT = 8_000  # characters kept on each side of a syntax error: room to recognise a secret, a private key included
FENCE = "```"
FENCES_OF_ONE_VALUE = 2
# Finds where a value ends; what it holds is judged by others. Read as int, a long number raises.
ENDS = json.JSONDecoder(parse_int=float)


class FaultKind(StrEnum):
    """Name the ways in which JSON text can be wrong."""

    SYNTAX = "syntax"
    EMPTY = "empty"
    ENCODING = "encoding"
    TRUNCATED = "truncated"
    TRAILING = "trailing"
    FENCED = "fenced"
    PROSE = "prose"
    DEPTH = "depth"
    NUMBER = "number"
    NOT_A_NUMBER = "nan"
    DUPLICATE_KEY = "duplicate-key"
    SURROGATE = "surrogate"
    # What a whole answer is instead of an attempt; EMPTY is the fourth of these.
    REFUSED = "refused"
    ONLY_THOUGHTS = "only_thoughts"
    ONLY_TALK = "only_talk"
    PLACEHOLDER = "placeholder"  # a file that holds a comment, a bare name or `...`


@dataclass(frozen=True, slots=True)
class JsonFault:
    """Say what is wrong with a text that should be JSON; `pointer` where the fault has a place in the value.

    Lines and columns count from 1, columns in characters. `context` is the raw text around the fault, with a caret at
    the place: it may hold secrets.
    """

    kind: FaultKind
    reason: str
    line: int | None = None
    column: int | None = None
    context: str | None = None
    pointer: str = pointers.ROOT


def syntax_fault(text: str, error: json.JSONDecodeError, *, truncated: bool) -> JsonFault:
    """Explain why the decoder gave up; `truncated` when the model itself said that it was cut off."""
    if not text.strip():
        return JsonFault(FaultKind.EMPTY, "the text is empty")
    kind, reason = _diagnosis(text, error, truncated=truncated)
    if kind in (FaultKind.FENCED, FaultKind.SYNTAX) and (inner := _error_within(text)):
        if _ends_inside(text, inner):
            kind, error = FaultKind.TRUNCATED, inner
        elif kind is FaultKind.FENCED:
            error, reason = inner, f"{reason}; within it: {_what(inner)}"
    if kind is FaultKind.TRUNCATED:
        reason = f"the text ends inside a value {_where(error)}: it was cut off"
    position = error.pos
    before, after = text[max(0, position - CONTEXT) : position], text[position : position + CONTEXT]
    return JsonFault(
        kind,
        reason,
        error.lineno,
        error.colno,
        f"{before.replace(CARET, LIKE_CARET)}{CARET}{after.replace(CARET, LIKE_CARET)}",
    )


def embedded_value(text: str) -> tuple[str, FaultKind] | None:
    """Find the one JSON value that stands in a Markdown fence or in prose, and tell in which of them.

    None when there is none, or when something else than words would be lost without the rest: more brackets,
    another fence, or the string that the text begins with.
    """
    fence = _FENCED.search(text)
    start = fence.start(1) if fence else _opening(text)
    if start is None or text.lstrip().startswith('"'):
        return None
    try:
        _, end = ENDS.raw_decode(text, start)
    # A quote among the words before the value hides brackets from `depth_of`: it may nest to any depth.
    except (ValueError, RecursionError):
        return None
    if fence and text[end : fence.end(1)].strip():
        return None
    rest = text[:start] + text[end:]
    if _BRACKETS.search(rest) or rest.count(FENCE) > FENCES_OF_ONE_VALUE:
        return None
    return text[start:end], FaultKind.FENCED if FENCE in rest else FaultKind.PROSE


def _diagnosis(text: str, error: json.JSONDecodeError, *, truncated: bool) -> tuple[FaultKind, str]:
    if text.lstrip().startswith(FENCE):
        return FaultKind.FENCED, "the value stands in a Markdown fence; send the JSON alone"
    if text.startswith("\ufeff"):
        return FaultKind.ENCODING, "the text begins with a byte order mark"
    # The decoder's errors carry no code: its words are all that tells one from another.
    if error.msg == "Extra data":
        return FaultKind.TRAILING, f"text follows the JSON value {_where(error)}"
    if truncated or (text.lstrip()[:1] in ("{", "[", '"') and _ends_inside(text, error)):
        return FaultKind.TRUNCATED, ""
    return FaultKind.SYNTAX, _what(error)


def _what(error: json.JSONDecodeError) -> str:
    what = error.msg.removesuffix(" at")
    return f"{what[0].lower()}{what[1:]} {_where(error)}"


def _where(error: json.JSONDecodeError) -> str:
    return f"at line {error.lineno}, column {error.colno}"


def _error_within(text: str) -> json.JSONDecodeError | None:
    """Find what is wrong with a value that begins after a fence or some words; None when nothing is."""
    start = _opening(text)
    if start is None:
        return None
    try:
        ENDS.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return error
    except RecursionError:
        return None
    return None


def _opening(text: str) -> int | None:
    found = _OPENING.search(text)
    return found.start() if found else None


def _ends_inside(text: str, error: json.JSONDecodeError) -> bool:
    """Tell a text that stops too early from one that goes wrong on its way."""
    if error.msg.startswith("Unterminated string"):
        # A raw newline ends a string in no JSON text, so an open one reaches the end only when nothing follows.
        return "\n" not in text[error.pos :].rstrip()
    rest = text[error.pos :].strip()
    return _UNFINISHED.fullmatch(rest) is not None or _is_literal_prefix(rest)


def _is_literal_prefix(rest: str) -> bool:
    return any(literal.startswith(rest) and literal != rest for literal in ("true", "false", "null"))


_OPENING = re.compile(r"[\[{]")
_BRACKETS = re.compile(r"[\[\]{}]")
# The first fence with a line of its own before the value. Every fence ends the one before, so that this is linear.
_FENCED = re.compile(r"```[^\n`]*\n\s*+(.*?)```", re.DOTALL)
# What may stand between the place where the decoder gave up and the end: nothing, an opener, a comma or colon, the
# beginning of a number's fraction or exponent, of an escape.
_UNFINISHED = re.compile(r"[\[{,:]?|-|\.|[eE][+-]?|\\?u[0-9a-fA-F]{0,4}")
