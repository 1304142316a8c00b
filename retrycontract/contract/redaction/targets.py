"""Find values that stand beside their names in another order: `user, password = "ana", "…"`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retrycontract.contract.redaction.allowance import Allowance, SecretSpan
from retrycontract.contract.redaction.field_names import Assignment, judge
from retrycontract.contract.redaction.literals import is_secret_literal
from retrycontract.contract.redaction.values import QUOTES, read_literal

LONGEST_OPENING = 28  # characters before the values: ` new Tuple(`
LONGEST_LINE = 200  # characters before a name in which such a line begins
# `a, b = ` at the start of a line.
_TARGETS = re.compile(
    r"[ \t]*(?:(?:const|let|var|val|local|my)[ \t]+)?[(\[]?((?:[\w.$@]{1,40}[ \t]*,[ \t]*){1,8}[\w.$@]{1,40})[)\]]?"
    r"[ \t]*:?=[ \t]*(?:(?:new[ \t]+)?[\w.]{0,20}[(\[])?"
)
_ITEM = re.compile(r"[ \t]*(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)|[^,\n\"'()])*,?")


def read_targets(text: str, start: int, end: int, operator: str) -> re.Match[str] | None:
    """Read all names of `user, password = …` where an assignment was found of one of them."""
    if "," not in operator and "," not in text[max(start - 2, 0) : start]:
        return None
    # In a string of JSON the quote begins the line.
    line = max(text.rfind(mark, max(start - LONGEST_LINE, 0), start) for mark in ("\n", *QUOTES)) + 1
    targets = _TARGETS.match(text, line, end + LONGEST_OPENING)
    return targets if targets and targets.end() >= end else None


def find_parallel(text: str, targets: re.Match[str], allowance: Allowance) -> Iterator[SecretSpan]:
    """Judge each value of `user, password = "ana", "…"` beside its own name."""
    position = targets.end()
    for name in targets[1].split(","):
        allowance.look(position)
        verdict, literal = judge(name.strip()), read_literal(text, position)
        beside = Assignment(name.strip(), "=", spaced=True, starts_line=True)
        if verdict.mark and literal and literal.quoted and is_secret_literal(literal, verdict, beside, allowance):
            yield SecretSpan(literal.start, literal.end, verdict.mark)
        position = item.end() if (item := _ITEM.match(text, position)) else position
