"""What the members of objects tell that a text holds: written in JSON, broken or not, in program text, in a string."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from retrycontract.contract.redaction.allowance import Allowance, SecretSpan, TooDenseError
from retrycontract.contract.redaction.calls import (
    ANSWERS,
    ASKED_NAMES,
    READING,
    TOOLS,
    answering,
    is_answer_name,
    mark_of_call,
    may_ask,
    names_secret,
)
from retrycontract.contract.redaction.consoles import LONGEST_ASKED, SHOWN_WORDS, answers
from retrycontract.contract.redaction.detectors import Finder, Head, compiled
from retrycontract.contract.redaction.field_names import NAME_WORDS, SECRET_NAME, NameVerdict, judge, split_words
from retrycontract.contract.redaction.foreign import MARK
from retrycontract.contract.redaction.literals import Literal, is_quoted_secret
from retrycontract.contract.redaction.members import (
    ALSO_NAMING,
    CHANGEABLE,
    COLUMNS,
    FILES,
    LONGEST_COLUMN,
    MANIFEST,
    NAMING,
    POINTING,
    PROMPTS,
    QUERIES,
    TYPED_SECRETS,
    paired_values,
)
from retrycontract.contract.redaction.rows import PLACE
from retrycontract.contract.redaction.values import QUOTES, closing_quote, read_list

# A name of a secret before what holds others; one member that names another. Both in JSON that was not read as such:
# broken, in a string, in a literal of Python.
# What makes one: `dict(`, `Map.of(`, `HashMap::from([`, `map[string]string{`, `new Dictionary<string, string> {`, `@{`.
_MAKER = (
    r"(?:new[ \t]+)?(?:[\w.]*(?:dict|map|array|list|set|pair|vec)\w*!?(?:<[^<>=\n]*>)?(?:\[\w+\]\w+)?"
    r"(?:(?:\.|::)(?:of|from)\w*)?|new)[ \t]?(?:\(\)[ \t]?)?"
)
_HOLDER = Head(
    rf"(?i)({SECRET_NAME})[\"'`]?[ \t]{{0,8}}(?::[ \t]?[\w<>&, \[\]]+[ \t])?(?:=>|:?=|:)\s{{0,40}}"
    rf"(?:@|{_MAKER})?[(\[{{]"
)
_NAMES = "|".join(sorted({*NAMING, *ALSO_NAMING, *POINTING, *PROMPTS, *FILES, "kind"}))
_COLON = r"[\"']\s*(?:=>|:)\s*"
_NAMED = Head(rf"(?i)[\"'](?:{_NAMES}){_COLON}[\"']([^\"'\n]*(?:{NAME_WORDS})[^\"'\n]*)")
_LISTED = Head(rf"(?i)[\"'](?:{'|'.join(COLUMNS)}){_COLON}\[([^\[\]]*(?:{NAME_WORDS}))")
_BOUND_TO = Head(rf"(?i)[\"'](?:{'|'.join(QUERIES)}){_COLON}[\"']([^\n]*(?:{NAME_WORDS})[^\n]*{PLACE})")
_ASKED = Head(
    rf"(?i)[\"'](?:{'|'.join(ASKED_NAMES)}){_COLON}(?:[\"']|\[\s*\")(?:[^\"\n]|\\\"|\", ?\")*?(?:{SHOWN_WORDS})"
)
# Of a result that tells by an id which call it answers, and of that call.
_ANSWERED = r"(?i)[\"']tool_?(?:call|use)_?id[\"']\s*:|[\"']call_?id[\"']\s*:"
_IDS = Head(r"(?i)[\"'](?:tool_?(?:call|use)_?id|call_?id|id)[\"']\s*:\s*[\"']([\w.:-]+)[\"']")
# Characters before and behind such a member in which the object that holds it begins and ends.
WINDOW = 1_000
MOST_LEAVES, MOST_OUTER, NEAR = 2_000, 3, 400
# Of objects in which something is asked for so many characters are read, and each so often: what opens them and closes
# none is no text.
MOST_READ, TIMES_READ = 100_000, 4
DEEPEST = 40
_BRACE = re.compile(r"[{}]")
_PART = re.compile(r"[\s,]+|[\"'`]|[{}\[\]()]|=>|[:=]|[^\s\"'`{}\[\]():=,]+")
_MODULE = re.compile(r"\.{1,2}[a-z_][a-z0-9_]*(?:\.[a-z_]+)*")  # as a package lists what it imports late
_COLOUR = re.compile(r"#[0-9A-Fa-f]{3,8}")
_ANSWER = Head(rf"(?i)[\"'](?:{'|'.join(sorted(ANSWERS))})[\"']\s{{0,8}}:")
_MEMBER = re.compile(rf"[\"'](\w+){_COLON}")
_TOOL = re.compile(rf"(?i)[\"'](?:{'|'.join(TOOLS)}){_COLON}[\"'][\w.:-]{{0,60}}?{READING}")
_MAY_SHOW = rf"(?i){SHOWN_WORDS}"
_CLOSED_LATER = {quote: re.compile(rf"(?<!\\){quote}(?=\s*(?:[,}}\]:]|\Z))") for quote in QUOTES}
_CLOSED_BY = {"{": "}", "[": "]", "(": ")"}


@dataclass(slots=True)
class _Written:
    """Hold a container that a text writes: its entries, each with a name or none, and where it ends."""

    opener: str
    entries: list[tuple[str, Literal | _Written]]


def read_written(
    text: str, position: int, end: int, opener: str = "{", *, over_lines: bool = False
) -> tuple[_Written, int]:
    """Read what stands behind an opening bracket, however it is broken; gives it, and the place behind it.

    `over_lines` where a string may hold ends of lines.
    """
    stack = [_Written(opener, [])]
    name, last, leaves = "", None, 0
    while position < end and stack and leaves < MOST_LEAVES and (match := _PART.match(text, position)):
        token, position = match[0], match.end()
        if token in QUOTES or not (token[0] in "\"'`{}[]():=," or token.isspace()):
            if token in QUOTES:
                close = closing_quote(text, match.start())
                if close is None and over_lines and (later := _CLOSED_LATER[token].search(text, position, end)):
                    close = later.start()
                stop = end if close is None else close
                last = Literal(text[position:stop], position, stop, quoted=True)
                position = min(stop + 1, end)
            else:
                last = Literal(token, match.start(), position, quoted=False)
            leaves += 1
            stack[-1].entries.append((name, last))
            name = ""
        elif token in (":", "=", "=>"):
            if last is not None and stack[-1].entries and stack[-1].entries[-1][1] is last:
                stack[-1].entries.pop()
                name, last = last.text, None
        elif token in _CLOSED_BY:
            if len(stack) >= DEEPEST:
                break
            inner = _Written(token, [])
            stack[-1].entries.append((name, inner))
            stack.append(inner)
            name = ""
        elif token in "}])":
            name = ""
            if any(_CLOSED_BY[each.opener] == token for each in stack):
                while len(stack) > 1 and _CLOSED_BY[stack[-1].opener] != token:
                    stack.pop()
                outermost = stack.pop()
                if not stack:
                    return outermost, position
    return stack[0], position


def find_held(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find what an object or a list holds behind the name of a secret."""
    taken = 0
    is_data = _is_data(text)
    for find in _HOLDER.all(text, allowance):
        start, end = find.span(0)
        verdict = judge(find[1])
        if start < taken or not (verdict.mark or verdict.weak):
            continue
        allowance.spend(start)
        if not verdict.mark:
            yield from _weak_items(text, end, verdict)
            continue
        limit = len(text) if is_data else min(end + WINDOW, len(text))
        if not is_data and text.find(_CLOSED_BY[text[end - 1]], end, limit) < 0:
            taken = end
            continue
        written, taken = read_written(text, end, limit, text[end - 1])
        # In programs and patterns a bracket may be anything: what it opens has to be closed soon.
        if is_data or text[taken - 1] == _CLOSED_BY[written.opener]:
            yield from _held(written, verdict, is_data=is_data)
        else:
            taken = end


