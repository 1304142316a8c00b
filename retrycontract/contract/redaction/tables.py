"""Find secrets in the tables of a text: below the name of their column, or beside the name that begins their row."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import accumulate, islice, pairwise

from retrycontract.contract.redaction.allowance import Allowance, SecretSpan
from retrycontract.contract.redaction.commands import METHOD
from retrycontract.contract.redaction.detectors import Finder, Head, has_digit
from retrycontract.contract.redaction.field_names import (
    SECRET_NAME,
    Assignment,
    NameVerdict,
    is_secret_name,
    judge,
    split_words,
)
from retrycontract.contract.redaction.generated import read_generated
from retrycontract.contract.redaction.headers import (
    LONGEST_LINE,
    LONGEST_NAME,
    MOST_WORDS,
    NAMED,
    NO_PASSWORDS,
    Headers,
    are_of_users,
)
from retrycontract.contract.redaction.likeness import is_chosen, is_plainly_secret
from retrycontract.contract.redaction.literals import SHORTEST_NOISE, Literal, is_secret_literal
from retrycontract.contract.redaction.scan_copies import FOREIGN

LONGEST_ROW = 20_000  # characters
SHORTEST_VALUE, LEAST_DIGITS, LONG_WORD = 3, 6, 16
MOST_BETWEEN = 3  # cells, between the name and the value of a row
MOST_KNOWN = 4_000  # rows, and cells of a column, that are known again
MOST_MISFITS = 2  # lines in a row, within data, that are none of the table: a comment, a row that is cut off
_RULE = re.compile(r"[|+: \t]*[-=]{2}[-=|+: \t\r]*")
_COLUMN, _APART = re.compile(r"[-=]{2,}"), re.compile(r"\S+(?: \S+)*")
# What heads a column: no code, no number, and no statement.
_PLAIN_NAME = r"[^(){}\[\]=<>:/.;!]"
_NAME = re.compile(
    rf"{_PLAIN_NAME}{{0,60}}(?:/{_PLAIN_NAME}{{1,30}})?(?:[(\[<][^(){{}}\[\]=<>]{{0,40}}[)\]>]{_PLAIN_NAME}{{0,20}})*:?"
)
_NO_NAME = re.compile(
    r"[0-9.,:+/-]+|[0-9]+[/.:,-].*"
    r"|(?i:(?:select|from|insert|update|where|group|order|import|return|def|class|var|let|const)[ ].*)"
)
_QUOTED = re.compile(r'"[^"]*"')
# What stands before a table in a string of JSON or of program text, and before each line of a quoted or numbered one.
_OPENING = re.compile(rf".*[:=(\[][ \t]*[\"'`](?=[\"'`]?[ ]*[\w|*,;#>{FOREIGN}])")
_MARGIN = re.compile(r"[ \t]*(?:(?:[>#*]|//|--|[0-9]{1,6} ?\t)[ \t]*(?<=[ \t]))+")
# Below the rows of a database.
_COUNT = re.compile(r"\([0-9]+ rows?\)\r?")
_COPY = Head(r"(?i)\bcopy\s+[\w.\"]+\s*\(([^()]+)\)\s+from\s+stdin;[ \t]*\r?\n")
SHORTEST_COPIED = 6
_HEADING = Head(rf"(?i)<th\b[^<>]*>(?:<[^<>]*>)?[^<>]{{0,24}}?{SECRET_NAME}[^<>]{{0,24}}(?:</\w+>)?\s*</th")
_CELL = re.compile(r"(?i)<t[hd]\b[^<>]{0,400}>(?:\s*<[^<>]{0,400}>)*([^<>]*)")
_ROW = re.compile(rf"(?is)<tr\b.{{0,{LONGEST_ROW}}}?(?=<tr\b|(</table\b)|\Z)")
# What a cell's value is dressed in, quotes and the marks of code and of bold text; and what closes the text around it.
_DRESS, _CLOSING = " \t\r\"'`*", "}])"
_NUMBERS, _CERTAIN = ("PIN", "OTP", "CVV", "SSN"), ("PASSWORD", "SECRET", "PRIVATE_KEY")
_MILD = ("SESSION", "TOKEN", "COOKIE", "CREDENTIAL", "AUTHORIZATION")
# Numbers, shares, versions, dates and times; a reference to a safe.
_PLAIN = re.compile(r"[-+0-9.,:%/ ]+(?:[TZ][0-9:.Z+-]*)?|[0-9]+/[a-z]+|op://.*")
_TYPE = re.compile(r"\w+\([0-9, ]*\)|(?i:(?:var)?char|int|float|utf)\d*(?:mb\d)?")
_VARIABLE_OR_OPTION = re.compile(r"[A-Z]+(?:_[A-Z]+)+|--?[a-z]+(?:-[a-z]+)*")
_OF_BOTH = re.compile(r"[\w.@+-]{1,60}[`\"']?[ \t]?[/:][ \t]?[`\"']?([^\s/:]{6,80})")  # a user and a password
_NO_CODE, _NO_PAIR = frozenset("|(=`"), frozenset(f"( {FOREIGN}")

Cells = Sequence[tuple[str, int]]  # what stands in each, and where that begins in its line
Cut = Callable[[str], Cells]


@dataclass(frozen=True, slots=True)
class _Column:
    """Say what the name of a column, or of a row, makes of the values beside it; in data they may look like code."""

    verdict: NameVerdict
    is_data: bool
    is_strict: bool  # where documents have words and numbers
    is_long: bool  # of a kind that no shorter value than noise is taken for
    beside: Assignment
    harmless: set[str] = field(default_factory=set)  # cells

    @classmethod
    def of(cls, name: str, verdict: NameVerdict, *, is_data: bool) -> _Column:
        is_strict = not is_data or split_words(name)[-1:] in (("pass",), ("pw",))
        is_long = verdict.mark not in (*_CERTAIN, *_NUMBERS)
        return cls(verdict, is_data, is_strict, is_long, Assignment(name, ":", spaced=True, starts_line=is_data))


@dataclass(frozen=True, slots=True)
class _Table:
    """Say how the lines of a table are cut; `is_data` where programs write it, so that it holds values and no prose."""

    names: list[str]
    cut: Cut
    is_data: bool
    sign: str  # that parts the cells of a line, if one does, and how many of it each line has
    signs: int


def find_in_tables(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find what columns and rows with the name of a secret hold: of CSV, Markdown, and what databases print."""
    headers, done = Headers(text, allowance), 0
    while place := headers.behind(done):
        start, at, stop = place
        done, header = stop + 1, text[start:stop]
        allowance.look(start)
        opening = found.end() if (found := _OPENING.match(header)) else 0
        margin = found.end() - opening if (found := _MARGIN.match(header, opening)) else 0
        header, start = header[opening + margin :], start + opening + margin
        if "=" in header or start > at:
            continue
        below = next(
            (line for _, line in islice(_lines(text, done, margin), 2) if line.strip() and line[:1] != "#"), ""
        )
        table = _table(header, below)
        if not _RULE.fullmatch(below) or header.count("|") < 4:  # else it heads columns
            yield from _beside_name(start, header, allowance)
        verdicts = _secret_columns(table.names) if table else {}
        if table and verdicts:
            done = yield from _below_names(text, done, margin, table, verdicts, allowance)


