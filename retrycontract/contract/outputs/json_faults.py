"""Say what keeps a text from being JSON: where it goes wrong, whether it was cut off, and what stands around it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from enum import StrEnum

from retrycontract.contract import pointers
from retrycontract.contract.outputs.json_slip_table import COMMA
from retrycontract.contract.outputs.json_slips import read_past_slips

CARET, LIKE_CARET = "‸", "^"  # the second stands for a caret of the text's own
CONTEXT = 8_000  # characters kept on each side of a syntax error: room to recognise a secret, a private key included
FENCE = "```"
FENCES_OF_ONE_VALUE = 2
# Finds where a value ends; what it holds is judged by others. Read as int, a long number raises.
ENDS = json.JSONDecoder(parse_int=float)
# Whole texts in another notation, each by the beginning that tells it.
FORMATS = {
    "a call's marks": re.compile(r"\s*(?:\[/?[A-Z_]+\]|<\|)"),
    "XML": re.compile(r"\s*<[A-Za-z_|/!?]"),
    "a function call": re.compile(r"\s*+(?:[A-Za-z_][\w.]*+\s*+)?\("),
    "a Markdown table": re.compile(r"\s*\|.*\|"),
    "a list of lines": re.compile(r"\s*(?:(?:[-*+•]|\d{1,2}[.)])\s+\S|\*\*[\w ]+\*\*)"),
    "command-line options": re.compile(r"\s*--?[A-Za-z]"),
    "Base64": re.compile(r"\s*(?:base64:)?(?=[a-z+/]*[A-Z0-9])(?=[A-Za-z+/]*[0-9])[A-Za-z0-9+/]{16,}={0,2}\s*\Z"),
    "a text encoded for URLs": re.compile(r"\s*(?:\?[\w.-]+=|[\w.-]*%[0-9A-Fa-f]{2})"),
    "CSV": re.compile(r"\s*\w[\w ]*(?:[,;\t]\w[\w ]*)+\n"),
    "entries without braces": re.compile(r"\s*(?:\"[^\"\n]+\"|\w+\")\s*:"),
    "key=value": re.compile(r"\s*(?:\[[\w.]+\]\s*)?[\w.-]+\s*=\s*\S"),
    "YAML": re.compile(r"\s*(?:---\s*\n|[\w-]+:(?:\s|$))"),
}


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
    the place: it may hold secrets. `hint` says what to write instead; `within` is the text of the value without its
    fence, words and slips where it is plain what was meant: it is held against the contract, and never used.
    """

    kind: FaultKind
    reason: str
    line: int | None = None
    column: int | None = None
    context: str | None = None
    pointer: str = pointers.ROOT
    hint: str | None = None
    within: str | None = None


def syntax_fault(text: str, error: json.JSONDecodeError, *, truncated: bool) -> JsonFault:
    """Explain why the decoder gave up; `truncated` when the model itself said that it was cut off."""
    if not text.strip():
        return JsonFault(FaultKind.EMPTY, "the text is empty")
    fault = _at(text, error.pos, _diagnosis(text, error, truncated=truncated))
    start = _opening(text) if fault.kind in (FaultKind.FENCED, FaultKind.SYNTAX) else None
    # Among words a bracket alone is no attempt: "[sic]", "{name}".
    is_attempt = start is not None and (_WHOLE.match(text) or _ATTEMPT.match(text, start))
    if start is not None and (is_attempt or fault.kind is FaultKind.FENCED):
        slipped = _with_slips(fault, text, start)
        if slipped is not fault or not _is_part(text, start):
            return slipped
    beginning = _FENCE_LINE.sub("", text[:CONTEXT])
    if fault.kind in (FaultKind.SYNTAX, FaultKind.FENCED) or (fault.kind is FaultKind.TRAILING and fault.hint is None):
        for name, looks in FORMATS.items():
            if looks.match(beginning):
                hint = f'write it as one JSON value, {{"name": "value", …}}, instead of {name}'
                told = f"{name} in place of JSON {_where(error)}"
                is_fenced = fault.kind is FaultKind.FENCED
                return replace(fault, reason=f"{fault.reason}; within it: {told}" if is_fenced else told, hint=hint)
    return fault


