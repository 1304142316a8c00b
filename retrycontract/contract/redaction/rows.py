"""Find what lists of values hold where a statement, a test or a type names what stands at each of their places."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retrycontract.contract.redaction.allowance import Allowance, SecretSpan
from retrycontract.contract.redaction.detectors import Finder, Head
from retrycontract.contract.redaction.field_names import judge, word_set
from retrycontract.contract.redaction.likeness import is_tied
from retrycontract.contract.redaction.literals import Literal
from retrycontract.contract.redaction.values import QUOTES, closing_quote, read_expression, read_literal

# Of these each name of a member or a function for a secret has one, in the languages in which programs are written.
WORDS_OF_MEMBERS = (
    "pass|pwd|secret|token|key|cred|auth|jwt|pin|otp|kennwort|contrase|senha|wachtwoord|haslo|parol|clave|chave"
)
# What a statement has in the place of a value.
PLACE = r"(?:\$[0-9]{1,3}|:[0-9]{1,2}\b|\?[0-9]{0,2}|%s)"
_PLACE = re.compile(PLACE)
_BINDING = re.compile(
    rf"([\w.\"`\[\]]{{1,80}})(?:\s*[=<>!]{{1,2}}\s*|\s+(?:i?like\s+)?)(?:\w{{1,20}}\(\s*)?({PLACE})", re.IGNORECASE
)
_INTO = re.compile(r"\(([\w\s,\"`\[\]]{1,2000})\)\s*(?:output\s[^();]{0,200})?values\s*\(", re.IGNORECASE)
_NEXT_ROW = re.compile(r"\s*,\s*\(")
MOST_COLUMNS = 1_000

_DRESS = " \t\r\n\"'`[]"  # of a name

Place = tuple[int, int]  # where an item stands
_PART = re.compile(
    r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`[^`]*`|[(\[{]|[)\]}]|,|[^\s\"'`()\[\]{},]+|.", re.DOTALL
)
_SPACE = re.compile(r"(?:\s|/\*[^*]*\*/|(?:#|//)[^\n]*)+")
# What makes a list: `[]any{`, `new Object[]{`, `Arguments.of(`, `pytest.param(`, or nothing before the bracket.
_OPENED = re.compile(
    r"\s*(?:\.{3})?(?:(?:new[ \t]+)?[\w.]{0,30}(?i:param|array|list|tuple|object|vec|seq|of|arguments|row)s?!?(?:\[\])?"
    r"|\[\][\w.]{0,30}(?:\{\})?|&)?\s*([(\[{])"
)
_QUOTED = re.compile(r"\s*[bBrRuU]{0,2}(?=[\"'`])")
DEEPEST = 3  # a call, a list of rows, a row
# Characters behind names in which the values stand, and of a statement.
WINDOW, LONGEST_STATEMENT, MOST_PIECES = 2_000, 10_000, 20

_STATEMENT = Head(
    r"(?i)[\"'`]\s*(?:(?:insert|replace|merge)\s+(?:\w+\s+)?into\s|update\s+\S+\s+(?:\w+\s+)?set\s"
    r"|(?:alter|create)\s+(?:user|role|login)\s|select\s(?:[^;\"'`]*?\s)?from\s|delete\s+from\s|(?:call|exec)\s+[\w.]+\("
    rf"|(?:\w+\.)?\w*(?:{WORDS_OF_MEMBERS})\w*\s*=\s*{PLACE})"
)
_PIECE = re.compile(r"(?:[ \t\r\n\\]*(?:\+|\.|&)?[ \t\r\n\\]*)[bBrRfFuU]{0,2}(?=[\"'`])")
# A statement that is named, or prepared, gets its values later.
_GIVEN_LATER = re.compile(
    r"\b(?:execute\w*|query\w*|exec|run|fetch\w*|update)\(\s*(?:[\w.$]{1,40}\s*,\s*|(?=[\[(\"']))"
    r"|(?:\.|->)(?:set(?:N?String|Object|Text)|(?i:bind(?:_?(?:value|param|text|string))?))\(\s*(?:([0-9]{1,2})\s*,\s*)?"
)
# A test gives its names before its rows, behind them, or in its title.
_PARAMETRIZED = Head(r"\bparametrize\(\s*(?:argnames\s*=\s*)?")
_ROWS_FIRST = Head(
    r"\b(?:parameterized(?:\.expand|_class)?|(?:it|test|describe|each)\.each|InlineData|TestCase|DataRow)\("
)
_TAKEN = re.compile(r"\(([\w\s:,.<>\[\]?*&$@]{1,400})\)[^\n=({;]{0,40}\s*(?:=>|\{|:|->|=)")
_TITLED = re.compile(r"([A-Za-z][\w-]*)(?:[ \t]*[:=])?[ \t]*[\"'(]?%[sdifjop]")
_STRUCT = Head(rf"(?i)\bstruct\s*\{{([^{{}}]*(?:{WORDS_OF_MEMBERS})[^{{}}]*)\}}\s*\{{")
_FIELDS = re.compile(r"(?m)(?:^|;)[ \t]*((?:\w+[ \t]*,[ \t]*)*\w+)[ \t]+[\w.*\[\]]+[^;\n]*")
_STRINGS = re.compile(r"\"([^\"\n]*)\"|'([^'\n]*)'")
# What stands in a list, told behind it: `("db01", "app", "…")  # host, user, password`
_COMMENTED = Head(rf"(?im)[)\]}}][;,]?[ \t]*(?:#|//|--)[ \t]*([\w \t,]*(?:{WORDS_OF_MEMBERS})[\w \t,]*)$")
_OPENING = re.compile(r"[(\[{]")
LONGEST_LINE = 400
_NO_ARGUMENTS = word_set("self cls this t ctx")


def read_items(text: str, position: int, end: int, most: int = 0) -> tuple[list[Place], int]:
    """Read what commas part from a place behind a bracket on to the one that closes it; gives the place behind it.

    With `most` no more than so many are read.
    """
    items, depth, start = list[Place](), 0, position
    while position < end and (part := _SPACE.match(text, position, end) or _PART.match(text, position, end)):
        sign, at, position = part[0], position, part.end()
        if start == at and _SPACE.match(sign):
            start = position
            continue
        if sign in ("(", "[", "{"):
            depth += 1
        elif sign in (")", "]", "}"):
            if not depth:
                return [*items, (start, at)], position
            depth -= 1
        elif sign == "," and not depth:
            items.append((start, at))
            start = position
            if len(items) == most:
                return items, position
    return [*items, (start, position)], position


def bound_names(query: str) -> list[str]:
    """Give of each value that a statement takes the column that it is for, as far as that can be told."""
    numbers, names, count = dict[int, int](), dict[int, str](), 0
    for place in _PLACE.finditer(query):
        number = place[0].lstrip("$:?%s")
        numbers[place.start()] = int(number) - 1 if number else count
        count += not number
    for into in _INTO.finditer(query):
        columns, position = into[1].split(","), into.end()
        while position:
            items, behind = read_items(query, position, len(query))
            for column, (start, end) in zip(columns, items, strict=False):
                names |= {number: column.strip() for at, number in numbers.items() if start <= at < end}
            following = _NEXT_ROW.match(query, behind)
            position = following.end() if following and len(names) <= MOST_COLUMNS else 0
    for binding in _BINDING.finditer(query):
        # `IDENTIFIED BY ?`
        names.setdefault(numbers[binding.start(2)], "password" if binding[1].casefold() == "by" else binding[1])
    most = max(names, default=-1) + 1
    return [names.get(at, "") for at in range(most)] if most <= MOST_COLUMNS else []


def _rows(text: str, start: int, end: int, deepest: int = DEEPEST) -> Iterator[list[Place]]:
    """Give the items of a list or, where these are lists, of each of them."""
    items, _ = read_items(text, start, end)
    if not deepest or not _OPENED.match(text, *items[0]):
        yield items
        return
    for item in items:
        if opened := _OPENED.match(text, *item):
            yield from _rows(text, opened.end(), item[1], deepest - 1)


def _tell(names: list[str]) -> bool:
    return any(judge(name.strip(_DRESS)).mark for name in names)


def _held(text: str, names: list[str], row: list[Place], allowance: Allowance) -> Iterator[SecretSpan]:
    """Judge each item of a row by the name of its place; one name alone is that of all items."""
    for name, (start, _) in zip(names if len(names) > 1 else names * len(row), row, strict=False):
        mark = judge(name.strip(_DRESS)).mark
        if mark and (literal := string_at(text, start)):
            allowance.spend(literal.start)
            if is_tied(literal, mark):
                yield SecretSpan(literal.start, literal.end, mark)


def string_at(text: str, start: int) -> Literal | None:
    """Read the string that an item of a list is, as it is or wrapped: `[]byte("…")`, `String::from("…")`."""
    if opened := _OPENED.match(text, start):
        start = opened.end()
    quoted = _QUOTED.match(text, start)
    return read_literal(text, quoted.end()) if quoted else next(read_expression(text, None, start), None)


def _statement(text: str, start: int) -> tuple[str, int]:
    """Read a statement that a quote begins, in one string or in several; gives it, and the place behind it."""
    pieces, limit = list[str](), start + LONGEST_STATEMENT
    for _ in range(MOST_PIECES):
        quote = text[start : start + 3] if text.startswith(('"""', "'''"), start) else text[start]
        close = closing_quote(text, start) if len(quote) == 1 else None
        if close is None:
            close = text.find(quote, start + len(quote), limit)
        if close < 0:
            break
        pieces.append(text[start + len(quote) : close])
        position = close + len(quote)
        following = _PIECE.match(text, position)
        if not following or text[following.end()] not in QUOTES:
            return "".join(pieces), position
        start = following.end()
    return "".join(pieces), start


