"""When a webhook is sent again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrycontract.contract.webhooks import asked_pause, pause_of_message, rest_of_receiver

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


def test_a_message_is_tried_again_ever_more_rarely() -> None:
    pauses = [pause_of_message(tries, 0) for tries in range(1, 9)]
    assert pauses == [
        5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR, 10 * HOUR,
    ]  # fmt: skip


def test_ten_tries_take_more_than_a_day_and_less_than_three() -> None:
    whole = sum((pause_of_message(tries, 1) for tries in range(1, 10)), timedelta())
    assert timedelta(days=1) < whole < timedelta(days=3)


@given(st.integers(0, 10**6), st.floats(0, 1))
def test_chance_makes_a_pause_longer_by_a_tenth_at_most(tries: int, chance: float) -> None:
    assert pause_of_message(tries, 0) <= pause_of_message(tries, chance) <= pause_of_message(tries, 0) * 1.1


def test_a_receiver_that_fails_is_left_alone_for_five_minutes_at_most() -> None:
    rests = [rest_of_receiver(failures) for failures in (1, 2, 3, 7, 100, 10**9)]
    assert rests == [5 * SECOND, 10 * SECOND, 20 * SECOND, 5 * MINUTE, 5 * MINUTE, 5 * MINUTE]


@pytest.mark.parametrize(
    ("header", "pause"),
    [
        ("", timedelta()),
        ("0", timedelta()),
        ("120", 2 * MINUTE),
        ("999999999", timedelta(days=1)),
        ("9" * 10, timedelta(days=1)),
        ("9" * 400, timedelta(days=1)),
        ("0" * 400 + "120", 2 * MINUTE),
        ("²", timedelta()),
        ("-5", timedelta()),
        ("soon", timedelta()),
        ("Tue, 01 Jan 2030 12:30:00 GMT", 30 * MINUTE),
        ("Tue, 01 Jan 2030 11:30:00 GMT", timedelta()),
        ("Tue, 01 Jan 2999 12:00:00 GMT", timedelta(days=1)),
        ("Tuesday, 01-Jan-30 12:30:00 GMT", 30 * MINUTE),
        ("Tuesday, 01-Jan-30 11:30:00 GMT", timedelta()),
        ("Tue Jan  1 12:30:00 2030", 30 * MINUTE),
        ("Tue Jan 01 11:30:00 2030", timedelta()),
        ("Tue, 32 Jan 2030 12:00:00 GMT", timedelta()),
    ],
)
def test_a_receiver_may_ask_for_patience(header: str, pause: timedelta) -> None:
    assert asked_pause(header, NOON) == pause


@given(st.text())
def test_no_header_raises_or_asks_for_more_than_a_day(header: str) -> None:
    assert timedelta() <= asked_pause(header, NOON) <= timedelta(days=1)