def _below_names(
    text: str, at: int, margin: int, table: _Table, verdicts: dict[int, NameVerdict], allowance: Allowance
) -> Generator[SecretSpan, None, int]:
    """Give the secrets of a table's rows, and return where its last line ends."""
    done, misfits, width = at, 0, len(table.names)
    is_data = table.is_data or are_of_users(table.names)
    columns = [(at, _Column.of(table.names[at], verdict, is_data=is_data)) for at, verdict in verdicts.items()]
    sign, signs = table.sign, table.signs
    telling = _telling(sign, all(column.is_long for _, column in columns), all(each.is_strict for _, each in columns))
    harmless = set[str]()  # rows, and beside them cells by their column, in which there is none: they repeat
    for start, line in _lines(text, at, margin):
        if line in harmless or (sign and line.count(sign) == signs and not telling.search(line)):
            done, misfits = start + len(line) + 1, 0
            continue
        if line[:1] == "(" and _COUNT.fullmatch(line):
            return done
        cells = table.cut(line)
        more = len(cells) - width
        if more == 0 or (more > 0 and table.is_data):
            misfits, known = 0, len(harmless)
            for place, column in columns:
                cell, begin = cells[place]
                if more and "|" in line:  # which a value may hold
                    cell = line[begin : cells[place + more][1] + len(cells[place + more][0])]
                if cell not in column.harmless and (span := _value((cell, begin), start, column, allowance)):
                    yield span
                    known = MOST_KNOWN
                elif known < MOST_KNOWN:
                    column.harmless.add(cell)
            if known < MOST_KNOWN:
                harmless.add(line)
        elif not _RULE.fullmatch(line):
            misfits += 1
            is_blank = not line.strip() and start > at + margin
            if is_blank or misfits > MOST_MISFITS * table.is_data:
                return done
        done = start + len(line) + 1
    return done


