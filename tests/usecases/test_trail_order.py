"""Who replays a call's trail ends where the call stands, whatever came at the same moment."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from retrycontract.contract.decisions import Decision
from retrycontract.store.models import Call, Guidance
from retrycontract.usecases.answers.deliver_answer import acknowledge_guidance, mark_delivered
from retrycontract.usecases.answers.give_guidance import AlreadyAnsweredError, give_guidance
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.calls.claim_call import (
    ClaimedError,
    NotBlockedError,
    claim_call,
    release_claim,
    snooze_call,
    wake_call,
)
from retrycontract.usecases.calls.continue_call import CallEndedError
from retrycontract.usecases.calls.sweep import expire_overdue
from tests.factories import RIGHT, WRONG, answer, make_agent, make_blocked, make_user, submit
from tests.file_database import all_at_once

pytestmark = pytest.mark.usefixtures("shared_database")

AT_ONCE = 6
# An attempt, an answer or an end that comes too late is what this is about; a lost race that reaches us is a failure.
LATE = (CallEndedError, AlreadyAnsweredError, ClaimedError, NotBlockedError)


def tell(call: Call, _: User) -> None:
    for guidance in Guidance.objects.select_related("call__agent").filter(call=call):
        mark_delivered(guidance, now=timezone.now())


def take_over(call: Call, _: User) -> None:
    for guidance in Guidance.objects.select_related("call__agent").filter(call=call):
        acknowledge_guidance(guidance, now=timezone.now())


def answer_it(call: Call, operator: User) -> None:
    escalation = call.escalations.order_by("-round").first()
    assert escalation is not None
    give_guidance(escalation, operator, Decision.HINT, now=timezone.now(), text="Use eu-west-1.", grant=2)


MOVES: tuple[Callable[[Call, User], Any], ...] = (
    tell, tell, take_over, answer_it,
    lambda call, _: cancel_call(call, now=timezone.now()),
    lambda call, _: submit(call.agent, RIGHT, call=call),
    lambda call, _: submit(call.agent, WRONG, call=call),
    lambda call, operator: claim_call(call, operator, now=timezone.now()),
    lambda call, operator: release_claim(call, operator, now=timezone.now()),
    lambda call, operator: snooze_call(
        call, operator, until=timezone.now() + timedelta(hours=1), now=timezone.now()
    ),
    lambda call, operator: wake_call(call, operator, now=timezone.now()),
    lambda _, __: expire_overdue(now=timezone.now() + timedelta(days=8)),
)  # fmt: skip


def live_through(trail: int, operator: User) -> Call:
    """Block a call, answer it perhaps, and let several things happen to it at one moment."""
    random = Random(trail)
    call = make_blocked(make_agent(f"agent {trail}"))
    if random.random() < 0.8:
        answer(call, operator, grant=2)

    def happen(move: Callable[[Call, User], Any]) -> None:
        with suppress(*LATE):
            move(Call.objects.select_related("agent", "tool", "version").get(pk=call.pk), operator)

    all_at_once(happen, random.sample(MOVES, AT_ONCE))
    return call


def replayed(call: Call) -> str:
    """Go through the trail in its order; each move must begin where the one before ended."""
    state = ""
    for event in call.events.order_by("pk"):
        if event.from_state:
            assert event.from_state == state or not state, f"{event.name} moves from {event.from_state}, not {state}"
        state = event.to_state
    return state


def replay(trails: range) -> None:
    operator = make_user("operator")
    for trail in trails:
        call = live_through(trail, operator)
        assert replayed(call) == Call.objects.get(pk=call.pk).state, f"trail {trail}"


def test_random_trails_replay_to_where_the_calls_stand() -> None:
    replay(range(20))


@pytest.mark.soak
def test_a_thousand_random_trails_replay_to_where_the_calls_stand() -> None:
    replay(range(20, 1020))


def test_no_event_of_a_call_is_earlier_than_the_one_before() -> None:
    """Each reads the clock before it waits for its turn: who read it first may come last."""
    call, operator, now = make_blocked(), make_user("ada"), timezone.now()
    claim_call(call, operator, now=now + timedelta(seconds=9))
    submit(call.agent, WRONG, at=now + timedelta(seconds=3), call=call)
    release_claim(call, operator, now=now + timedelta(seconds=6))
    cancel_call(Call.objects.get(pk=call.pk), now=now + timedelta(seconds=12))
    moments = list(call.events.order_by("pk").values_list("name", "at"))
    assert [name for name, _ in moments[-4:]] == ["call.claimed", "attempt.judged", "call.released", "call.cancelled"]
    assert [(at - now).total_seconds() for _, at in moments[-4:]] == [9, 9, 9, 12]
    assert [at for _, at in moments] == sorted(at for _, at in moments)
    other = make_blocked(make_agent("other"))
    assert other.events.latest("pk").at < now + timedelta(seconds=9), "calls have nothing to do with each other"
