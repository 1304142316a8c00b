"""Find secrets in tests and checks: what is expected, given back by a stand-in, or compared, in either order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from retrycontract.contract.redaction.allowance import Allowance, SecretSpan
from retrycontract.contract.redaction.detectors import Finder, Head
from retrycontract.contract.redaction.field_names import judge
from retrycontract.contract.redaction.likeness import PASSWORDS, is_tied
from retrycontract.contract.redaction.literals import Literal
from retrycontract.contract.redaction.rows import WORDS_OF_MEMBERS, read_items, string_at
from retrycontract.contract.redaction.values import read_list, read_literal

_QUOTE = r"[bBrRuU@$]{0,2}[\"'`]"
# What names of members and functions have: with all that names may have RE2 would take many more states.
_NAME = rf"(?:{WORDS_OF_MEMBERS})\w*"
_WRAPPED = r"(?:\[\]byte|Buffer\.from|String::from|Some|Ok|Optional\.of|new\s+String)"
_SAYING = (
    r"(?:(?:to|should)[._]?(?:strict_?|deep_?|be_?)*(?:be|equal|eql?|match|contain|have_?value|have_?text)(?:_?to|\(\)\.be)?"
    r"|(?:is_?)?(?:equal|eql)s?_?(?:to|ignoring_?case|ignore_?case)?\??"
    r"|(?:then|and|will)_?(?:return|answer)|returns?(?:_?async)?|mock_?(?:return|resolved)_?value(?:_?once)?|resolves|yields|to_?(?:constant_?value|instance))"
)
# Behind the name, which is begun at its word, since the states of RE2 add up.
_SAID = Head(
    rf"(?i){_NAME}[\"'`?!]{{0,2}}(?:\(\))?[\"'`\])}}]*(?:[ \t]\}})?\s*"
    rf"(?:(?:\.(?:not|to|should|deep|and)(?:\(\))?)*\.{_SAYING}\(\s*"
    r"|\.?[ \t]*(?:to|should)[ \t]+(?:eql?|equal|be)[ \t(]+|[ \t]returns[ \t]+|,\s*equal_?to\(\s*"
    rf"|,\s*return_value\s?=\s?|\.should\(\)\.be\(\s*)(?:{_WRAPPED}\(\s*)?{_QUOTE}"
)
_AMONG = Head(
    rf"(?i){_NAME}(?:\(\))?\)?(?:,\s*(?:is|eq)\(\s*|;[ \t]*\w+[ \t]*[!=]==?[ \t]*"
    rf"|(?:[ \t]not)?[ \t]in[ \t]+(?:frozenset\(|set\()?([(\[{{])\s*){_QUOTE}"
)
# Both stand in what is given to a call, in either order.
_COMPARING = Head(
    r"(?i)\b(?:assert\w*|require|compare_?digest|constant_?time_?\w*|timing_?safe_?equal|hash_?equals|secure_?compare\w*)"
    rf"(?:[.:]{{1,2}}\w+)*!?[ \t]?(\(|[ \t])[^\n;{{}}]*?{_NAME}"
)
_COMPARED = re.compile(rf"[&*\s]*(?:{_WRAPPED}\(\s*)?([\w.$:>-]*\b[\w$]+)(?:\(\)|\.\w+\(\)|\[:\])?[)\s]*")
MOST_COMPARED, LONGEST_CALL = 3, 400
_SWITCH = Head(rf"(?i)\b(?:match|switch|when|case)[ \t]*\(?[ \t]*([\w.$]*{_NAME})(?:\(\))?\)?[ \t]*[:{{]?[ \t]*\r?\n")
_CASE = re.compile(r"[ \t]*(?:case|when)?[ \t(|]*(?=[\"'])")
MOST_CASES, LONGEST_CASE = 20, 200
_WORD, _BEFORE = re.compile(r"\w+"), re.compile(r"[\w$]*\Z")
LONGEST_BEFORE = 40


def _name_around(text: str, start: int) -> str:
    """Give the name of which a word begins at the place."""
    before = _BEFORE.search(text, max(start - LONGEST_BEFORE, 0), start)
    behind = _WORD.match(text, start)
    return (before[0] if before else "") + (behind[0] if behind else "")


def find_said(head: Head, text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `expect(user.getPassword()).toBe("…")`, `when(…).thenReturn("…")` and `password in ("…", "…")`."""
    for find in head.all(text, allowance):
        mark = judge(_name_around(text, find.span(0)[0])).mark
        if not mark:
            continue
        start = find.span(0)[1] - 1
        literals = (
            read_list(text, start)
            if head is _AMONG and find.span(1) != (-1, -1)
            else filter(None, [read_literal(text, start)])
        )
        for literal in literals:
            if is_tied(literal, mark):
                allowance.spend(literal.start)
                yield SecretSpan(literal.start, literal.end, mark)


def find_compared_in_calls(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `assertEquals("…", user.getPassword())` and `compare_digest(token, "…")`."""
    taken = 0
    for find in _COMPARING.all(text, allowance):
        start = find.span(1)[1]
        if start < taken:
            continue
        line = text.find("\n", start, start + LONGEST_CALL) if find[1] != "(" else -1
        items, taken = read_items(text, start, line if line >= 0 else min(start + LONGEST_CALL, len(text)))
        literals, marks = list[Literal](), list[str]()
        for item in items[:MOST_COMPARED]:
            if (named := _COMPARED.fullmatch(text, *item)) and (mark := judge(named[1]).mark):
                marks.append(mark)
            elif literal := string_at(text, item[0]):
                literals.append(literal)
        if literals and len(marks) == 1 and is_tied(literals[0], marks[0]):
            allowance.spend(literals[0].start)
            yield SecretSpan(literals[0].start, literals[0].end, marks[0])


def find_cases(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find the strings below `match password:` and `switch (password) {`."""
    for find in _SWITCH.all(text, allowance):
        mark = judge(find[1]).mark
        position = find.span(0)[1]
        for _ in range(MOST_CASES if mark in PASSWORDS else 0):
            case = _CASE.match(text, position, position + LONGEST_CASE)
            literal = read_literal(text, case.end()) if case else None
            if literal and is_tied(literal, mark or ""):
                allowance.spend(literal.start)
                yield SecretSpan(literal.start, literal.end, mark or "")
            position = text.find("\n", position) + 1
            if not position:
                break


FINDERS = (
    *(Finder.of(head, partial(find_said, head)) for head in (_SAID, _AMONG)),
    Finder.of(_COMPARING, find_compared_in_calls),
    Finder.of(_SWITCH, find_cases),
)
