"""Properties: never raises, idempotent, bounded, linear, no planted secret comes through."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import retrycontract
from retrycontract.contract.redaction import escapes, scan_copies, walk
from retrycontract.contract.redaction.sanitizer import ValueSanitizer, elide_middle, has_redaction, visible
from retrycontract.contract.redaction.scanner import BALANCED
from tests.contract.counting import steps
from tests.contract.pathological import ALL_TEXTS as TEXTS_OF_ANY_SIZE
from tests.contract.pathological import LATER_UNITS, UNITS, mixtures, near_misses
from tests.contract.pathological import VALUES as VALUES_OF_ANY_SIZE

SANITIZER = ValueSanitizer()
PLANTED = "ghp_" + "a1B2c3D4e" * 4
FRAGMENTS = st.sampled_from(
    ["password", "token", "=", ":", " ", '"', "'", "\\", "\n", "-", "--", "/", "@", "://", "[REDACTED: TOKEN]",
     "[REDACTED: ", "eyJ", "-----BEGIN RSA PRIVATE KEY-----", "-----END", "Authorization: ", "Bearer ", "Cookie: a=",
     "hunter2-two", PLANTED, "AKIA", "A1B2C3D4E5F6G7H8", "41111111" + "11111111", "kind: Secret\ndata:\n  a: b",
     "<token>", "</token>", "curl -u a:b ", "\ud800", "\u202e", "é", "\U0001f468\u200d", "value", "name", "api_key",
     "sk-", "q7Zp2LxV9tRb4Ns" + "W8mKc3JdY6hGf1TqZ"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=200), st.lists(FRAGMENTS, max_size=25).map("".join))
NAMES = st.one_of(
    st.sampled_from(["password", "token", "key", "id", "name", "value", "content", "auth", PLANTED]), TEXTS
)
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS, st.binary(max_size=20))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=6), st.dictionaries(NAMES, inner, max_size=6)),
    max_leaves=20,
)


class Hostile:
    """Raise whatever is asked of it."""

    def __repr__(self) -> str:
        raise RuntimeError("no")

    __str__ = __repr__


class HostileText(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("no")


class HostileDict(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("no")


class HostileList(list[Any]):
    def __iter__(self) -> Any:
        raise RuntimeError("no")

    __len__ = __iter__


def deep(levels: int) -> Any:
    value: Any = PLANTED
    for level in range(levels):
        value = {"a": value} if level % 2 else [value]
    return value


def circle() -> Any:
    value: dict[str, Any] = {"token": PLANTED}
    value["self"] = [value]
    return value


@given(VALUES)
@example([["0 -u :0"], ["0"]])  # a row that heads no column until it holds a mark
def test_redacting_twice_changes_nothing_more(value: Any) -> None:
    once = SANITIZER.redact(value)
    assert repr(SANITIZER.redact(once)) == repr(once)


@given(TEXTS)
@example("token=" * 10)
def test_redacting_text_twice_changes_nothing_more(text: str) -> None:
    once = SANITIZER.redact_text(text)
    assert SANITIZER.redact_text(once) == once


@given(VALUES, st.sampled_from(["", "/a", "/password", "/a/0/token", "//~0~1"]))
def test_a_preview_is_one_encodable_bounded_line(value: Any, field_path: str) -> None:
    shown = SANITIZER.preview(value, field_path)
    shown.encode("utf-8")
    assert len(shown) <= 4 * 100 + len('"" (truncated)')
    assert "\n" not in shown
    assert visible(shown) == shown
    if isinstance(value, str):
        assert len(shown.removesuffix(" (truncated)")) <= 102


@given(TEXTS, st.integers(0, 120))
@example("/home/ana/\ud800", 40)
def test_shortened_text_never_passes_the_limit(text: str, limit: int) -> None:
    assert len(elide_middle(text, limit)) <= limit
    shown = SANITIZER.preview_text(text, limit)
    assert len(shown) <= limit
    shown.encode("utf-8")


@given(TEXTS)
def test_an_untruncated_preview_reads_back_as_the_redacted_text(text: str) -> None:
    plain = ValueSanitizer(SANITIZER._configuration.__class__(relativize_paths=False))
    shown = plain.preview(text)
    if not shown.endswith("(truncated)") and all(not 0xD800 <= ord(c) < 0xE000 for c in text):
        assert json.loads(shown) == plain.redact(text)


@given(VALUES, st.text(alphabet=" ,;\n\"'({[", min_size=1, max_size=3), TEXTS)
def test_a_planted_secret_is_absent_from_every_output(value: Any, before: str, after: str) -> None:
    text = f"{after}{before}{PLANTED}{before}{after}"
    planted = {"value": value, "list": [text], f"key {PLANTED}": {"deep": text}}
    outputs = [
        SANITIZER.redact(planted),
        SANITIZER.preview(planted),
        SANITIZER.redact_text(text),
        SANITIZER.preview_text(text, 500),
        SANITIZER.redact_name(text),
        SANITIZER.redact_pointer(f"/a/{PLANTED}/b"),
    ]
    assert all(PLANTED not in repr(output) for output in outputs)
    assert has_redaction(outputs[0])


@given(VALUES)
def test_structure_and_types_of_containers_are_kept(value: Any) -> None:
    def same_shape(before: Any, after: Any) -> bool:
        if isinstance(before, dict):
            return (
                isinstance(after, dict)
                and len(before) == len(after)
                and all(map(same_shape, before.values(), after.values()))
            )
        if isinstance(before, list):
            return isinstance(after, list) and len(before) == len(after) and all(map(same_shape, before, after))
        return not isinstance(after, (dict, list))

    assert same_shape(value, SANITIZER.redact(value))


@pytest.mark.parametrize(
    "value",
    [
        Hostile(), {"a": Hostile()}, [Hostile(), {Hostile(): 1}], HostileText("x"), HostileDict(password=PLANTED),
        HostileList([PLANTED]),
        circle(), 10**5000, {10**5000: 1}, {"password": 10**5000}, float("inf"), b"\xff\xfe", {b"k": b"v"}, {1, "a"},
        frozenset({2}), range(3), "\ud800" * 10, {"\udc00": "\ud83d"}, memoryview(b"abc"), Exception("x"), type, 3j,
        {(1, 2): 3}, {"a" * 10_000: 1},
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_nothing_makes_it_raise(value: Any) -> None:
    SANITIZER.redact(value)
    SANITIZER.redact(value, "/a", marked=["/a/b"])
    SANITIZER.preview(value, "/not~a~pointer").encode("utf-8")
    has_redaction(value)


def test_any_depth_is_walked() -> None:
    redacted = SANITIZER.redact(deep(10_000))
    for _ in range(10_000):
        redacted = redacted["a"] if isinstance(redacted, dict) else redacted[0]
    assert redacted == "[REDACTED: GITHUB_TOKEN]"
    assert has_redaction(SANITIZER.redact(deep(10_000)))
    assert "..." in SANITIZER.preview(deep(10_000))


SMALL, LARGE = 4_000, 32_000


@pytest.mark.parametrize("name", TEXTS_OF_ANY_SIZE)
def test_the_work_grows_no_faster_than_the_text(name: str) -> None:
    small, large = TEXTS_OF_ANY_SIZE[name](SMALL), TEXTS_OF_ANY_SIZE[name](LARGE)
    for text in (small, large):  # what the first text makes that needs it is no work of this one
        SANITIZER.preview(text)
    # Quadratic work would take 64 times as many steps for eight times the text.
    assert steps(lambda: SANITIZER.preview(large)) < 24 * steps(lambda: SANITIZER.preview(small)) + 2_000


@pytest.mark.soak
@pytest.mark.parametrize("name", TEXTS_OF_ANY_SIZE)
def test_the_time_grows_no_faster_than_the_text(name: str) -> None:
    """What the steps don't show: a pattern that takes the square of a text is one step."""

    def seconds(size: int) -> float:
        text = TEXTS_OF_ANY_SIZE[name](size)
        started = time.process_time()
        SANITIZER.redact(text)
        return time.process_time() - started

    seconds(4 * SMALL)
    gc.collect()
    gc.freeze()  # what other tests left in memory is not gone through again and again while this one counts
    # Quadratic work would take 64 times as long; 20 ms are forgiven a small text that takes next to none.
    large = min(seconds(4 * LARGE) for _ in range(3))
    assert large < 24 * min(seconds(4 * SMALL) for _ in range(3)) + 0.02


