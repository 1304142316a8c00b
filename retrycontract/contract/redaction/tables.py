"""Find secrets in the tables of a text: below the name of their column, or beside the name that begins their row."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, pairwise

from retrycontract.contract.redaction.commands import METHOD
from retrycontract.contract.redaction.detectors import Allowance, Finder, Head, SecretSpan, compiled
from retrycontract.contract.redaction.field_names import SECRET_NAME, Assignment, NameVerdict, judge
from retrycontract.contract.redaction.literals import SHORTEST_NOISE, Literal, is_secret_literal
from retrycontract.contract.redaction.scan_copies import FOREIGN

LONGEST_LINE, LONGEST_ROW, SHORTEST_VALUE = 2_000, 20_000, 3
# A secret's name that fills a cell; whether it is one of a table shows by its line and those below.
_NAMED = Head(rf"(?im)(?:^|[|,;\t\"]|  )[ \"'`*_]*(?:\w+ ){{0,3}}{SECRET_NAME}[ \"'`*_]*(?:[|,;\t\r]|  |$)")
_RULE = re.compile(r"[|+: \t]*[-=]{2}[-=|+: \t\r]*")
_COLUMN, _APART = re.compile(r"[-=]{2,}"), re.compile(r"\S+(?: \S+)*")
_NAME = re.compile(rf"[\w.$@/()#{FOREIGN}-]+(?: [\w.$@/()#{FOREIGN}-]+){{0,3}}")
_QUOTED = re.compile(r'"[^"]*"')
# What stands before a table that a string of JSON or of program text holds.
_OPENING = re.compile(rf".*[:=(\[][ \t]*[\"'`](?=[\"'`]?[ ]*[\w|*{FOREIGN}])")
# Below the rows of a database.
_COUNT = re.compile(r"\([0-9]+ rows?\)\r?")
_HEADING = Head(rf"(?i)<th\b[^<>]*>(?:<[^<>]*>)?\s*(?:\w+ ){{0,3}}{SECRET_NAME}\s*(?:</\w+>)?\s*</th")
_CELL = re.compile(r"(?i)<t[hd]\b[^<>]{0,400}>(?:\s*<[^<>]{0,400}>)*([^<>]*)")
_ROW = re.compile(rf"(?is)<tr\b.{{0,{LONGEST_ROW}}}?(?=<tr\b|(</table\b)|\Z)")
# What a cell's value is dressed in, quotes and the marks of code and of bold text; and what closes the text around it.
_DRESS, _CLOSING = " \t\r\"'`*", "}])"
_NUMBERS, _CERTAIN = ("PIN", "OTP", "CVV", "SSN"), ("PASSWORD", "SECRET", "PRIVATE_KEY")


Cells = Sequence[tuple[str, int]]  # what stands in each, and where that begins in its line
Cut = Callable[[str], Cells]


@dataclass(frozen=True, slots=True)
class _Table:
    """Say how the lines of a table are cut; `is_data` where programs write it, so that it holds values and no prose."""

    names: list[str]
    cut: Cut
    is_data: bool


def find_in_tables(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find what columns and rows with the name of a secret hold: of CSV, Markdown, and what databases print."""
    written, search, done = text.encode(), compiled(_NAMED.pattern).search, 0
    while match := search(written, done):
        at = match.end() - 1  # where it begins, the line before may end
        earliest = max(at - LONGEST_LINE, done)
        begin = text.rfind("\n", earliest, at) + 1 or (earliest if earliest == 0 or text[earliest - 1] == "\n" else at)
        lines = _lines(text, begin)
        start, header = next(lines, (at + LONGEST_LINE, ""))
        done = start + len(header) + 1
        yield from _beside_name(start, header, allowance)
        table = _table(header, next(lines, (0, ""))[1]) if start < at else None
        if table is None:
            continue
        verdicts = _secret_columns(table.names)
        if verdicts:
            allowance.look(start)
        for start, line in _lines(text, done) if verdicts else ():
            cells = table.cut(line)
            is_row = len(cells) == len(table.names) or (table.is_data and len(cells) > len(table.names))
            if _COUNT.fullmatch(line) or not (is_row or _RULE.fullmatch(line)):
                break
            done = start + len(line) + 1
            for column, verdict in verdicts.items() if is_row else ():
                yield from _value(cells[column], start, table.names[column], verdict, allowance, table.is_data)


def _lines(text: str, at: int) -> Iterator[tuple[int, str]]:
    """Give the lines from one on, each with where it begins, up to one that is too long for a table."""
    while at < len(text):
        end = text.find("\n", at, at + LONGEST_LINE)
        if end < 0:
            if len(text) - at > LONGEST_LINE:
                return
            end = len(text)
        if text[at:end] != " ":  # of an end of a line that is written as `\\r\\n`
            yield at, text[at:end]
        at = end + 1


