"""What became of the mistakes: fixed, still wrong, new, or the same as before."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrycontract import ErrorCode, ErrorFormatter, ErrorSeverity, ValidationError, parse_feedback
from retrycontract.contract.feedback.progress import MAX_LISTED, compare
from retrycontract.contract.tracker import AttemptRecord

MISSING, TYPE, SYNTAX = ErrorCode.REQUIRED_FIELD_MISSING, ErrorCode.TYPE_MISMATCH, ErrorCode.INVALID_JSON_SYNTAX
UNKNOWN, WHOLE, RANGE = (
    ErrorCode.UNKNOWN_FIELD, ErrorCode.OBJECT_SCHEMA_VIOLATION, ErrorCode.NUMBER_RANGE_VIOLATION,
)  # fmt: skip


def wrong(*places: str, code: ErrorCode = RANGE, keyword: str = "", said: str = "m") -> tuple[ValidationError, ...]:
    return tuple(ValidationError(code, place, said, keyword=keyword) for place in places)


def sent_as_list(place: str) -> tuple[ValidationError, ...]:
    return wrong(place, code=TYPE, said=TYPE.template.format(expected="object", actual="array"))


def line(now: tuple[ValidationError, ...], *earlier: tuple[ValidationError, ...], shown: int = 6) -> str | None:
    """The line of progress of the attempt that follows the earlier ones."""
    progress = compare(now, [AttemptRecord(number, errors) for number, errors in enumerate(earlier, 1)])
    return progress.line(shown) if progress else None


NO_JSON = wrong("", code=SYNTAX)


@pytest.mark.parametrize(
    ("now", "earlier", "said"),
    [
        pytest.param(wrong("/b", "/c"), [wrong("/a", "/b")],
                     "Progress: fixed /a; still wrong /b (same mistake as attempt 1); new /c.", id="all-three"),
        pytest.param(wrong("/b"), [wrong("/a", "/b")],
                     "Progress: fixed /a; still wrong /b (same mistake as attempt 1).", id="nothing-new"),
        pytest.param(wrong("/b"), [wrong("/a")], "Progress: fixed /a; new /b.", id="another-one"),
        pytest.param(wrong("/a", "/b", "/c"), [wrong("/a"), wrong("/a", "/b")],
                     "Progress: still wrong /a (same mistake as attempt 1), /b (same mistake as attempt 2); new /c.",
                     id="each-since-its-first-attempt"),
        pytest.param(wrong("/a", "/b", "/c"), [wrong("/a", "/b")],
                     "Progress: still wrong /a, /b (same mistakes as attempt 1); new /c.", id="two-alike"),
        pytest.param(wrong("/a"), [wrong("/a", code=TYPE)], "Progress: still wrong /a (another mistake).",
                     id="wrong-in-another-way"),
        pytest.param(wrong("/a", "/b"), [wrong("/a", "/b", code=TYPE)],
                     "Progress: still wrong /a, /b (other mistakes).", id="both-wrong-in-another-way"),
        pytest.param(wrong("/a"), [wrong("/a"), wrong("/b")],
                     "Progress: fixed /b; new /a (same mistake as attempt 1).", id="back-again"),
        pytest.param(wrong("/a"), [wrong("/a")],
                     "Progress: none, the mistake is the same as in attempt 1; take a different approach.", id="same"),
        pytest.param(wrong("/a", "/b"), [wrong("/b"), wrong("/b", "/a")],
                     "Progress: none, the mistakes are the same as in attempt 2; take a different approach.",
                     id="same-as-last-time"),
        pytest.param(wrong("/i/3/s", "/i/7/s", "/a"), [wrong("/i/0/s")],
                     "Progress: still wrong /i/*/s (same mistake as attempt 1); new /a.", id="items-by-their-pattern"),
        pytest.param(wrong("/i/1/s"), [wrong("/i/1/s", "/i/2/s", "/i/3/s")],
                     "Progress: still wrong /i/1/s (same mistake as attempt 1).", id="fewer-items-is-progress"),
        pytest.param(wrong("/a b", "/c;d", '/"e"'), [wrong("/f, g")],
                     'Progress: fixed "/f, g"; new "/a b", "/c;d", "/\\\\"e\\\\"".'.replace("\\\\", "\\"),
                     id="quoted-where-it-could-be-misread"),
    ],
)  # fmt: skip
def test_the_line_tells_what_became_of_the_mistakes(
    now: tuple[ValidationError, ...], earlier: list[tuple[ValidationError, ...]], said: str
) -> None:
    assert line(now, *earlier) == said


@pytest.mark.parametrize(
    ("now", "earlier", "said"),
    [
        pytest.param(NO_JSON, [wrong("/a", "/b")], "Progress: new (root).", id="unreadable-now"),
        pytest.param(wrong("/a", "/b"), [NO_JSON], "Progress: fixed (root).", id="unreadable-before"),
        pytest.param(wrong("/a"), [wrong("/a", "/b"), NO_JSON],
                     "Progress: fixed /b, (root); still wrong /a (same mistake as attempt 1).", id="read-before-that"),
        pytest.param(wrong("/k", code=SYNTAX), [wrong("/a")], "Progress: new /k.", id="a-key-twice-is-no-json-either"),
        pytest.param(wrong("", code=TYPE), [wrong("/a")], "Progress: new (root).", id="another-type-altogether"),
        pytest.param(wrong("/c", code=MISSING), [wrong("/c/d", "/a")], "Progress: fixed /a; new /c.", id="parent-gone"),
        pytest.param(wrong("/c/d"), [wrong("/c", code=TYPE)], "Progress: fixed /c.", id="parent-right-at-last"),
        pytest.param(wrong("", code=WHOLE, keyword="minProperties"), [wrong("/a")], "Progress: fixed /a; new (root).",
                     id="the-size-hides-nothing"),
        pytest.param(wrong("", code=WHOLE, keyword="callback"), [wrong("/a")], "Progress: fixed /a; new (root).",
                     id="a-callback-speaks-when-all-else-is-right"),
        pytest.param(wrong("/a"), [wrong("", code=WHOLE, keyword="callback")], "Progress: new /a.",
                     id="a-callback-was-not-asked-again"),
        pytest.param(wrong("/f", code=TYPE) + wrong("/f/n"), [wrong("/f", code=TYPE) + wrong("/f/u")],
                     "Progress: fixed /f/u; still wrong /f (same mistake as attempt 1); new /f/n.", id="within-a-text"),
        pytest.param(wrong("/f/u"), [wrong("/arguments", code=UNKNOWN) + wrong("/arguments/f/u")],
                     "Progress: fixed /arguments; still wrong /f/u (same mistake as attempt 1).", id="in-a-wrapper"),
        pytest.param(wrong("/u"), [wrong("/function", code=UNKNOWN) + wrong("/function/arguments/u", "/v")],
                     "Progress: fixed /function, /v; still wrong /u (same mistake as attempt 1).", id="and-of-a-call"),
        pytest.param(wrong("/f/u"), [wrong("/f/f", code=UNKNOWN) + wrong("/f/f/u")],
                     "Progress: fixed /f/f; still wrong /f/u (same mistake as attempt 1).", id="in-a-field-twice"),
        pytest.param(wrong("/f/u"), [wrong("/f/f", code=UNKNOWN) + wrong("/f/f/0/u")],
                     "Progress: fixed /f/f; still wrong /f/u (same mistake as attempt 1).", id="and-in-a-list-of-one"),
        pytest.param(wrong("/f/u"), [sent_as_list("/f") + wrong("/f/0/u", "/f/0/v")],
                     "Progress: fixed /f, /f/v; still wrong /f/u (same mistake as attempt 1).", id="in-a-list-of-one"),
        pytest.param(sent_as_list("/f") + wrong("/f/0/u"), [wrong("/f/u")],
                     "Progress: still wrong /f/u (same mistake as attempt 1); new /f.", id="a-list-around-it-is-new"),
        pytest.param(wrong("/f/0/u"), [wrong("/f", code=TYPE) + wrong("/f/0/u")],
                     "Progress: fixed /f; still wrong /f/0/u (same mistake as attempt 1).", id="now-in-a-list"),
        pytest.param(wrong("/a"), [wrong("", code=WHOLE, keyword="tool")], "Progress: fixed (root).", id="other-tool"),
        pytest.param(NO_JSON, [wrong("/a"), wrong("", code=SYNTAX, keyword="only_talk")],
                     "Progress: still wrong (root) (another mistake).", id="no-attempt-then-no-json"),
    ],
)  # fmt: skip
def test_what_was_not_looked_at_is_neither_fixed_nor_new(
    now: tuple[ValidationError, ...], earlier: list[tuple[ValidationError, ...]], said: str
) -> None:
    assert line(now, *earlier) == said


def test_nothing_is_said_without_errors_or_without_an_earlier_attempt() -> None:
    assert line(wrong("/a")) is None
    assert line((), wrong("/a")) is None
    assert line(wrong("/a"), ()) is None


def test_warnings_are_no_mistakes() -> None:
    warning = (ValidationError(RANGE, "/w", "m", severity=ErrorSeverity.WARNING),)
    assert line(wrong("/a") + warning, wrong("/b")) == "Progress: fixed /b; new /a."
    assert line(wrong("/a"), warning) is None


def test_what_a_bounded_history_left_out_is_not_called_new() -> None:
    earlier = [AttemptRecord(1, wrong("/a", "/b"), omitted=40)]
    progress = compare(wrong("/a", "/z"), earlier)
    assert progress is not None
    assert progress.line(6) == "Progress: fixed /b; still wrong /a (same mistake as attempt 1)."
    same = compare(wrong("/a", "/b"), earlier)
    assert same is not None
    assert same.same_as is None


def test_long_lists_and_long_pointers_are_shortened() -> None:
    said = line(wrong("/" + "n" * 500), wrong(*(f"/field{number:02}" for number in range(18))))
    assert said is not None
    assert "fixed /field00, /field01, /field02, /field03, /field04, /field05 and 12 more; new /nnn" in said
    assert len(said) < 100 + MAX_LISTED


TOKENS = st.lists(st.sampled_from([*"ab,; (\"'.*\\~\n", "root", "0", "fixed", "new ", "none, ", "\ud800"]), max_size=5)
POINTERS = st.lists(TOKENS.map("".join), max_size=3).map(lambda tokens: "".join(f"/{token}" for token in tokens))
ATTEMPTS = st.lists(st.builds(ValidationError, st.sampled_from([RANGE, TYPE, SYNTAX]), POINTERS, st.just("m")),
                    min_size=1, max_size=5).map(tuple)  # fmt: skip


@given(now=ATTEMPTS, before=ATTEMPTS)
def test_every_line_is_read_back(now: tuple[ValidationError, ...], before: tuple[ValidationError, ...]) -> None:
    parsed = parse_feedback(ErrorFormatter().format_errors("t", now, 2, 3, previous_errors=before))
    progress = compare(now, [AttemptRecord(1, before)])
    if progress is None:
        assert (parsed.fixed, parsed.still, parsed.new, parsed.is_unchanged) == ((), (), (), False)
    elif progress.same_as is not None:
        assert (parsed.is_unchanged, parsed.still) == (True, ())
    else:
        for listed, read in (
            (progress.fixed, parsed.fixed),
            (progress.still, parsed.still),
            (progress.new, parsed.new),
        ):
            assert sorted(place.pointer for place in listed) == sorted(read)


def test_the_line_stands_between_the_bullets_and_the_hint() -> None:
    text = ErrorFormatter().format_errors("t", wrong("/b"), 2, 3, previous_errors=wrong("/a"))
    assert text == (
        "Validation failed for tool 't' (attempt 2/3):\n\n"
        "• /b (VAL-011): m\n\n"
        "Progress: fixed /a; new /b.\n\n"
        "Please bring 'b' into its range."
    )
    parsed = parse_feedback(text)
    assert (parsed.fixed, parsed.still, parsed.new) == (("/a",), (), ("/b",))
    assert parsed.hint == "Please bring 'b' into its range."


def test_the_blocked_text_tells_of_no_progress() -> None:
    text = ErrorFormatter().format_feedback(
        "t", wrong("/b"), attempt=3, max_attempts=3, blocked=True, previous=[AttemptRecord(2, wrong("/a"))]
    )
    assert "Progress" not in text
