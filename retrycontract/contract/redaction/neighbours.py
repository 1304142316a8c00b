"""What the members of an object tell of each other, and of what lies in them; also of objects that a text holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from retrycontract.contract.redaction.commands import reads_password
from retrycontract.contract.redaction.detectors import Allowance, Finder, Head, SecretSpan
from retrycontract.contract.redaction.field_names import NAME_WORDS, SECRET_NAME, NameVerdict, judge, split_words
from retrycontract.contract.redaction.foreign import MARK, items_of
from retrycontract.contract.redaction.literals import Literal, is_quoted_secret
from retrycontract.contract.redaction.values import QUOTES, closing_quote, read_list

# The member that names, and the members that then hold the secret; all are compared in small letters.
_NAMING = ("name", "key", "field", "header", "variable", "var", "env", "param", "parameter", "property", "attribute",
           "label", "varname", "env_name", "setting", "option", "question", "parameterkey", "optionname")  # fmt: skip
_VALUES = ("value", "val", "default", "secret_value", "v", "contents", "answer", "new_value", "newvalue", "current",
           "parametervalue")  # fmt: skip
# What is changed is named, and its new value stands beside.
_CHANGED = ("variable", "var", "env", "env_name", "varname", "setting", "field", "key", "param", "parameter",
            "property")  # fmt: skip
_NEW = ("to", "new", "set_to", "set")
_CHANGEABLE = frozenset({"PASSWORD", "SECRET", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY"})
_MANIFEST = ("data", "stringdata")
# These name other things as well: what they name has to be a password, a key or the like.
_ALSO_NAMING = ("id", "column", "col", "k", "type", "n", "setting_name")
_ORDINARY = frozenset({"AUTHORIZATION", "SESSION", "COOKIE", "CREDENTIAL"})
# What a browser tool types goes into what a selector or a description points at.
_POINTING = ("selector", "element", "locator", "xpath", "field", "label", "placeholder", "ref", "target")
_TYPED = ("text", "value", "input", "keys")
_TYPED_SECRETS = frozenset(
    {"password", "passwd", "pwd", "passcode", "passphrase", "otp", "pin", "cvv", "secret", "token"}
)
# The list that names, and the list, or the list of rows, that holds what it names.
_COLUMNS = ("columns", "fields", "headers", "header", "cols", "column_names", "keys", "names")
_ROWS = ("values", "rows", "row", "data", "params", "parameters", "records", "body")
_QUERIES = ("sql", "query", "statement", "text")
_BOUND = ("parameters", "params", "args", "values", "bindings", "arguments")
_PLACE = r"(?:\$[0-9]{1,3}|\?|%s)"
_BINDING = re.compile(rf"([\w.\"`\[\]]{{1,80}})\s*=\s*({_PLACE})|({_PLACE})")
_INSERT = re.compile(
    rf"\(([\w\s,\"`\[\]]{{1,2000}})\)\s*values\s*\(\s*({_PLACE}(?:\s*,\s*{_PLACE})*)\s*\)", re.IGNORECASE
)
# What is asked for, and the answer; a file named for a secret; a command that reads a password: one word each.
_PROMPTS, _ANSWERS = ("prompt", "expect"), ("response", "send", "answer", "reply", "input", "text", "value")
_FILES, _CONTENTS = ("path", "file_path", "filepath", "filename", "file"), ("content", "contents", "text", "data")
_RUN, _INPUTS = ("command", "cmd"), ("stdin", "input")
LONGEST_QUERY = 10_000
MOST_COLUMNS = 1_000
MOST_WORDS = 4


def spellings_of(name: str) -> tuple[str, str, str]:
    """Give a name as programs spell it."""
    return name, name.capitalize(), name.upper()


_TELLING = {
    *_NAMING, *_ALSO_NAMING, *_POINTING, *_COLUMNS, *_QUERIES, *_PROMPTS, *_FILES, *_RUN, "kind", "op"
}  # fmt: skip
_SPELLINGS = frozenset(spelling for name in _TELLING for spelling in spellings_of(name)) | {
    "ParameterKey",
    "OptionName",
}


def paired_values(members: dict[Any, Any], shown: Callable[[Any], str]) -> dict[Any, str | tuple[str | None, ...]]:
    """Give the keys of an object whose values a sibling calls secret, each with its mark; for a list one of each item.

    `shown` gives a name as it may be looked at, and nothing for what is no name.
    """
    found: dict[Any, str | tuple[str | None, ...]] = {}
    if _SPELLINGS.isdisjoint(dict.keys(members)):
        return found
    folded = {key.casefold(): key for key in dict.keys(members) if type(key) is str and len(key) <= MOST_FOLDED}

    def told(name: str) -> str:
        return shown(dict.get(members, folded[name])) if name in folded else ""

    for naming in (name for name in (*_NAMING, *_ALSO_NAMING) if name in folded):
        name = told(naming)
        mark = judge(name).mark if name and len(name.split()) <= MOST_WORDS else None
        if mark and (naming in _NAMING or mark not in _ORDINARY) and (naming != "type" or mark == "PASSWORD"):
            values = (*_VALUES, *_NEW) if naming in _CHANGED and mark in _CHANGEABLE else _VALUES
            found.update((folded[key], mark) for key in values if key in folded and key != naming)
    is_patch = "op" in folded or told("path").startswith("/")
    if is_patch and (mark := judge(told("path").rpartition("/")[2]).mark):  # JSON Patch
        found.update((folded[key], mark) for key in ("value",) if key in folded)
    for pointing in (name for name in _POINTING if name in folded):
        target = told(pointing)
        named = judge(target).mark if len(target.split()) <= MOST_WORDS else None
        if target and (named in ("PASSWORD", "API_KEY") or not _TYPED_SECRETS.isdisjoint(split_words(target))):
            found.update((folded[key], "PASSWORD") for key in _TYPED if key in folded and key != pointing)
    words = [key for key in folded if _is_word(dict.get(members, folded[key]))]
    if words:
        found.update((folded[key], mark) for key, mark in _answers_to(folded, words, told) if folded[key] not in found)
    if told("kind").casefold() == "secret":
        found.update((folded[key], "SECRET") for key in _MANIFEST if key in folded)
    for key, marks in _columns_of(members, folded):
        found.setdefault(key, marks)
    return found


def _is_word(value: Any) -> bool:
    return type(value) is str and 3 <= len(value.strip()) <= LONGEST_COLUMN and not any(map(str.isspace, value.strip()))


def _answers_to(folded: dict[str, Any], words: list[str], told: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """Give the members of one word that answer a prompt, fill a secret's file or are read by a command."""
    for prompt in (name for name in _PROMPTS if name in folded):
        asked = told(prompt)
        if len(asked.split()) <= MOST_WORDS and not _TYPED_SECRETS.isdisjoint(split_words(asked)):
            yield from ((key, "PASSWORD") for key in _ANSWERS if key in words)
    for file in (name for name in _FILES if name in folded):
        name = told(file).rpartition("/")[2].removesuffix(".txt")
        if "." not in name and (mark := judge(name).mark) in _CHANGEABLE and mark:
            yield from ((key, mark) for key in _CONTENTS if key in words)
    if any(reads_password(told(name)) for name in _RUN if name in folded):
        yield from ((key, "PASSWORD") for key in _INPUTS if key in words)
    kind = told("type").casefold()
    if kind in ("securestring", "password"):
        yield from ((key, "PASSWORD") for key in ("text", "value", "content") if key in words)