def _is_part(text: str, start: int) -> bool:
    try:
        return _is_among_others(text, start, ENDS.raw_decode(text, start)[1])
    except (ValueError, RecursionError):
        return False


def _with_slips(fault: JsonFault, text: str, start: int) -> JsonFault:
    """Tell what is wrong with the value that begins at `start`, beside what stands around it."""
    mended = read_past_slips(text, start)
    stuck = mended.stuck
    is_cut = stuck is not None and _ends_inside(stuck.doc, stuck)
    if stuck is not None and not mended.found:
        if is_cut:
            return _cut_off(text, stuck)
        told, position = _what(stuck), stuck.pos
    elif mended.found:
        told, position = mended.reason, mended.found[0].position
    else:
        return fault
    if is_cut:
        fault = replace(fault, kind=FaultKind.TRUNCATED, reason="the text ends inside a value: it was cut off")
    elif fault.kind is FaultKind.SYNTAX and text[:start].strip():
        fault = replace(fault, kind=FaultKind.PROSE, reason=AROUND[FaultKind.PROSE])
    reason = told if fault.kind is FaultKind.SYNTAX else f"{fault.reason}; within it: {told}"
    hint = mended.hint if mended.found else None
    return _at(text, position, replace(fault, reason=reason, hint=hint, within=mended.value))


def _at(text: str, position: int, fault: JsonFault) -> JsonFault:
    """Give a fault its place, with the text around it."""
    before, after = text[max(0, position - CONTEXT) : position], text[position : position + CONTEXT]
    line, column = text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
    context = f"{before.replace(CARET, LIKE_CARET)}{CARET}{after.replace(CARET, LIKE_CARET)}"
    return replace(fault, line=line, column=column, context=context)


def _cut_off(text: str, error: json.JSONDecodeError, *, by_limit: bool = False) -> JsonFault:
    """Report a text that ends too early; where its last entry is whole, the brackets may have been forgotten."""
    reason = f"the text ends inside a value {_where(error)}: it was cut off"
    open_brackets = list[str]()
    if not by_limit and error.msg.startswith(COMMA) and not text[error.pos :].strip():
        for token in _TOKENS.findall(text):
            if token in _CLOSED_BY:
                open_brackets.append(_CLOSED_BY[token])
            elif token in "]}" and open_brackets:
                open_brackets.pop()
    if not open_brackets:
        return _at(text, error.pos, JsonFault(FaultKind.TRUNCATED, reason))
    missing = "".join(reversed(open_brackets))
    hint = f"write {missing} at the end, or all of it again and shorter if it was cut off"
    reason = f"{missing} is missing at the end {_where(error)}"
    return _at(text, error.pos, JsonFault(FaultKind.TRUNCATED, reason, hint=hint))


# What stands before and behind one of several arguments, options, elements and lists of YAML.
_AMONG_OTHERS = [
    (re.compile(before), re.compile(after))
    for before, after in (
        (r"\w[\"']?\s*=>?\s*\Z", r"\s*+(?:[,;&)]\s*+)?[\"']?[A-Za-z_]\w*+[\"']?\s*+=[^=]"),
        (r"[\w)]\s*[(,]\s*\Z", r"\s*+,\s*+(?:[\w.]++\s*+=\s*+)?[\"'\w.]++\s*+[,)]"),
        (r"\w\s*\(\s*\w+\s*=\s*\Z", r"\s*\)"),
        (r">\s*\Z", r"\s*</[^<>]*>\s*<\w"),
        (r"(?:\A|\n)[\w-]+:\s*(?=\Z)", r"(?<=\])[ \t]*\n[\w-]+:(?:\s|\Z)"),
    )
]


def _is_among_others(text: str, start: int, end: int) -> bool:
    """Tell whether a value is only one of several in another notation."""
    lead = text[max(0, start - 100) : start]
    return any(before.search(lead) and after.match(text, end) for before, after in _AMONG_OTHERS)


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
    if not fence and _is_among_others(text, start, end):
        return None
    rest = text[:start] + text[end:]
    if _BRACKETS.search(rest) or rest.count(FENCE) > FENCES_OF_ONE_VALUE:
        return None
    return text[start:end], FaultKind.FENCED if FENCE in rest else FaultKind.PROSE


