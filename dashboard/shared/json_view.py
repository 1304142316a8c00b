"""Render a model's JSON for people: escaped, every character visible, the failing lines marked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import chain, islice
from typing import Any, NamedTuple

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from dashboard.shared.mistakes import TITLES, by_pattern
from dashboard.shared.near_lines import (
    BESIDE,
    HEAD,
    MOST_NEAR,
    NEAR_STRING,
    NEAR_TEXT,
    NearLine,
    gap,
    left_out,
    near_lines,
    plain,
    size_of,
)
from retrycontract.contract import pointers
from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.contract.json_types import holders_by_level, type_name
from retrycontract.contract.redaction.foreign import MARK_PATTERN
from retrycontract.contract.redaction.previews import beginning

MAX_LINES = 500  # a person reads no more; the rest is counted
MAX_STRING = 2000
INDENT = "  "
BAD = "jx jbad"
FIRST = '"jx jbad jfirst'  # in an attribute, which no value closes
LONG = 120  # characters of a line that may not fit, with its markup
QUOTED = ('<span class="jk">&quot;', '<span class="js">&quot;')
_Tree = dict[str, "_Tree"]
_Member = tuple[str | int, Any]
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
    number = _count(value) + sum(len(each) + (not _nearest(value, place)[1]) for place, each in marks.missing.items())
    if near:
        failing = marks.first_lines
        lines = _ends(value, "", 0, None, "", marks, marks.tree, HEAD if failing else MOST_NEAR + BESIDE)
        shown = near_lines((_as_near(each, marks) for each in lines), number, failing)
    else:
        lines = _lines(value, "", 0, None, "", marks, marks.tree)
        shown = [line.write() for line in islice(lines, MAX_LINES)]
        if number > MAX_LINES:
            shown.append(gap(number - MAX_LINES, "more "))
    written = "".join(shown).replace(FIRST, f'"{BAD}')
    return mark_safe(f'<pre class="json"><code>{written}</code></pre>')  # noqa: S308 - every part is escaped below


def is_long(value: Any, errors: Sequence[ValidationError] = ()) -> bool:
    """Tell whether a value has more lines, or longer ones, than are shown near its failing places."""
    if next(islice(_lines(value, "", 0, None, "", _Marks(), None), MOST_NEAR, None), None) is not None:
        return True
    marks = _Marks.of(value, errors)  # which may add lines for what is missing
    first = islice(_lines(value, "", 0, None, "", marks, marks.tree), MOST_NEAR + 1)
    lines = [line.write() for line in first]
    return len(lines) > MOST_NEAR or size_of(lines) > NEAR_TEXT


def _as_near(line: _Line | int, marks: _Marks) -> NearLine | int:
    return line if isinstance(line, int) else (marks.is_first(line.errors), line.write)


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


def _ends(
    value: Any, pointer: str, depth: int, name: str | None, comma: str, marks: _Marks, tree: _Tree, most: int
) -> Iterator[_Line | int]:
    """Give the lines as `_lines` does, but of a stretch in which nothing fails its ends, and how many lie between.

    An end has `most` lines at the beginning, and as many as stand beside a failing line behind. So what is shown of a
    value with a million lines takes the time of those that are shown.
    """
    missing = marks.missing.get(pointer, ())
    if not isinstance(value, dict | list) or not (value or missing):
        yield from _lines(value, pointer, depth, name, comma, marks, tree)
        return
    is_object, members = isinstance(value, dict), _members(value)
    opening, closing = "{}" if is_object else "[]"
    errors = marks.at.get(pointer, ())
    yield _Line(errors, lambda: _line(depth, f"{_key(name, marks.most)}{opening}", errors, marks))
    places = {each: place for place, (each, _) in enumerate(members)} if is_object and tree else {}
    failing = sorted(places[token] if is_object else int(token) for token in tree)
    begin = 0
    for end in [*failing, len(members)]:
        yield from _clean_ends(members[begin:end], depth + 1, end == len(members), marks, most)
        begin = end + 1
        if end < len(members):
            key, child = members[end]
            its_pointer, its_comma = pointers.join(pointer, key), "," if begin < len(members) else ""
            yield from _ends(child, its_pointer, depth + 1, _name(key), its_comma, marks, tree[str(key)], most)
    for error in missing:
        yield _Line([error], partial(_missing, depth + 1, error, marks))
    yield _Line((), lambda: _line(depth, f"{closing}{comma}", (), marks))


def _clean_ends(
    members: Sequence[_Member], depth: int, is_last: bool, marks: _Marks, most: int
) -> Iterator[_Line | int]:
    """Give the ends of some members of a value that lead to no error, `is_last` with the last of all."""
    last = len(members) - is_last
    lines = chain.from_iterable(
        _lines(child, "", depth, _name(key), "," if place < last else "", marks, None)
        for place, (key, child) in enumerate(members)
    )
    between = _count([child for _, child in members]) - 2 - most - BESIDE
    if between <= 0:
        yield from lines
        return
    yield from islice(lines, most)
    yield between
    backward = chain.from_iterable(
        _backward(child, depth, _name(key), "," if place or not is_last else "", marks)
        for place, (key, child) in enumerate(reversed(members))
    )
    yield from reversed([*islice(backward, BESIDE)])


def _backward(value: Any, depth: int, name: str | None, comma: str, marks: _Marks) -> Iterator[_Line]:
    """Give the lines of a value without errors from the last one on."""
    if not isinstance(value, dict | list) or not value:
        yield _Line((), partial(_plain_line, value, depth, name, comma, marks))
        return
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    yield _Line((), lambda: _line(depth, f"{closing}{comma}", (), marks))
    for place, (key, child) in enumerate(reversed(_members(value))):
        yield from _backward(child, depth + 1, _name(key), "," if place else "", marks)
    yield _Line((), lambda: _line(depth, f"{_key(name, marks.most)}{opening}", (), marks))


def _members(value: dict[str, Any] | list[Any]) -> Sequence[_Member]:
    return [*value.items()] if isinstance(value, dict) else [*enumerate(value)]


def _name(key: str | int) -> str | None:
    return key if isinstance(key, str) else None


def _count(value: Any) -> int:
    """Count the lines of a value: each value in it has one, and what is not empty a closing one."""
    return 1 + sum(sum(map(len, holders)) + sum(map(bool, holders)) for holders in holders_by_level(value))


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
    written = plain(json.dumps(begin, ensure_ascii=False)[1:-1])
    return (f"{written}…", left_out(left).removeprefix("…").rstrip()) if left else (written, "")


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