def _held(written: _Written, outer: NameVerdict, *, is_data: bool) -> Iterator[SecretSpan]:
    for name, entry in written.entries:
        verdict = outer
        if name and not name.isdigit():
            own = judge(name)
            is_value = name.casefold() == "default" and outer.mark in CHANGEABLE
            mark = own.mark or (None if own.descriptor and not is_value else outer.mark)
            verdict = NameVerdict(mark, own.weak, own.public, own.descriptor, own.identifier)
        if isinstance(entry, _Written):
            yield from _held(entry, verdict, is_data=is_data)
        elif written.opener == "(" and _MODULE.fullmatch(entry.text):
            continue
        elif verdict.mark and _is_secret(entry, verdict.mark, is_data=is_data):
            yield SecretSpan(entry.start, entry.end, verdict.mark)


def _weak_items(text: str, position: int, verdict: NameVerdict) -> Iterator[SecretSpan]:
    """Find what looks random in a list whose name does not settle it."""
    if text[position - 1] != "[" or verdict.public or verdict.identifier:
        return
    for item in read_list(text, position):
        if len(item.text) >= SHORTEST_WEAK and (item.is_noise or item.is_dense):
            yield SecretSpan(item.start, item.end, "API_KEY")


SHORTEST_WEAK = 10


def find_neighbours(head: Head, text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find what one member of an object says of another."""
    seen, reader = set[int](), _CallReader(text)
    is_data, taken = _is_data(text), 0
    openers, read = list[int](), 0
    for place in head.places(text, allowance):
        # Most names are of something else, and then no object is read.
        if (head is _NAMED and not _tells(place.read()[1])) or (
            head is _ASKED and not _asks(text, place.start, place.end)
        ):
            continue
        at = place.start
        if at - WINDOW > read:  # what opens before is too far away
            openers, read = [], at - WINDOW
        for brace in _BRACE.finditer(text, read, at):
            if brace[0] == "{":
                openers.append(brace.end())
            elif openers:
                openers.pop()
        read = at
        if head is _ASKED:
            yield from _answered(reader, at, openers[-MOST_OUTER:] or [at], seen, allowance)
            continue
        begin = openers[-1] if openers and openers[-1] > at - WINDOW else at
        if begin in seen or begin == at < taken:
            continue
        seen.add(begin)
        allowance.spend(at)
        written, behind = read_written(text, begin, min(len(text), at + 2 * WINDOW))
        # Without a brace around it all that follows is one object.
        taken = behind if begin == at else taken
        yield from _paired(written, is_data=is_data)


def _asks(text: str, start: int, end: int) -> bool:
    """Say whether a member may ask for a secret by itself; what a list holds is not read for that."""
    member = _MEMBER.match(text, start)
    if member is None or text[member.end()] == "[":
        return member is not None
    close = closing_quote(text, member.end())
    value = text[member.end() + 1 : end + LONGEST_ASKED if close is None else close]
    is_read = names_secret(value) and _TOOL.search(text, max(start - NEAR, 0), end + NEAR)
    return bool(is_read) or may_ask(member[1], value)


class _CallReader:
    """Read objects in which something is asked for, each of which ordinary texts close before the next few begin."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._read = 0

    @cached_property
    def _answers(self) -> tuple[list[int], list[int]]:
        """Give where the names of answers begin, and where they end."""
        spans = (find.span(0) for find in _ANSWER.each(self.text))
        told = [(start, end) for start, end in spans if self.text[start - 1 : start] != "\\"]
        return [start for start, _ in told], [end for _, end in told]

    def holds_answer(self, begin: int, end: int) -> bool:
        """Say whether something between two places has the name of an answer."""
        begins, ends = self._answers
        first = bisect_left(begins, begin)
        return first < len(ends) and ends[first] <= end

    def read(self, begin: int, place: int, at: int) -> _Written:
        """Read an object around a place; raises TooDenseError where what stands before `at` was read too often."""
        written, behind = read_written(self.text, begin, min(len(self.text), place + 2 * WINDOW), over_lines=True)
        self._read += behind - begin
        if self._read > MOST_READ + TIMES_READ * at:
            raise TooDenseError(at)
        return written


def _answered(
    reader: _CallReader, at: int, openers: list[int], seen: set[int], allowance: Allowance
) -> Iterator[SecretSpan]:
    """Find what was answered to a command beside it, or in an object around it."""
    for begin in openers:
        if begin not in seen and reader.holds_answer(begin, at + 2 * WINDOW):
            seen.add(begin)
            written = reader.read(begin, at, at)
            members = _plain(written)
            told = answering(members) if isinstance(members, dict) else {}
            for name, entry in written.entries:
                if mark := told.get(name):
                    allowance.spend(entry.start if isinstance(entry, Literal) else at)
                    yield from _in_answer(reader.text, entry, mark)


def find_answered_calls(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find what was answered, in a message of its own, to a call that shows a secret."""
    written, may_show, reader = text.encode(), compiled(_MAY_SHOW, captures=False).search, _CallReader(text)
    calls, marks = dict[str, int](), dict[str, str | None]()
    for find in _IDS.each(text):
        name, begin = find[1], find.span(1)[0]
        if (call := calls.setdefault(name, begin)) == begin:
            continue
        if name not in marks:  # of a stream each line may give the same one
            is_near = may_show(written, max(call - NEAR, 0), call + NEAR) is not None
            marks[name] = _mark_of_call_around(reader, call, begin, allowance) if is_near else None
        if (mark := marks[name]) and (answered := _around(reader, begin, begin)):
            allowance.spend(begin)
            yield from _in_answer(text, answered, mark)


def _mark_of_call_around(reader: _CallReader, call: int, at: int, allowance: Allowance) -> str | None:
    """Give the mark of the secret that the call shows in which a place is."""
    allowance.look(call)
    members = _plain(asked) if (asked := _around(reader, call, at)) else None
    return mark_of_call(members) if isinstance(members, dict) else None


def _around(reader: _CallReader, place: int, at: int) -> _Written | None:
    """Read the object that a place is in."""
    openers = list[int]()
    for brace in _BRACE.finditer(reader.text, max(place - WINDOW, 0), place):
        if brace[0] == "{":
            openers.append(brace.end())
        elif openers:
            openers.pop()
    return reader.read(openers[-1], place, at) if openers else None


def _plain(entry: Literal | _Written) -> Any:
    if isinstance(entry, Literal):
        return entry.text
    if entry.opener == "{":
        return {name: _plain(each) for name, each in entry.entries if name}
    return [_plain(each) for _, each in entry.entries]


def _in_answer(text: str, entry: Literal | _Written, mark: str) -> Iterator[SecretSpan]:
    if isinstance(entry, Literal):
        yield from answers(text, mark, entry.start, entry.end) if entry.quoted else ()
        return
    for name, each in entry.entries:
        if entry.opener != "{" or is_answer_name(name):
            yield from _in_answer(text, each, mark)


def _tells(name: str) -> bool:
    if len(name) > LONGEST_COLUMN:
        return False
    return any(judge(part).mark for part in (name, name.rpartition("/")[2])) or not TYPED_SECRETS.isdisjoint(
        split_words(name)
    )


def _paired(written: _Written, *, is_data: bool) -> Iterator[SecretSpan]:
    entries = {name: entry for name, entry in written.entries if name}
    values = {
        name: entry.text
        if isinstance(entry, Literal)
        else [part.text if isinstance(part, Literal) else _told_name(part) for _, part in entry.entries]
        for name, entry in entries.items()
    }
    for name, mark in paired_values(values, lambda name: name if type(name) is str else "").items():
        entry = entries[name]
        if isinstance(mark, str):
            if isinstance(entry, _Written):
                yield from _held(entry, NameVerdict(mark), is_data=is_data) if name.casefold() in MANIFEST else ()
            elif _is_secret(entry, mark, is_data=is_data):
                yield SecretSpan(entry.start, entry.end, mark)
        elif isinstance(entry, _Written):
            nested = [each for _, each in entry.entries if isinstance(each, _Written)]
            for row in nested or [entry]:
                for (_, item), of_item in zip(row.entries, mark, strict=False):
                    if of_item and isinstance(item, Literal) and _is_secret(item, of_item, is_data=True):
                        yield SecretSpan(item.start, item.end, of_item)


def _told_name(written: _Written) -> str:
    """Give what an object says that its name is, as one of the columns of a table does."""
    return next((each.text for name, each in written.entries if name == "name" and isinstance(each, Literal)), "")


def _is_data(text: str) -> bool:
    """Say whether a text is written data as a whole, in which an ordinary word may be the value, and no program."""
    return text.lstrip("\"'` \t\r\n\\")[:1] in ("{", "[")


_BETWEEN_QUOTES = re.compile(r"[.,;:)]? \S.*|\S+ .* ", re.DOTALL)  # words of a sentence that quotes


def _is_secret(literal: Literal, mark: str, *, is_data: bool) -> bool:
    text = literal.text
    is_between = not text.strip() or text.startswith(MARK) or _BETWEEN_QUOTES.fullmatch(text)
    if is_between or literal.is_placeholder or literal.is_word_of_code:
        return False
    if mark in ("PIN", "CVV", "OTP", "SSN"):
        return text.isdigit() and 3 <= len(text) <= 12
    if not literal.quoted or not is_quoted_secret(literal, mark) or _COLOUR.fullmatch(text):
        return False
    # In programs tokens are colours and sizes, too.
    return is_data or (literal.telling and (mark != "TOKEN" or literal.is_noise or literal.is_dense))


FINDERS = (
    Finder.of(_HOLDER, find_held),
    *(Finder.of(head, partial(find_neighbours, head)) for head in (_NAMED, _LISTED, _BOUND_TO, _ASKED)),
    Finder(_ANSWERED, find_answered_calls),
)
