"""Decide, for every kind of output and every door, whether an answer is an attempt at all.

A refusal, small talk, an empty answer and thoughts alone are none: the model is told so in few words, a person reads
what it said, and nothing of it is taken for the output.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from retrycontract.contract.outputs.json_faults import FENCE, FaultKind
from retrycontract.contract.outputs.talk import is_mostly_words, is_prose, refuses, talk_in

NO_ATTEMPT = frozenset({FaultKind.EMPTY, FaultKind.REFUSED, FaultKind.ONLY_THOUGHTS, FaultKind.ONLY_TALK})
MAX_THOUGHTS = 50  # cut out of one answer; each is a walk through the rest of it
METADATA = "no_attempt"  # the member of a ToolResult's metadata that names the reason
# What is said of each; `{}` is what was due: "the file", "the arguments".
SAID = {
    FaultKind.EMPTY: "the answer is empty",
    FaultKind.REFUSED: "the answer declines and gives nothing",
    FaultKind.ONLY_THOUGHTS: "the answer ends with its thoughts and gives nothing after them",
    FaultKind.ONLY_TALK: "the answer talks and gives nothing",
}


def without_thoughts(text: str) -> str:
    """Cut out what a reasoning model thought before its answer; what begins and never ends is all thought.

    Thoughts stand at the beginning, or between words and the first fence. Text that merely mentions a mark, in a
    string or inside a fence, is left alone.
    """
    # Nearly every output mentions no thought, or is JSON, where an end mark at most can be no part of it.
    if _is_json(text) and not any(sign in text for sign in _SIGNS_OF_ENDS):
        return text
    if not _MAY_THINK.search(text):
        return text
    rest = _after_lone_end(text)
    for _ in range(MAX_THOUGHTS):
        opening = _OPENS.match(rest)
        if opening is not None:
            rest = _after_thought(rest, opening)
            continue
        within = _OPENS_LINE.search(rest)
        # Where no fence follows, in the thought or after it, the mark may be the file's own.
        if within is None or within.start() >= rest.find(FENCE):
            break
        rest = rest[: within.start()] + _after_thought(rest, within)
    return rest


def no_attempt(answer: str) -> FaultKind | None:
    """Tell why a whole answer is no attempt; None when something in it may be one."""
    if not answer.strip():
        return FaultKind.EMPTY
    rest = without_thoughts(answer).lstrip("\ufeff")
    if not rest.strip():
        return FaultKind.ONLY_THOUGHTS
    if "```" in rest or "~~~" in rest or rest.lstrip()[:1] in ("{", "["):
        return None
    return talk_in(rest) if is_mostly_words(rest) else None


def is_declined(text: str) -> bool:
    """Tell whether a value that was sent as text is a refusal in a place where data was due."""
    return is_prose(text) and refuses(text)


def reason_of(errors: Iterable[Mapping[str, Any]]) -> str | None:
    """Find, in errors as they are stored, why an attempt is none; None for an attempt with mistakes."""
    return next(
        (each["keyword"] for each in errors if each.get("keyword") in NO_ATTEMPT and not each["field_path"]), None
    )


def _after_lone_end(text: str) -> str:
    """Cut off thoughts whose opening mark the provider's template has kept: they end on a line's end."""
    depth = fences = looked_at = 0
    for mark in _ANY_MARK.finditer(text):
        fences, looked_at = fences + text.count(FENCE, looked_at, mark.start()), mark.start()
        if _is_quoted(text, mark):
            continue
        if mark["end"] is None:
            depth += 1
        elif depth:
            depth -= 1
        elif mark["final"]:
            return text[mark.end() :]
        # Inside a fence it is the file's own, and in a line of JSON a string's.
        elif fences % 2 == 0 and (not _is_json(text) or _begins_a_line(text, mark)):
            line_end = _LINE_END.match(text, mark.end())
            if line_end is not None:
                return text[line_end.end() :]
    return text


def _after_thought(text: str, opening: re.Match[str]) -> str:
    """Give what follows a thought: thoughts inside it have ends of their own, if they have any."""
    mark = next(mark for mark, found in opening.groupdict().items() if found is not None and mark != "name")
    name = re.escape(opening["name"] or "")
    either = rf"(?P<end>{_ENDS[mark].format(name=name)})|{_NESTED[mark].format(name=name)}"
    depth, first = 1, None
    for found in re.compile(either, re.IGNORECASE).finditer(text, opening.end()):
        if _is_quoted(text, found):
            continue
        depth += 1 if found["end"] is None else -1
        first = first or (found if found["end"] is not None else None)
        if depth == 0:
            return text[found.end() :]
    return text[first.end() :] if first else ""


def _is_json(text: str) -> bool:
    beginning = text.lstrip()[:7].upper()
    return beginning[:1] in ("{", "[", '"') and beginning != "[THINK]"


def _begins_a_line(text: str, mark: re.Match[str]) -> bool:
    return not text[text.rfind("\n", 0, mark.start()) + 1 : mark.start()].strip()


def _is_quoted(text: str, mark: re.Match[str]) -> bool:
    """Tell whether a mark is only talked about: in quotes, or as Markdown's code."""
    start, end = mark.start(), mark.start() + len(mark[0].rstrip())
    before, after = text[start - 1 : start], text[end : end + 1]
    return before == after and before in ("`", "'", '"') and not text.endswith(FENCE, 0, start)


