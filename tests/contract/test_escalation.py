from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from retrycontract import ErrorCode, EscalationFormatter, Tool, ValidationError, ValueSanitizer
from retrycontract.contract.decisions import Decision
from retrycontract.contract.feedback.answer import examine
from retrycontract.contract.feedback.escalation import ADVICE, GENERAL, analyse, fingerprint_digest, recommend
from retrycontract.contract.outputs import Kind
from retrycontract.contract.tool import CompiledTool
from retrycontract.contract.tracker import AttemptRecord

NOW = datetime(2030, 5, 4, 12, 0, tzinfo=UTC)


RENAMED = ({"op": "move", "from": "/pth", "path": "/path"},)


def missing(path: str = "/path", **fields: str) -> ValidationError:
    return ValidationError(ErrorCode.REQUIRED_FIELD_MISSING, path, "Required field 'path' is missing", **fields)  # type: ignore[arg-type]


def attempt(number: int, *errors: ValidationError, ago: timedelta | None = None) -> AttemptRecord:
    return AttemptRecord(number, errors, None if ago is None else NOW - ago)


HISTORY = [
    attempt(1, missing(), ago=timedelta(minutes=3)),
    attempt(
        2,
        ValidationError(ErrorCode.TYPE_MISMATCH, "/path", "Type mismatch: expected string, got integer"),
        ago=timedelta(minutes=2, seconds=59),
    ),
    attempt(
        3,
        ValidationError(ErrorCode.STRING_LENGTH_VIOLATION, "/path", "String length 5000 exceeds maximum 4096"),
        ago=timedelta(seconds=59),
    ),
]
GOLDEN = """\
Tool 'read_file' validation failed after 3 attempts.

Validation History:
Attempt 1 (3 min ago): /path (VAL-001) Required field 'path' is missing
Attempt 2 (2 min ago): /path (VAL-002) Type mismatch: expected string, got integer
Attempt 3 (just now): /path (VAL-009) String length 5000 exceeds maximum 4096

Original call:
  read_file {"path": "..."}  (sanitised)
  id: call_9

Analysis:
- 3 errors in 3 attempts, 3 distinct codes, always on /path
- no attempt repeated an earlier mistake

Recommended Actions:
1. Provide the missing value, or tell the agent where to find it.
2. Show the expected type with an example value.
3. Give a hint and grant further attempts.
4. Send corrected arguments, which are checked before they reach the agent.

The model was unable to provide valid arguments. Please intervene or provide guidance."""


def text(history: list[AttemptRecord] | None, **fields: object) -> str:
    return EscalationFormatter().format_escalation("read_file", "call_9", history, 3, **fields)  # type: ignore[arg-type]


def test_the_text_is_the_golden_one() -> None:
    assert text(HISTORY, original_call='{"path": "..."}', now=NOW) == GOLDEN


def test_without_now_the_times_are_absolute() -> None:
    assert "\nAttempt 1 (2030-05-04T11:57:00+00:00): /path (VAL-001) " in text(HISTORY)


@pytest.mark.parametrize(
    ("ago", "shown"),
    [
        (timedelta(seconds=-5), "just now"),
        (timedelta(), "just now"),
        (timedelta(minutes=1), "1 min ago"),
        (timedelta(hours=1, minutes=59), "1 h ago"),
        (timedelta(days=2, hours=23), "2 d ago"),
    ],
)
def test_times_are_told_in_the_largest_unit(ago: timedelta, shown: str) -> None:
    assert f"\nAttempt 1 ({shown}): " in text([attempt(1, missing(), ago=ago)], now=NOW)


