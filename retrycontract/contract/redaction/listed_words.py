"""Find secrets in lists of words that are command lines: in values, in code, in broken JSON and in YAML."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain, pairwise
from typing import Any

from retrycontract.contract.redaction import commands, pairs
from retrycontract.contract.redaction.allowance import MOST_JUDGED, Allowance, SecretSpan, TooDenseError
from retrycontract.contract.redaction.detectors import Head, Look, bounded, compiled, merge
from retrycontract.contract.redaction.escapes import APART
from retrycontract.contract.redaction.field_names import judge
from retrycontract.contract.redaction.foreign import MARK, items_of
from retrycontract.contract.redaction.literals import Literal
from retrycontract.contract.redaction.members import spellings_of
from retrycontract.contract.redaction.scan_copies import ascii_copy
from retrycontract.contract.redaction.sieve import Sieve

# A flag among the words of a list, quoted or in lines of YAML, tells of itself or the next word; and what needs none.
LISTED_COMMAND = (
    r"[\"']\s*,\s*[\"']-|[\"']-[\w-]*[\"']\s*,\s*[\"']|\n[ \t]*-[ \t]+[\"']?-[\w-]"
    rf"|[\"'](?:[\w./\\-]*[/\\])?{commands.WITHOUT_FLAG}(?:\.exe)?[\"']\s*,\s*[\"']"
)
# A list of more words than these, or a longer word in it, is no command line.
MOST_ARGUMENTS, LONGEST_WORD = 1000, 4096
# So many are read as one text, so that what is dense in one of them takes no more than these.
TOGETHER = 50
COMMAND_LINES = Sieve((*commands.COMMAND_FINDERS, pairs.SETTINGS))
# A list may go on behind a comma and so many blanks in the next line.
MOST_BLANKS = 80

_QUOTED = r"\"[^\"\\\n]*(?:\\.[^\"\\\n]*)*\"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'"
_LISTED = rf"(?:{_QUOTED})(?:\s*,\s*(?:{_QUOTED}))+"
_LIST = Head(_LISTED, common=_LISTED)
_QUOTED_WORD = re.compile(r"[\"']([^\"'\n]*)[\"']")
_FLAG = re.compile(r"(?:[\"']|-[ \t]+[\"']?)-[\w-]")
_HAS_FLAG = re.compile(r"-(?:(?<=[\"']-)|[ \t]+[\"']?-)[\w-]")  # the same, begun at the sign that is seldom
_LINES = Head(r"(?m)(?:^[ \t]*-[ \t]+\S[^\n]*\n?){2,}")
_WORD_OF_LINE = re.compile(r"(?m)^[ \t]*-[ \t]+[\"']?([^\n\"']*)")

# A program and its arguments, as the configurations of MCP servers, containers and editors have them.
_PROGRAMS = ("entrypoint", "command", "cmd", "program", "executable", "exec", "binary")
_ARGUMENTS = frozenset({"args", "arguments", "argv", "params", "parameters", "command", "cmd"})
_SPELLINGS = frozenset(spelling for name in _PROGRAMS for spelling in spellings_of(name))
LONGEST_PROGRAM = 500


def redacted_words(words: Sequence[Any], before: str = "") -> dict[int, str]:
    """Read a list as a command line, behind the program `before`; give the words that it tells are secret, redacted."""
    (told,) = _told_words([words], before)
    return {index: f"{words[index][:start]}{MARK}{mark}]" for index, (start, mark) in told.items()}


def _told_words(lists: Sequence[Sequence[Any]], before: str = "") -> list[dict[int, tuple[int, str]]]:
    """Give of each word of each list that is secret where the secret begins in it, and its kind."""
    told: list[dict[int, tuple[int, str]]] = [{} for _ in lists]
    lines = [
        [f"{before} " if before else APART if number else "", *_written(words)] for number, words in enumerate(lists)
    ]
    # In most there is nothing, which one look at all of them tells.
    # Where in all of them is nothing that helps in some of them.
    looks = [Look(look.finder) for look in COMMAND_LINES.looks_at("".join(chain.from_iterable(lines)))]
    for first in range(0, len(lines), TOGETHER) if looks else ():
        parts, places = list[str](), list[tuple[int, int]]()
        for number, line in enumerate(lines[first : first + TOGETHER], first):
            parts += line
            places += ((number, index) for index in range(-1, len(line) - 1))
        begins = list(accumulate(map(len, parts), initial=0))
        for span in bounded(looks, "".join(parts)):
            start = last = bisect_right(begins, span.start) - 1
            if span.end == begins[-1]:  # of too many everything is taken, from one of them on
                last = len(places) - 1
            for place in range(start, last + 1):
                number, index = places[place]
                # The word is the secret to its end, whatever a shell would make of the characters in it.
                if index >= 0 and type(word := lists[number][index]) is str:
                    begin = max(span.start - begins[place], 0) if len(parts[place]) == len(word) + 1 else 0  # unseen
                    told[number].setdefault(index, (begin, span.mark))
    return told


def _written(words: Sequence[Any]) -> Iterator[str]:
    for index, word in enumerate(words[:MOST_ARGUMENTS]):
        copy = ascii_copy(word) if type(word) is str and len(word) <= LONGEST_WORD else "_"
        yield f"{commands.one_word(copy, is_first=not index)} "


def find_listed_words(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find what lists of words tell that are written in code, in broken JSON or in YAML."""
    lists, dense = list[tuple[int, str, re.Pattern[str]]](), None
    try:
        lists.extend(_lists(text, allowance))
    except TooDenseError as error:  # what comes before is told all the same
        dense = error
    # Texts repeat their lists, such as those of a schema.
    told = dict(_told_in({listed: word for _, listed, word in lists}))
    for begin, listed, _ in lists:
        for span in told[listed]:
            yield SecretSpan(begin + span.start, begin + span.end, span.mark)
    if dense:
        raise dense