_NAMES = (
    r"(?:[a-z]+[:_])?(?:think(?:ing)?|thoughts?|reasoning|reflection|scratchpad|antthinking|monologue|"
    r"cot_budget_reflect|chain_of_thought)(?:_(?:process|content|never_used_\w+))?"
)
# The marks of thoughts: tags of most models, Kimi's, Mistral's, gpt-oss's and Gemma's, Cohere's and distilled ones'.
_MARKS = {
    "tag": rf"<(?P<name>{_NAMES})(?:\s[^<>]{{0,200}})?>",
    "sign": r"◁think▷",
    "square": r"\[THINK\]",
    "channel": r"(?:<\|start\|>assistant)?<\|channel\|?>\s*(?:analysis|commentary|thought)\b(?:<\|message\|>)?",
    "special": r"<\|(?:begin_of_thought|start_thinking|thinking|think|thought)\|>|<unused94>\s*thought\b",
}
_SPECIAL_END = r"(?:<\|(?:end_of_thought|end_thinking|end_think|/think(?:ing)?|/thought)\|>|<unused95>)"
_ENDS = {
    "tag": r"</\s*{name}\s*>\s*",
    "sign": r"◁/think▷\s*",
    "square": r"\[/THINK\]\s*",
    "channel": r"(?:<\|end\|>\s*)?(?:<\|start\|>assistant)?"
    r"<\|channel\|>final<\|message\|>\s*|<(?:channel\||\|end\|)>\s*",
    "special": rf"{_SPECIAL_END}\s*(?:<\|begin_of_solution\|>\s*)?",
}
# What begins a thought inside one of the same marks; channels have none.
_NESTED = {
    "tag": r"<{name}(?:\s[^<>]{{0,200}})?>", "sign": _MARKS["sign"], "square": _MARKS["square"], "channel": r"(?!)",
    "special": _MARKS["special"],
}  # fmt: skip
_ANY = "|".join(f"(?P<{mark}>{pattern})" for mark, pattern in _MARKS.items())
_ANY_END = (
    rf"</\s*{_NAMES}\s*>|◁/think▷|\[/THINK\]|{_SPECIAL_END}|"
    r"(?P<final>(?:<\|end\|>\s*)?(?:<\|start\|>assistant)?<\|channel\|>final<\|message\|>\s*)"
)
_SIGNS_OF_ENDS = ("</", "◁/", "[/", "|>", "<unused")
_OPENS = re.compile(rf"\s*(?:\ufeff)?(?:{_ANY})", re.IGNORECASE)
_OPENS_LINE = re.compile(rf"^[ \t]*(?:{_ANY})", re.IGNORECASE | re.MULTILINE)
_ANY_MARK = re.compile(rf"(?P<end>{_ANY_END})|{_ANY}", re.IGNORECASE)
_LINE_END = re.compile(r"[ \t]*(?:\r?\n\s*|\Z)")
_MAY_THINK = re.compile(r"think|thought|reasoning|reflect|scratchpad|monologue|channel|<unused9", re.IGNORECASE)
