"""What stays true of every message that a real check makes: bounded, readable again, and without secrets."""

from __future__ import annotations

import unicodedata
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from retrycontract import RetryConfiguration, RetryContract, Tool, parse_feedback
from retrycontract.contract.feedback.feedback_text import (
    LAST_ATTEMPT_TEXT,
    MAX_POINTER,
    WITHOUT_DESK,
    ParsedFeedback,
    first_line,
    shown_name,
    shown_pointer,
)
from retrycontract.contract.feedback.formatter import SHORT_POINTER
from retrycontract.contract.feedback.hints import in_order

SECRETS = ("sk-proj-" + "aB3dE5fG7hJ9kL2mN4pQ" * 2, "AKIA" + "QWERTYUIOPASDFGH", "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8")
FAMILY = "👩\u200d👩\u200d👧\u200d👦"
WORDS = (
    "path", "mode", "a b", "x, y; (z)", "it's", '"', "é", "家", FAMILY, "\n", "\u202e", "\ud800", "n" * 300, "/", "~",
    "0",
)  # fmt: skip
TEXTS = st.one_of(st.sampled_from((*WORDS, *SECRETS)), st.sampled_from(SECRETS).map("key {} end".format))
NAMES = TEXTS
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXTS,
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=12,
)
LEAVES = st.sampled_from(
    [
        {"type": "string"}, {"type": "integer", "minimum": 3}, {"type": ["boolean", "null"]}, {"maxLength": 2},
        {"enum": ["path", "paths", FAMILY]}, {"pattern": "^[a-z]+$"}, {"format": "date"}, {"const": 1}, {"maxItems": 1},
        {"uniqueItems": True}, {"minProperties": 9}, {"not": {"type": "string"}}, {"deprecated": True}, False,
        {"type": "array", "items": {"type": "integer"}, "x-hint": "send " + "w" * 150},
        {"x-severity": "info", "const": 2},
    ]
)  # fmt: skip
PLAIN_NAMES = st.sampled_from([word for word in WORDS if word != "\ud800"])


def branches(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.fixed_dictionaries(
            {"properties": st.dictionaries(PLAIN_NAMES, inner, max_size=5)},
            optional={"required": st.lists(PLAIN_NAMES, unique=True), "additionalProperties": st.just(False)},
        ),
        st.fixed_dictionaries({"items": inner}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)}),
    )


SCHEMAS = st.recursive(LEAVES, branches, max_leaves=8).filter(lambda schema: isinstance(schema, dict))
SETTINGS = st.fixed_dictionaries(
    {"max_message_length": st.integers(500, 4000), "max_errors_shown": st.integers(1, 12)},
    optional={"include_hints": st.booleans(), "include_actual_values": st.booleans(),
              "max_value_preview": st.sampled_from([20, 1000])},
)  # fmt: skip
BROKEN = st.sampled_from(['{"path": ', "", '{"path": "' + SECRETS[0], '{"a": 1, "a": 2}', "NaN"])


def read_back(pointer: str, limit: int) -> str:
    """The pointer as a reader gets it when it is shown in so many characters."""
    line = first_line("tool", "t", 1, 3)
    return parse_feedback(f"{line}\n\n• {shown_pointer(pointer, limit)} (VAL-001):").pointers[0]


def is_shown(pointer: str, parsed: str) -> bool:
    """Tell whether the parsed pointer is this one, whole or in one of its elided forms."""
    return parsed in (pointer, read_back(pointer, MAX_POINTER), read_back(pointer, SHORT_POINTER))


@given(
    schema=SCHEMAS,
    outputs=st.lists(st.dictionaries(NAMES, VALUES, max_size=8) | VALUES | BROKEN, min_size=1, max_size=4),
    name=st.sampled_from(["read", "n" * 200, "it's", SECRETS[1]]),
    is_known=st.booleans(),
    configured=SETTINGS,
)
def test_any_message_of_a_real_check_keeps_what_the_format_promises(
    schema: Any, outputs: list[Any], name: str, is_known: bool, configured: dict[str, Any]
) -> None:
    is_known = is_known and name not in SECRETS  # a registered name is the developer's own
    tools = [Tool(name=name, input_schema=schema)] if is_known else []
    contract = RetryContract(tools, RetryConfiguration(**configured))
    for output in outputs:
        outcome = contract.check(name, "call_1", output)
        if outcome.tool_result is None:
            return
        text = outcome.tool_result.content
        assert len(text) <= configured["max_message_length"]
        assert not any(unicodedata.category(character) in ("Cs", "Cc") for character in text.replace("\n", ""))
        assert not {"👩", "👧", "👦"} & set(text.replace(FAMILY, ""))
        assert not any(secret in text + str(outcome.tool_result.metadata) for secret in SECRETS)
        parsed = parse_feedback(text)
        shown = name if is_known else "[REDACTED: AWS_ACCESS_KEY]" if name in SECRETS else name
        assert text.startswith(first_line("tool", shown, outcome.attempt, outcome.max_attempts) + "\n")
        assert (parsed.subject, parsed.name, parsed.attempt, parsed.is_blocked) == (
            "tool", shown_name(shown), outcome.attempt, outcome.status == "blocked"
        )  # fmt: skip
        assert_the_errors_are_told(parsed, outcome.errors, configured["max_errors_shown"])
        if parsed.hint and not configured.get("include_hints", True):
            raise AssertionError("hints are off")
        assert text.endswith(WITHOUT_DESK.last_attempt) is (outcome.max_attempts - outcome.attempt == 1)


def assert_the_errors_are_told(parsed: ParsedFeedback, errors: Any, shown: int) -> None:
    ordered = in_order(errors)
    assert 1 <= len(parsed.errors) <= shown
    assert parsed.codes[0] is ordered[0].error_code
    assert is_shown(ordered[0].field_path, parsed.pointers[0])
    for code, pointer in parsed.errors:
        assert any(code is error.error_code and is_shown(error.field_path, pointer) for error in ordered)
    assert (len(parsed.errors) < len(ordered)) or parsed.hidden == 0


FRAGMENTS = st.sampled_from(
    [
        "Validation failed for tool 't' (attempt 1/3):", "\n", "\n\n", "Errors:\n", "• /a (VAL-001): m",
        '• "/a" (VAL-002):',
        '• "\\x" (VAL-002):', "• (root) (VAL-099):", "...and 3 more", "Progress: fixed /a; still wrong.",
        'Progress: new "\\q".', "Progress: none, no.", "Please.", LAST_ATTEMPT_TEXT,
        "(attempt 99999999999999999999/1):",
    ]
)  # fmt: skip


@given(text=st.text() | st.lists(FRAGMENTS, max_size=10).map("".join))
def test_reading_any_text_back_gives_parts_or_a_value_error(text: str) -> None:
    try:
        parsed = parse_feedback(text)
    except ValueError:
        return
    assert parsed.attempt >= 0
    assert len(parsed.codes) == len(parsed.pointers)
