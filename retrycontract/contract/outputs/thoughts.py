"""Cut out what a reasoning model thought before its answer, by the marks that models and their templates set."""

from __future__ import annotations

import re

from retrycontract.contract.outputs.json_faults import FENCE

INVISIBLE = "\ufeff\u200b\u200c\u200d\u2060\u00ad"  # what some models and copies put before and between words
MAX_THOUGHTS = 50  # cut out of one answer; each is a walk through the rest of it


def without_thoughts(text: str, *, has_tags: bool = False) -> str:
    """Cut out what a reasoning model thought before its answer; what begins and never ends is all thought.

    Thoughts stand at the beginning, or between words and the first fence. Text that merely mentions a mark, in a
    string or inside a fence, is left alone. Where the output `has_tags` of its own, as XML has, a plain word such as
    `<plan>` marks a thought only when it opens the text and an answer follows its end.
    """
    text = text.lstrip(INVISIBLE)
    # The marks that end a turn are no part of what was asked for: a template has left them.
    end = len(text.rstrip())
    if text.endswith(_LAST_MARKS, 0, end):
        while text.endswith(_LAST_MARKS, 0, end):
            end = text.rindex("<", 0, end)
            while text[end - 1 : end].isspace():
                end -= 1
        text = text[:end]
    # Nearly every output mentions no thought, or is JSON, where an end mark at most can be no part of it.
    if _is_json(text) and not any(sign in text for sign in _SIGNS_OF_ENDS):
        return text
    if not _MAY_THINK.search(text):
        return text
    rest = _after_lone_end(text)
    for _ in range(MAX_THOUGHTS):
        opening = _OPENS.match(rest)
        if opening is not None and has_tags and opening["word"]:
            # Without an end it is a thought: markup ends whatever it begins.
            after = _after_thought(rest, opening)
            is_open = not any(found["end"] for found in _ends_of(opening).finditer(rest, opening.end()))
            return after if after or is_open or FENCE in rest else rest
        if opening is not None:
            rest = _after_thought(rest, opening)
            continue
        within = _OPENS_LINE.search(rest)
        # Where no fence follows, in the thought or after it, the mark may be the file's own.
        if within is None or within.start() > rest.find(FENCE) or (has_tags and within["word"]):
            break
        before = rest[: within.start()]
        if before.count('"""') % 2 or before.count("'''") % 2:  # a file's own string
            break
        rest = before + _after_thought(rest, within)
    return rest


def _after_lone_end(text: str) -> str:
    """Cut off thoughts whose opening mark the provider's template has kept: they end on a line's end."""
    depth = fences = quotes = looked_at = 0
    is_json = _is_json(text)
    for mark in _ANY_MARK.finditer(text):
        fences += text.count(FENCE, looked_at, mark.start())
        quotes += text.count('"""', looked_at, mark.start())
        looked_at = mark.start()
        if _is_quoted(text, mark):
            continue
        if mark["end"] is None:
            depth += 1
        elif depth:
            depth -= 1
        elif mark["final"]:
            return text[mark.end() :]
        elif fences % 2 == quotes % 2 == 0:  # inside a fence or a long string it is the file's own
            line_end = _LINE_END.match(text, mark.end())
            if line_end is None:
                continue
            # Inside a line of JSON it is a string's.
            if not (is_json and text[text.rfind("\n", 0, mark.start()) + 1 : mark.start()].strip()):
                return text[line_end.end() :]
    return text


def _after_thought(text: str, opening: re.Match[str]) -> str:
    """Give what follows a thought: thoughts inside it have ends of their own, if they have any."""
    depth, first = 1, None
    for found in _ends_of(opening).finditer(text, opening.end()):
        if _is_quoted(text, found):
            continue
        depth += 1 if found["end"] is None else -1
        first = first or (found if found["end"] is not None else None)
        if depth == 0:
            return text[found.end() :]
    return text[first.end() :] if first else ""


def _ends_of(opening: re.Match[str]) -> re.Pattern[str]:
    """Find what ends a thought, as `end`, or begins another inside it."""
    mark = next(mark for mark in _MARKS if opening[mark] is not None)
    name = re.escape(opening["name"] or opening["word"] or "")
    name = "think(?:ing)?" if name.casefold() in ("think", "thinking") else name  # models mix them up
    either = rf"(?P<end>{_ENDS[mark].format(name=name)})|{_NESTED[mark].format(name=name)}"
    return re.compile(either, re.IGNORECASE | re.MULTILINE)


def _is_json(text: str) -> bool:
    beginning = text.lstrip()[:12]
    return beginning[:1] in ("{", "[", '"') and not _SQUARE.match(beginning)


def _is_quoted(text: str, mark: re.Match[str]) -> bool:
    """Tell whether a mark is only talked about: in quotes, or as Markdown's code."""
    start, end = mark.start(), mark.start() + len(mark[0].rstrip())
    before, after = text[start - 1 : start], text[end : end + 1]
    return before == after and before in ("`", "'", '"') and not text.endswith(FENCE, 0, start)


