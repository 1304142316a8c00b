"""Queued attempts that cannot be judged: their checker dies, or the key to them is lost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from itertools import count
from secrets import token_hex

import pytest
from cryptography.fernet import Fernet
from pytest_django import Settings

from retrycontract.contract.decisions import Decision
from retrycontract.store.models import Attempt, Call, Event, ToolVersion
from retrycontract.store.sealing import seal
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.calls.judge_attempt import judge_attempt
from retrycontract.usecases.calls.sweep import judge_waiting
from tests.factories import RIGHT, WRONG, answer, make_agent, make_tool, make_user, submit
from tests.usecases.conftest import NOON, configure, judge_all
from tests.usecases.queue_desk import LEASE, at, claim, fresh, make_blocked_by_worker, queued
from tests.usecases.queue_desk import by_a_worker as by_a_worker

pytestmark = pytest.mark.django_db


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
    assert "The checker could not finish" in dead.feedback
    assert dead.call.state == "blocked"
    assert "The checker could not finish" in dead.call.escalations.open().get().text
    version = ToolVersion.objects.get()
    assert version.quarantined_at == later
    event = Event.objects.get(name="version.quarantined")
    assert event.data == {"tool": "deploy", "namespace": "deployer", "version": version.number}
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


@pytest.mark.parametrize("is_dear", [False, True])
def test_a_check_that_crashes_does_not_keep_the_others_waiting(caplog: pytest.LogCaptureFixture, is_dear: bool) -> None:
    (broken,) = queued(WRONG)
    (sound,) = queued(WRONG)
    # What no release has written: reading it raises.
    Attempt.objects.filter(pk=broken.pk).update(sealed=seal({}), is_dear=is_dear)
    assert judge_waiting(clock=at(NOON)) == 1
    assert fresh(sound).state == "judged"
    assert (fresh(broken).state, fresh(broken).deliveries) == ("leased", 1)
    for crashes in range(1, 4):
        judge_waiting(clock=at(NOON + LEASE * crashes))
    assert (fresh(broken).state, fresh(broken).call.state) == ("dead", "blocked")
    assert "could not be judged" in caplog.text


class KilledError(BaseException):
    """End a worker where it is, as SIGKILL does."""


def dying_clock(looks: int) -> Callable[[], datetime]:
    """Make a clock that kills whoever looks at it once more."""
    left = iter([NOON] * looks)

    def clock() -> datetime:
        for moment in left:
            return moment
        raise KilledError

    return clock


# A look finds what waits, one leases, and two are taken for each attempt: before and after its check.
@pytest.mark.parametrize("looks", range(1, 18))
def test_of_a_lease_whose_worker_is_killed_nothing_is_lost_or_doubled_and_nothing_counted_against_it(
    settings: Settings, looks: int
) -> None:
    configure(settings, lease_attempts=8, max_deliveries=1)
    attempts = [queued(WRONG)[0] for _ in range(8)]
    with pytest.raises(KilledError):
        judge_waiting(clock=dying_clock(looks))
    done = {attempt.pk for attempt in attempts if fresh(attempt).state == "judged"}
    assert len(done) < 8
    assert judge_waiting(clock=at(NOON)) in (0, 8), "what is leased is left alone"
    assert judge_waiting(clock=at(NOON + LEASE)) in (0, 8 - len(done))
    assert [(fresh(attempt).state, fresh(attempt).deliveries) for attempt in attempts] == [("judged", 1)] * 8
    assert Event.objects.filter(name="attempt.judged").count() == 8


def test_a_call_that_is_cancelled_within_a_lease_stays_so() -> None:
    attempts = [queued(WRONG)[0] for _ in range(3)]
    looks = count()

    def clock() -> datetime:
        if next(looks) == 3:  # the first is judged, the second not yet
            cancel_call(Call.objects.select_related("agent").get(pk=attempts[1].call_id), now=NOON)
        return NOON

    assert judge_waiting(clock=clock) == 2
    assert [fresh(attempt).state for attempt in attempts] == ["judged", "discarded", "judged"]
    assert fresh(attempts[1]).call.state == "cancelled"


@pytest.mark.parametrize("most", [1, 3, 8])
def test_a_key_that_floods_the_queue_keeps_no_other_waiting(settings: Settings, most: int) -> None:
    configure(settings, lease_attempts=most)
    flood = [queued(WRONG)[0] for _ in range(20)]
    others = []
    for name in ("quiet", "calm"):
        agent = make_agent(name)
        make_tool(agent)
        others += [submit(agent, WRONG, at=NOON, session_id=str(number)) for number in range(2)]
    judge_waiting(clock=at(NOON))
    order = list(Event.objects.filter(name="attempt.judged").order_by("pk").values_list("call", flat=True))
    assert sorted(order) == sorted(attempt.call_id for attempt in [*flood, *others])
    assert max(order.index(attempt.call_id) for attempt in others) < 2 * 3, "each key has its turn before any has two"


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


@pytest.mark.parametrize("judge", ["auto", "worker"], ids=["at the door", "by the worker"])
def test_a_schema_that_is_refused_since_an_upgrade_blocks_the_call_at_once(settings: Settings, judge: str) -> None:
    configure(settings, judge=judge)
    agent = make_agent()
    make_tool(agent)
    # As an earlier release took it, of which nothing is compiled here.
    ToolVersion.objects.update(schema={"$ref": "#/nowhere"}, schema_hash=token_hex(32))
    attempt = submit(agent, RIGHT, at=NOON)
    judge_all(now=NOON)
    told = fresh(attempt)
    assert (told.state, told.is_valid, told.status, told.sealed) == ("judged", False, "blocked", None)
    assert "The tool's schema is refused by this release" in told.feedback
    assert "#/nowhere" in told.feedback
    assert told.call.state == "blocked"
    assert "is refused by this release" in told.call.escalations.open().get().text
    assert ToolVersion.objects.get().quarantined_at is None


def test_what_is_dear_to_judge_tells_of_a_refused_schema_too() -> None:
    (attempt,) = queued(RIGHT)
    ToolVersion.objects.update(schema={"$ref": "#/nowhere"}, schema_hash=token_hex(32))
    Attempt.objects.update(is_dear=True)
    assert judge_attempt(attempt.pk, clock=at(NOON))
    assert (fresh(attempt).state, fresh(attempt).status) == ("judged", "blocked")
