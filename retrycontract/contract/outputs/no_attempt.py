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
    # Nearly every output begins as JSON does, or mentions no thought at all.
    beginning = text.lstrip()[:7].upper()
    if (beginning[:1] in ("{", "[", '"') and beginning != "[THINK]") or not _MAY_THINK.search(text):
        return text
    rest, cut = _after_lone_end(text), True
    while cut and rest:
        opening = _OPENS.match(rest)
        if opening is not None:
            rest = _after_thought(rest, opening)
            continue
        within, fence, cut = _OPENS_LINE.search(rest), rest.find(FENCE), False
        if within and (fence < 0 or within.start() < fence):
            after = _after_thought(rest, within)
            # Without a fence behind it, the mark may be the file's own.
            if FENCE in after:
                rest, cut = rest[: within.start()] + after, True
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
    """Cut off thoughts whose opening mark the provider's template has kept."""
    end = _ENDS_LINE.search(text)
    if end is None or text.lstrip()[:1] in ("{", "["):
        return text
    before = text[: end.start()]
    if _OPENS_ANYWHERE.search(before) or before.count(FENCE) % 2:  # it has its opening, or stands inside a fence
        return text
    return text[end.end() :]


def _after_thought(text: str, opening: re.Match[str]) -> str:
    mark = next(mark for mark, found in opening.groupdict().items() if found is not None)
    name = opening.group("name") if mark == "tag" else ""
    end = re.compile(_ENDS[mark].format(name=re.escape(name or "")), re.IGNORECASE).search(text, opening.end())
    return text[end.end() :] if end else ""


_NAMES = r"(?:[a-z]+:)?(?:think(?:ing)?|thoughts?|reasoning|reflection|scratchpad|antthinking|inner_?monologue)"
# The marks of thoughts: tags of most models, Kimi's, Mistral's, gpt-oss's, Gemma's and those of some distilled ones.
_MARKS = {
    "tag": rf"<(?P<name>{_NAMES})(?:\s[^<>\n]*)?>",
    "sign": r"◁think▷",
    "square": r"\[THINK\]",
    "channel": r"(?:<\|start\|>assistant)?<\|channel\|?>\s*(?:analysis|commentary|thought)\b(?:<\|message\|>)?",
    "special": r"<\|(?:begin_of_thought|thinking|think|thought)\|>",
}
_ENDS = {
    "tag": r"</\s*{name}\s*>\s*",
    "sign": r"◁/think▷\s*",
    "square": r"\[/THINK\]\s*",
    "channel": r"(?:<\|end\|>\s*)?(?:<\|start\|>assistant)?"
    r"<\|channel\|>final<\|message\|>\s*|<(?:channel\||\|end\|)>\s*",
    "special": r"<\|(?:end_of_thought|/thinking|/think|/thought|end_think)\|>\s*(?:<\|begin_of_solution\|>\s*)?",
}
_ANY = "|".join(f"(?P<{mark}>{pattern})" for mark, pattern in _MARKS.items())
_OPENS = re.compile(rf"\s*(?:\ufeff)?(?:{_ANY})", re.IGNORECASE)
_OPENS_LINE = re.compile(rf"^[ \t]*(?:{_ANY})", re.IGNORECASE | re.MULTILINE)
_OPENS_ANYWHERE = re.compile(_ANY, re.IGNORECASE)
_ENDS_LINE = re.compile(rf"(?:</{_NAMES}>|◁/think▷|\[/THINK\])[ \t]*(?:\r?\n\s*|\Z)", re.IGNORECASE)
_MAY_THINK = re.compile(r"think|thought|reasoning|reflection|scratchpad|monologue|channel", re.IGNORECASE)
