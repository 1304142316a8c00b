"""Queued attempts: their order, their leases, and what happens when a checker dies, a key is gone or a call ends."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.utils import timezone
from pytest_django import Settings

from retrycontract.contract.kinds import Kind
from retrycontract.contract.lifecycle import Decision
from retrycontract.store.models import Attempt, AttemptState, Call, Event, Tool, ToolVersion
from retrycontract.store.models.calls import LostRaceError
from retrycontract.usecases.cancel_call import cancel_call
from retrycontract.usecases.judge_attempt import judge_attempt
from retrycontract.usecases.sweep import expire_overdue, judge_waiting
from tests.factories import RIGHT, WRONG, answer, make_agent, make_blocked, make_tool, make_user, submit
from tests.usecases.conftest import NOON, configure, judge_all

pytestmark = pytest.mark.django_db

LEASE = timedelta(seconds=30)


@pytest.fixture(autouse=True)
def _by_a_worker(settings: Settings) -> None:
    configure(settings, judge="worker", lease_seconds=LEASE.total_seconds(), max_deliveries=3)


def queued(*outputs: Any, **fields: Any) -> list[Attempt]:
    """Queue attempts of one call."""
    agent = make_agent()
    make_tool(agent)
    call: Call | None = None
    attempts = []
    for output in outputs:
        attempts.append(submit(agent, output, call=call, at=NOON, **fields))
        call = attempts[0].call
    return attempts


def claim(attempt: Attempt, *, at: datetime = NOON, token: str = "worker") -> Attempt | None:
    return Attempt.objects.claim(attempt.pk, token=token, now=at, until=at + LEASE)


def fresh(attempt: Attempt) -> Attempt:
    return Attempt.objects.select_related("call").get(pk=attempt.pk)


def at(moment: datetime) -> Callable[[], datetime]:
    return lambda: moment


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
    [(4, 6_000, False), (1_000, 100, False), (1_000, 6_000, True)],
    ids=["many values", "a wide schema", "many values of a wide schema"],
)
def test_what_is_small_but_much_to_check_is_not_checked_at_the_door(
    settings: Settings, alternatives: int, items: int, is_queued: bool
) -> None:
    configure(settings, judge="auto", door_max_bytes=65_536)
    agent = make_agent()
    union = {"anyOf": [{"type": "integer", "minimum": number} for number in range(alternatives)]}
    make_tool(agent, schema={"properties": {"numbers": {"items": union}}})
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


def crash(attempt: Attempt, times: int) -> datetime:
    """Let a number of workers die on an attempt; gives the moment when its last lease has run out."""
    moment = NOON
    for number in range(times):
        assert claim(attempt, at=moment, token=f"dead {number}") is not None
        moment += LEASE
    return moment


def test_two_crashes_are_forgiven() -> None:
    (attempt,) = queued(RIGHT)
    later = crash(attempt, 2)
    assert judge_attempt(attempt.pk, clock=at(later))
    assert fresh(attempt).status == "valid"


def test_more_than_three_crashes_block_the_call_and_quarantine_the_version() -> None:
    (attempt,) = queued(RIGHT)
    later = crash(attempt, 3)
    assert judge_attempt(attempt.pk, clock=at(later))
    dead = fresh(attempt)
    assert (dead.state, dead.is_valid, dead.status, dead.sealed) == ("dead", False, "blocked", None)
    assert "the checker could not finish" in dead.feedback
    assert dead.call.state == "blocked"
    assert "the checker could not finish" in dead.call.escalations.open().get().text
    version = ToolVersion.objects.get()
    assert version.quarantined_at == later
    event = Event.objects.get(name="version.quarantined")
    assert event.data == {"tool": "deploy", "version": version.number}
    assert judge_waiting(clock=at(later + LEASE * 10)) == 0


def test_a_quarantined_version_is_not_judged_at_the_door(settings: Settings) -> None:
    (attempt,) = queued(RIGHT)
    judge_attempt(attempt.pk, clock=at(crash(attempt, 3)))
    configure(settings, judge="auto")
    assert submit(attempt.call.agent, RIGHT).is_waiting


def test_a_dead_attempt_can_be_answered_but_not_accepted() -> None:
    (attempt,) = queued(RIGHT)
    judge_attempt(attempt.pk, clock=at(crash(attempt, 3)))
    answer(fresh(attempt).call, make_user(), Decision.HINT, text="Try again with less.")
    assert fresh(attempt).call.state == "guided"


def test_an_attempt_behind_a_dead_one_is_judged() -> None:
    dead, following = queued(RIGHT, RIGHT)
    judge_attempt(dead.pk, clock=at(crash(dead, 3)))
    judge_all()
    assert (fresh(following).status, fresh(following).call.state) == ("valid", "valid")


def test_a_dead_attempt_of_a_blocked_call_opens_no_second_escalation() -> None:
    call = make_blocked_by_worker()
    attempt = submit(call.agent, RIGHT, call=call, at=NOON)
    judge_attempt(attempt.pk, clock=at(crash(attempt, 3)))
    assert (fresh(attempt).call.state, call.escalations.count()) == ("blocked", 1)


def make_blocked_by_worker() -> Call:
    attempts = queued(WRONG, WRONG, WRONG)
    judge_all(now=NOON)
    return fresh(attempts[0]).call


def lose_the_keys(settings: Settings) -> None:
    configure(settings, encryption_keys=[Fernet.generate_key().decode()])


def test_a_submission_that_cannot_be_read_is_to_be_sent_again_and_does_not_count(settings: Settings) -> None:
    attempts = queued(WRONG, WRONG, RIGHT)
    for attempt in attempts[:2]:
        judge_attempt(attempt.pk, clock=at(NOON))
    lose_the_keys(settings)
    assert judge_attempt(attempts[2].pk, clock=at(NOON))
    unread = fresh(attempts[2])
    assert (unread.state, unread.is_valid, unread.status, unread.sealed) == ("discarded", None, "retry", None)
    assert "send the same arguments again" in unread.feedback
    assert (unread.call.state, unread.call.attempts_allowed) == ("retrying", 4)
    assert not unread.call.escalations.exists()
    again = submit(unread.call.agent, WRONG, call=unread.call)
    judge_all()
    assert (fresh(again).call.state, fresh(again).shown_attempt, fresh(again).shown_max) == ("blocked", 4, 4)
    assert "Attempt 3" not in fresh(again).call.escalations.get().text


def test_a_submission_that_cannot_be_read_leaves_a_blocked_call_blocked(settings: Settings) -> None:
    call = make_blocked_by_worker()
    attempt = submit(call.agent, RIGHT, call=call, at=NOON)
    lose_the_keys(settings)
    judge_all(now=NOON)
    stored = fresh(attempt)
    assert (stored.status, stored.call.state, stored.call.attempts_allowed) == ("retry", "blocked", 3)
    assert call.escalations.count() == 1


def test_cancelling_discards_what_waits_and_purges_its_text() -> None:
    attempts = queued(WRONG, RIGHT)
    assert cancel_call(fresh(attempts[0]).call, now=NOON)
    for attempt in attempts:
        assert (fresh(attempt).state, fresh(attempt).sealed, fresh(attempt).is_valid) == ("discarded", None, None)
    assert judge_waiting(clock=at(NOON + LEASE)) == 0
    assert fresh(attempts[0]).call.state == "cancelled"


def test_cancelling_twice_does_nothing_the_second_time() -> None:
    (attempt,) = queued(WRONG)
    call = fresh(attempt).call
    assert cancel_call(call, now=NOON)
    assert not cancel_call(fresh(attempt).call, now=NOON)
    assert call.events.filter(name="call.cancelled").count() == 1


def test_cancelling_a_call_that_changed_meanwhile_is_a_lost_race() -> None:
    (attempt,) = queued(WRONG)
    stale = fresh(attempt).call
    judge_all(now=NOON)
    with pytest.raises(LostRaceError):
        cancel_call(stale, now=NOON)


def end_while_working(attempt: Attempt, end: Callable[[Call, datetime], object]) -> bool:
    """Judge an attempt whose call ends while the checker works."""
    moments = iter([NOON, NOON + LEASE / 2])

    def clock() -> datetime:
        moment = next(moments)
        if moment > NOON:
            end(fresh(attempt).call, moment)
        return moment

    return judge_attempt(attempt.pk, clock=clock)


ENDS: dict[str, Callable[[Call, datetime], object]] = {
    "cancelled": lambda call, now: cancel_call(call, now=now),
    "rejected": lambda call, now: answer(call, make_user(), Decision.REJECT, at=now),
    "accepted": lambda call, now: answer(call, make_user(), Decision.ACCEPT, at=now),
    "expired": lambda _, now: expire_overdue(now=now + timedelta(days=8)),
}


@pytest.mark.parametrize(("state", "end"), ENDS.items(), ids=list(ENDS))
def test_a_call_that_ends_while_its_attempt_is_judged_stays_ended(
    state: str, end: Callable[[Call, datetime], object]
) -> None:
    call = make_blocked_by_worker()
    attempt = submit(call.agent, RIGHT, call=call, at=NOON)
    assert not end_while_working(attempt, end)
    assert (fresh(attempt).state, fresh(attempt).sealed) == ("discarded", None)
    assert fresh(attempt).call.state == state


def test_attempts_behind_a_valid_one_are_discarded_with_it() -> None:
    first, second, third = queued(RIGHT, WRONG, WRONG)
    assert judge_attempt(first.pk, clock=at(NOON))
    assert [fresh(attempt).state for attempt in (first, second, third)] == ["judged", "discarded", "discarded"]
    assert fresh(first).call.state == "valid"


def test_what_waits_at_a_call_that_has_ended_in_another_way_is_discarded() -> None:
    """Whoever ended it past the use cases: the worker drops the attempt instead of failing on it for ever."""
    (attempt,) = queued(WRONG)
    Call.objects.filter(pk=attempt.call_id).update(state="rejected")
    assert not judge_attempt(attempt.pk, clock=at(NOON))
    assert (fresh(attempt).state, fresh(attempt).sealed) == ("discarded", None)


def test_an_attempt_that_is_judged_is_not_judged_again() -> None:
    (attempt,) = queued(WRONG)
    assert judge_attempt(attempt.pk, clock=at(NOON))
    assert not judge_attempt(attempt.pk, clock=at(NOON + LEASE * 10))
    assert not judge_attempt(0, clock=at(NOON))
    assert fresh(attempt).call.events.filter(name="attempt.judged").count() == 1


def test_a_check_that_crashes_does_not_keep_the_others_waiting(caplog: pytest.LogCaptureFixture) -> None:
    (broken,) = queued(WRONG)
    (sound,) = queued(WRONG)
    # A schema that was never admitted: compiling it raises.
    ToolVersion.objects.create(
        tool=broken.call.tool, number=2, schema={"$ref": "#/nowhere"}, schema_hash="f" * 64, created_at=NOON
    )
    Call.objects.filter(pk=broken.call_id).update(version=ToolVersion.objects.get(number=2))
    assert judge_waiting(clock=at(NOON)) == 1
    assert fresh(sound).state == "judged"
    assert (fresh(broken).state, fresh(broken).deliveries) == ("leased", 1)
    for crashes in range(1, 4):
        judge_waiting(clock=at(NOON + LEASE * crashes))
    assert (fresh(broken).state, fresh(broken).call.state) == ("dead", "blocked")
    assert "could not be judged" in caplog.text


def test_blocked_calls_expire_and_their_waiting_attempts_with_them() -> None:
    call = make_blocked_by_worker()
    assert call.expires_at is not None
    attempt = submit(call.agent, RIGHT, call=call, at=NOON)
    assert expire_overdue(now=call.expires_at - timedelta(seconds=1)) == 0
    assert expire_overdue(now=call.expires_at) == 1
    assert expire_overdue(now=call.expires_at) == 0
    stored = Call.objects.get(pk=call.pk)
    assert (stored.state, call.escalations.get().state) == ("expired", "expired")
    assert fresh(attempt).state == AttemptState.DISCARDED
    event = call.events.get(name="call.expired")
    assert (event.from_state, event.to_state, event.actor, event.door) == ("blocked", "expired", "sweep", "worker")


def test_only_blocked_calls_expire(settings: Settings) -> None:
    configure(settings, judge="auto", blocked_expires_after_days=0.5)
    call = make_blocked(at=NOON)
    answer(call, make_user(), Decision.HINT, at=NOON)
    agent = make_agent("other")
    make_tool(agent)
    submit(agent, WRONG, at=NOON)
    assert expire_overdue(now=timezone.now() + timedelta(days=3650)) == 0
