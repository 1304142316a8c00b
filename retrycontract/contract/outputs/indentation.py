"""Take away what an item of a list puts in front of the lines of a fenced file."""

from __future__ import annotations

import re


def without_indent(answer: str, opens: int, start: int, end: int) -> str:
    """Give the text of a block, each line out by as many blanks as the fence that `opens` it stands in."""
    indent = len(answer) - opens - len(answer[opens:].lstrip(" "))
    return re.sub(rf"^ {{1,{indent}}}", "", answer[start:end], flags=re.MULTILINE) if indent else answer[start:end]


def outdented(answer: str) -> str:
    """Write an answer whose fence stands in an item of a list, further in than a fence does, with one that does not."""
    return _IN_ITEM.sub(_outdented, answer, count=1)


def _outdented(item: re.Match[str]) -> str:
    return item["words"] + re.sub(rf"^ {{1,{len(item['indent'])}}}", "", item["block"], flags=re.MULTILINE)


_IN_ITEM = re.compile(
    r"(?P<words>^ {0,8}(?:[-*+]|[0-9]{1,3}[.)])[ \t]+[^\n]*\n(?:[ \t]*\n){0,3})"
    r"(?P<block>(?P<indent> {4,16})(?P<fence>`{3,}|~{3,})[^\n]*\n(?:(?!(?P=indent)(?P=fence))[^\n]*\n)*"
    r"(?P=indent)(?P=fence))",
    re.MULTILINE,
)
