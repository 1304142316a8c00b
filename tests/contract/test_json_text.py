from __future__ import annotations

import json
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrycontract import ValueSanitizer
from retrycontract.contract.checks.reading import SYNTAX_HINTS, syntax_error
from retrycontract.contract.json_types import LONG, PIECE, count_nodes, write_json
from retrycontract.contract.outputs.json_text import (
    MAX_DEPTH,
    TOO_LARGE,
    FaultKind,
    JsonFault,
    depth_fault,
    depth_of,
    end_of_value,
    fault_in,
    parse_json,
    read_json,
    too_large,
)


def fault_of(text: str | bytes, *, truncated: bool = False) -> JsonFault:
    value, fault = parse_json(text, truncated=truncated)
    assert value is None
    assert fault is not None
    return fault


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=10,
)


@given(JSON, st.booleans())
def test_valid_json_is_read_as_the_standard_library_reads_it(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert parse_json(text) == parse_json(text.encode()) == (value, None)
    assert fault_in(value) is None


@pytest.mark.parametrize(
    "text", [' {"a": 1}\r\n\t', "1", "-0", "1E+2", "null", '"\\ud83d\\ude00"', '"😀"', "[" * 100 + "]" * 100]
)
def test_any_value_is_json_not_only_objects(text: str) -> None:
    assert parse_json(text) == (json.loads(text), None)


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        ("", "empty", "the text is empty"),
        (" \n", "empty", "the text is empty"),
        (b"\xff{}", "encoding", "the text is not UTF-8 (byte 0)"),
        (b"{\"a\": \"\xe9\"}", "encoding", "the text is not UTF-8 (byte 7)"),
        ("\ufeff{}", "encoding", "the text begins with a byte order mark"),
        (b"\xef\xbb\xbf{}", "encoding", "the text begins with a byte order mark"),
        ('```json\n{"a": 1}\n```', "fenced", "the value stands in a Markdown fence; send the JSON alone"),
        ("```\n{'a': 1}\n```", "fenced",
         "; within it: a string in single quotes at line 2, column 2"),
        ('{"a": 1} Done.', "trailing", "text follows the JSON value at line 1, column 10"),
        ('{"a": 1}\n{"a": 2}', "trailing", "a second value follows the JSON value at line 2, column 1"),
        ("01", "trailing", "text follows the JSON value at line 1, column 2"),
        ("Here you are", "syntax", "expecting value at line 1, column 1"),
        ("{'a': 1}", "syntax", "a string in single quotes at line 1, column 2"),
        ('{"a": 1,}', "syntax", "a comma before the closing bracket at line 1, column 8"),
        ("[1, 2,]", "syntax", "a comma before the closing bracket at line 1, column 6"),
        ('{"a" 1}', "syntax", "no colon after a key at line 1, column 6"),
        ('{"a": 1\n "b": 2}', "syntax", "no comma between two entries at line 2, column 2"),
        ('{"a": "x\ny"}', "syntax", "a line break inside a string at line 1, column 9"),
        ('{"a": "\\q"}', "syntax", "a single backslash inside a string at line 1, column 8"),
        ('{"a": "x\n}', "syntax", "a string that is not closed at line 1, column 9"),
        ('{"a": True}', "syntax", "True, which is no JSON, at line 1, column 7"),
        ("// note\n{}", "syntax", "expecting value at line 1, column 1"),
        ("tru", "syntax", "expecting value at line 1, column 1"),
        ('{"a": NaN}', "nan", "NaN is not JSON; use a number or null"),
        ("[-Infinity]", "nan", "-Infinity is not JSON; use a number or null"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "duplicate-key", 'the key "c" appears twice in one object'),
        ('```json\n{"a": [1,', "truncated", "the text ends inside a value at line 2, column 10: it was cut off"),
        ('Here it is:\r\n{"a": "x', "truncated", "the text ends inside a value at line 2, column 7: it was cut off"),
        ("It is [not JSON].", "syntax", "expecting value at line 1, column 1"),
        ("[" * 101 + "]" * 101, "depth", "nested deeper than 100 levels"),
        ("[" * 100_000, "depth", "nested deeper than 100 levels"),
        ('{"a": ["\\ud800"]}', "surrogate", "a lone surrogate (\\ud800) is no character"),
        ('{"\\uDFFF": 1}', "surrogate", "a lone surrogate (\\udfff) is no character"),
        ('{"a": "\ud800"}', "surrogate", "a lone surrogate (\\ud800) is no character"),
    ],
    ids=lambda value: ascii(value)[:40],
)  # fmt: skip
def test_each_fault_has_its_kind_and_its_reason(text: str | bytes, kind: str, reason: str) -> None:
    fault = fault_of(text)
    assert (fault.kind, fault.reason) == (FaultKind(kind), fault.reason)
    assert reason in fault.reason


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9" * 400, int("9" * 400)),
        ("9" * 401, TOO_LARGE),
        ("-" + "9" * 401, -TOO_LARGE),
        ("1e308", 1e308),
        ("1e309", TOO_LARGE),
        ("-1.5E+400", -TOO_LARGE),
        ("123123e100000", TOO_LARGE),
        ("1e" + "9" * 5000, TOO_LARGE),
        ("1e-400", 0.0),
        ("0." + "1" * 500, 1 / 9),
    ],
    ids=lambda value: str(value)[:9],
)
def test_a_number_is_json_however_large_and_what_cannot_be_carried_has_a_stand_in(text: str, value: float) -> None:
    assert parse_json(f"[{text}]") == ([value], None)
    _, fault = read_json(f'[1, {{"a": {text}}}]')
    is_too_large = abs(value) == TOO_LARGE
    assert (fault is not None and fault.kind is FaultKind.NUMBER) is is_too_large
    assert list(too_large([1, {"a": value}])) == (["/1/a"] if is_too_large else [])


