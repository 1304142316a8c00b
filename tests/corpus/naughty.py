"""Published strings that break programs, put where an agent or an operator may put text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from tests.conftest import Corpus

Place = TypeVar("Place")
MARKUP = re.compile(r"<\s*[/!?a-zA-Z]")
PRINTABLE = ("tool", "tool_call_id", "session_id", "task_id", "correlation_id", "finish_reason")


def strings(corpus: Corpus) -> list[str]:
    """Give them all, and what databases and terminals choke on."""
    published = [row["text"] for row in corpus("naughty_strings")]
    return [*published, "\x00", "a\x00b", "\x1b[31m", "\u202e", "{{7*7}}", "{% x %}", "x" * 5_000]


def is_escaped(page: str, text: str) -> bool:
    """Tell whether a page shows a text as text."""
    return not MARKUP.search(text) or text not in page


def shares(texts: Sequence[str], places: Sequence[Place], each: int) -> Iterator[tuple[str, Place]]:
    """Put every text into some of the places, in turn: every place gets its share of all kinds of texts."""
    rounds = cycle(places)
    for text in texts:
        yield from ((text, place) for place in islice(rounds, each))


def submission(text: str, number: int) -> dict[str, Any]:
    """Say the text wherever a submission takes any text; each number begins a call of its own."""
    return {
        "tool": "naughty",
        "tool_call_id": f"id {number}",
        "arguments": {text: [text], "must": text},
        "callback_error": text[:4_000] or "-",
        "context": {"goal": text, text: text},
    }


def fields(text: str) -> list[dict[str, Any]]:
    """Say the text in one field after the other, and as what the model wrote."""
    base = {"tool": "naughty", "tool_call_id": "id", "raw": text}
    return [base] + [base | {name: text} for name in (*PRINTABLE, "call_id", "version", "render", "kind")]
