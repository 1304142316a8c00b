"""Queued attempts: their order, their leases, and what is judged at the door instead."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from pytest_django import Settings

from retrycontract.contract.outputs import Kind
from retrycontract.store.models import Tool
from retrycontract.usecases.calls.judge_attempt import judge_attempt
from tests.factories import RIGHT, WRONG, make_agent, make_tool, submit, use_often
from tests.usecases.conftest import NOON, configure, judge_all
from tests.usecases.queue_desk import LEASE, at, claim, fresh, queued
from tests.usecases.queue_desk import by_a_worker as by_a_worker

pytestmark = pytest.mark.django_db


def test_what_is_queued_is_pending_and_sealed() -> None:
    (attempt,) = queued(WRONG)
    assert (attempt.state, attempt.call.state, attempt.is_valid, attempt.status) == ("queued", "pending", None, "")
    assert attempt.sealed is not None
    assert b"europe" not in bytes(attempt.sealed)


def test_the_verdict_purges_the_sealed_text() -> None:
    (attempt,) = queued(WRONG)
    assert judge_attempt(attempt.pk, clock=at(NOON))
    done = fresh(attempt)
    assert (done.state, done.sealed, done.lease_until, done.lease_token) == ("judged", None, None, "")


def test_attempts_of_one_call_are_judged_in_order() -> None:
    first, second, third = queued(WRONG, WRONG, RIGHT)
    assert not judge_attempt(third.pk, clock=at(NOON))
    assert not judge_attempt(second.pk, clock=at(NOON))
    assert judge_attempt(first.pk, clock=at(NOON))
    assert not judge_attempt(third.pk, clock=at(NOON))
    assert judge_attempt(second.pk, clock=at(NOON))
    assert judge_attempt(third.pk, clock=at(NOON))
    assert [fresh(attempt).status for attempt in (first, second, third)] == ["retry", "retry", "valid"]


def test_a_leased_attempt_keeps_the_next_one_waiting() -> None:
    first, second = queued(WRONG, WRONG)
    assert claim(first) is not None
    assert claim(second) is None


def test_a_call_stays_pending_while_its_next_attempt_waits() -> None:
    first, _ = queued(WRONG, WRONG)
    judge_attempt(first.pk, clock=at(NOON))
    assert fresh(first).call.state == "pending"
    judge_all(now=NOON)
    assert fresh(first).call.state == "retrying"


def test_calls_do_not_wait_for_each_other() -> None:
    (first,) = queued(WRONG)
    (second,) = queued(WRONG)
    assert claim(first) is not None
    assert claim(second) is not None


def test_an_attempt_that_would_be_bounded_waits_behind_one_that_is_queued(settings: Settings) -> None:
    (first,) = queued(WRONG)
    configure(settings, judge="auto")
    second = submit(first.call.agent, RIGHT, call=first.call, at=NOON)
    assert second.state == "queued"
    judge_all(now=NOON)
    assert [fresh(attempt).status for attempt in (first, second)] == ["retry", "valid"]


@pytest.mark.parametrize(
    ("fields", "door_max_bytes", "is_queued"),
    [
        ({"output": WRONG}, 65_536, False),
        ({"output": "é" * 10}, 20, False),
        ({"output": "é" * 10}, 19, True),
        ({"output": {"a": "x" * 100}}, 100, True),
        ({"output": WRONG, "kind": Kind.SOURCE_FILE}, 65_536, True),
    ],
    ids=["small", "just fits", "too many bytes", "too large as JSON", "a source file"],
)
def test_only_bounded_work_is_done_at_the_door(
    settings: Settings, fields: dict[str, Any], door_max_bytes: int, is_queued: bool
) -> None:
    configure(settings, judge="auto", door_max_bytes=door_max_bytes)
    agent = make_agent()
    make_tool(agent)
    Tool.objects.update(kind=fields.get("kind", Kind.TOOL_CALL))
    assert submit(agent, **fields).is_waiting is is_queued


@pytest.mark.parametrize(
    ("alternatives", "items", "is_queued"),
    [(4, 1_000, False), (1_000, 100, False), (1_000, 6_000, True)],
    ids=["many values", "a wide schema", "many values of a wide schema"],
)
def test_what_is_small_but_much_to_check_is_not_checked_at_the_door(
    settings: Settings, alternatives: int, items: int, is_queued: bool
) -> None:
    configure(settings, judge="auto", door_max_bytes=65_536)
    agent = make_agent()
    union = {"anyOf": [{"type": "integer", "minimum": number} for number in range(alternatives)]}
    use_often(make_tool(agent, schema={"properties": {"numbers": {"items": union}}}))
    attempt = submit(agent, {"numbers": [1] * items})
    assert attempt.is_waiting is is_queued
    judge_all(now=NOON)
    assert fresh(attempt).status == "valid"


def test_of_two_workers_one_gets_the_lease() -> None:
    (attempt,) = queued(WRONG)
    assert claim(attempt, token="one") is not None
    assert claim(attempt, token="two") is None
    assert not judge_attempt(attempt.pk, clock=at(NOON + LEASE / 2))
    assert fresh(attempt).lease_token == "one"


def test_an_expired_lease_goes_to_the_next_worker() -> None:
    (attempt,) = queued(WRONG)
    assert claim(attempt) is not None
    assert judge_attempt(attempt.pk, clock=at(NOON + LEASE))
    assert (fresh(attempt).state, fresh(attempt).deliveries) == ("judged", 2)


def test_who_lost_the_lease_while_working_changes_nothing() -> None:
    """The slow worker finishes after another one took over: its verdict is fenced off, there is no double effect."""
    attempts = queued(WRONG, WRONG, WRONG)
    for attempt in attempts[:2]:
        judge_attempt(attempt.pk, clock=at(NOON))
    last = attempts[2]
    moments = iter([NOON, NOON + LEASE * 2])

    def slow_clock() -> datetime:
        moment = next(moments)
        if moment > NOON:  # while the slow one works, a quick one reclaims and finishes
            assert judge_attempt(last.pk, clock=at(moment))
        return moment

    assert not judge_attempt(last.pk, clock=slow_clock)
    call = fresh(last).call
    assert (call.state, call.attempts_made, call.escalations.count()) == ("blocked", 3, 1)
    assert call.events.filter(name="attempt.judged").count() == 3
    assert fresh(last).deliveries == 2


def test_who_lost_the_lease_to_a_worker_that_still_works_changes_nothing() -> None:
    (attempt,) = queued(WRONG)
    moments = iter([NOON, NOON + LEASE * 2])

    def slow_clock() -> datetime:
        moment = next(moments)
        if moment > NOON:
            assert claim(attempt, at=moment, token="quick") is not None
        return moment

    assert not judge_attempt(attempt.pk, clock=slow_clock)
    assert (fresh(attempt).state, fresh(attempt).lease_token, fresh(attempt).is_valid) == ("leased", "quick", None)


def test_an_attempt_that_is_judged_is_not_judged_again() -> None:
    (attempt,) = queued(WRONG)
    assert judge_attempt(attempt.pk, clock=at(NOON))
    assert not judge_attempt(attempt.pk, clock=at(NOON + LEASE * 10))
    assert not judge_attempt(0, clock=at(NOON))
    assert fresh(attempt).call.events.filter(name="attempt.judged").count() == 1