@pytest.mark.soak
def test_no_text_takes_many_times_what_program_text_takes() -> None:
    """What grows with the text may still be dear for each character: of units and mixtures, and beside each pattern."""
    size = 500_000

    def seconds(unit: str) -> float:
        text = (unit * (size // len(unit) + 1))[:size]
        started = time.process_time()
        SANITIZER.redact(text)
        return time.process_time() - started

    package = Path(retrycontract.__file__).parent
    sources = "".join(path.read_text(encoding="utf-8") for path in sorted(package.glob("contract/**/*.py")))
    ordinary = min(seconds(sources) for _ in range(3))
    patterns = (finder.pattern or finder.prefilter for finder in BALANCED._sieve._finders)
    units = [*UNITS.values(), *LATER_UNITS.values(), *mixtures(300), *near_misses(patterns, size // 10)]
    slowest = [unit for unit in units if seconds(unit) > 2.5 * ordinary]
    # Machines are shared: what is in doubt is timed again, in turns with program text.
    ratios = {unit[:100]: min(map(seconds, [unit] * 3)) / min(map(seconds, [sources] * 3)) for unit in slowest}
    assert {unit: ratio for unit, ratio in ratios.items() if ratio > 3.5} == {}


@pytest.mark.soak
def test_no_mixture_of_units_takes_the_square_of_its_length() -> None:
    def seconds(unit: str, size: int) -> float:
        text = (unit * (size // len(unit) + 1))[:size]
        started = time.process_time()
        SANITIZER.redact(text)
        return time.process_time() - started

    for unit in mixtures(3_000):
        # At first sight few are in doubt; of these the quicker of three counts, for machines are shared.
        if seconds(unit, 4 * SMALL) > 0.05:
            small = min(seconds(unit, 4 * SMALL) for _ in range(3))
            assert min(seconds(unit, 16 * SMALL) for _ in range(3)) < 9 * small + 0.02, unit


@pytest.mark.parametrize("name", VALUES_OF_ANY_SIZE)
def test_the_work_grows_no_faster_than_the_value(name: str) -> None:
    small, large = VALUES_OF_ANY_SIZE[name](SMALL), VALUES_OF_ANY_SIZE[name](LARGE)
    SANITIZER.redact(small)  # which compiles the patterns

    def forget() -> None:  # what was seen before takes few steps
        BALANCED._harmless.clear()
        walk._redacted_short_name.cache_clear()

    forget()
    of_small = steps(lambda: SANITIZER.redact(small))
    forget()
    assert steps(lambda: SANITIZER.redact(large)) < 24 * of_small + 2_000


@pytest.mark.parametrize("name", TEXTS_OF_ANY_SIZE)
def test_pathological_texts_give_bounded_stable_output(name: str) -> None:
    text = TEXTS_OF_ANY_SIZE[name](SMALL)
    once = SANITIZER.redact(text)
    assert SANITIZER.redact(once) == once
    shown = SANITIZER.preview(text)
    shown.encode("utf-8")
    assert len(shown) <= 100 + len('"" (truncated)')
    assert visible(shown) == shown


@pytest.mark.parametrize("name", TEXTS_OF_ANY_SIZE)
def test_a_secret_behind_a_pathological_text_is_redacted(name: str) -> None:
    text = f"{TEXTS_OF_ANY_SIZE[name](SMALL)}\n\n{PLANTED}\n"
    assert PLANTED not in SANITIZER.redact(text)


def _seeded_texts() -> Iterator[str]:
    random = Random(15)
    signs = [
        *"aA0?\\\\\\\"'/%&;u41\n\x00\x01\x1b",
        *"密码пароль鍵é–“…\u200b\ud800\U0001d400\uff21中",
        "\\u0041",
        "%2f",
        "&quot;",
    ]
    for size in (3, 10, 60) * 1_500:
        yield "".join(random.choice(signs) for _ in range(size))
    for highest in (0x250, 0x500, 0x11000):
        yield "".join(chr(random.randrange(0x20, highest)) for _ in range(2 * scan_copies.LONG))


def test_a_copy_is_what_its_tables_say_character_by_character() -> None:
    """The quick ways give what the plain one gives: one table for the characters, one search for the escapes."""
    for text in _seeded_texts():
        told = "".join(c if c.isascii() else scan_copies._FOLDED.get(c, scan_copies.FOREIGN) for c in text)
        assert scan_copies._folded(text.replace("\x01", ""), {*text}) == told.replace("\x01", "")
        usual = {*scan_copies._USUAL.decode()}
        assert scan_copies._characters(text, scan_copies._unusual(text)) - usual == {*text} - usual
        plain = scan_copies.ascii_copy(text)
        escaped = escapes.PARTED.sub(lambda match: scan_copies._decoded(match[0]), plain)
        found = scan_copies.decoded_copy(plain)
        assert (found.text if found else plain) == (scan_copies.ascii_copy(escaped) if found else escaped)
