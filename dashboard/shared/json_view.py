"""Render a model's JSON and source files for people: escaped, every character visible, the failing lines marked."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import islice
from typing import Any, NamedTuple

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from pygments.lexers import get_lexer_by_name
from pygments.token import Token
from pygments.util import ClassNotFound

from dashboard.shared.mistakes import TITLES, by_pattern
from retrycontract.contract import pointers
from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.contract.json_types import type_name
from retrycontract.contract.redaction.foreign import MARK_PATTERN
from retrycontract.contract.redaction.previews import beginning
from retrycontract.contract.redaction.sanitizer import elide_middle, visible

MAX_LINES = 500  # a person reads no more; the rest is counted
MAX_STRING = 2000
MOST_NEAR = 24  # lines of a document that is shown as far as it failed: what fits on one screen with its errors
NEAR_STRING = 120  # characters of a string or of a line there
NEAR_TEXT = 3_000  # bytes that a document may have to be shown as a whole: a page is to have 60 kB
BESIDE = 2  # lines shown on each side of a failing one
HEAD = 4  # lines of the beginning, which say what it is
INDENT = "  "
BAD = "jx jbad"
FIRST = '"jx jbad jfirst'  # in an attribute, which no value closes
LONG = 120  # characters of a line that may not fit, with its markup
QUOTED = ('<span class="jk">&quot;', '<span class="js">&quot;')
_Tree = dict[str, "_Tree"]
_CLASSES = {"string": "js", "number": "jn", "integer": "jn", "boolean": "jl", "null": "jl"}


@dataclass(slots=True)
class _Marks:
    """Hold the errors by place; what is missing is listed at the container that lacks it."""

    at: dict[str, list[ValidationError]] = field(default_factory=dict)
    missing: dict[str, list[ValidationError]] = field(default_factory=dict)
    tree: _Tree = field(default_factory=dict)  # the way to each place, token by token
    first: set[int] = field(default_factory=set)  # of those that are alike, by `id`
    most: int = MAX_STRING  # characters of a string

    @classmethod
    def of(cls, value: Any, errors: Sequence[ValidationError], most: int = MAX_STRING) -> _Marks:
        marks = cls(first={id(one.first) for one in by_pattern(errors)}, most=most)
        for error in errors:
            # What no schema says of the whole stands at no line: the opening bracket is not to blame for it.
            if error.severity is not ErrorSeverity.ERROR or (not error.field_path and error.keyword in TITLES):
                continue
            place, found = _nearest(value, error.field_path)
            lacks = place != error.field_path and place == pointers.parent(error.field_path)
            listed = marks.missing if lacks and isinstance(found, dict) else marks.at
            listed.setdefault(place, []).append(error)
            reduce(lambda tree, token: tree.setdefault(token, {}), pointers.tokens(place), marks.tree)
        return marks

    def is_first(self, errors: Sequence[ValidationError]) -> bool:
        """Tell whether the first error of those that are alike is among these of a line."""
        return any(id(error) in self.first for error in errors)

    @property
    def first_lines(self) -> int:
        """Count the lines of which that is true; each missing member has one of its own."""
        lines = [*self.at.values(), *([error] for errors in self.missing.values() for error in errors)]
        return sum(map(self.is_first, lines))


def render_json(value: Any, errors: Sequence[ValidationError] = (), *, near: bool = False) -> SafeString:
    """Write a value as HTML lines; nothing of it is trusted, and keys are never looked up by name.

    With `near` a long one is shown only around its failing places, of those that are alike the first, as far as a
    screen goes; where nothing fails, how it begins.
    """
    near = near and is_long(value, errors)
    marks = _Marks.of(value, errors, NEAR_STRING if near else MAX_STRING)
    lines, number = _lines(value, "", 0, None, "", marks, marks.tree), _count(value, "", marks, marks.tree)
    if near:
        shown = _near(((marks.is_first(line.errors), line.write) for line in lines), number, marks.first_lines)
    else:
        shown = [line.write() for line in islice(lines, MAX_LINES)]
        if number > MAX_LINES:
            shown.append(_gap(number - MAX_LINES, "more "))
    written = "".join(shown).replace(FIRST, f'"{BAD}')
    return mark_safe(f'<pre class="json"><code>{written}</code></pre>')  # noqa: S308 - every part is escaped below


def is_long(value: Any, errors: Sequence[ValidationError] = ()) -> bool:
    """Tell whether a value has more lines, or longer ones, than are shown near its failing places."""
    if next(islice(_lines(value, "", 0, None, "", _Marks(), None), MOST_NEAR, None), None) is not None:
        return True
    marks = _Marks.of(value, errors)  # which may add lines for what is missing
    first = islice(_lines(value, "", 0, None, "", marks, marks.tree), MOST_NEAR + 1)
    lines = [line.write() for line in first]
    return len(lines) > MOST_NEAR or _size(lines) > NEAR_TEXT


def is_long_text(text: str) -> bool:
    """Tell whether a text has more lines or characters than are shown near its failing lines."""
    return _size([text]) > NEAR_TEXT or text.count("\n") > 2 * MOST_NEAR


def _near(lines: Iterable[tuple[bool, Callable[[], str]]], number: int, failing: int) -> list[str]:
    """Write the beginning, and the failing lines with their neighbours, until there are enough; of all `number`."""
    coming = iter(lines)
    held = dict(enumerate(islice(coming, HEAD)))  # with those around it; there may be a million
    written = {index: write() for index, (_, write) in held.items()}
    read, left = len(held), failing or number
    for index in range(number):
        for line in islice(coming, max(index + BESIDE + 1 - read, 0)):
            held[read] = line
            read += 1
        if held[index][0] or not failing:
            if len(written) >= MOST_NEAR or _size(written.values()) >= NEAR_TEXT:
                break
            # Whole neighbourhoods, so that the last one may go beyond the bound by some lines.
            around = range(max(index - BESIDE, 0), min(index + BESIDE + 1, number))
            written |= {one: held[one][1]() for one in around if one not in written}
            left -= 1
            if not left:
                break
        held.pop(index - BESIDE, None)
    shown: list[str] = []
    before = -1
    for index in [*sorted(written), number]:
        if index - before > 1:
            shown.append(_gap(index - before - 1))
        if index < number:
            shown.append(written[index])
        before = index
    return shown


def _size(lines: Iterable[str]) -> int:
    return sum(len(line.encode(errors="replace")) for line in lines)


def _gap(number: int, more: str = "") -> str:
    return f'<span class="jx jmore">… {number} {more}line{"" if number == 1 else "s"}\n</span>'


def render_text(text: str, *, near: bool = False) -> SafeString:
    """Write text that never parsed, its own line breaks kept and everything hidden made visible; `near`: less of it."""
    most = NEAR_TEXT // 2 if near else MAX_LINES * 100
    # Three quarters of the room for how it begins, which tells most; where it breaks off tells the rest.
    begin = beginning(text, most if len(text) <= most else most * 3 // 4)
    end = text[max(len(text) - most // 4, len(begin)) :]
    parts = ["\n".join(map(_plain, part.split("\n"))) for part in (begin, end)]
    body = _more(len(text) - len(begin) - len(end)).join(parts)
    return mark_safe(f'<pre class="text"><bdi>{body}</bdi></pre>')  # noqa: S308 - every line is escaped


def _more(left: int) -> str:
    """Say how many characters are left out, if any."""
    return f'… <span class="jmore">{left:,} more character{"" if left == 1 else "s"}</span> ' if left else ""


class _Line(NamedTuple):
    """Hold a line that is to be written: of a million few are shown."""

    errors: Sequence[ValidationError]
    write: Callable[[], str]


def _lines(
    value: Any, pointer: str, depth: int, name: str | None, comma: str, marks: _Marks, tree: _Tree | None
) -> Iterator[_Line]:
    """Give each line; `tree` leads on to the places with errors, and is None where there are none below."""
    errors, most = () if tree is None else marks.at.get(pointer, ()), marks.most
    missing = () if tree is None else marks.missing.get(pointer, ())
    if isinstance(value, dict | list) and (value or missing):
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        yield _Line(errors, lambda: _line(depth, f"{_key(name, most)}{opening}", errors, marks))
        names: Iterable[str | int] = value if isinstance(value, dict) else range(len(value))
        last = len(value) - 1
        for index, its_name in enumerate(names):
            key, its_comma = its_name if isinstance(its_name, str) else None, "," if index < last else ""
            beneath, child = tree.get(str(its_name)) if tree else None, value[its_name]  # type: ignore[index]  # each has its own
            if beneath is None and not isinstance(child, dict | list):  # nearly all lines of a long list: at once
                yield _Line((), partial(_plain_line, child, depth + 1, key, its_comma, marks))
                continue
            its_pointer = pointer if beneath is None else pointers.join(pointer, its_name)
            yield from _lines(child, its_pointer, depth + 1, key, its_comma, marks, beneath)
        for error in missing:
            yield _Line([error], partial(_missing, depth + 1, error, marks))
        yield _Line((), lambda: _line(depth, f"{closing}{comma}", (), marks))
    else:
        yield _Line(errors, partial(_plain_line, value, depth, name, comma, marks, errors))


def _count(value: Any, pointer: str, marks: _Marks, tree: _Tree | None) -> int:
    """Count those lines, without making them."""
    missing = () if tree is None else marks.missing.get(pointer, ())
    if not isinstance(value, dict | list) or not (value or missing):
        return 1
    members: Iterable[tuple[str | int, Any]] = value.items() if isinstance(value, dict) else enumerate(value)
    number = len(value) + len(missing) + 2
    for name, child in members:
        if isinstance(child, dict | list):
            beneath = tree.get(str(name)) if tree else None
            number += _count(child, "" if beneath is None else pointers.join(pointer, name), marks, beneath) - 1
    return number


def _plain_line(
    value: Any, depth: int, name: str | None, comma: str, marks: _Marks, errors: Sequence[ValidationError] = ()
) -> str:
    return _line(depth, f"{_key(name, marks.most)}{_scalar(value, marks.most)}{comma}", errors, marks)


def _missing(depth: int, error: ValidationError, marks: _Marks) -> str:
    lacking = f'{_key(pointers.last(error.field_path), marks.most)}<span class="jmissing">missing</span>'
    return _line(depth, lacking, [error], marks, missing=True)


def _line(depth: int, content: str, errors: Sequence[ValidationError], marks: _Marks, *, missing: bool = False) -> str:
    indent = INDENT * depth
    if len(content) > LONG and content.startswith(QUOTED):
        # A long name breaks within itself, not before it: its line would hold nothing but the indentation.
        indent, content = "", content.replace("&quot;", f'<span class="ji">{indent}&quot;</span>', 1)
    if not errors:
        return f'<span class="jx">{indent}{content}\n</span>'
    codes = ", ".join(dict.fromkeys(error.error_code.value for error in errors))
    kind = FIRST if marks.is_first(errors) else f'"{BAD}'
    gone = " jgone" if missing else ""
    return f'<span class={kind}{gone}">{indent}{content} <span class="jcode">{codes}</span>\n</span>'


def _key(name: str | None, most: int) -> str:
    if name is None:
        return ""
    shown, more = _inside(name, most)
    return f'<span class="jk">&quot;<bdi>{shown}</bdi>&quot;</span>{more}: '


def _scalar(value: Any, most: int) -> str:
    if isinstance(value, str):
        shown, more = _inside(value, most)
        marked = MARK_PATTERN.sub(lambda match: f'<span class="jr">{match.group()}</span>', shown)
        return f'<span class="js">&quot;<bdi>{marked}</bdi>&quot;</span>{more}'
    if isinstance(value, dict | list):
        return "{}" if isinstance(value, dict) else "[]"
    return f'<span class="{_CLASSES.get(type_name(value), "jl")}">{escape(json.dumps(value))}</span>'


def _inside(text: str, most: int) -> tuple[str, str]:
    """Write a string as JSON does, without its quotes, and how much of it is left out."""
    begin = beginning(text, most)
    left = len(text) - len(begin)
    written = _plain(json.dumps(begin, ensure_ascii=False)[1:-1])
    return (f"{written}…", _more(left).removeprefix("…").rstrip()) if left else (written, "")


def _plain(text: str) -> str:
    return str(escape(visible(text)))


def _nearest(value: Any, pointer: str) -> tuple[str, Any]:
    """Give the longest beginning of a pointer that the value has, and what is there."""
    place, at = "", value
    for token in pointers.tokens(pointer):
        if isinstance(at, dict) and token in at:
            at = at[token]
        # `isdigit` alone takes digits of other scripts, which no pointer has.
        elif isinstance(at, list) and token.isascii() and token.isdigit() and int(token) < len(at):
            at = at[int(token)]
        else:
            return place, at
        place = pointers.join(place, token)
    return place, at


MAX_SOURCE = 50_000  # characters; a person reads no more
MAX_COLOURED = 20_000  # lexing costs 1 ms per 4,000 characters, and a page has 100 ms
MAX_LINE = 1_000  # a longer one is minified: a lexer may take long over it, and nobody reads its colours
FENCE = "```"
# The five things that an eye looks for, by the classes that JSON has, too: one set of colours, light and dark.
CLASSES = (
    (Token.Comment, "sc"),
    (Token.Literal.String, "js"),
    (Token.Literal.Number, "jn"),
    (Token.Keyword, "jk"),
    (Token.Name.Function, "sf"),
    (Token.Name.Class, "sf"),
    (Token.Name.Tag, "jk"),
    (Token.Name.Attribute, "sf"),
)


def render_source(text: str, language: str = "", failing: Collection[int] = (), *, near: bool = False) -> SafeString:
    """Write a file as numbered lines; of a fenced block its lines alone have numbers, as the errors count them.

    With `near` a long one is shown only around its failing lines, or how it begins.
    """
    near = near and is_long_text(text)
    begin = beginning(text, MAX_SOURCE)  # not its end as well, whose lines would bear wrong numbers
    lines = begin.removesuffix("\n").split("\n")
    if near:
        lines = [elide_middle(line, NEAR_STRING) for line in lines]
    numbers = [number for number, _ in _numbered(lines)]
    fails = [number.isdecimal() and int(number) in failing for number in numbers]
    written = []
    for number, html, is_failing in zip(numbers, _coloured(lines, language), fails, strict=True):
        bad = ' sbad"><span class="vh">Failing line: </span' if is_failing else '"'
        written.append(f'<span data-line="{number}" class="sline{bad}><bdi>{html}</bdi>\n</span>')
    shown = (
        _near(zip(fails, (partial(str, line) for line in written), strict=True), len(written), sum(fails))
        if near
        else written
    )
    body = "".join(shown) + _more(len(text) - len(begin))
    return mark_safe(f'<pre class="text source"><code>{body}</code></pre>')  # noqa: S308 - every token is escaped


def _coloured(lines: list[str], language: str) -> Iterable[str]:
    """Write each line as HTML, in colours where its language is known and it is not too long for that."""
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False) if language else None
    except ClassNotFound:
        lexer = None
    if lexer is None or sum(map(len, lines)) > MAX_COLOURED or max(map(len, lines)) > MAX_LINE:
        return (escape(visible(line)) for line in lines)
    # Each line for itself: a token over several lines is closed and opened again with the line.
    written = [""]
    for token, value in lexer.get_tokens("\n".join(lines)):
        for index, part in enumerate(value.split("\n")):
            if index:
                written.append("")
            shown = escape(visible(part))
            name = next((name for family, name in CLASSES if token in family), "")
            written[-1] += f'<span class="{name}">{shown}</span>' if name and part.strip() else shown
    return written[: len(lines)] + [""] * (len(lines) - len(written))


def _numbered(lines: list[str]) -> Iterator[tuple[str, str]]:
    is_fenced = any(line.lstrip().startswith(FENCE) for line in lines)
    number, counts = 0, not is_fenced
    for line in lines:
        if line.lstrip().startswith(FENCE):
            number, counts = 0, not counts
            yield "", line
        else:
            number += counts
            yield str(number) if counts else "", line