def _table(header: str, below: str) -> _Table | None:
    """Say what table a line of names and the line below it begin, if one."""
    opening = _OPENING.match(header)
    header, below = header[opening.end() if opening else 0 :].rstrip(), below.rstrip()
    if _RULE.fullmatch(below):
        if "|" in header:
            return _named(header, partial(_between, "|"), is_data="+" in below)
        return _named(header, partial(_below, [column.start() for column in _COLUMN.finditer(below)]), is_data=True)
    if sign := next((sign for sign in "\t;,|" if sign in header), None):
        if below.count(sign) < header.count(sign):  # as behind most lines of code
            return None
        table = _named(header, partial(_between, sign), is_data=True)
        first = table.cut(below)
        # A line of code or prose has commas as well, and blanks in what would be its cells.
        is_code = any(" " in cell and ("(" in cell or sign == "|") for cell, _ in first)
        if len(first) >= len(table.names) > 1 and not is_code and all(map(_NAME.fullmatch, table.names)):
            return replace(table, is_data=" " not in header)
        return None
    is_loud, is_frame = header.isupper(), header[:1] == " "
    if not is_loud and not is_frame:
        return None
    table, first = _named(header, _apart, is_data=True), _apart(below)
    if len(table.names) > 1 and len(first) == len(table.names) and is_loud:
        return table
    # Data frames number their rows.
    if len(table.names) > 1 and len(first) == len(table.names) + 1 and first[0][0].isdigit() and is_frame:
        return replace(table, names=["", *table.names])
    return None


def _named(header: str, cut: Cut, *, is_data: bool) -> _Table:
    return _Table([cell.strip(_DRESS) for cell, _ in cut(header)], cut, is_data)


def _between(sign: str, line: str) -> Cells:
    """Cut a line at the signs outside of quotes."""
    masked = _QUOTED.sub(lambda quoted: "_" * len(quoted[0]), line) if '"' in line else line
    parts = masked.split(sign)
    places = [0, *accumulate(len(part) + 1 for part in parts)]
    cells = [(line[start : end - 1], start) for start, end in pairwise(places)]
    if sign == "|" and line.lstrip().startswith(sign):  # which then stands around the row as well
        return cells[1 : None if cells[-1][0].strip(_DRESS + _CLOSING) else -1]
    return cells


def _apart(line: str) -> Cells:
    """Cut a line at blanks, of which there are two and more."""
    return [(word[0], word.start()) for word in _APART.finditer(line)]


def _below(starts: list[int], line: str) -> Cells:
    """Cut a line where the columns begin."""
    return [(line[start:end], start) for start, end in pairwise([*starts, len(line)])] if line.strip() else []


def _beside_name(start: int, line: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find the value in the second cell of a row, where the first names it."""
    if line.lstrip()[:1] == "|" and len(cells := _between("|", line)) > 1:
        name, value = cells[0][0].strip(_DRESS), cells[1]
        if (verdict := judge(name)).mark and not METHOD.match(value[0].strip(_DRESS)):
            yield from _value(value, start, name, verdict, allowance, False)


def _value(
    cell: tuple[str, int], start: int, name: str, verdict: NameVerdict, allowance: Allowance, is_data: bool
) -> Iterator[SecretSpan]:
    written, at = cell
    bare = written.lstrip(_DRESS)
    text = bare.rstrip(_DRESS).rstrip(_CLOSING).rstrip(_DRESS)
    mark = verdict.mark or ""
    if (
        len(text) < SHORTEST_VALUE
        or not any(map(str.isalnum, text))
        or (mark in _NUMBERS and not (text.isdigit() and len(text) >= 4))
    ):
        return
    if mark not in _CERTAIN and (len(text) < SHORTEST_NOISE or not any(map(str.isalpha, text))):
        return
    place = start + at + len(written) - len(bare)
    literal = Literal(text, place, place + len(text), quoted=" " in text)
    beside = Assignment(name, ":", spaced=True, starts_line=is_data)
    if (is_data or not literal.quoted) and is_secret_literal(literal, verdict, beside, allowance):
        allowance.spend(place)
        yield SecretSpan(literal.start, literal.end, mark)


def find_in_html(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find what the tables of HTML hold below a heading with the name of a secret."""
    lowered, done = text.lower(), 0
    for find in _HEADING.each(text):
        at = find.span(0)[0]
        begin = lowered.rfind("<tr", max(at - LONGEST_ROW, done), at)
        header = _ROW.match(text, begin) if begin >= 0 else None
        if header is None:
            continue
        done = header.end()
        names = [cell[1].strip() for cell in _CELL.finditer(header[0])]
        verdicts = _secret_columns(names)
        for row in _ROW.finditer(text, done) if verdicts and not header[1] else ():
            done = row.end()
            cells = [(cell[1], cell.start(1)) for cell in _CELL.finditer(row[0])]
            for column, verdict in verdicts.items():
                if column < len(cells):
                    yield from _value(cells[column], row.start(), names[column], verdict, allowance, False)
            if row[1]:  # of the table
                break


def _secret_columns(names: list[str]) -> dict[int, NameVerdict]:
    return {column: verdict for column, name in enumerate(names) if (verdict := judge(name)).mark}


FINDERS = (Finder.of(_NAMED, find_in_tables), Finder.of(_HEADING, find_in_html))