def _told_in(lists: dict[str, re.Pattern[str]]) -> Iterator[tuple[str, list[SecretSpan]]]:
    """Give of each list, written as it is, what it tells and where in it that stands."""
    spans_of = [[found.span(1) for found in word.finditer(listed)] for listed, word in lists.items()]
    words_of = [[listed[start:end] for start, end in spans] for listed, spans in zip(lists, spans_of, strict=True)]
    for listed, spans, words, told in zip(lists, spans_of, words_of, _told_words(words_of), strict=True):
        for index, (before, value) in enumerate(pairwise(words), 1):
            is_pair = before.startswith("-") and not value.startswith("-") and value.strip()
            if is_pair and (named := judge(before).mark) and not Literal.whole(value).is_placeholder:
                told.setdefault(index, (0, named))
        # Help texts of options stand where their values would, and have blanks.
        yield listed, [
            SecretSpan(spans[index][0] + offset, spans[index][1], mark)
            for index, (offset, mark) in told.items() if " " not in words[index]
        ]  # fmt: skip


def _lists(text: str, allowance: Allowance) -> Iterator[tuple[int, str, re.Pattern[str]]]:
    """Give each list that may be a command line, with where it begins and what is a word of it."""
    left = MOST_JUDGED
    for pattern, word in ((_LIST, _QUOTED_WORD), (_LINES, _WORD_OF_LINE)):
        for begin, listed in _in_turn(pattern, text, lambda: left < 0):
            # Tables are lists as well: many without a flag make no text too dense, they are left alone.
            if _HAS_FLAG.search(listed):
                allowance.spend(begin)
            elif (left := left - 1) < 0:
                continue
            yield begin, listed, word


def _in_turn(pattern: Head, text: str, is_enough: Callable[[], bool]) -> Iterator[tuple[int, str]]:
    """Give the lists of a text with where they begin; when those without a flag are enough, only those near a flag."""
    end = 0
    for listed in pattern.each(text):
        if pattern is _LIST and is_enough():
            break
        begin, end = listed.span(0)
        yield begin, text[begin:end]
    else:
        return
    for start, stop in _near_flags(text, end):
        for listed in pattern.each(text[start:stop]):
            begin, end = listed.span(0)
            yield start + begin, text[start + begin : start + end]


def _near_flags(text: str, position: int) -> Iterator[tuple[int, int]]:
    """Give the stretches from a position on that hold a flag, between ends of lines over which no list goes on."""
    for flag in compiled(_FLAG.pattern, captures=False).finditer(text.encode(), position):
        if (start := flag.start()) >= position:
            while (start := text.rfind("\n", position, start)) >= 0 and not _is_seam(text, start):
                pass
            end = flag.end()
            while (end := text.find("\n", end) + 1) and not _is_seam(text, end - 1):
                pass
            yield max(start, position), end or len(text)
            position = end or len(text)


def _is_seam(text: str, at: int) -> bool:
    before, behind = text[max(at - MOST_BLANKS, 0) : at].rstrip()[-1:], text[at : at + MOST_BLANKS].lstrip()[:1]
    return before not in ("", ",") and behind not in ("", ",")


def redacted_tail(text: str, before: str) -> str:
    """Redact a text as the end of the command line that begins with the program `before`."""
    line, start = f"{before} {text}", len(before) + 1
    copy = ascii_copy(line)
    pieces, position = list[str](), start
    for span in merge(span for span in bounded(COMMAND_LINES.looks_at(copy), copy) if span.start >= start):
        pieces += (line[position : span.start], f"{MARK}{span.mark}]")
        position = span.end
    return "".join([*pieces, line[position:]])


def program_of(members: dict[Any, Any]) -> tuple[str, str]:
    """Give the member that names a program, and its words; nothing where no other member may hold its arguments."""
    if _SPELLINGS.isdisjoint(dict.keys(members)):
        return "", ""
    spellings = (spelling for name in _PROGRAMS for spelling in spellings_of(name))
    key = next((key for key in spellings if key in members), "")
    # Docker writes `Cmd` and `Args`.
    if not key or not any(is_arguments(name) for name in dict.keys(members) if name != key):
        return "", ""
    words = dict.get(members, key)
    if issubclass(type(words), (list, tuple)):
        words = " ".join(word for word in items_of(words)[:MOST_ARGUMENTS] if type(word) is str)
    return (key, words[:LONGEST_PROGRAM]) if type(words) is str else ("", "")


def is_arguments(name: Any) -> bool:
    """Say whether a member of that name may hold what a program is given."""
    return type(name) is str and name.casefold() in _ARGUMENTS
