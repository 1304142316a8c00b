"""Previews: one line, bounded, visible, with relative paths."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
import regex

from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.redaction.sanitizer import ValueSanitizer, elide_middle, visible
from tests.contract.test_costs import steps

SANITIZER = ValueSanitizer()
ROOTED = ValueSanitizer(RetryConfiguration(project_roots=(".", "/home/ana/project", "D:\\work")))
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
ZALGO = "e" + "\u0301" * 5000


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        (True, "true"),
        (5, "5"),
        (-1.5, "-1.5"),
        ("", '""'),
        ("uft8", '"uft8"'),
        ('say "hi"', '"say \\"hi\\""'),
        ("a\\b", '"a\\\\b"'),
        ("a\nb\tc\x00", '"a\\nb\\tc\\u0000"'),
        ([], "[]"),
        ({}, "{}"),
        ([1, "a", None], '[1, "a", null]'),
        ({"a": {"b": [1]}}, '{"a": {"b": [1]}}'),
        (list(range(10)), "[0, 1, 2, ..., 9] (10 items)"),
        ([0, 1, 2, 3], "[0, 1, 2, 3]"),
        ({"a": {"b": {"c": {"d": 1}}}}, '{"a": {"b": {"c": {... 1 key}}}}'),
        ([[[[1, 2]]]], "[[[[...] (2 items)]]]"),
        ({1: 2, None: 3, False: 4}, '{"1": 2, "null": 3, "false": 4}'),
        (b"caf\xc3\xa9", '"café"'),
        ((1, 2), "[1, 2]"),
        (float("nan"), "NaN"),
        ({"/home/ben/x/y.txt": 1}, '{"…/x/y.txt": 1}'),
        ("\ud800x", '"\\ud800x"'),
    ],
)
def test_a_preview_is_a_literal_on_one_line(value: Any, shown: str) -> None:
    assert SANITIZER.preview(value) == shown
    assert SANITIZER.sanitize(value, "/x") == shown


def test_objects_show_twelve_keys_and_say_how_many_more() -> None:
    shown = SANITIZER.preview({f"k{n}": n for n in range(20)})
    assert shown.endswith('"k11": 11, ... 8 more}')


def test_long_strings_are_elided_in_the_middle_and_say_so() -> None:
    head, tail = "Lorem ipsum dolor sit amet, consectetur adipi", "sed do eiusmod."
    short = ValueSanitizer(RetryConfiguration(max_value_preview=63))
    assert short.preview(f"{head}{'x' * 5000}{tail}") == f'"{head}...{tail}" (truncated)'
    shown = SANITIZER.preview("x" * 101)
    assert shown == f'"{"x" * 72}...{"x" * 25}" (truncated)'
    assert SANITIZER.preview("x" * 100) == f'"{"x" * 100}"'


def test_a_container_is_bounded_however_long_its_strings_are() -> None:
    shown = SANITIZER.preview({f"key{n}": {f"k{m}": "y" * 500 for m in range(20)} for n in range(20)})
    assert len(shown) <= 4 * 100 + len(" (truncated)")
    assert shown.endswith(" (truncated)")


def test_numbers_of_any_length_are_shown() -> None:
    assert "..." in SANITIZER.preview(10**500)
    assert SANITIZER.preview(10**100_000) == "(a whole number of about 100001 digits)"


@pytest.mark.parametrize(
    "text",
    [
        FAMILY * 60,
        ZALGO,
        f"a{ZALGO}b{ZALGO}c",
        "🏳️‍🌈" * 80,
        "👍🏽" * 90,
        "🇩🇪" * 400,
        "a" + "🇩🇪" * 401,
        "한국어" * 90,
        "नमस्ते" * 60,
    ],
)
@pytest.mark.parametrize("limit", [5, 20, 100])
def test_elision_never_cuts_a_cluster_nor_passes_the_limit(text: str, limit: int) -> None:
    shown = elide_middle(text, limit)
    assert len(shown) <= limit
    head, _, tail = shown.partition("...")
    clusters = regex.findall(r"\X", text)
    assert regex.findall(r"\X", head) == clusters[: len(regex.findall(r"\X", head))]
    count = len(regex.findall(r"\X", tail))
    assert regex.findall(r"\X", tail) == (clusters[-count:] if count else [])


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 4])
def test_elision_keeps_the_smallest_limits(limit: int) -> None:
    assert len(elide_middle("abcdefgh", limit)) == limit
    assert elide_middle("", limit) == ""


def test_elision_never_cuts_a_redaction_mark() -> None:
    mark = "[REDACTED: OPENAI_KEY]"
    for length in range(60, 110):
        shown = elide_middle("a" * length + mark + "b" * 100 + mark + "c" * (length - 50), 100)
        assert shown.replace(mark, "").count("[") == 0
        assert shown.replace(mark, "").count("]") == 0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, café, 中文, עברית", "plain text, café, 中文, עברית"),
        ("a\u202eb\u2066c\u2069", "a\\u202eb\\u2066c\\u2069"),
        ("a\u200bb\ufeffc\u2060d\u00ad", "a\\u200bb\\ufeffc\\u2060d\\u00ad"),
        ("\x1b[31mred\x1b[0m\x07\x9b", "\\u001b[31mred\\u001b[0m\\u0007\\u009b"),
        ("line\nbreak\r\u2028\u2029\x85", "line\\nbreak\\r\\u2028\\u2029\\u0085"),
        ("tag\U000e0041", "tag\\udb40\\udc41"),
        ("\u3164\u115f\u2800\ufe0f\U000e0100", "\\u3164\\u115f\\u2800\\ufe0f\\udb40\\udd00"),
        ("\ud83dx\udc00", "\\ud83dx\\udc00"),
        ("\ue000\U0010ffff\u0378", "\\ue000\\udbff\\udfff\\u0378"),
        (FAMILY, FAMILY),
        ("❤\ufe0f 1\ufe0f\u20e3", "❤\ufe0f 1\ufe0f\u20e3"),
        ("🏳\ufe0f\u200d🌈", "🏳\ufe0f\u200d🌈"),
        ("pass\u200dword", "pass\\u200dword"),
        ("👍\u200d\u200d👍", "👍\\u200d\\u200d👍"),
        ("x\ufe0f\ufe0f", "x\\ufe0f\\ufe0f"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("क्\u200dष क्\u200cष", "क्\u200dष क्\u200cष"),
        ("می\u200d\u200cخ\u200c", "می\\u200d\\u200cخ\\u200c"),
        ("pass\u200cword م\u200ca", "pass\\u200cword م\\u200ca"),
    ],
)
def test_what_cannot_be_seen_is_made_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/home/ana/project/src/a.py", "src/a.py"),
        ("/home/ana/project", "."),
        ("/home/ana/projects/src/a.py", "…/projects/src/a.py"),
        ("D:\\work\\src\\a.py", "src\\a.py"),
        ("/home/ben/x/y.txt", "…/x/y.txt"),
        ("C:\\Users\\ana\\x\\y.txt", "…\\x\\y.txt"),
        ("C:/Users/ana/x/y.txt", "…/x/y.txt"),
        ("E:\\data\\in\\y.txt", "…\\in\\y.txt"),
        ("\\\\server\\share\\y.txt", "…\\y.txt"),
        ("/Users/ana/y.txt", "…/y.txt"),
        ("/srv/word/example.docx", "…/word/example.docx"),
        ("/tmp/upload-1/x.csv", "…/upload-1/x.csv"),
        ("/var/tmp/x.csv", "…/x.csv"),
        ("/srv/app/x.py", "…/app/x.py"),
        ("/etc/passwd", "…/passwd"),
        ("/data/x.csv", "…/x.csv"),
        ("open '/srv/app/x.py' or (/tmp/a b.txt)", "open '…/app/x.py' or (…/a b.txt)"),
        ("PATH=/usr/bin:/usr/local/bin", "PATH=…/bin:…/local/bin"),
        ("/items/0/sku", "/items/0/sku"),
        ("/api/v1/users", "/api/v1/users"),
        ("/", "/"),
        ("/tmp", "/tmp"),
        ("src/a.py", "src/a.py"),
        ("https://example.org/home/ana/x.py?p=/home/ana/y", "https://example.org/home/ana/x.py?p=/home/ana/y"),
        ("file:///home/ana/x", "file:///home/ana/x"),
        ("a / b /", "a / b /"),
        ("1/2", "1/2"),
    ],
)
def test_absolute_paths_become_relative(path: str, shown: str) -> None:
    assert ROOTED.preview_text(path, 200) == shown
    assert ROOTED.preview(path) == json.dumps(shown, ensure_ascii=False)
    assert ROOTED.redact(path) == path
    assert ValueSanitizer(RetryConfiguration(relativize_paths=False)).preview_text(path, 200) == path


def test_text_previews_have_no_quotes_and_keep_the_limit() -> None:
    assert SANITIZER.preview_text('say "hi"\n', 100) == 'say "hi"\\n'
    assert SANITIZER.preview_text("x" * 200, 50) == "x" * 35 + "..." + "x" * 12
    assert SANITIZER.preview_text("\u202e" * 200, 50).count("\\u202e") * 6 + 3 <= 50


def test_paths_at_both_ends_of_a_long_text_are_relative() -> None:
    shown = SANITIZER.preview("/home/ana/x.py " + "y " * 50_000 + "/home/ana/z.py")
    assert "ana" not in shown
    assert shown.startswith('"…/x.py y')
    assert shown.endswith('…/z.py" (truncated)')


def test_the_end_of_a_long_url_is_no_path() -> None:
    shown = SANITIZER.preview("https://example.org/?p=" + "y," * 50_000 + "/home/ana/z.py")
    assert shown.endswith(',/home/ana/z.py" (truncated)')


@pytest.mark.parametrize("path", ["/home/ana/x ", "C:\\Users\\ana\\x ", "'/tmp/x',", "://"])
def test_of_a_text_of_paths_those_are_made_relative_that_are_shown(path: str) -> None:
    short, long = (partial(SANITIZER.preview, path * (size // len(path))) for size in (1_200, 9_000))
    assert steps(long) < 2 * steps(short)
    assert "ana" not in long()


def test_a_path_is_cut_nowhere_where_its_beginning_counts() -> None:
    deep = "/home/ana/" + "d/" * 400 + "x.py"
    for before, behind in (("y " * 3_000, ""), ("", " y" * 3_000), ("y:" * 3_000, ""), ("y " * 290, " y" * 3_000)):
        shown = SANITIZER.preview(f"{before}{deep}{behind}")
        assert "ana" not in shown
        assert "/home" not in shown


@pytest.mark.parametrize("secret", ["sk_live_" + "51HqLyjWDarjtT1zdp7dcXYZ", "password=" + "x1y2z3w4" * 40])
@pytest.mark.parametrize("most", [200, 50_000])
def test_of_a_long_text_neither_end_shows_a_secret_that_is_cut(secret: str, most: int) -> None:
    """What is read reaches further than what is kept: whatever stands where it was cut stays out of sight."""
    words = "lorem ipsum " * 40_000
    for at in {0, len(words), *range(most - 400, most + 13_000, 397), *range(len(words) - 13_000, len(words), 397)}:
        kept = ValueSanitizer().redact_ends(f"{words[:at]} {secret} {words[at:]}", most)
        assert len(kept) <= most
        assert secret[9:20] not in kept, at
    assert "[REDACTED" in ValueSanitizer().redact_ends(f"{secret} {words}", most)
    assert "[REDACTED" in ValueSanitizer().redact_ends(f"{words} {secret}", most)
