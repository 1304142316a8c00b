"""Who has which call: claims that run out, are renewed and given back, and what is put off until later."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import Settings

from retrycontract.store.models import Call, Claim, Event, Snooze
from retrycontract.store.models.escalations import awake_calls, claimed_calls, snoozed_calls
from retrycontract.usecases.calls.claim_call import (
    LONGEST,
    ClaimedError,
    NotBlockedError,
    UnusableTimeError,
    claim_call,
    claim_next,
    claim_of,
    release_claim,
    renew_claim,
    snooze_call,
    snooze_of,
    wake_call,
)
from retrycontract.usecases.calls.sweep import tidy_queue
from tests.factories import RIGHT, WRONG, answer, make_blocked, make_user, submit
from tests.file_database import all_at_once
from tests.usecases.conftest import NOON, configure

MINUTE = timedelta(minutes=1)


def trail(call: Call) -> list[tuple[str, str]]:
    names = ("call.claimed", "call.released", "claim.expired", "call.snoozed", "call.woken")
    return list(Event.objects.filter(call=call, name__in=names).order_by("pk").values_list("name", "actor"))


@pytest.mark.django_db
def test_a_claim_keeps_others_away_until_five_minutes_passed_without_activity() -> None:
    call, mia, leo = make_blocked(at=NOON), make_user("mia"), make_user("leo")
    claim_call(call, mia, now=NOON)
    with pytest.raises(ClaimedError, match="mia has it until 12:05 UTC") as refused:
        claim_call(call, leo, now=NOON + 4 * MINUTE)
    assert refused.value.claim.operator == mia
    assert claim_call(call, leo, now=NOON + 5 * MINUTE).operator == leo
    assert trail(call) == [("call.claimed", "mia"), ("call.claimed", "leo")]
    assert Event.objects.filter(name="call.claimed").latest("pk").data == {"from_operator": "mia"}


@pytest.mark.django_db
def test_activity_renews_a_claim_and_writes_little() -> None:
    call, mia, leo = make_blocked(at=NOON), make_user("mia"), make_user("leo")
    claim_call(call, mia, now=NOON)
    assert renew_claim(call, mia, now=NOON + timedelta(seconds=29))
    assert Claim.objects.get().until == NOON + 5 * MINUTE, "a page that tells of itself every second costs nothing"
    assert renew_claim(call, mia, now=NOON + 4 * MINUTE)
    assert not renew_claim(call, leo, now=NOON + 4 * MINUTE)
    with pytest.raises(ClaimedError):
        claim_call(call, leo, now=NOON + 8 * MINUTE)
    assert not renew_claim(call, mia, now=NOON + 9 * MINUTE), "what has run out is claimed again, not renewed"
    assert trail(call) == [("call.claimed", "mia")]


@pytest.mark.django_db
def test_the_setting_says_how_long_a_claim_lasts(settings: Settings) -> None:
    configure(settings, claim_minutes=1)
    assert claim_call(make_blocked(at=NOON), make_user(), now=NOON).until == NOON + MINUTE


@pytest.mark.django_db
def test_a_claim_that_is_given_back_is_free_at_once() -> None:
    call, mia, leo = make_blocked(at=NOON), make_user("mia"), make_user("leo")
    claim_call(call, mia, now=NOON)
    assert not release_claim(call, leo, now=NOON)
    assert release_claim(call, mia, now=NOON)
    assert not release_claim(call, mia, now=NOON)
    assert claim_next(leo, now=NOON) == call
    assert trail(call) == [("call.claimed", "mia"), ("call.released", "mia"), ("call.claimed", "leo")]


@pytest.mark.django_db
@pytest.mark.parametrize("output", [WRONG, RIGHT])
def test_what_does_not_wait_for_a_person_is_not_claimed(output: Any) -> None:
    blocked = make_blocked(at=NOON)
    call = submit(blocked.agent, output, at=NOON).call
    with pytest.raises(NotBlockedError):
        claim_call(call, make_user(), now=NOON)


@pytest.mark.django_db
def test_an_answer_asks_for_no_claim_and_ends_one() -> None:
    call, mia, leo = make_blocked(at=NOON), make_user("mia"), make_user("leo")
    claim_call(call, mia, now=NOON)
    answer(call, leo, at=NOON)
    assert claim_of(call, now=NOON) is None
    tidy_queue(now=NOON)
    assert not Claim.objects.exists()
    assert trail(call) == [("call.claimed", "mia")], "nothing ran out"


@pytest.mark.django_db
def test_next_gives_the_oldest_that_nobody_has_or_put_off() -> None:
    first, second, third = (make_blocked(at=NOON + n * MINUTE) for n in range(3))
    mia, leo, now = make_user("mia"), make_user("leo"), NOON + 3 * MINUTE
    claim_call(first, leo, now=now)
    snooze_call(second, leo, until=now + MINUTE, now=now)
    assert claim_next(mia, now=now) == third
    assert claim_next(mia, now=now) is None
    assert list(claimed_calls(mia.pk, now)) == [third]
    assert claim_next(mia, now=now + MINUTE) == second
    assert claim_next(mia, now=now + 5 * MINUTE, beside=first) == third, "its own claim has run out, too"


@pytest.mark.usefixtures("shared_database")
def test_operators_who_ask_for_the_next_at_once_get_one_call_each() -> None:
    calls = [make_blocked(at=NOON + n * MINUTE) for n in range(6)]
    operators = [make_user(f"op{n}") for n in range(8)]
    given = all_at_once(lambda operator: claim_next(operator, now=NOON + 9 * MINUTE), operators)
    assert sorted(call.pk for call in given if call) == [call.pk for call in calls]
    assert given.count(None) == 2


@pytest.mark.usefixtures("shared_database")
def test_of_many_who_claim_one_call_at_once_one_has_it() -> None:
    call, operators = make_blocked(at=NOON), [make_user(f"op{n}") for n in range(8)]

    def has_it(operator: Any) -> bool:
        try:
            return bool(claim_call(call, operator, now=NOON))
        except ClaimedError:
            return False

    assert all_at_once(has_it, operators).count(True) == 1
    assert len(trail(call)) == 1


@pytest.mark.django_db
def test_the_sweep_clears_claims_away_that_ran_out() -> None:
    call, mia = make_blocked(at=NOON), make_user()
    claim_call(call, mia, now=NOON)
    assert tidy_queue(now=NOON + 4 * MINUTE) == 0
    assert tidy_queue(now=NOON + 5 * MINUTE) == 1
    assert trail(call) == [("call.claimed", "mia"), ("claim.expired", "sweep")]
    assert tidy_queue(now=NOON + 5 * MINUTE) == 0


@pytest.mark.django_db
def test_what_is_put_off_leaves_the_queue_and_comes_back_by_itself() -> None:
    call, mia = make_blocked(at=NOON), make_user()
    claim_call(call, mia, now=NOON)
    snooze_call(
        call, mia, until=NOON + MINUTE, now=NOON, reason="  Ask Leo ghp_" + "aZ3kQ9xW7bN2mL5vR8tY1cF4hJ6dS0gPuE9i"
    )
    snooze = snooze_of(call, now=NOON)
    assert snooze is not None
    assert (snooze.operator, snooze.reason) == (mia, "Ask Leo [REDACTED: GITHUB_TOKEN]")
    assert (list(awake_calls(NOON)), list(snoozed_calls(NOON))) == ([], [call])
    assert claim_of(call, now=NOON) is None, "who puts it off has not got it"
    later = NOON + MINUTE
    assert (list(awake_calls(later)), list(snoozed_calls(later))) == ([call], [])
    tidy_queue(now=later)
    assert not Snooze.objects.exists()
    assert trail(call) == [("call.claimed", "mia"), ("call.snoozed", "mia"), ("call.woken", "sweep")]


@pytest.mark.django_db
def test_what_was_put_off_can_be_woken_before_its_time() -> None:
    call, mia = make_blocked(at=NOON), make_user()
    snooze_call(call, mia, until=NOON + MINUTE, now=NOON)
    snooze_call(call, mia, until=NOON + 2 * MINUTE, now=NOON)
    assert wake_call(call, mia, now=NOON + MINUTE)
    assert not wake_call(call, mia, now=NOON + MINUTE)
    assert list(awake_calls(NOON)) == [call]


@pytest.mark.django_db
@pytest.mark.parametrize("until", [timedelta(), -MINUTE, LONGEST + MINUTE])
def test_a_call_is_put_off_until_a_time_to_come_that_is_not_far(until: timedelta) -> None:
    with pytest.raises(UnusableTimeError):
        snooze_call(make_blocked(at=NOON), make_user(), until=NOON + until, now=NOON)


@pytest.mark.django_db
def test_nobody_puts_off_what_somebody_else_has() -> None:
    call = make_blocked(at=NOON)
    claim_call(call, make_user("mia"), now=NOON)
    with pytest.raises(ClaimedError):
        snooze_call(call, make_user("leo"), until=NOON + MINUTE, now=NOON)


@pytest.mark.django_db
def test_a_call_that_is_blocked_again_is_neither_claimed_nor_put_off() -> None:
    call, mia = make_blocked(at=NOON), make_user()
    snooze_call(call, mia, until=NOON + LONGEST, now=NOON)
    answer(call, mia, at=NOON, grant=1, is_read=True)
    submit(call.agent, WRONG, call=call, at=NOON)
    assert list(awake_calls(NOON)) == [call]
    assert claim_next(mia, now=NOON) == call
