"""Lengths of time as people write them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from retrycontract.contract.configuration import parse_duration, shown_duration


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (1, timedelta(seconds=1)),
        (1800, timedelta(minutes=30)),
        ("1800", timedelta(minutes=30)),
        ("90s", timedelta(seconds=90)),
        ("30m", timedelta(minutes=30)),
        ("12h", timedelta(hours=12)),
        ("7d", timedelta(days=7)),
        ("365d", timedelta(days=365)),
    ],
)
def test_a_duration_is_a_number_of_seconds_or_has_a_unit(written: Any, meant: timedelta) -> None:
    assert parse_duration(written) == meant


WRONG = [
    0, -1, "0", "0m", "-5m", 1.5, "1.5h", True, None, "", " 30m", "30m ", "30 m", "30M", "m", "1h30m", "30min", "P1D",
    "366d", "999999999d", "9" * 30, 10**12, ["30m"], {}, "٣0m", "3０m",
]  # fmt: skip


@pytest.mark.parametrize("written", WRONG, ids=repr)
def test_everything_else_is_refused_with_what_is_allowed(written: Any) -> None:
    with pytest.raises(ValueError, match=r"must be a whole number of seconds, or .* '30m', '12h' or '7d', from 1s to"):
        parse_duration(written)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 seconds"),
        (-5, "0 seconds"),
        (1, "1 second"),
        (1.9, "1 second"),
        (90, "1 minute 30 seconds"),
        (1800, "30 minutes"),
        (3600, "1 hour"),
        (5400, "1 hour 30 minutes"),
        (86_400 * 7, "7 days"),
        (86_400 * 7 + 3_661, "7 days 1 hour"),
    ],
)
def test_a_duration_is_shown_in_words(seconds: float, words: str) -> None:
    assert shown_duration(timedelta(seconds=seconds)) == words