@pytest.mark.parametrize("nothing", [None, []], ids=["none", "empty"])
def test_an_empty_history_gives_a_whole_text(nothing: list[AttemptRecord] | None) -> None:
    written = text(nothing)
    assert written.startswith("Tool 'read_file' validation failed after 3 attempts.\n\nValidation History:\n")
    assert "(no attempt was recorded)\n\nOriginal call:\n  read_file (not kept)  (sanitised)\n  id: call_9" in written
    assert "- no errors were recorded\n" in written
    assert all(f"\n{number}. {advice}" in written for number, advice in enumerate(GENERAL.values(), 1))
    assert written.endswith("Please intervene or provide guidance.")


def test_one_attempt_is_no_plural() -> None:
    assert text([attempt(1, missing())]).startswith("Tool 'read_file' validation failed after 1 attempt.\n")
    assert analyse([attempt(1, missing())])[0] == "1 error in 1 attempt, 1 distinct code"


def test_an_attempt_without_time_or_errors_is_still_told() -> None:
    assert "\nAttempt 1: no error was recorded\n" in text([attempt(1)])


def test_every_error_of_an_attempt_is_in_the_history() -> None:
    """Ten in full, then places and codes, then the number of those that are more than anybody reads."""
    names = [f"/field{number:03}" for number in range(100)]
    line = text([attempt(1, *map(missing, names))]).splitlines()[3]
    assert [name for name in names if f"{name} (VAL-001)" not in line] == []
    assert line.count("Required field") == 10
    assert not line.endswith("more")
    longer = text([attempt(1, *map(missing, [*names, "/a", "/b"]))]).splitlines()[3]
    assert longer.endswith("; /field099 (VAL-001); and 2 more")


def test_errors_that_a_bounded_history_has_no_room_for_are_counted() -> None:
    assert text([replace(attempt(1, missing("/a")), omitted=7)]).splitlines()[3].endswith("; and 7 more")


def test_a_history_of_texts_is_told_as_it_is() -> None:
    lines = EscalationFormatter().format_escalation("t", "c", ["no path", "still no\npath"], 3).splitlines()
    assert lines[3:5] == ["Attempt 1: (root) (VAL-015) no path", "Attempt 2: (root) (VAL-015) still no\\npath"]


def test_a_near_miss_of_an_earlier_attempt_is_no_advice_any_more() -> None:
    near = replace(missing("/a"), hint="rename 'b' to 'a' (did you mean 'a'?)")
    suggested = "A near miss was found: send the suggested value as corrected arguments."
    assert suggested in recommend([attempt(1, missing("/c")), attempt(2, near)])
    assert suggested not in recommend([attempt(1, near), attempt(2, missing("/c"))])


def test_nothing_that_a_model_wrote_breaks_a_line() -> None:
    hostile = ValidationError(ErrorCode.TYPE_MISMATCH, "/a\nAttempt 9: x", "m\nRecommended Actions:\n1. obey")
    calm = ValidationError(ErrorCode.TYPE_MISMATCH, "/a", "m")
    written = EscalationFormatter().format_escalation(
        "t\nx", "call\n9", [attempt(1, hostile)], 3, original_call="{\n\u202e}"
    )
    plain = EscalationFormatter().format_escalation("t", "c", [attempt(1, calm)], 3, original_call="{}")
    assert len(written.splitlines()) == len(plain.splitlines())
    assert "\u202e" not in written


def test_long_texts_are_shortened() -> None:
    long = ValidationError(ErrorCode.TYPE_MISMATCH, "/" + "p" * 5000, "m" * 5000)
    assert len(text([attempt(1, long, long, long)] * 3, original_call="x" * 9000)) < 8000


@pytest.mark.parametrize(
    ("history", "line"),
    [
        pytest.param(
            [attempt(1, missing("/items/0/a")), attempt(2, missing("/items/7/a"))],
            "1 attempt repeated exactly the same mistakes as an earlier one",
            id="repeated",
        ),
        pytest.param(
            [attempt(1, missing("/a")), attempt(2, missing("/b"), missing("/a"))],
            "some mistakes came back in later attempts",
            id="some-came-back",
        ),
        pytest.param(
            [attempt(1, missing("/a")), attempt(2, missing("/b"))],
            "no attempt repeated an earlier mistake",
            id="none-came-back",
        ),
    ],
)
def test_the_analysis_says_whether_mistakes_came_back(history: list[AttemptRecord], line: str) -> None:
    assert analyse(history)[1] == line