_BEHIND = re.compile(r"\s*(?:\.\w+\(\)\s*)?(?:\)\s*)?,\s*")


def find_bound_values(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `execute("INSERT INTO users (name, password) VALUES (%s, %s)", ("ana", "…"))`."""
    taken = 0
    for find in _STATEMENT.all(text, allowance):
        start = find.span(0)[0]
        if start < taken:
            continue
        query, taken = _statement(text, start)
        names = bound_names(query)
        if not _tell(names):
            continue
        allowance.spend(start)
        limit = min(taken + WINDOW, len(text))
        if behind := _BEHIND.match(text, taken, limit):
            for row in _rows(text, behind.end(), limit):
                yield from _held(text, names, row, allowance)
            continue
        given = 0
        for later in _GIVEN_LATER.finditer(text, taken, limit):
            if not later[0].startswith((".", "->")):
                for row in _rows(text, later.end(), limit):
                    yield from _held(text, names, row, allowance)
                break
            at, given = int(later[1]) - 1 if later[1] else given, given + 1
            yield from _held(text, names[at : at + 1], [(later.end(), limit)], allowance)


def find_in_tests(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `parametrize("user, password", [("ana", "…")])`."""
    end = 0
    for find in _PARAMETRIZED.all(text, allowance):
        start = find.span(0)[1]
        if start < end:
            continue
        limit = min(start + WINDOW, len(text))
        (first,), end = read_items(text, start, limit, most=1)
        names = [name for each in _STRINGS.findall(text[slice(*first)]) for name in ("".join(each)).split(",")]
        if not _tell(names):
            continue
        behind, (_, end) = end, read_items(text, start, limit)
        for row in _rows(text, behind, end) if behind < end else ():
            yield from _held(text, names, row, allowance)


def find_in_rows_before(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `[InlineData("ana", "…")]` and `it.each([["ana", "…"]])("… password %s", …)`."""
    end = 0
    for find in _ROWS_FIRST.all(text, allowance):
        start = find.span(0)[1]
        if start < end:
            continue
        _, end = read_items(text, start, min(start + WINDOW, len(text)))
        limit = min(end + WINDOW, len(text))
        taken = _TAKEN.search(text, end, limit)
        names = [_argument(name) for name in taken[1].split(",")] if taken else []
        names = [name for name in names if name not in _NO_ARGUMENTS]
        if not any(judge(name).mark for name in names):
            line = text.find("\n", end, limit)
            names = _TITLED.findall(text, end, line if line >= 0 else limit)
        for row in _rows(text, start, end - 1) if names else ():
            yield from _held(text, names, row, allowance)


def _argument(written: str) -> str:
    """Give the name of an argument that may have its type before or behind it."""
    return (written.partition(":")[0].split() or [""])[-1]


def find_in_structures(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `[]struct{ user, password string }{ {"ana", "…"} }` of Go."""
    end = 0
    for find in _STRUCT.all(text, allowance):
        start = find.span(0)[1]
        if start < end:
            continue
        names = [name.strip() for fields in _FIELDS.findall(find[1]) for name in fields.split(",")]
        if not _tell(names):
            continue
        _, end = read_items(text, start, min(start + WINDOW, len(text)))
        for row in _rows(text, start, end):
            yield from _held(text, names, row, allowance)


def find_in_commented_rows(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `Config{"db01", "app", "…"} // host, user, password`."""
    for find in _COMMENTED.all(text, allowance):
        names, end = find[1].split(","), find.span(0)[0] + 1
        line = max(text.rfind("\n", 0, end) + 1, end - LONGEST_LINE)
        if len(names) < 2 or not any(judge(name).mark for name in names):
            continue
        for opening in _OPENING.finditer(text, line, end):
            items, _ = read_items(text, opening.end(), end)
            if len(items) >= len(names):
                yield from _held(text, names, items, allowance)
                break


FINDERS = (
    Finder.of(_STATEMENT, find_bound_values),
    Finder.of(_PARAMETRIZED, find_in_tests),
    Finder.of(_ROWS_FIRST, find_in_rows_before),
    Finder.of(_COMMENTED, find_in_commented_rows),
    Finder.of(_STRUCT, find_in_structures),
)
