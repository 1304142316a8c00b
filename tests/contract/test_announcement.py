"""What people are told of Blocked calls."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrycontract.contract.feedback.escalation import AlikeCalls, Announcement, Plain, Slack, announce, excerpt_lines

ADDRESS = "https://desk.example/calls/call_1/"
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
DESK = "https://desk.example/"


def alike(**changes: Any) -> AlikeCalls:
    usual = {
        "tool": "deploy", "agent": "deployer", "attempts": 3, "address": ADDRESS, "pointer": "/region",
        "code": "VAL-004", "until": NOON + timedelta(days=7),
    }  # fmt: skip
    return AlikeCalls(**(usual | changes))


def write(*groups: AlikeCalls, excerpt: str = "", total: int | None = None, style: Plain | None = None) -> Announcement:
    told = list(groups) or [alike()]
    count = sum(group.count for group in told) if total is None else total
    return announce(told, total=count, since=NOON, excerpt=excerpt, desk=DESK, style=style or Slack())


def test_one_call_is_told_with_its_worst_error_and_where_to_answer() -> None:
    told = write(excerpt="Tool 'deploy' failed.\n\nAttempt 1: /region (VAL-004) no")
    assert told.subject == "Blocked: deploy of agent deployer waits for an answer"
    assert told.text == (
        "*Blocked:* `deploy` of agent `deployer` waits for an answer after 3 attempts.\n"
        "Since 2030-01-01 12:00 UTC, until 2030-01-08 12:00 UTC\n"
        "Worst error: `/region` (VAL-004)\n"
        "https://desk.example/calls/call_1/\n"
        "```\nTool 'deploy' failed.\nAttempt 1: /region (VAL-004) no\n```"
    )


def test_an_email_has_no_markup() -> None:
    assert write(excerpt="Attempt 1", style=Plain()).text == (
        "Blocked: 'deploy' of agent 'deployer' waits for an answer after 3 attempts.\n"
        "Since 2030-01-01 12:00 UTC, until 2030-01-08 12:00 UTC\n"
        "Worst error: '/region' (VAL-004)\n"
        "https://desk.example/calls/call_1/\n"
        "    Attempt 1"
    )


def test_many_calls_become_one_message_with_counts() -> None:
    told = write(alike(count=9), alike(tool="notify", pointer=None, code=""), total=10)
    assert told.subject == "10 Blocked calls wait for an answer"
    assert told.text == (
        "*10 calls are Blocked* and wait for an answer, the first since 2030-01-01 12:00 UTC.\n"
        f"• 9 × `deploy` of agent `deployer`: `/region` (VAL-004) {ADDRESS}\n"
        f"• `notify` of agent `deployer` {ADDRESS}\n"
        "https://desk.example/"
    )


def test_what_does_not_fit_is_counted() -> None:
    told = write(*(alike(tool=f"tool{number}") for number in range(30)), total=500)
    assert told.text.count("of agent") == 10
    assert "• and 490 more" in told.text


def test_an_error_of_the_whole_document_is_named_so() -> None:
    assert "Worst error: `(root)` (VAL-010)" in write(alike(pointer="", code="VAL-010")).text


HOSTILE = [
    "<!channel>", "<!everyone|x>", "<https://evil.example|click>", "`` ` ```", "&lt;!here&gt;", "a\nb\r\nc",
    "\u202egnp.exe", "\x00\x1b[31m", "<@U123>", "*x* _y_ ~z~", "```\n<!here>\n```", "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_what_others_wrote_cannot_become_markup_or_a_mention(text: str) -> None:
    told = write(alike(tool=text, agent=text, pointer=f"/{text}"), excerpt=text)
    outside = told.text.replace("```", "\n").replace("\n", " ")
    assert "<" not in told.text
    assert ">" not in told.text
    assert told.text.count("`") == 2 * 3 + 6  # three names, one block: nothing ends one early
    assert not any(character in outside for character in "\x00\x1b\u202e\r\ud800")
    assert "\n" not in told.subject


@given(st.text(max_size=300), st.text(max_size=3_000), st.integers(1, 2_000))
def test_a_message_is_bounded_whatever_is_in_it(name: str, excerpt: str, total: int) -> None:
    groups = [alike(tool=name, agent=name, pointer=f"/{name}")] * min(total, 20)
    for style in (Slack(), Plain()):
        told = announce(groups, total=total, since=NOON, excerpt=excerpt, desk=DESK, style=style)
        assert len(told.text) < 8_000
        assert len(told.subject) <= 200
        assert told.subject.splitlines() == [told.subject]  # a mail's header has one line


def test_an_excerpt_is_the_first_lines_each_on_one() -> None:
    lines = excerpt_lines("\n\n".join(f"line {number} {'x' * 100}" for number in range(100)))
    assert lines[-1] == "…"
    assert sum(map(len, lines)) <= 601
    assert excerpt_lines("") == []
    assert excerpt_lines("one\n\ntwo\n") == ["one", "two"]