@cache
def _telling(sign: str, is_long: bool, is_strict: bool) -> re.Pattern[str]:
    """Give what stands in a line whose cells have to be looked at: in most lines of a long table it does not."""
    held = rf"[^\s{sign}]{{{SHORTEST_NOISE}}}" if is_long else rf"[^A-Za-z\s{sign}]" if is_strict else r"\S{3}"
    return re.compile(rf"[\"\\`]|{held}")


def _lines(text: str, at: int, margin: int = 0) -> Iterator[tuple[int, str]]:
    """Give the lines from one on, each with where it begins behind the margin, up to one too long for a table."""
    while at < len(text):
        end = text.find("\n", at, at + LONGEST_LINE)
        if end < 0:
            if len(text) - at > LONGEST_LINE:
                return
            end = len(text)
        if text[at:end] != " ":  # of an end of a line that is written as `\\r\\n`
            begin = min(at + margin, end)
            yield begin, text[begin:end]
        at = end + 1


def _table(header: str, below: str) -> _Table | None:
    """Say what table a line of names and the line below it begin, if one."""
    header, below = header.rstrip(), below.rstrip()
    is_framed = header.lstrip()[:1] == "|"
    if _RULE.fullmatch(below):
        if "|" in header:
            cut = partial(_between, "|", is_framed=is_framed)
            return _named(header, cut, is_data="+" in below, sign="|")
        starts = [column.start() for column in _COLUMN.finditer(below)]
        # One column alone is a title that is underlined, unless a database has put a blank before it.
        return _named(header, partial(_below, starts), is_data=True) if len(starts) > 1 or header[:1] == " " else None
    if sign := next((sign for sign in "\t;,|" if sign in header.strip()), None):
        if below.count(sign) < header.count(sign) and '"' not in header:  # as behind most lines of code
            return None
        cut = partial(_between, sign, is_framed=is_framed)
        table = _named(header, cut, is_data=" " not in header.strip(), sign=sign)
        if not all(_NAME.fullmatch(name) and not _NO_NAME.fullmatch(name) for name in table.names):
            return None
        first = table.cut(below)
        # A line of code or prose has commas as well, and blanks in what would be its cells.
        is_code = any(" " in cell.strip() and ("(" in cell or sign == "|") for cell, _ in first) or "'" in header
        is_code |= sign == "|" and ('"' in header or "'" in below or not all(table.names))
        is_prose = not table.is_data and not all(table.names)
        is_wide = len(first) >= len(table.names) and sum(map(bool, table.names)) > 1
        return table if is_wide and not (is_code or is_prose) else None
    is_loud, is_frame = header.isupper(), header[:1] == " "
    table, first = _named(header, _apart, is_data=True), _apart(below)
    if len(table.names) > 1 and len(first) == len(table.names) and is_loud:
        return table
    is_short = len(table.names) > 1 and not any(" " in cell for cell, _ in first) and "   " in header.strip()
    if is_short and [at for _, at in first] == [at for _, at in _apart(header)]:
        return replace(table, is_data=False)  # columns that begin where their names do
    # Data frames number their rows.
    if len(table.names) > 1 and len(first) == len(table.names) + 1 and first[0][0].isdigit() and is_frame:
        return replace(table, names=["", *table.names])
    return None


