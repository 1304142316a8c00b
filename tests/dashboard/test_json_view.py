"""What a model wrote is shown as it is, whatever it holds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from html import unescape
from typing import Any

import pytest

from dashboard.call.call_history import editable
from dashboard.shared.json_view import MAX_LINES, MAX_STRING, render_json
from dashboard.shared.text_view import MAX_SOURCE, render_source, render_text
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.contract.json_types import count_nodes
from retrycontract.contract.outputs.json_text import parse_json
from tests.contract.test_sanitizer_properties import steps


def error(pointer: str, code: ErrorCode = ErrorCode.TYPE_MISMATCH, **more: Any) -> ValidationError:
    return ValidationError(error_code=code, field_path=pointer, message="wrong", **more)


def lines(html: str) -> list[str]:
    """Give the text of each line."""
    body = re.sub(r"</?(pre|code)[^>]*>", "", html)
    return [unescape(re.sub(r"<[^>]+>", "", line)) for line in body.split("\n")]


def marked(html: str) -> list[str]:
    """Give the text of the lines that are marked."""
    return [unescape(re.sub(r"<[^>]+>", "", line)).strip() for line in re.findall(r'class="jx jbad[^>]*>(.*)', html)]


def test_of_a_long_output_the_first_of_the_mistakes_that_are_alike_is_shown() -> None:
    orders = [{"qty": "two", "note": n} for n in range(75)]
    alike = [error(f"/orders/{n}/qty") for n in range(75)]
    shown = str(render_json({"orders": orders, "to": 1}, [*alike, error("/to")], near=True))
    assert marked(shown) == ['"qty": "two", VAL-002', '"to": 1 VAL-002']
    assert len(lines(shown)) < 20


ITEMS = {
    "numbers": lambda number: number,
    "objects": lambda number: {"a": [number, {"b": "x"}], "c": {}},
    "names": lambda number: f"n{number}",
}


@pytest.mark.parametrize("item", ITEMS.values(), ids=ITEMS)
@pytest.mark.parametrize("failing", [(), (0,), (400, 800), range(0, 900, 2)])
def test_no_line_is_made_that_is_not_shown(item: Callable[[int], Any], failing: Sequence[int]) -> None:
    """An output of a megabyte has hundreds of thousands: to look at each took seconds, for each look at the page."""

    def shown(size: int) -> tuple[int, int]:
        items = [item(number) for number in range(size)]
        value = {"items": items, "named": {str(number): each for number, each in enumerate(items)}}
        errors = [error(f"/{where}/{number}") for where in value for number in failing]
        return steps(lambda: render_json(value, errors, near=True)), count_nodes(value)

    (few, small), (many, large) = shown(1_000), shown(20_000)
    # Each value is counted in all and among those that are left out, in a few calls that begin and end; to make the
    # lines of numbers took 15 for each, of objects 32.
    assert many - few < 12 * (large - small)


@pytest.mark.parametrize("beyond", [0, 40_000])
def test_a_mistake_far_behind_the_beginning_is_shown(beyond: int) -> None:
    html = str(render_json({"items": [*range(beyond), "two", *range(50)]}, [error(f"/items/{beyond}")], near=True))
    assert marked(html) == ['"two", VAL-002']
    assert (
        sum(int(gap.replace(",", "")) for gap in re.findall(r"… ([\d,]+) line", html))
        + len(lines(html))
        - html.count("jmore")
        > beyond + 50
    )


@pytest.mark.parametrize(
    "value", [None, True, 0, -1.5, "", "a", [], {}, [1, [2, {}]], {"a": {"b": [None]}, "items": [1], "": "x"}]
)
def test_without_errors_the_text_is_the_json_itself(value: Any) -> None:
    shown, fault = parse_json("\n".join(lines(render_json(value))))
    assert fault is None
    assert shown == value


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("{{ settings.SECRET_KEY }}{% debug %}", "{{ settings.SECRET_KEY }}{% debug %}"),
        ('" onmouseover="x', "\\&quot; onmouseover=\\&quot;x"),
        ("a\u202eb", "a\\u202eb"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("nul\x00bell\x07", "nul\\u0000bell\\u0007"),
        ("</code></pre>", "&lt;/code&gt;&lt;/pre&gt;"),
    ],
)
def test_hostile_text_stays_text_in_keys_and_in_values(hostile: str, shown: str) -> None:
    assert f'"js">&quot;<bdi>{shown}</bdi>&quot;' in render_json({"k": hostile})
    assert f'"jk">&quot;<bdi>{shown}</bdi>&quot;' in render_json({hostile: 1})


@pytest.mark.parametrize(
    ("value", "pointer", "line"),
    [
        ({"a": 1, "b": 2}, "/b", '"b": 2 VAL-002'),
        ({"a": [{"b": 1}, {"b": 2}]}, "/a/1/b", '"b": 2 VAL-002'),
        ({"a": {"b": 1}}, "/a", '"a": { VAL-002'),
        ({"a/b": {"~": 1}}, "/a~1b/~0", '"~": 1 VAL-002'),
        ({"items": 1}, "/items", '"items": 1 VAL-002'),
        ("text", "", '"text" VAL-002'),
        ({"a": 1}, "/b", '"b": missing VAL-002'),
        ({}, "/b", '"b": missing VAL-002'),
        ({"a": 1}, "/a/b/c", '"a": 1 VAL-002'),
        ("text", "/b", '"text" VAL-002'),
        ([1], "/7", "[ VAL-002"),
    ],
)
def test_the_place_of_an_error_is_marked(value: Any, pointer: str, line: str) -> None:
    assert marked(render_json(value, [error(pointer)])) == [line]


@pytest.mark.parametrize(
    ("keyword", "lines"), [("callback", []), ("tool", []), ("minProperties", ['{ "k": 1 } VAL-015'])]
)
def test_what_no_schema_says_of_the_whole_blames_no_line(keyword: str, lines: list[str]) -> None:
    found = error("", ErrorCode.OBJECT_SCHEMA_VIOLATION, keyword=keyword)
    assert bool(marked(render_json({"k": 1}, [found]))) is bool(lines)


def test_several_errors_of_one_place_share_its_line() -> None:
    both = [error("/a"), error("/a", ErrorCode.PATTERN_MISMATCH), error("/a")]
    assert marked(render_json({"a": 1}, both)) == ['"a": 1 VAL-002, VAL-007']


def test_warnings_mark_nothing() -> None:
    assert marked(render_json({"a": 1}, [error("/a", severity=ErrorSeverity.WARNING)])) == []


def test_redaction_marks_stand_out() -> None:
    assert '<span class="jr">[REDACTED: API_KEY]</span>' in render_json({"key": "[REDACTED: API_KEY]"})


def test_a_huge_value_is_cut_and_says_by_how_much() -> None:
    html = render_json(list(range(MAX_LINES + 40)))
    assert "… 42 more lines" in html
    assert html.count("\n") == MAX_LINES + 1  # with the line that says so


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("length", [MAX_STRING, MAX_STRING + 1, 180_000])
@pytest.mark.parametrize("letter", ["x", "é", "👩‍🚀", '"'])
def test_a_long_string_ends_in_an_ellipsis_and_says_how_much_is_left_out(letter: str, length: int, near: bool) -> None:
    value = letter * (length // len(letter))
    [line] = [line for line in lines(render_json({"k": value}, near=near)) if '"k"' in line]
    assert "..." not in line
    shown = re.fullmatch(r'  "k": "(.*?)(?:…" ([\d,]+) more characters?|")', line)
    assert shown
    kept = json.loads(f'"{shown[1]}"')
    assert value.startswith(kept)
    assert len(kept) % len(letter) == 0  # nothing that belongs together is parted
    assert len(value) - len(kept) == int((shown[2] or "0").replace(",", ""))


@pytest.mark.parametrize("near", [False, True])
def test_a_long_text_or_file_says_how_much_is_left_out(near: bool) -> None:
    text = "".join(f"line {number} ...\n" for number in range(20_000))
    assert re.search(r"… <span class=\"jmore\">[\d,]+ more characters</span>", render_text(text, near=near))
    assert f"{len(text) - MAX_SOURCE:,} more characters" in render_source(text, near=near)
    assert "more character" not in render_source(text[:MAX_SOURCE]) + render_text(text[:1_000], near=near)


def test_a_value_as_deep_as_outputs_may_be_is_shown() -> None:
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    assert len(lines(render_json(deep))) > 200


def test_text_that_never_parsed_keeps_its_lines_and_shows_what_hides() -> None:
    assert render_text("Sure!\n{\u202e<b>") == '<pre class="text"><bdi>Sure!\n{\\u202e&lt;b&gt;</bdi></pre>'


@pytest.mark.parametrize("value", [{"a": '\u202e\u200b\x00\n"\\'}, ["🙂", "é", "\U000e0041"], {"\u2028": 1e308}])
def test_what_the_operator_edits_means_the_same_and_hides_nothing(value: Any) -> None:
    text = editable(value)
    assert parse_json(text) == (value, None)
    assert not set("\u202e\u200b\x00\u2028\U000e0041") & set(text)


def test_what_indenting_would_multiply_stays_on_one_line() -> None:
    value = json.loads("[" + ",".join(["[" * 98 + "]" * 98] * 2_000) + "]")
    text = editable(value)
    assert len(text) < 1_000_000
    assert "\n" not in text
    assert json.loads(text) == value