MOST_FOLDED = 40  # characters of a name of which a neighbour is looked for


def _columns_of(members: dict[Any, Any], folded: dict[str, Any]) -> Iterator[tuple[Any, tuple[str | None, ...]]]:
    for naming in (name for name in _COLUMNS if name in folded):
        names = dict.get(members, folded[naming])
        if issubclass(type(names), (list, tuple)):
            plain = [_name_of(name) for name in items_of(names)[:MOST_COLUMNS]]
            yield from _marked(folded, _ROWS, naming, plain)
    for naming in (name for name in _QUERIES if name in folded):
        query = dict.get(members, folded[naming])
        if type(query) is str and any(key in folded for key in _BOUND):
            yield from _marked(folded, _BOUND, naming, _bound_names(query[:LONGEST_QUERY]))


def _name_of(column: Any) -> str:
    """Give the name of a column, which may stand in an object with its type."""
    if issubclass(type(column), dict):
        column = dict.get(column, "name")
    return column if type(column) is str else ""


def _marked(
    folded: dict[str, Any], holders: tuple[str, ...], naming: str, names: list[str]
) -> Iterator[tuple[Any, tuple[str | None, ...]]]:
    marks = tuple(judge(name).mark if len(name) <= LONGEST_COLUMN else None for name in names)
    if any(marks):
        yield from ((folded[key], marks) for key in holders if key in folded and key != naming)


LONGEST_COLUMN = 120


def headed_columns(items: list[Any]) -> tuple[str | None, ...]:
    """Give the marks of the columns of a list of rows, of which the first one names them, as in a sheet."""
    first, second = items[:2] if len(items) > 1 else ((), ())
    if not all(issubclass(type(row), (list, tuple)) and row for row in (first, second)) or len(first) != len(second):
        return ()
    named = (
        judge(name).mark if type(name) is str and len(name) <= LONGEST_COLUMN else None for name in items_of(first)
    )
    marks = tuple(mark if mark in _CHANGEABLE else None for mark in named)
    return marks if any(marks) else ()