@pytest.mark.parametrize(
    ("text", "kind"),
    [('{"a": 1e400, "a": 1}', "duplicate-key"), ('[1e400, "\\ud800"]', "surrogate"), ("[1e400,", "truncated")],
)
def test_what_else_is_wrong_is_told_before_a_number_that_is_too_large(text: str, kind: str) -> None:
    assert fault_of(text).kind == kind
    assert read_json(text)[1] == fault_of(text)


@given(st.text() | st.binary() | st.text(alphabet='{}[]",:0123456789.eE+-`\\utrfalsn \n'))
def test_no_text_is_an_exception_and_what_is_accepted_can_be_stored(text: str | bytes) -> None:
    value, fault = parse_json(text)
    try:
        expected = json.loads(text, parse_constant=lambda name: pytest.fail(name) if fault is None else None)
    except ValueError:
        assert fault is not None
        return
    if fault is None:
        json.dumps(value, allow_nan=False).encode("utf-8")
        assert value == expected or list(too_large(value))


CUT = '{"path": "a\\n\\u00e9", "items": [1.5e-3, true, null, {"x": "y"}], "n": -2}'


@pytest.mark.parametrize("length", range(1, len(CUT)))
def test_a_text_that_ends_inside_a_value_was_cut_off_wherever_it_ends(length: int) -> None:
    assert fault_of(CUT[:length]).kind is FaultKind.TRUNCATED


@pytest.mark.parametrize("text", ['"abc', '{"a": "x', '{"a":', "[", '[{"a": 1}, '])
def test_an_open_value_was_cut_off(text: str) -> None:
    assert "it was cut off" in fault_of(text).reason


def test_what_the_model_says_of_its_end_is_believed() -> None:
    text = '{"a": 1 "b": 2}'
    assert fault_of(text).kind is FaultKind.SYNTAX
    assert fault_of(text, truncated=True).kind is FaultKind.TRUNCATED


def test_a_whole_value_is_not_truncated_whatever_the_model_says() -> None:
    assert parse_json("{}", truncated=True) == ({}, None)


def test_a_surrogate_has_a_place() -> None:
    assert fault_of('{"a": [1, "\\ud800"]}').pointer == "/a/1"
    assert fault_of('{"a": {"\\ud800": 1}}').pointer == "/a"


