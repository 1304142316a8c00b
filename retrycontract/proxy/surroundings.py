"""Tell by what stands around a call in a text whether it is made there, or declined, quoted or shown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from retrycontract.contract.outputs.handing_over import NEAR, hands_over, shows_only
from retrycontract.contract.outputs.no_attempt import plain

# What templates write around calls, and is no word of the model's.
_MARK: Final = (
    r"</?[|｜][^<>\n]{1,60}>(?:assistant|commentary|function)?|<SPECIAL_\d+>|\[/TOOL_CALLS\]|</s>|"
    r"</?(?:\w{1,20}:)?(?:tool_calls?|function_calls?|toolcall|function)>"
)
_MARKS_BEHIND: Final = re.compile(rf"(?:\s*(?:{_MARK}|```(?!\w)))*", re.IGNORECASE)
# Thoughts within an answer, or an earlier message: what they say is not said of the call.
_THINKS: Final = re.compile(r"<think>|<\|START_THINKING\|>|\[THINK\]")
_THOUGHT: Final = re.compile(
    r"</think>|<\|END_THINKING\|>|\[/THINK\]|<\|message_sep\|>|\[BEGIN FINAL RESPONSE\]|\A\s*<think>"
)
_FENCE: Final = re.compile(r"^[ \t]*(?:`{3,}|~{3,})", re.MULTILINE)
# What opens a call behind the words before it: marks, and a fence that says no more of it than that.
_OPENED: Final = re.compile(
    rf"(?:(?:(?:\A|\n)[ \t]*```(?:json|tool_calls?|tool_code|xml)?[ \t]*(?=\n))|\s|{_MARK})+\Z", re.IGNORECASE
)
_QUOTES: Final = "\"'`´“”„‟‘’‚‛«»‹›「」『』《》〈〉＂＇"
# No number of a list, which may count what a page says.
_STATEMENT_ENDS: Final = re.compile(r"[^\s\d][.!…。！।۔]+[*_]*\Z")
_COLON: Final = re.compile(r"[:：]\s*\Z")
# Before a colon: "Now let me look at the tests:". Agents write so before most calls.
_ABOUT_TO: Final = re.compile(
    r"(?:^|[.!?。！？]\s*)"
    r"(?:(?:now|next|then|first|jetzt|nun|zuerst|maintenant|ahora|agora|ora|nu|teraz|теперь|сейчас|现在|接下来|首先)\b"
    r"[,，]?\s*)?"
    r"(?:let me|let's|i'll|i will|i'm going to|i am going to|(?:call|us|runn|check|search|read|look|fetch|gett)ing|"
    r"ich (?:werde|rufe|lese|schaue|suche|prüfe)|lass mich|je vais|laisse[zr]?-moi|voy a|déjame|permíteme|vou|deixe-me|"
    r"sto per|fammi|lasciami|ik (?:ga|zal)|laat me|pozwól|давай|я (?:сейчас|посмотрю|проверю)|让我|我来|我将|我会|我先)"
    r"(?P<shows>\s*(?:quot|cit|zitier|repeat|show|explain|zeig|montr|mostr|muestr|引|показ))?"
    r"[^.!?,;。！？，、\n]{0,200}[:：]\s*\Z|(?:ます|ましょう|겠습니다)[:：]\s*\Z",
    re.MULTILINE,
)
_PAST: Final = re.compile(r"\b(?:before|earlier|previously|yesterday|last time)\b", re.IGNORECASE)


def are_meant(parts: Sequence[str]) -> bool:
    """Tell whether calls are made where they stand; the parts are the texts before, between and behind them.

    As with an agent's response, a call stands on lines of its own, or behind words that announce it; or else behind a
    sentence that ended. Behind it stands nothing, or a new sentence. In doubt it is only shown.
    """
    words = [_without_marks(part, is_behind=place > 0) for place, part in enumerate(parts)]
    if any(len(_FENCE.findall(part)) % 2 for part in words):
        return False  # within somebody's file
    if any(part.rstrip()[-1:] in _QUOTES for part in words[:-1] if part.strip()) or any(
        part.lstrip()[:1] in _QUOTES for part in words[1:] if part.strip()
    ):
        is_slip = words[0].strip() == words[-1].strip() == '"'  # around the whole; with words beside them they quote
        return is_slip and all(re.fullmatch(r'"?\s*"?', part.strip()) for part in words)
    said = ["".join(words[: place + 1]) for place in range(len(words) - 1)]
    return not any(map(_is_in_quotation, said)) and all(_is_meant(*around) for around in pairwise(words))


def _is_in_quotation(before: str) -> bool:
    """Tell whether a quotation that began before has not ended: the call is one of its lines."""
    count = before.count
    is_open = count("“") - count("„") > count("”") or count("„") > count("“") + count("”")
    return (
        is_open or any(count(opens) > count(closes) for opens, closes in ("«»", "「」", "『』")) or count('"') % 2 == 1
    )


def _without_marks(part: str, *, is_behind: bool) -> str:
    part = _MARKS_BEHIND.sub("", part, count=1) if is_behind else part
    thought = max((found.end() for found in _THOUGHT.finditer(part)), default=0)
    thinks = _THINKS.search(part, 0, thought)
    part = part[: thinks.start() if thinks else 0] + part[thought:]
    tail = part[-NEAR:]
    opened = _OPENED.search(tail)
    if opened is None:
        return part
    # A call stands on a line of its own where its line has nothing but such marks.
    return part[: len(part) - len(opened[0])] + ("\n" if opened[0].lstrip(" \t").startswith("\n") else "")


def _is_meant(before: str, after: str) -> bool:
    rest, blank = after.lstrip(), after[: len(after) - len(after.lstrip())]
    if not before.strip():
        rest = rest.removeprefix("}")  # one too many, as nothing else is open
    if rest.strip() and not (rest[0].isalpha() if "\n" in blank else rest[0].isupper()):
        return False
    line = before.rpartition("\n")[2]
    if line.strip() and not any(map(str.isalnum, line)):
        return False  # the mark of a list, of a comment, of words that somebody else wrote
    due = _ABOUT_TO.search(plain(before[-NEAR:]))
    if due is not None and due["shows"]:
        return False
    # What else a colon ends has to announce the call, as if it stood in the same line.
    before = before.rstrip() + "\n" if due else _COLON.sub(": ", before)
    if _STATEMENT_ENDS.search(before[-NEAR:].rstrip()):
        # It introduces nothing: "I looked at it before." tells of the past, and "I sent this before:" shows it.
        before = _PAST.sub("", before[-NEAR:]) + "\n"
    return hands_over(before, f"\n{rest}") and not shows_only(before, rest)
