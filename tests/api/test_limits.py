"""A key that asks too often is told to wait, and others are not held up by it."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from retrycontract.api.requests import MAX_BUCKETS, RateLimiter
from tests.api.conftest import Door


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_minutes_requests_may_come_at_once_and_then_one_at_a_time(clock: Clock) -> None:
    limiter = RateLimiter(clock)
    assert [limiter.take("1", 30) for _ in range(31)] == [0] * 30 + [2]
    clock.now += 2
    assert [limiter.take("1", 30) for _ in range(2)] == [0, 2]


def test_a_long_rest_fills_no_more_than_one_minute(clock: Clock) -> None:
    limiter = RateLimiter(clock)
    limiter.take("1", 3)
    clock.now += 86_400
    assert [limiter.take("1", 3) for _ in range(4)] == [0, 0, 0, 20]


def test_keys_do_not_share_their_requests(clock: Clock) -> None:
    limiter = RateLimiter(clock)
    assert [limiter.take(str(key), 1) for key in (1, 1, 2)] == [0, 60, 0]


def test_asking_on_does_not_lengthen_the_wait(clock: Clock) -> None:
    limiter = RateLimiter(clock)
    assert [limiter.take("1", 60) for _ in range(62)][-2:] == [1, 1]


def test_only_so_many_keys_are_remembered(clock: Clock) -> None:
    limiter = RateLimiter(clock)
    limiter.take("0", 1)
    for key in range(1, MAX_BUCKETS):
        limiter.take(str(key), 1)
    assert limiter.take("0", 1) == 60
    limiter.take(str(MAX_BUCKETS), 1)
    assert limiter.take("1", 1) == 0  # the longest unseen was forgotten


def test_the_api_answers_429_and_says_how_long_to_wait(door: Door, settings: Settings) -> None:
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"requests_per_minute": 2})
    replies = [door.get("/calls") for _ in range(3)]
    assert [reply.status for reply in replies] == [200, 200, 429]
    assert (replies[2].code, replies[2].headers["Retry-After"]) == ("too-many-requests", "30")


def test_the_limit_can_be_switched_off(door: Door, settings: Settings) -> None:
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"requests_per_minute": 0})
    assert {door.get("/calls").status for _ in range(20)} == {200}