@pytest.mark.parametrize(
    ("text", "depth"),
    [("", 0), ("[]", 1), ('{"a": [[]]}', 3), ('["[[[[", "\\"[["]', 1), ('"[[[', 0), ("]]][", 0), ("[[]]]]", 2)],
)
def test_the_depth_is_measured_outside_of_strings(text: str, depth: int) -> None:
    assert depth_of(text) == depth


def test_brackets_within_strings_do_not_nest() -> None:
    assert parse_json(json.dumps("[" * 500))[1] is None


@pytest.mark.parametrize(
    ("value", "kind", "pointer"),
    [
        pytest.param({"a": [float("nan")]}, "nan", "/a/0", id="nan"),
        pytest.param({"a": float("-inf")}, "nan", "/a", id="infinity"),
        pytest.param({"a": "\ud800"}, "surrogate", "/a", id="surrogate"),
        pytest.param({"a": {"\ud800": 1}}, "surrogate", "/a", id="surrogate-in-a-key"),
        pytest.param({"a": {1: 2}}, "syntax", "/a", id="key-is-no-string"),
        pytest.param({"a": Decimal(1)}, "syntax", "/a", id="decimal"),
        pytest.param({1, 2}, "syntax", "", id="set"),
        pytest.param((1, (2, object())), "syntax", "/1/1", id="object-in-a-tuple"),
        pytest.param(10**2000, "number", "", id="number"),
    ],
)
def test_a_value_that_json_cannot_hold_has_a_fault(value: Any, kind: str, pointer: str) -> None:
    fault = fault_in(value)
    assert fault is not None
    assert (fault.kind, fault.pointer) == (FaultKind(kind), pointer)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_a_value_nests_as_deep_as_a_text_may() -> None:
    assert fault_in(nested(MAX_DEPTH)) is None
    assert fault_in({"a": nested(MAX_DEPTH + 1)}).kind is FaultKind.DEPTH  # type: ignore[union-attr]
    circular: list[Any] = []
    circular.append(circular)
    assert fault_in(circular).kind is FaultKind.DEPTH  # type: ignore[union-attr]


@pytest.mark.parametrize("value", [nested(3), {"a": {"b": {"c": 1}}}, [1, ({"a": 1},)]])
def test_a_schema_may_allow_less_depth(value: Any) -> None:
    assert depth_fault(value, 4) is None
    reason = "nested deeper than 2 levels, all that this schema takes"
    assert depth_fault(value, 2) == JsonFault(FaultKind.DEPTH, reason)


def shown(text: str) -> str | None:
    return syntax_error(fault_of(text), ValueSanitizer()).actual_value


@pytest.mark.parametrize(
    ("text", "excerpt"),
    [
        ('{"a" 1}', '{"a" ‸1}'),
        ('{\n  "a": 1,\n  "b" 2\n}', '  "b" ‸2'),
        ("[" + "1, " * 100 + "x" + ", 2" * 100 + "]", "…" + ", ".join(["1"] * 10) + ", ‸x" + ", 2" * 9 + ", …"),
        ("\x00", "‸\\u0000"),
        ('{"a": 1,\r\n "b" 2,\r\n "c": 3}', ' "b" ‸2,'),
        ('{\t"a"\t1}', '{\\t"a"\\t‸1}'),
        ('{"😀é": "👍🏽" x}', '{"😀é": "👍🏽" ‸x}'),
        ("\ufeff{}", "‸\\ufeff{}"),
        ('{"a‸": 1 "‸b"}', '{"a^": 1 ‸"^b"}'),
        ("```json\n{'a': 1}\n```", "{‸'a': 1}"),
        ("", None),
    ],
)
def test_a_syntax_error_shows_the_place_with_a_caret(text: str, excerpt: str | None) -> None:
    assert shown(text) == excerpt


