"""What a model is shown of its own output."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrycontract.contract.feedback.feedback_forms import echo
from retrycontract.contract.outputs.thoughts import without_thoughts
from retrycontract.contract.redaction.sanitizer import ValueSanitizer

SANITIZER = ValueSanitizer()


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ("a\n\tb", "a\n\tb"),
        ("a\r\nb", "a\nb"),
        (b"\xff", "�"),
        ({"password": "hunter2"}, '{"password": "[REDACTED: PASSWORD]"}'),
        (["é"], '["é"]'),
        ("x" * 50, "x" * 27 + "..." + "x" * 10),
    ],
    ids=str,
)
def test_an_output_stands_between_marks(output: Any, shown: str) -> None:
    assert echo(output, SANITIZER, limit=40) == f"<<<DATA\n{shown}\nDATA>>>"


def test_control_characters_are_made_visible() -> None:
    assert "\x1b" not in echo("\x1b[31mred", SANITIZER, limit=100)


@given(st.text(alphabet="DAT<>-2\n"), st.integers(0, 60))
def test_no_output_closes_its_own_fence(text: str, limit: int) -> None:
    first, *within, last = echo(text, SANITIZER, limit=limit).split("\n")
    assert first == f"<<<{last.removesuffix('>>>')}"
    assert last not in "\n".join(within)
    assert len("\n".join(within)) <= limit


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("<think>hm</think>\n{}", "{}"),
        ("  <Thinking>a\nb</Thinking>{}", "{}"),
        ("{}<think>hm</think>", "{}<think>hm</think>"),
        ("<think>never closed {}", ""),
    ],
)
def test_thoughts_before_an_answer_are_cut_off(text: str, rest: str) -> None:
    assert without_thoughts(text) == rest
