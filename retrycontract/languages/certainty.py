"""Tell in files of C and CSS what is wrong for certain from what their grammars only do not know.

In C any name may be a macro that stands for anything, and CSS skips what it does not know. Neither can stand for half
a bracket or string, or for an operator without an operand.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.source_code import Language
from retrycontract.languages.conditionals import UNPAIRED, odd_conditional, resolve, without_directives
from retrycontract.languages.foreign import foreign
from retrycontract.languages.unclosed import CLOSING

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class SourceSlip:
    """Say what is wrong between two bytes, and whether what follows may be wrong by that alone."""

    kind: FaultKind
    reason: str
    span: Span
    shifts: bool = False
    hint: str | None = None
    is_comment: bool = False


S, T, WRONG = FaultKind.SYNTAX, FaultKind.TRUNCATED, "syntax error"

_TOKENS = {
    Language.C: re.compile(
        rb"""(?P<skipped>\s+|//(?:\\\r?\n|[^\n])*|/\*.*?\*/)|
        (?P<string>(?:u8|[uUL])?(?:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))|
        (?P<word>[A-Za-z_$\x80-\xff][\w$\x80-\xff]*)|(?P<number>\.?[0-9](?:'?[\w.]|(?<=[eEpP])[+-])*)|
        (?P<bracket>[()\[\]{}])|
        (?P<open>/\*|["'])|(?P<sign>\.\.\.|<<=|>>=|->|\+\+|--|&&|\|\||[-+*/%&|^=!<>]=|<<|>>|::|\#\#|.)""",
        re.DOTALL | re.VERBOSE,
    ),
    Language.CSS: re.compile(
        rb"""(?P<skipped>\s+|/\*.*?\*/)|(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|
        (?P<word>url\(\s*(?!["'\s])(?:\\.|[^)\\\n"'(])*\)|(?:\\.|[\w\x80-\xff-])+)|
        (?P<number>(?!))|(?P<bracket>[()\[\]{}])|
        (?P<open>/\*|["'])|(?P<sign><!--|-->|.)""",
        re.DOTALL | re.VERBOSE,
    ),
}
STRICT = frozenset(
    b"= == != < > <= >= / % | || ^ && << >> += -= *= /= %= &= |= ^= <<= >>= -> ?".split()
)  # fmt: skip
NEEDS_MORE = STRICT | frozenset((b"+", b"-", b"."))
ENDS_EXPRESSION = STRICT | frozenset((b")", b"]", b"}", b";", b","))
MARKERS = re.compile(rb"^(?:<{7}|={7}|>{7}|\|{7})(?:[ \r\n]|\Z)|^[ \t]*```", re.MULTILINE)
# Words in a row: those of a sentence, since a declaration has its signs sooner.
PROSE = re.compile(
    rb"^[ \t]*[A-Z][a-z]*(?:'[a-z]+)?(?:,?[ \t]+[A-Za-z][A-Za-z'`-]*){3,}[ \t]*[.:!?,]?[ \t]*\r?$", re.MULTILINE
)
MARKS_OF_SENTENCES = (b".", b":", b"!", b"?")
NOT_IN_SELECTORS = frozenset(b"= < ; $ ! ? ` ^ {".split())


def certain_slips(language: Language, text: bytes, spans: Iterable[Span]) -> Iterator[SourceSlip]:
    """Yield what no macro and no later standard could make right, `spans` being what the grammar does not take."""
    if language is Language.C:
        branch = resolve(text)
        if branch is None:
            yield SourceSlip(S, UNPAIRED, odd_conditional(text), shifts=True)
        code = without_directives(branch or text)
    else:
        code = text
    tokens = [
        (found.lastgroup, found[0], found.span())
        for found in _TOKENS[language].finditer(code)
        if found.lastgroup != "skipped"
    ]
    wrong = sorted(spans)
    lost = _apart(wrong)
    # In every branch, since no compiler reads them in any.
    hidden = [found.span() for found in _TOKENS[language].finditer(text) if found.lastgroup in ("skipped", "string")]
    lines = [found.span() for found in MARKERS.finditer(text)]
    # With its mark at the end a sentence is no selector either.
    lines += [
        found.span() for found in PROSE.finditer(text)
        if _meets(found.span(), lost) or (language is Language.CSS and found[0].rstrip()[-1:] in MARKS_OF_SENTENCES)
    ]  # fmt: skip
    yield from (SourceSlip(S, WRONG, span) for span in lines if not _meets(span, hidden, whole=True))
    yield from (SourceSlip(S, reason, span) for reason, span in foreign(language, text))
    yield from _unbalanced(tokens)
    if language is Language.C:
        yield from _without_operands(tokens, lost)
        arguments = _apart(_arguments(tokens))
        yield from (
            SourceSlip(S, WRONG, span) for span in wrong
            if not _meets(span, arguments, whole=True) and not _may_be_macro(tokens, span)
        )  # fmt: skip
    else:
        yield from _without_rules(tokens)


def _meets(span: Span, others: list[Span], *, whole: bool = False) -> bool:
    """Tell whether a span touches one of others, which lie apart in their order, or lies in it as a whole."""
    first, last = span
    at = bisect_right(others, first if whole else last, key=lambda other: other[0]) - 1
    return at >= 0 and others[at][1] >= (last if whole else first)


def _apart(spans: Iterable[Span]) -> list[Span]:
    """Sort spans, and join those that touch each other."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


Token = tuple[str | None, bytes, Span]


def _unbalanced(tokens: list[Token]) -> Iterator[SourceSlip]:
    opened: list[Token] = []
    for token in tokens:
        kind, text, span = token
        if kind == "open":
            is_comment = text == b"/*"
            reason = f"nothing ends the {text.decode()}"
            yield SourceSlip(T if is_comment else S, reason, span, shifts=True, is_comment=is_comment)
            if is_comment:
                return
        elif kind != "bracket":
            continue
        elif text in CLOSING:
            opened.append(token)
        elif not opened:
            yield SourceSlip(S, f"nothing opens the {text.decode()!r}", span, shifts=True)
        elif CLOSING[opened[-1][1]] == text:
            opened.pop()
        else:
            other = opened[-1][1]
            yield SourceSlip(S, f"missing {CLOSING[other].decode()!r}", span, shifts=True)
            # What closes an outer one closes what is in it; what closes none is passed over.
            while opened and CLOSING[opened[-1][1]] != text and any(CLOSING[one[1]] == text for one in opened):
                opened.pop()
            if opened and CLOSING[opened[-1][1]] == text:
                opened.pop()
    if opened:
        _, text, span = opened[-1]
        yield SourceSlip(T, f"nothing closes the {text.decode()!r}", span, shifts=True)


def _arguments(tokens: list[Token]) -> Iterator[Span]:
    """Yield what stands between the brackets of `name(…)`: a macro of any name takes types and signs alone, too."""
    opened: list[tuple[bool, int]] = []
    for at, (kind, text, (start, end)) in enumerate(tokens):
        if kind != "bracket":
            continue
        if text in CLOSING:
            is_call = at > 0 and tokens[at - 1][0] == "word" and tokens[at - 1][1] not in BEFORE_BRACKETS
            # A word before the name declares it.
            is_declared = at > 1 and tokens[at - 2][0] == "word" and tokens[at - 2][1] not in BEFORE_BRACKETS
            opened.append((text == b"(" and is_call and not is_declared, end))
        elif opened:
            is_call, first = opened.pop()
            if is_call and text == b")":
                yield first, start


BEFORE_BRACKETS = frozenset(b"if else while for switch do return case sizeof goto".split())


def _may_be_macro(tokens: list[Token], span: Span) -> bool:
    """Tell whether a name like those of macros stands in the statement that a span is in."""
    start, end = span
    first = last = bisect_right(tokens, start, key=lambda token: token[2][0])
    while first and last - first < FAR and tokens[first - 1][1] not in ENDS_STATEMENT:
        first -= 1
    while (
        last < len(tokens)
        and last - first < 2 * FAR
        and not (tokens[last][2][0] >= end and tokens[last - 1][1] in ENDS_STATEMENT and last > first + 1)
    ):
        last += 1
    return any(
        (kind == "word" and _MACRO.search(text)) or (text == b"{" and at > first and tokens[at - 1][1] == b")")
        for at, (kind, text, _) in enumerate(tokens[first:last], first)
    )


FAR = 60  # tokens on each side in which a macro is sought
ENDS_STATEMENT = (b";", b"{", b"}")
# Capitals in a row, names that compilers and their libraries keep, and loops
_MACRO = re.compile(rb"[A-Z]{2}|\A_|for_?each")


def _without_operands(tokens: list[Token], lost: list[Span]) -> Iterator[SourceSlip]:
    """Yield operators without an operand, and numbers in a row, where the grammar is lost."""
    for at in range(len(tokens) - 1):
        (kind, text, span), (other_kind, other, other_span) = tokens[at], tokens[at + 1]
        is_operator = text in NEEDS_MORE and other in ENDS_EXPRESSION and (text, other) != (b"?", b":")
        # An operator may be all that an argument of a macro is, `compare(a, b, <)`.
        if is_operator and at and tokens[at - 1][1] in (b",", b"(") and other in (b",", b")"):
            continue
        is_row = kind == other_kind == "number" or (kind, other_kind) in (("number", "string"), ("string", "number"))
        if (is_operator or is_row) and _meets((span[0], other_span[1]), lost):
            yield SourceSlip(S, WRONG, other_span)


def _without_rules(tokens: list[Token]) -> Iterator[SourceSlip]:
    """Yield what stands outside of every block and begins no rule."""
    prelude: list[Token] = []
    depth = 0
    for token in tokens:
        kind, text, _ = token
        if text in CLOSING and kind == "bracket":
            depth += 1
            if text == b"{" and depth == 1:
                yield from _unlike_selector(prelude or [token])
                prelude = []
        elif kind == "bracket":
            depth = max(depth - 1, 0)
        elif depth == 0 and text not in (b"<!--", b"-->"):
            is_at_rule = bool(prelude) and prelude[0][1] == b"@"
            if text == b";" and (is_at_rule or not prelude):
                prelude = []
            else:
                prelude.append(token)
    if prelude:
        yield SourceSlip(S, "no rule begins so", prelude[0][2])


def _unlike_selector(prelude: list[Token]) -> Iterator[SourceSlip]:
    if prelude and prelude[0][1] != b"@":
        odd = next((span for kind, text, span in prelude if kind == "string" or text in NOT_IN_SELECTORS), None)
        if odd is not None:
            yield SourceSlip(S, "no rule begins so", odd)