def _named(header: str, cut: Cut, *, is_data: bool, sign: str = "") -> _Table:
    return _Table([cell.strip(_DRESS) for cell, _ in cut(header)], cut, is_data, sign, header.count(sign))


def _between(sign: str, line: str, *, is_framed: bool) -> Cells:
    """Cut a line at the signs that are neither quoted nor escaped; framed it begins and ends with one."""
    if '"' not in line and "\\" not in line:
        cells, place = list[tuple[str, int]](), 0
        for part in line.split(sign):
            cells.append((part, place))
            place += len(part) + 1
    else:
        masked = _QUOTED.sub(lambda quoted: "_" * len(quoted[0]), line)
        parts = masked.replace(f"\\{sign}", "__").split(sign)
        places = [0, *accumulate(len(part) + 1 for part in parts)]
        cells = [(line[start : end - 1], start) for start, end in pairwise(places)]
    if sign == "|" and is_framed:
        return cells[1 : None if cells[-1][0].strip(_DRESS + _CLOSING) else -1]
    return cells


def _apart(line: str) -> Cells:
    """Cut a line at blanks, of which there are two and more."""
    return [(word[0], word.start()) for word in _APART.finditer(line)]


def _below(starts: list[int], line: str) -> Cells:
    """Cut a line where the columns begin."""
    return [(line[start:end], start) for start, end in pairwise([*starts, len(line)])] if line.strip() else []