_NAMES = (
    r"(?:[a-z]+[:_])?(?:think(?:ing)?|thoughts?|reasoning|reflection|scratch[_-]?pad|antthinking|monologue|cot|"
    r"inner[_-]?(?:monologue|thoughts?|voice)|cot_budget_reflect|chain[_-]of[_-]thought)"
    r"(?:_(?:process|content|never_used_\w+))?"
)
# Words that are elements of somebody's XML as well.
_WORDS = r"analysis|plan(?:ning)?|internal|reason|rationale|deliberation|brainstorm(?:ing)?"
# Tags of most models, Kimi's, Mistral's, gpt-oss's and Gemma's, Cohere's, Gemini's and distilled ones', s1's; chats,
# Granite.
_MARKS = {
    "tag": rf"<(?P<name>{_NAMES})(?:\s[^<>]{{0,200}})?>",
    "plain": rf"<(?P<word>{_WORDS})(?:\s[^<>]{{0,200}})?>",
    "sign": r"◁think▷",
    "square": r"\[(?-i:THINK(?:ING)?|REASONING|THOUGHTS?)\]",
    "channel": r"(?:<\|start\|>assistant)?<\|channel\|?>\s*(?:analysis|commentary|thought)\b(?:<\|message\|>)?",
    "special": r"<\|(?:(?:begin_of_|start_)?(?:think(?:ing)?|thoughts?|reasoning)(?:_begin|_start)?)\|>|"
    r"<(?:unused|ctrl)94>\s*thought\b",
    "turn": r"<\|im_start\|>\s*(?:think(?:ing)?|reasoning)\b",
    "folded": r"<details\s[^<>]{0,100}\b(?:reasoning|thinking)\b[^<>]{0,100}>",
    "summed": r"<details[^<>]{0,100}>\s*<summary>[^<>]{0,40}\b(?:think|thought|reason)[^<>]{0,40}</summary>",
    # At the very beginning, and only where it ends: these are words, too.
    "ollama": r"\AThinking\.{3}[ \t]*$(?=[\s\S]*?^\.{3}done thinking\.)",
    "fenced": r"(?:`{3,}|~{3,})[ \t]*(?:think(?:ing)?|thoughts?|reasoning|scratchpad|cot)[ \t]*$",
    "said": r"here(?:'s|’s| is) my (?:thought|thinking|reasoning) process:",
}
_SPECIAL_END = (
    r"(?:<\|(?:(?:end_of_|end_|/)(?:think(?:ing)?|thoughts?|reasoning)|(?:think(?:ing)?|thoughts?|reasoning)_end)\|>|"
    r"<(?:unused|ctrl)95>)"
)
_FINAL = r"(?:<\|start\|>assistant)?<\|channel\|>final(?:\s*<\|constrain\|>\s*\w+)?<\|message\|>\s*"
_TAG_END = r"<\\?/\s*{name}(?:\s[^<>]{{0,200}})?>\s*"
_ENDS = {
    "tag": _TAG_END,
    "plain": _TAG_END,
    "sign": r"◁/think▷\s*",
    "square": r"\[/(?:THINK(?:ING)?|REASONING|THOUGHTS?)\]\s*",
    "channel": rf"(?:<\|end\|>\s*)?{_FINAL}|<(?:channel\||\|end\|)>\s*",
    "special": rf"{_SPECIAL_END}\s*(?:<\|(?:begin_of_solution|START_RESPONSE)\|>\s*)?",
    "turn": r"(?:<\|im_end\|>\s*)?<\|im_start\|>\s*(?:answer|final)\b\s*",
    "folded": r"</details>\s*",
    "summed": r"</details>\s*",
    "ollama": r"^\.{{3}}done thinking\.[ \t]*$\s*",
    "fenced": r"^[ \t]*(?:`{{3,}}|~{{3,}})[ \t]*$\s*",
    "said": r"here(?:'s|’s| is) my (?:response|answer):\s*",
}
# What begins a thought inside one of the same marks; channels have none.
_NESTED = {
    "tag": r"<{name}(?:\s[^<>]{{0,200}})?>", "plain": r"<{name}(?:\s[^<>]{{0,200}})?>", "sign": _MARKS["sign"],
    "square": _MARKS["square"], "channel": r"(?!)", "special": _MARKS["special"], "turn": r"(?!)",
    "folded": r"<details\b", "summed": r"<details\b", "ollama": r"(?!)",
    "fenced": r"^[ \t]*(?:`{{3,}}|~{{3,}})[ \t]*\w[^\n`]*$", "said": r"(?!)",
}  # fmt: skip
_LAST_MARKS = (
    "<|endoftext|>", "<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|END_RESPONSE|>", "<|end_of_solution|>",
    "<end_of_turn>", "<eos>",
)  # fmt: skip
_SQUARE = re.compile(_MARKS["square"])
_ANY = "|".join(f"(?P<{mark}>{pattern})" for mark, pattern in _MARKS.items())
_ANY_TAG = "|".join(f"(?P<{mark}>{_MARKS[mark]})" for mark in ("tag", "sign", "square", "channel", "special"))
_ANY_END = (
    rf"<\\?/\s*{_NAMES}\s*>|◁/think▷|\[/(?-i:THINK(?:ING)?|REASONING|THOUGHTS?)\]|{_SPECIAL_END}|"
    rf"(?P<final>(?:<\|end\|>\s*)?{_FINAL})"
)
_SIGNS_OF_ENDS = ("</", "<\\/", "◁/", "[/", "|>", "<unused", "<ctrl")
_OPENS = re.compile(rf"\s*(?:\ufeff)?(?:{_ANY})", re.IGNORECASE | re.MULTILINE)
_OPENS_LINE = re.compile(rf"^[ \t]*(?:{_ANY})", re.IGNORECASE | re.MULTILINE)
_ANY_MARK = re.compile(rf"(?P<end>{_ANY_END})|{_ANY_TAG}", re.IGNORECASE)
_LINE_END = re.compile(r"[ \t]*(?:\r?\n\s*|\Z)")
_MAY_THINK = re.compile(
    rf"think|thought|reasoning|reflect|scratch|monologue|channel|inner|<\\?/?\s*cot|<unused9|<ctrl9|<(?:{_WORDS})",
    re.IGNORECASE,
)