def _diagnosis(text: str, error: json.JSONDecodeError, *, truncated: bool) -> JsonFault:
    if text.lstrip().startswith(FENCE):
        return JsonFault(FaultKind.FENCED, AROUND[FaultKind.FENCED])
    if text.startswith("\ufeff"):
        hint = "send the JSON without the byte order mark before it"
        return JsonFault(FaultKind.ENCODING, "the text begins with a byte order mark", hint=hint)
    # The decoder's errors carry no code: its words are all that tells one from another.
    if error.msg == "Extra data":
        rest, where = text[error.pos :], _where(error)
        if _CLOSINGS.fullmatch(rest):
            hint = f"remove the closing bracket at the end ({where.removeprefix('at ')})"
            return JsonFault(
                FaultKind.TRAILING, f"a closing bracket too many follows the JSON value {where}", hint=hint
            )
        if rest[0] in '{["':
            hint = "send one JSON value alone: every other one belongs in a call or an answer of its own"
            return JsonFault(FaultKind.TRAILING, f"a second value follows the JSON value {where}", hint=hint)
        return JsonFault(FaultKind.TRAILING, f"text follows the JSON value {where}")
    if truncated or (text.lstrip()[:1] in ("{", "[", '"') and _ends_inside(text, error)):
        return _cut_off(text, error, by_limit=truncated)
    return JsonFault(FaultKind.SYNTAX, _what(error))


def _what(error: json.JSONDecodeError) -> str:
    what = error.msg.removesuffix(" at")
    return f"{what[0].lower()}{what[1:]} {_where(error)}"


def _where(error: json.JSONDecodeError) -> str:
    return f"at line {error.lineno}, column {error.colno}"


def _opening(text: str) -> int | None:
    found = _OPENING.search(text)
    return found.start() if found else None


def _ends_inside(text: str, error: json.JSONDecodeError) -> bool:
    """Tell a text that stops too early from one that goes wrong on its way."""
    if error.msg.startswith("Unterminated string"):
        # A raw newline ends a string in no JSON text, so an open one reaches the end only when nothing follows; a curly
        # quote before a comma or bracket was meant to end it, and so was one behind a backslash at the very end.
        return "\n" not in text[error.pos :].rstrip() and _CURLY_END.search(text, error.pos) is None
    rest = text[error.pos :].strip()
    is_literal = any(literal.startswith(rest) and literal != rest for literal in ("true", "false", "null"))
    return is_literal or _UNFINISHED.fullmatch(rest) is not None


_OPENING = re.compile(r"[\[{]")
_BRACKETS = re.compile(r"[\[\]{}]")
_CURLY_END = re.compile(r"""[”“]\s*[,:}\]]|\\"\s*[}\]]+\s*\Z""")
_FENCE_LINE = re.compile(r"\A\s*```[^\n]*\n")
_WHOLE = re.compile(r"\s*(?:\{|\[(?!/?[A-Z_]+\]))")
_CLOSINGS = re.compile(r"[\s\]})]+")
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)
_CLOSED_BY = {"{": "}", "[": "]"}
# An object with a key, or a list whose first item is no word.
_ATTEMPT = re.compile(r"""\{\s*(?:["'“‘`}\\/#]|&quot;|[\w$-]+["']?\s*[:=])|\[\s*["'“{\[\d-]""")
AROUND = {
    FaultKind.FENCED: "the value stands in a Markdown fence; send the JSON alone",
    FaultKind.PROSE: "words stand around the JSON value; send the JSON alone",
}
# The first fence with a line of its own before the value. Every fence ends the one before, so that this is linear.
_FENCED = re.compile(r"```[^\n`]*\n\s*+(.*?)```", re.DOTALL)
# What may stand between the place where the decoder gave up and the end: nothing, an opener, a comma or colon, the
# beginning of a number's fraction or exponent, of an escape.
_UNFINISHED = re.compile(r"[\[{,:]?|-|\.|[eE][+-]?|\\?u[0-9a-fA-F]{0,4}")