def _beside_name(start: int, line: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find the value in the cell behind the one that names it: in a frame, or in a line of two cells."""
    is_framed = line.lstrip()[:1] == "|"
    sign = "|" if is_framed or " | " in line else next((sign for sign in "\t;," if sign in line), None)
    if sign is None or (sign != "|" and not _NO_PAIR.isdisjoint(line.strip())):
        return
    cells = _between(sign, line, is_framed=is_framed)
    is_pair = is_framed or len(cells) == 2
    for place, (name, _) in enumerate(cells[:-1] if is_pair or sign == "|" else ()):
        is_selector = "{" in name or name.lstrip()[:1] == "."  # `.token.keyword,.token.tag{color:#fff}`
        if not is_selector and (verdict := _secret_columns([name.strip(_DRESS)]).get(0)):
            column = _Column.of(name.strip(_DRESS), verdict, is_data=False)
            if is_pair and (span := _value(cells[place + 1], start, column, allowance)):
                yield span
            elif is_pair or " " not in name.strip():
                yield from _behind_description(cells[place + 2 : place + 2 + MOST_BETWEEN], start, column, allowance)
            return


def _behind_description(cells: Cells, start: int, column: _Column, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find the value, no mere word or number, that a description parts from its name, or whether it is required."""
    for cell in cells:
        word = cell[0].strip(_DRESS).rstrip(_CLOSING).rstrip(_DRESS)
        if " " not in word and (is_chosen(word) or is_plainly_secret(word, column.verdict.mark or "")):
            if span := _value(cell, start, column, allowance):
                yield span
            return


def _secret_columns(names: list[str]) -> dict[int, NameVerdict]:
    return {
        column: verdict for column, name in enumerate(names)
        if name and len(name) <= LONGEST_NAME and len(name.split()) <= MOST_WORDS and (verdict := judge(name)).mark
    }  # fmt: skip


def _value(cell: tuple[str, int], start: int, column: _Column, allowance: Allowance) -> SecretSpan | None:
    """Give the secret in a cell of a line that begins at `start`, if it holds one."""
    written, at = cell
    bare = written.lstrip(_DRESS)
    text = bare.rstrip(_DRESS).rstrip(_CLOSING).rstrip(_DRESS)
    if len(text) < SHORTEST_VALUE or (column.is_strict and _is_ordinary(text)):
        return None
    if not column.is_data and _VARIABLE_OR_OPTION.fullmatch(text) and _VARIABLE_OR_OPTION.fullmatch(column.beside.name):
        return None  # in the row below, not below a heading
    mark, place = column.verdict.mark or "", start + at + len(written) - len(bare)
    if mark in _CERTAIN and (made := read_generated(bare, 0)):
        allowance.spend(place)
        return SecretSpan(place, place + len(made.text), mark)
    if mark == "CREDENTIAL" and (pair := _OF_BOTH.fullmatch(text)) and is_chosen(pair[1]):
        allowance.spend(place)
        return SecretSpan(place + pair.start(1), place + pair.end(1), "PASSWORD")
    # In data, and where it is called code, a value may look like code.
    is_value = (column.is_data and mark in _CERTAIN) or written.strip()[:1] == "`"
    literal = Literal(text, place, place + len(text), quoted=is_value)
    # Whether it is a name takes longest to tell, and most cells are other than those before.
    if not _may_be(literal, mark) or is_secret_name(text) or text.casefold() in NO_PASSWORDS:
        return None
    if not is_secret_literal(literal, column.verdict, column.beside, allowance):
        return None
    allowance.spend(place)
    return SecretSpan(literal.start, literal.end, mark)


def _may_be(literal: Literal, mark: str) -> bool:
    """Say whether a cell may hold a secret of that kind, rather than a number, a date, prose or the name of one."""
    text = literal.text
    if not any(map(str.isalnum, text)):
        return False
    if " " in text and not (literal.quoted and has_digit(text) and _NO_CODE.isdisjoint(text)):
        return False
    if mark in _NUMBERS:
        return text.isdigit() and len(text) >= 4
    if _PLAIN.fullmatch(text) and not (text.isdigit() and len(text) >= LEAST_DIGITS):
        return False
    if mark not in _CERTAIN and (len(text) < SHORTEST_NOISE or text.isdigit() or METHOD.match(text)):
        return False
    return mark not in _MILD or literal.is_noise or literal.is_dense or len(text) >= LONG_WORD


def _is_ordinary(text: str) -> bool:
    """Say whether it is a word or a number, a method or a type, as documents have them in such columns."""
    return text.isalpha() or text.isdigit() or bool(METHOD.match(text) or _TYPE.fullmatch(text))


def find_in_html(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find what the tables of HTML hold below a heading with the name of a secret."""
    lowered, done, opened, sought = text.lower(), 0, -1, 0
    for find in _HEADING.each(text):
        at = find.span(0)[0]
        # Between two headings it is looked for once.
        opened, sought = max(opened, lowered.rfind("<tr", max(at - LONGEST_ROW, sought), at)), at
        begin = opened if opened >= max(at - LONGEST_ROW, done) else -1
        header = _ROW.match(text, begin) if begin >= 0 else None
        if header is None:
            continue
        done = header.end()
        names = [cell[1].strip() for cell in _CELL.finditer(header[0])]
        columns = [
            (at, _Column.of(names[at], verdict, is_data=are_of_users(names)))
            for at, verdict in _secret_columns(names).items()
        ]
        for row in _ROW.finditer(text, done) if columns and not header[1] else ():
            done = row.end()
            cells = [(cell[1], cell.start(1)) for cell in _CELL.finditer(row[0])]
            for place, column in columns:
                if place < len(cells) and (span := _value(cells[place], row.start(), column, allowance)):
                    yield span
            if row[1]:  # of the table
                break


def find_copied(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find the rows of a dump of PostgreSQL below `COPY users (name, password) FROM stdin;`."""
    start = 0
    for find in _COPY.all(text, allowance):
        if find.span(0)[0] < start:  # a row that holds such a statement
            continue
        marks = [judge(column.strip(' "')).mark for column in find[1].split(",")]
        start = find.span(0)[1]
        while any(marks) and not text.startswith("\\.", start):
            end = text.find("\n", start, start + LONGEST_ROW)
            cells = text[start : end if end >= 0 else len(text)].split("\t")
            for mark, cell in zip(marks, cells, strict=False):
                if mark and len(cell.strip()) >= SHORTEST_COPIED and cell != "\\N":
                    allowance.spend(start)
                    yield SecretSpan(start, start + len(cell.rstrip()), mark)
                start += len(cell) + 1
            if end < 0:
                break
            start = end + 1


FINDERS = (
    Finder.of(NAMED, find_in_tables, is_usual=True),
    Finder.of(_HEADING, find_in_html),
    Finder.of(_COPY, find_copied),
)