def _bound_names(query: str) -> list[str]:
    """Give of each value that a statement takes the column that it is for, as far as that can be told."""
    names: dict[int, str] = {}
    for insert in _INSERT.finditer(query):
        columns = [column.strip() for column in insert[1].split(",")]
        before = len(re.findall(r"\?|%s", query[: insert.start(2)]))
        for at, (column, place) in enumerate(zip(columns, insert[2].split(","), strict=False)):
            number = place.strip()
            names[int(number[1:]) - 1 if number.startswith("$") else before + at] = column
    for count, match in enumerate(_BINDING.finditer(query)):
        place = match[2] or match[3]
        at = int(place[1:]) - 1 if place.startswith("$") else count
        if match[1]:
            names[at] = match[1]
    return [names.get(at, "") for at in range(max(names, default=-1) + 1)] if len(names) <= MOST_COLUMNS else []


# A name of a secret before what holds others; one member that names another. Both in JSON that was not read as such:
# broken, in a string, in a literal of Python.
_HOLDER = Head(rf"(?i)({SECRET_NAME})[\"'`]?[ \t]{{0,8}}(?:=>|[:=])\s{{0,40}}[\[{{]")
_NAMES = "|".join(sorted({*_NAMING, *_ALSO_NAMING, *_POINTING, *_PROMPTS, *_FILES, "kind"}))
_COLON = r"[\"']\s*(?:=>|:)\s*"
_NAMED = Head(rf"(?i)[\"'](?:{_NAMES}){_COLON}[\"']([^\"'\n]*(?:{NAME_WORDS})[^\"'\n]*)")
_LISTED = Head(rf"(?i)[\"'](?:{'|'.join(_COLUMNS)}){_COLON}\[([^\[\]]*(?:{NAME_WORDS}))")
_BOUND_TO = Head(rf"(?i)[\"'](?:{'|'.join(_QUERIES)}){_COLON}[\"']([^\n]*(?:{NAME_WORDS})[^\n]*{_PLACE})")
# Characters before and behind such a member in which the object that holds it begins and ends.
WINDOW = 1_000
MOST_LEAVES = 2_000
DEEPEST = 40
_BRACE = re.compile(r"[{}]")
_PART = re.compile(r"[\s,]+|[\"'`]|[{}\[\]()]|=>|[:=]|[^\s\"'`{}\[\]():=,]+")
_COLOUR = re.compile(r"#[0-9A-Fa-f]{3,8}")
_CLOSED_BY = {"{": "}", "[": "]", "(": ")"}


@dataclass(slots=True)
class _Written:
    """Hold a container that a text writes: its entries, each with a name or none, and where it ends."""

    opener: str
    entries: list[tuple[str, Literal | _Written]]


def read_written(text: str, position: int, end: int, opener: str = "{") -> tuple[_Written, int]:
    """Read what stands behind an opening bracket, however it is broken; gives it, and the place behind it."""
    stack = [_Written(opener, [])]
    name, last, leaves = "", None, 0
    while position < end and stack and leaves < MOST_LEAVES and (match := _PART.match(text, position)):
        token, position = match[0], match.end()
        if token in QUOTES or not (token[0] in "\"'`{}[]():=," or token.isspace()):
            if token in QUOTES:
                close = closing_quote(text, match.start())
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
            is_value = name.casefold() == "default" and outer.mark in _CHANGEABLE
            mark = own.mark or (None if own.descriptor and not is_value else outer.mark)
            verdict = NameVerdict(mark, own.weak, own.public, own.descriptor, own.identifier)
        if isinstance(entry, _Written):
            yield from _held(entry, verdict, is_data=is_data)
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
    seen = set[int]()
    is_data, taken = _is_data(text), 0
    openers, read = list[int](), 0
    for find in head.all(text, allowance):
        # Most names are of something else, and then no object is read.
        if head is _NAMED and not _tells(find[1]):
            continue
        at = find.span(0)[0]
        if at - WINDOW > read:  # what opens before is too far away
            openers, read = [], at - WINDOW
        for brace in _BRACE.finditer(text, read, at):
            if brace[0] == "{":
                openers.append(brace.end())
            elif openers:
                openers.pop()
        read = at
        begin = openers[-1] if openers and openers[-1] > at - WINDOW else at
        if begin in seen or begin == at < taken:
            continue
        seen.add(begin)
        allowance.spend(at)
        written, behind = read_written(text, begin, min(len(text), at + 2 * WINDOW))
        # Without a brace around it all that follows is one object.
        taken = behind if begin == at else taken
        yield from _paired(written, is_data=is_data)


def _tells(name: str) -> bool:
    if len(name) > LONGEST_COLUMN:
        return False
    return any(judge(part).mark for part in (name, name.rpartition("/")[2])) or not _TYPED_SECRETS.isdisjoint(
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
                yield from _held(entry, NameVerdict(mark), is_data=is_data) if name.casefold() in _MANIFEST else ()
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
    *(Finder.of(head, partial(find_neighbours, head)) for head in (_NAMED, _LISTED, _BOUND_TO)),
)