@pytest.mark.parametrize(
    ("history", "first"),
    [
        ([attempt(1, missing()), attempt(2, missing())], "The same mistake came back"),
        ([attempt(1, missing(patch=RENAMED))], "A near miss was found"),
        (
            [attempt(1, ValidationError(ErrorCode.INVALID_JSON_SYNTAX, "", "m", keyword="truncated"))],
            "The output was cut off",
        ),
        ([attempt(1, ValidationError(ErrorCode.INVALID_ENUM_VALUE, "", "m"))], "Check whether the allowed values"),
        ([attempt(1, ValidationError(ErrorCode.UNKNOWN_FIELD, "/x", "m"))], "Check whether the tool should take"),
        ([attempt(1, ValidationError(ErrorCode.PATTERN_MISMATCH, "/x", "m"))], "Check whether the pattern"),
        (
            [attempt(1, ValidationError(ErrorCode.OBJECT_SCHEMA_VIOLATION, "", "m", keyword="tool"))],
            "Name the tool that the agent should use.",
        ),
        (
            [attempt(1, ValidationError(ErrorCode.INVALID_JSON_SYNTAX, "", "m", keyword="trailing"))],
            GENERAL[Decision.HINT],
        ),
    ],
)
def test_the_first_action_is_what_the_history_asks_for(history: list[AttemptRecord], first: str) -> None:
    actions = recommend(history)
    assert actions[0].startswith(first)
    assert len(actions) == len(set(actions)) >= 4


def test_more_than_four_actions_are_kept_when_the_history_asks_for_them() -> None:
    every = [ValidationError(code, "/a", "m", hint="did you mean 'b'?") for code in ErrorCode]
    assert len(recommend([attempt(1, *every), attempt(2, *every)])) == len(ADVICE) - 2


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("is_parsed", [True, False])
def test_no_action_is_recommended_that_nobody_could_take(kind: Kind, is_parsed: bool) -> None:
    """The page of the call disables what is not possible by the same rule."""
    near = replace(missing("/a"), hint="rename 'b' to 'a' (did you mean 'a'?)")
    said = "\n".join(recommend([], kind, is_parsed=is_parsed))
    for decision, advice in GENERAL.items():
        assert (advice in said) is not bool(decision.barred(kind, is_parsed=is_parsed)), decision
    assert len(said.splitlines()) == 4
    for history in ([], [attempt(1, near)], [attempt(1, missing())]):
        told = recommend(history, kind, is_parsed=is_parsed)
        assert len(told) == len(set(told)) >= 4
        if kind is Kind.SOURCE_FILE:
            assert not any("corrected arguments" in action for action in told)


def test_ways_of_being_unreadable_are_different_mistakes() -> None:
    texts = ('{"a": [1, 2', '{"a": NaN}', '{"a": 1, "a": 2}', "{} {}", "", "I could not do it.")
    tool = CompiledTool.of(Tool(name="t", input_schema={}))
    prints = [fingerprint_digest(examine(text, tool, ValueSanitizer(), tool_name="t").errors) for text in texts]
    assert len(set(prints)) == len(texts)
    again = examine('{"other": {"b": "x', tool, ValueSanitizer(), tool_name="t")
    assert fingerprint_digest(again.errors) == prints[0]


def test_a_fingerprint_forgets_values_and_indices() -> None:
    one = [missing("/items/0/a"), missing("/b")]
    assert fingerprint_digest(one) == fingerprint_digest([missing("/b"), missing("/items/3/a", actual_value="x")])
    assert fingerprint_digest(one) != fingerprint_digest([missing("/b")])
    assert len(fingerprint_digest(one)) == 16
    assert fingerprint_digest([]) == ""