@pytest.mark.parametrize(
    "text",
    [
        '{"password": "correct-horse-battery-staple-and-more" "x": 1}',
        '{"key": "sk-proj-' + "aB3dE5fG7hJ9kL2mN4pQ" * 3 + '" "x": 1}',
        '{"key": "-----BEGIN RSA PRIVATE KEY-----\\n' + "MIIEowIBAAKCAQEAqB3dE5fG7hJ9kL2mN4pQ\\n" * 90 + '" x',
    ],
    ids=["by-name", "by-form", "private-key"],
)
def test_an_excerpt_shows_no_part_of_a_secret(text: str) -> None:
    excerpt = shown(text) or ""
    assert not any(text[start : start + 8] in excerpt for start in range(14, text.rindex('"', 0, -8) - 8))


def test_every_hint_for_a_syntax_error_belongs_to_a_kind() -> None:
    assert set(SYNTAX_HINTS) <= set(FaultKind)
    for text in ("{}x", "[", "```"):
        error = syntax_error(fault_of(text), ValueSanitizer())
        assert error.keyword in SYNTAX_HINTS
        assert error.hint == SYNTAX_HINTS[error.keyword]


@given(
    st.recursive(
        st.sampled_from(["", "[", "]}", '"', "\\", '\\"', "a\\\\", '{"', "ü[", 1, None]),
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["", "a", "[", '"{']), inner, max_size=4)
        ),
    ),
    st.booleans(),
)
def test_brackets_in_strings_are_no_depth(value: Any, ascii_only: bool) -> None:
    def depth(item: Any) -> int:
        members = item.values() if isinstance(item, dict) else item if isinstance(item, list) else None
        return 0 if members is None else 1 + max(map(depth, members), default=0)

    assert depth_of(json.dumps(value, ensure_ascii=ascii_only)) == depth(value)


def _grown(random: Random, depth: int) -> Any:
    """Make a value that is now and then large, at any depth."""
    count = random.choice([0, 1, 3, 120, 1_500]) if depth else 0
    leaf = random.choice([None, True, 2**70, -0.0, 1e308, "é\u2028\ud800", "", 'a"b', 7])
    match random.choice(["leaf", "list", "dict", "mixed"]) if depth else "leaf":
        case "list":
            return [_grown(random, max(depth - 2, 0)) if random.random() < 0.02 else leaf for _ in range(count)]
        case "dict":
            return {f"{random.random()}": _grown(random, depth - 1) if n % 60 == 0 else leaf for n in range(count)}
        case "mixed":
            return ({"b": [leaf] * count, "a": {"x": leaf}}, [_grown(random, depth - 1)] * 2)
        case _:
            return leaf


@pytest.mark.parametrize(
    "options", [{}, {"sort_keys": True, "separators": (",", ":"), "default": str}, {"ensure_ascii": False}]
)
def test_json_that_is_written_in_pieces_is_the_same(options: dict[str, Any]) -> None:
    random = Random(15)
    values = [_grown(random, 5) for _ in range(60)] + [{1: [0] * 2_000, "1": 2}, {"k": range(3), "l": [0] * 2_000}]
    values += ["\ud83d\ude00a" * LONG, {"\n" * 2 * LONG: "\ude00" * 3 * LONG, "a": [{"b": '"' * (LONG + 1)}, 1]}, ()]
    assert max(map(count_nodes, values)) > 10 * PIECE
    for value in values:
        try:
            expected = json.dumps(value, **options)
        except TypeError:
            with pytest.raises(TypeError):
                write_json(value, **options)
        else:
            assert write_json(value, **options) == expected


@given(st.text(alphabet='[]{}",: a1\\', max_size=4), st.sampled_from("[{"), st.text(alphabet='[]{}"a\\', max_size=12))
def test_where_a_value_ends_is_where_its_brackets_are_closed(before: str, opening: str, after: str) -> None:
    """The same, one character at a time."""
    text, depth, at, is_quoted = f"{before}{opening}{after}]]", 0, len(before), False
    while at < len(text):
        if is_quoted:
            is_quoted = text[at] != '"'
            at += text[at] == "\\"
        else:
            is_quoted = text[at] == '"'
            depth += (text[at] in "[{") - (text[at] in "]}")
            if not depth:
                assert end_of_value(text, len(before)) == at + 1
                return
        at += 1
    with pytest.raises(ValueError, match="does not end"):
        end_of_value(text, len(before))
