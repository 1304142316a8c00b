"""Find the source code in a model's answer: a fenced block of Markdown, or the whole text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from retrycontract.contract.outputs.source_code import Language


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Hold a fenced block: what stands behind its fence, where its text lies, and whether a fence ends it."""

    tag: str
    start: int
    end: int
    is_closed: bool


@dataclass(frozen=True, slots=True)
class Candidate:
    """Hold a text that may be the file; one that is not closed was cut off, one without a fence may be talk."""

    text: str
    is_closed: bool = True
    is_fenced: bool = True


@dataclass(frozen=True, slots=True)
class Extraction:
    """Hold what may be the file, best guess first, and how many blocks of the language there are.

    `told` is the candidate whose faults are told when none compiles; None when no block can be chosen.
    """

    candidates: tuple[Candidate, ...]
    told: Candidate | None
    blocks: int


def find_code(answer: str, language: Language) -> Extraction:
    """Find what may be the file in an answer: fences that stand inside a string or a comment are part of the file."""
    whole = Candidate(answer, is_fenced=False)
    blocks = list(fenced_blocks(answer))
    if not blocks or _is_inside_text(answer[: blocks[0].start]):
        return Extraction((whole,), whole, 0)
    if language is Language.MARKDOWN:
        return _find_document(answer, blocks, whole)
    fitting = _of_language(blocks, language)
    chosen = _chosen(answer, fitting, language)
    # Words with fences in between are no code, except in languages that take nearly anything.
    is_possible = not language.takes_prose and _FENCE.match(answer) is None
    return Extraction((whole, *chosen) if is_possible else chosen, chosen[0] if chosen else None, len(fitting))


def _find_document(answer: str, blocks: Sequence[CodeBlock], whole: Candidate) -> Extraction:
    """Find a Markdown file, whose own fences look like those around it."""
    outer = next((block for block in blocks if _names(block.tag, Language.MARKDOWN)), None)
    if outer is None and (blocks[0].tag or answer[: blocks[0].start].count("\n") > 1):
        return Extraction((whole,), whole, 0)  # its fences hold examples
    outer = outer or blocks[0]
    # A fence with a tag opens a block of the file's own, one without ends the newest that is open.
    depth, end = 1, None
    for fence in _FENCE.finditer(answer, outer.start):
        depth += 1 if fence["info"].strip() else -1
        if depth == 0:
            end = fence.start()
            break
    found = Candidate(answer[outer.start : len(answer) if end is None else end], end is not None)
    return Extraction((found,), found, 1)


def fenced_blocks(answer: str) -> Iterator[CodeBlock]:
    """Yield the fenced blocks as CommonMark reads them; linear in the text."""
    opening: re.Match[str] | None = None
    for line in _FENCE.finditer(answer):
        fence, info = line["fence"], line["info"].strip()
        if opening is None:
            if "`" not in info:
                opening = line
        elif fence.startswith(opening["fence"]) and not info:
            yield _block(opening, line.start(), is_closed=True)
            opening = None
    if opening is not None:
        yield _block(opening, len(answer), is_closed=False)


def _block(opening: re.Match[str], end: int, *, is_closed: bool) -> CodeBlock:
    words = opening["info"].split(maxsplit=1)
    return CodeBlock(words[0].lower() if words else "", min(opening.end(), end), end, is_closed)


def _of_language(blocks: Sequence[CodeBlock], language: Language) -> list[CodeBlock]:
    """Give the blocks that name the language, else those that name none; text may be called anything."""
    named = [block for block in blocks if _names(block.tag, language)]
    unnamed = named or [block for block in blocks if not block.tag]
    return unnamed or (list(blocks) if language is Language.TEXT else [])


def _names(tag: str, language: Language) -> bool:
    """Tell whether a tag names the language, as `python`, `{.python}`, `python:app.py` or `app.py` do."""
    return any(word in language.names for word in (tag, *_WORD.findall(tag)))


def _chosen(answer: str, fitting: Sequence[CodeBlock], language: Language) -> tuple[Candidate, ...]:
    if len(fitting) != 1:
        return ()
    block = fitting[0]
    found = Candidate(answer[block.start : block.end], block.is_closed)
    *_, last = _FENCE.finditer(answer)
    if language.takes_prose or last.start() <= block.end or last["info"].strip():
        return (found,)
    return (found, Candidate(answer[block.start : last.start()]))  # the file has fences of its own


def _is_inside_text(before: str) -> bool:
    """Tell whether a place stands inside a string of several lines or a comment that the text before it opens."""
    return before.count('"""') % 2 == 1 or before.count("'''") % 2 == 1 or before.rfind("/*") > before.rfind("*/")


_FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})(?P<info>[^\r\n]*)\r?(?:\n|\Z)", re.MULTILINE)
_WORD = re.compile(r"[a-z0-9]+")
