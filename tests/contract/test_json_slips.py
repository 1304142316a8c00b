"""Slips in JSON: each has its own hint with its place, several are told at once, and none is taken for the output."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrycontract import RetryContract, Tool
from retrycontract.contract.checks.reading import read_output
from retrycontract.contract.outputs.json_faults import FORMATS, JsonFault
from retrycontract.contract.outputs.json_slip_table import SLIPS
from retrycontract.contract.outputs.json_slips import MAX_AT_ONCE, MAX_MENDED, MAX_MENDS, read_past_slips
from retrycontract.contract.outputs.json_text import parse_json

# What the model wrote, what it reads in the hint with the place of the first, and what would have been read.
CASES: list[tuple[str, str, Any]] = [
    ('{"a": 1,}', "remove the comma after the last entry (line 1, column 8)", {"a": 1}),
    ("[1,\n 2,\n]", "remove the comma after the last entry (line 2, column 3)", [1, 2]),
    ('{"a": 1,, "b": 2}', "remove the extra comma (line 1, column 9)", {"a": 1, "b": 2}),
    ('{"a": , "b": 2}', "write a value after the colon, or leave the field out (line 1, column 7)", None),
    ('{"a": 1 // one\n}', "remove the comments, which JSON has not (line 1, column 9)", {"a": 1}),
    ('{"a": /* one */ 1}', "remove the comments, which JSON has not (line 1, column 7)", {"a": 1}),
    ('{\n# one\n"a": 1}', "remove the comments, which JSON has not (line 2, column 1)", {"a": 1}),
    ('{"a": 1, ...}', "write every entry out instead of '...' (line 1, column 10)", None),
    ("{&quot;a&quot;: 1}", 'write the characters themselves, " instead of &quot; (line 1, column 2)', {"a": 1}),
    ('{\\"a\\": \\"b\\"}', "remove the backslashes before the quotes (line 1, column 2)", {"a": "b"}),
    ('{\\n"a": 1}', "write no \\n between values, only inside strings (line 1, column 2)", {"a": 1}),
    ('{\u00a0"a": 1}', "write plain spaces between values (line 1, column 2)", {"a": 1}),
    ('{"a"：1}', "write a plain colon (line 1, column 5)", {"a": 1}),
    ('{"a": 1，"b": 2}', "write a plain comma (line 1, column 8)", {"a": 1, "b": 2}),
    ("{'a': 'it\\'s \"b\"'}", "write strings and keys in double quotes (line 1, column 2 and 1 more place)",
     {"a": 'it\'s "b"'}),
    ("[1, '''b'c''']", "write strings in one pair of double quotes, with \\n for line breaks (line 1, column 5)",
     [1, "b'c"]),
    ("{\"a\": 'b' + 'c'}", "write one whole string in double quotes: JSON joins nothing (line 1, column 7)", None),
    ("{“a”: 1}", 'write plain double quotes (") around strings and keys (line 1, column 2)', {"a": 1}),
    ('{"a": "b”}', 'write plain double quotes (") around strings and keys (line 1, column 7)', {"a": "b"}),
    ('{"a": `b`}', "write strings in double quotes, not backticks (line 1, column 7)", {"a": "b"}),
    ('{"a": """b\n"c" """}',
     "write strings in one pair of double quotes, with \\n for line breaks (line 1, column 7)", {"a": 'b\n"c" '}),
    ('{"a": True}', "write true instead of True (line 1, column 7)", {"a": True}),
    ('{"a": FALSE}', "write false instead of FALSE (line 1, column 7)", {"a": False}),
    ('{"a": None}', "write null instead of None, where null is allowed (line 1, column 7)", {"a": None}),
    ('{"a": undefined}', "write a value instead of undefined, or leave the field out (line 1, column 7)", None),
    ('{"a": -inf}', "write a value instead of inf, or leave the field out (line 1, column 7)", None),
    ('{"a": +5}', "write the number without the plus sign (line 1, column 7)", {"a": 5}),
    ('{"a": -.5}', "write 0 before the point (line 1, column 7)", {"a": -0.5}),
    ('{"a": $5}', "write the number alone (line 1, column 7)", None),
    ('{"a": r"b"}', "write the string as it is meant, without a letter before it (line 1, column 7)", None),
    ('{"a": (1, "b)", (2, 3))}', "write lists in square brackets (line 1, column 7 and 1 more place)", None),
    ('{"a": (1, "b, c")}', "write lists in square brackets (line 1, column 7)", {"a": [1, "b, c"]}),
    ('{"a": [(), (1, 2)]}', "write lists in square brackets (line 1, column 8 and 1 more place)", {"a": [[], [1, 2]]}),
    ('{"a": ("b, c")}', "write lists in square brackets (line 1, column 7)", None),
    ('{u"a": 1}', "write the string without a letter before it (line 1, column 2)", {"a": 1}),
    ("{‘a’: ‘it’s’}", 'write plain double quotes (") around strings and keys (line 1, column 2 and 1 more place)',
     {"a": "it’s"}),
    ('{"a": 1، "b": 2}', "write a plain comma (line 1, column 8)", {"a": 1, "b": 2}),
    ('{"a": <name>}', "write the value itself instead of a placeholder (line 1, column 7)", None),
    ('{"a": Date.now()}', "write the value itself: JSON has no functions (line 1, column 7)", None),
    ('{"a": New York, "b": 1}', "put double quotes around the text (line 1, column 7)", {"a": "New York", "b": 1}),
    ('{"a": 1,000}', "write the number without commas (line 1, column 8)", {"a": 1000}),
    ('{a: 1, b-c: 2}', "put double quotes around the key (line 1, column 2 and 1 more place)", {"a": 1, "b-c": 2}),
    ('{a": 1}', "put double quotes around the key (line 1, column 2)", {"a": 1}),
    ('{{"a": 1}}', "write one brace, { and }, where you wrote two (line 1, column 2)", None),
    ('{"a" = 1, "b" => 2}', "write a colon between key and value (line 1, column 6 and 1 more place)",
     {"a": 1, "b": 2}),
    ('{"a", "b"}', "give each key a value after a colon, or write a list in square brackets (line 1, column 5", None),
    ('{"a" 1}', "write a colon between key and value (line 1, column 6)", {"a": 1}),
    ('{"a": 0x1F}', "write the number in decimal digits (line 1, column 7)", {"a": 31}),
    ('{"a": 007}', "write the number without leading zeros (line 1, column 7)", {"a": 7}),
    ('{"a": 2026-11-23}', "put double quotes around the text, or write one number (line 1, column 11)", None),
    ('{“a”：「b」，"c": 1}', 'write plain double quotes (") around strings and keys (line 1, column 2 and 1 more',
     {"a": "b", "c": 1}),
    ("{\"a\": 'b\"}", "write double quotes on both sides (line 1, column 7)", {"a": "b"}),
    ('{"a":: 1}', "write one colon between key and value (line 1, column 6)", {"a": 1}),
    ('{"a": ~3}', "write the number alone (line 1, column 7)", None),
    ('{"a": ${b}}', "write the value itself: JSON has no functions (line 1, column 7)", None),
    ('[a: "b"]', "write keys and values in braces, {…} (line 1, column 2)", None),
    ('{"a": 1,5}', "write a point before decimals (line 1, column 8)", {"a": 1.5}),
    ('{["a": 1]}', "write a key and a colon before it, or no braces around it (line 1, column 2)", None),
    ('{"a: "b"}', "close the key with a double quote before its colon (line 1, column 7)", None),
    ('{"a": "b" | "c"}', "write one value (line 1, column 11)", None),
    ('{"a": "b\\"}', "remove the backslash before the closing quote, or write two of them (line 1, column 7)", None),
    ('{"a": 1/3}', "write its result: JSON calculates nothing (line 1, column 8)", None),
    ('{"a": 1_000}', "write the number's digits alone (line 1, column 8)", {"a": 1000}),
    ('{"a": 5.}', "write digits after the point, or no point (line 1, column 8)", {"a": 5}),
    ('{"a": 5 kg}', "write the number alone, without its unit (line 1, column 9)", {"a": 5}),
    ('{"a": "b" + "c"}', "write one whole string: JSON joins nothing (line 1, column 9)", {"a": "bc"}),
    ('{"a": 1; "b": 2}', "write a comma between entries (line 1, column 8)", {"a": 1, "b": 2}),
    ('{"a": "the "big" one"}', 'write \\" for each double quote inside a string (line 1, column 12)', None),
    ('{"a": "5" wide"}', 'write \\" for each double quote inside a string (line 1, column 9)', None),
    ('{"a": "b"c', 'write \\" for each double quote inside a string (line 1, column 9)', None),
    ('{"a": "b"\n "c": 1}', "write a comma between the entries (line 2, column 2)", {"a": "b", "c": 1}),
    ('["a" "b"]', "write a comma between the entries (line 1, column 6)", ["a", "b"]),
    ('{"a": [1, 2}', "close the list with ] before this } (line 1, column 12)", None),
    ('[{"a": 1]', "close the object with } before this ] (line 1, column 9)", None),
    ('["a": 1]', "write keys and values in braces, {…}, with one colon for each key (line 1, column 5)", None),
    ('{"a": "b\n}', "close the string with a double quote (line 1, column 9)", None),
    ('{"a": "b,\n "c": 1}', "close the string with a double quote (line 1, column 10)", None),
    ('{"a": "b\nc\nd"}', "write \\n for each line break inside a string (line 1, column 9)", {"a": "b\nc\nd"}),
    ('{"a": "b\tc"}', "write \\t for each tab inside a string (line 1, column 9)", {"a": "b\tc"}),
    ('{"a": "b\x01c"}', "remove the control characters, or write them as \\u00XX (line 1, column 9)",
     {"a": "b\x01c"}),
    ('{"a": "it\\\'s"}', "write ' without a backslash (line 1, column 10)", {"a": "it's"}),
    ('{"a": "C:\\users"}', "write four hex digits after \\u, or \\\\ for a backslash (line 1, column 1", None),
    ('{"a": "C:\\Dir\\x"}', "write \\\\ for each backslash inside a string (line 1, column 10 and 1 more place)",
     {"a": "C:\\Dir\\x"}),
]  # fmt: skip


def fault_of(text: str) -> JsonFault:
    fault = parse_json(text)[1]
    assert fault is not None
    return fault


@pytest.mark.parametrize(("text", "hint", "value"), CASES, ids=[ascii(text) for text, *_ in CASES])
def test_each_slip_has_its_own_hint_with_its_place(text: str, hint: str, value: Any) -> None:
    fault = fault_of(text)
    assert fault.hint is not None
    assert fault.hint.startswith(hint)
    assert (None if fault.within is None else json.loads(fault.within)) == value


def test_every_slip_has_a_case() -> None:
    shown = {each.slip.what for text, *_ in CASES for each in read_past_slips(text).found}
    words = [slip.what for slip in SLIPS if "which is no JSON" in slip.what]
    assert {slip.what for slip in SLIPS} - set(words) <= shown
    assert len({slip.what for slip in SLIPS} & set(words) & shown) == 5


@pytest.mark.parametrize(
    ("text", "kind", "hint"),
    [
        ("\ufeff{}", "encoding", "send the JSON without the byte order mark before it"),
        ('{"a": 1}}', "trailing", "remove the closing bracket at the end (line 1, column 9)"),
        ('{"a": 1}\n{"a": 2}', "trailing", "every other one belongs in a call or an answer of its own"),
        ('{"a": [1, {"b": 2}', "truncated", "write ]} at the end, or all of it again and shorter if it was cut off"),
        ('{"a": "x", "b": 1', "truncated", "write } at the end"),
        ("<a>b</a>", "syntax", "instead of XML"),
        ('get_weather(city="Paris")', "syntax", "instead of a function call"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "syntax", "instead of a Markdown table"),
        ("- a: 1", "syntax", "instead of a list of lines"),
        ("a=1&b=2", "syntax", "instead of key=value"),
        ("a: 1\nb: 2", "syntax", "instead of YAML"),
        ("--a 1", "syntax", "instead of command-line options"),
        ("eyJjaXR5IjoiUGFyaXMifQ==", "syntax", "instead of Base64"),
        ("%7B%22a%22%3A1%7D", "syntax", "instead of a text encoded for URLs"),
        ("a,b\n1,2", "syntax", "instead of CSV"),
        ('"a": 1', "trailing", "instead of entries without braces"),
        ("1. a: 1", "trailing", "instead of a list of lines"),
        ('[TOOL_CALLS][{"a": 1}]', "syntax", "instead of a call's marks"),
        ("```yaml\na: 1\n```", "fenced", "instead of YAML"),
    ],
)
def test_what_is_wrong_with_a_whole_text_has_its_hint(text: str, kind: str, hint: str) -> None:
    fault = fault_of(text)
    assert (fault.kind, fault.within) == (kind, None)
    assert hint in (fault.hint or "")


def told(text: str, **schema: Any) -> str:
    fields = {"city": {"type": "string"}, "days": {"type": "integer"}, "score": {"type": "number"}, **schema}
    contract = RetryContract([Tool(name="t", input_schema={"properties": fields, "required": ["city"]})])
    outcome = contract.check("t", "1", text)
    assert (outcome.status, outcome.arguments) == ("retry", None)
    assert outcome.tool_result is not None
    return outcome.tool_result.content


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"city": 5}\n```',
        'Here: {"city": 5}',
        '<tool_call>\n{"city": 5}\n</tool_call>',
        "{'city': 5}",
        '{"city": 5,}',
        "```\n{city: 5,}\n```",
    ],
)
def test_what_is_wrong_with_the_value_is_told_beside_what_stands_around_it(text: str) -> None:
    content = told(text)
    assert "(root) (VAL-004)" in content
    assert "/city (VAL-002): Type mismatch: expected string, got integer" in content


def test_what_is_wrong_within_a_whole_call_is_not_told_as_missing_alone() -> None:
    content = told('{"name": "t", "arguments": {"city": 5}}')
    assert "send the content of 'arguments' itself as the arguments" in content


def test_several_slips_are_one_bullet_with_a_hint_for_each() -> None:
    content = told("{'city': 'Paris', 'days': None,}")
    assert content.count("(root) (VAL-004)") == 1
    assert "write strings and keys in double quotes (line 1, column 2 and 2 more places)" in content
    assert "remove the comma after the last entry (line 1, column 31)" in content


def test_a_slip_whose_meaning_is_a_guess_says_nothing_of_the_contract() -> None:
    assert "/days" not in told('{"city": "Paris", "days": <days>}')


def test_the_same_slip_is_the_same_mistake_and_another_is_not() -> None:
    contract = RetryContract([Tool(name="t", input_schema={})])
    texts = ('{"a": 1,}', '{"b": 12,}', "{'b': 12}")
    contents = [result.content for text in texts if (result := contract.check("t", "1", text).tool_result)]
    assert "the same as in attempt 1" in contents[1]
    assert "the same as" not in contents[2]


@pytest.mark.parametrize(
    ("text", "pointer", "hint"),
    [
        ('{"city": "x", "score": NaN}', "/score", "send 'score' as number or leave it out"),
        ('{"city": NaN}', "/city", "send 'city' as string."),
        ('{"city": "x", "list": [1, -Infinity]}', "/list/1", "send 'list/1' as number or null."),
    ],
)
def test_nan_is_told_at_its_place_with_what_the_schema_allows(text: str, pointer: str, hint: str) -> None:
    content = told(text, list={"items": {"type": ["number", "null"]}})
    assert f"• {pointer} (VAL-004): Invalid JSON: " in content
    assert hint in content


def test_what_else_is_wrong_is_told_beside_nan() -> None:
    content = told('{"days": "x", "score": NaN, "more": Infinity}')
    for mistake in ("/city (VAL-001)", "/days (VAL-002)", "/score (VAL-004)", "/more (VAL-004)", "/more (VAL-005)"):
        assert mistake in content


@given(st.text(alphabet="{}[]\"'“”:,; \n\\/#+-.0x1tTrueNone=()`<>$&quot;"))
def test_no_text_is_an_exception(text: str) -> None:
    past = read_past_slips(text)
    assert len(past.found) <= MAX_MENDS
    assert not past.found or (past.reason and past.hint)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(alphabet="ab c'", max_size=5),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet="abc"), inner, max_size=4),
        max_leaves=6,
    ).filter(lambda value: isinstance(value, dict | list))
)
def test_what_python_writes_is_read_as_it_was_meant(value: Any) -> None:
    for more in (1, MAX_MENDS):
        past = read_past_slips(repr([value] * more))
        assert past.value is not None
        assert json.loads(past.value) == [value] * more


ENTRY = "{'name': \"it's\", 'on': True, // comment\n key: None, “last”: 'a, \"b\" # c',}"
MANY, LONG = (f"[{', '.join([entry] * 99)}]" for entry in (ENTRY, ENTRY.replace("a,", "a" * 600)))


@pytest.mark.parametrize("text", [MANY, LONG], ids=["many", "long"])
def test_what_else_is_wrong_is_told_beside_more_slips_than_are_read_past(text: str) -> None:
    past = read_past_slips(text)
    assert past.value is not None
    last = json.loads(past.value)[98]
    assert last == {"name": "it's", "on": True, "key": None, "last": last["last"]}
    assert last["last"].endswith('a "b" # c' if text == LONG else 'a, "b" # c')
    content = told(f'{{"list": {text}}}', list={"items": {"required": ["id"]}})
    assert "/list/0/id (VAL-001)" in content
    more = "at least 40 more" if text == MANY else "perhaps more"
    assert f"write strings and keys in double quotes (line 1, column 12 and {more} places)" in content


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (r"'a\nb\t\\'", "a\nb\t\\"), (r"'\u00e9\x01'", "é\x01"), (r"'\ud83d\ude00'", "\U0001f600"), (r"`a\nb`", "a\nb"),
        (r"'it\'s \"so\" \d'", "it's \"so\" \\d"), (r"“a\nb”", "a\nb"), ("'don't'", "don't"),
    ],
)  # fmt: skip
def test_escapes_between_other_quotes_mean_what_they_do_in_other_languages(written: str, meant: str) -> None:
    """They were told as too long, or as no option, with backslashes that nobody wrote."""
    value = read_past_slips(f"{{'k': {written}}}").value
    assert value is not None
    assert json.loads(value) == {"k": meant}


@pytest.mark.parametrize("written", ["'a' 'b'", "'a' + 'b'", "'a''b'"])
def test_strings_side_by_side_are_held_against_nothing(written: str) -> None:
    for more in (1, MAX_MENDS):
        assert read_past_slips(f"[{', '.join([f'{{`k`: {written}}}'] * more)}]").value is None


@pytest.mark.parametrize(
    ("text", "notation"),
    [
        ("t(c=[1, 2], m='abcdef')", "a function call"), ("t(c=[1])", "a function call"),
        ("t([1, 2], 'abc')", "a function call"), ("t(o={\"m\": \"x\"}, m='abc')", "a function call"),
        ("c=[1, 2]&m=abcdef", "key=value"), ("c: [1, 2]\nm: abcdef", "YAML"),
        ("<args><c>[1, 2]</c><m>abc</m></args>", "XML"),
    ],
)  # fmt: skip
def test_a_part_of_another_notation_is_not_taken_for_the_whole(text: str, notation: str) -> None:
    """An inner list was held against the contract, and asked for alone."""
    content = told(text)
    assert f'write it as one JSON value, {{"name": "value", …}}, instead of {notation}' in content
    assert "VAL-002" not in content


@pytest.mark.parametrize(
    "text",
    [
        't({"city": "x"})', '<tool_call>{"city": "x"}</tool_call>', 'Arguments: {"city": "x"}\nNote: as asked',
        'args = {"city": "x"}', 'Here it is: {"city": "x"}, as you asked.', 'call t with {"city": "x"} and days = 5',
    ],
)  # fmt: skip
def test_a_value_among_words_is_still_found(text: str) -> None:
    assert "the value itself is correct JSON" in told(text)


@pytest.mark.timeout(30)  # a hang guard: what is sought to its end at each quote takes minutes
@pytest.mark.parametrize("start", ["{", '{"a": ', "[True, ", "{'a': 1, "])
def test_slips_that_come_again_are_read_past_in_one_walk(start: str) -> None:
    for unit in (r"\"", r"\"x\" ", "' ", "'' ", '"\\', "“", "'a\\'", "a: ", ",\n", "//\n", "True,", "'+", "/*", "`"):
        read_past_slips(start + unit * (90_000 // len(unit)))


@pytest.mark.timeout(30)  # a hang guard
@pytest.mark.parametrize("behind", [", ", ",a", ",'", " ", ")", "&a ", "</", "\n"])
def test_what_stands_behind_a_value_is_looked_at_in_one_walk(behind: str) -> None:
    for start in ("t(c=[1]", "t([1]", "<c>[1]", "c: [1]"):
        for unit in (behind, " "):
            read_output(f"{start}{behind}{unit * (400_000 // len(unit))}")


def test_work_on_slips_is_bounded() -> None:
    many = "[" + "True," * 1000 + "]"
    assert len(read_past_slips(many).found) == MAX_MENDS
    for length, is_read in ((MAX_MENDED, True), (MAX_AT_ONCE, False)):
        long = read_past_slips(f'["{"a" * length}", True, None]')
        assert [each.slip.advice for each in long.found] == ["write true instead of True"]
        assert (long.value is not None) is is_read


@pytest.mark.timeout(120)  # a hang guard: what goes back for each character takes hours
@pytest.mark.parametrize("looks", FORMATS.values(), ids=list(FORMATS))
def test_another_form_is_looked_for_in_one_pass(looks: re.Pattern[str]) -> None:
    for unit in (" ", "\t\n", "a", "a.", "a ", "_", "-", "1", "1)", "|", "a;", "[a", '"a', "?a", "a%", "A+/1"):
        looks.match(unit * 500_000 + "\0")
