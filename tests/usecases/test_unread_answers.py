"""An answer that its agent has not read is not used up by what it submits meanwhile; at the door and by workers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from pytest_django import Settings

from retrycontract.contract.decisions import Decision
from retrycontract.store.models import Attempt, Call, Event, Guidance
from retrycontract.usecases.answers.deliver_answer import (
    MOST_RENEWALS,
    acknowledge_guidance,
    mark_delivered,
    told_text,
)
from retrycontract.usecases.calls.continue_call import CallEndedError
from tests.factories import RIGHT, WRONG, answer, make_tool, make_user, submit
from tests.usecases.conftest import NOON, Send, configure, fail, judge_all

pytestmark = pytest.mark.django_db
SECOND = timedelta(seconds=1)


def answered(send: Send, decision: Decision = Decision.HINT, **more: Any) -> Call:
    """Make a call to which somebody has answered."""
    call = fail(send, 3, at=NOON)
    answer(call, make_user(), decision, arguments=RIGHT, at=NOON, **more)
    return call


def stands(call: Call) -> tuple[str, int, int, int]:
    """Give the state of a call, what it has made and may make, and how often people were asked about it."""
    call = Call.objects.get(pk=call.pk)
    return call.state, call.attempts_made, call.attempts_allowed, call.escalations.count()


def told(attempt: Attempt) -> tuple[str, str]:
    return attempt.status, f"{attempt.shown_attempt}/{attempt.shown_max}"


@pytest.mark.parametrize(
    ("decision", "last", "renewed"),
    [
        (Decision.HINT, ("blocked", "5/7"), ("guided", 5, 7, 1)),
        (Decision.CORRECTED, ("blocked", "4/5"), ("guided", 4, 5, 1)),
    ],
)
def test_what_is_submitted_without_the_answer_leaves_its_grant_whole(
    send: Send, decision: Decision, last: tuple[str, str], renewed: Any
) -> None:
    call = answered(send, decision)
    before = [told(send(call.agent, WRONG, call=call, at=NOON)) for _ in range(renewed[1] - 4)]
    assert before == [("retry", "4/5")] * len(before)
    attempt = send(call.agent, WRONG, call=call, at=NOON)
    assert (told(attempt), stands(call)) == (last, renewed)
    assert "continue when guidance arrives" in attempt.feedback
    (event,) = call.events.filter(name="attempt.judged", data__contains='"granted"')
    assert event.data["granted"] == renewed[2] - renewed[1]


def test_the_answer_names_the_attempts_that_are_left_when_it_is_read(send: Send) -> None:
    call = answered(send, grant=2)
    given = Guidance.objects.get()
    assert told_text(given) == given.rendered
    for _ in range(2):
        send(call.agent, WRONG, call=call, at=NOON)
    given = Guidance.objects.select_related("call__agent", "base").get()
    assert "this is attempt 4/5, 2 are left" in given.rendered
    assert told_text(given) == given.rendered.replace("attempt 4/5", "attempt 6/7")
    mark_delivered(given, now=NOON)
    assert given.versions.get(stage="delivered").text == told_text(given)
    assert told(send(call.agent, WRONG, call=call, at=NOON)) == ("retry", "6/7")
    assert stands(call)[0] == "guided"


def test_the_answer_names_what_unread_attempts_have_left_of_the_grant(send: Send) -> None:
    call = answered(send, grant=3)
    newest = Guidance.objects.select_related("call__agent", "base")
    for left in ("attempt 4/6, 3 are left", "attempt 5/6, 2 are left", "attempt 6/6."):
        assert f"this is {left}" in told_text(newest.get())
        send(call.agent, WRONG, call=call, at=NOON)
    mark_delivered(newest.get(), now=NOON)
    read = told_text(newest.get())
    assert "this is attempt 7/9, 3 are left" in read
    send(call.agent, WRONG, call=call, at=NOON + SECOND)
    assert told_text(newest.get()) == read, "what was read stays as it was read"


def test_the_answer_is_there_for_who_reads_it_at_last(send: Send) -> None:
    call = answered(send, Decision.CORRECTED)
    send(call.agent, WRONG, call=call, at=NOON)
    mark_delivered(Guidance.objects.get(), now=NOON)
    assert send(call.agent, RIGHT, call=call, at=NOON).call.state == "valid"
    assert stands(call)[3] == 1


READ: dict[str, Callable[[Guidance], object]] = {
    "delivered": lambda given: mark_delivered(given, now=NOON),
    "acknowledged": lambda given: acknowledge_guidance(given, now=NOON),
}


@pytest.mark.parametrize("how", READ)
def test_an_answer_that_was_read_is_used_up(send: Send, how: str) -> None:
    call = answered(send, grant=2)
    send(call.agent, WRONG, call=call, at=NOON)
    READ[how](Guidance.objects.get())
    attempt = send(call.agent, WRONG, call=call, at=NOON)
    assert (told(attempt), stands(call)) == (("blocked", "5/5"), ("blocked", 5, 5, 2))


@pytest.mark.parametrize("how", READ)
def test_a_second_answer_is_not_used_up_by_who_has_read_the_first(send: Send, how: str) -> None:
    call = answered(send, grant=1)
    READ[how](Guidance.objects.get())
    send(call.agent, WRONG, call=call, at=NOON)
    answer(call, make_user("tom"), grant=1, at=NOON)
    send(call.agent, WRONG, call=call, at=NOON)
    assert stands(call) == ("guided", 5, 6, 2)


@pytest.mark.parametrize("decision", [Decision.ACCEPT, Decision.REJECT])
def test_what_ends_a_call_is_no_matter_of_attempts(send: Send, decision: Decision) -> None:
    call = answered(send, decision)
    before = stands(call)
    with pytest.raises(CallEndedError):
        send(call.agent, WRONG, call=call, at=NOON)
    assert stands(call) == before


@pytest.mark.parametrize(("output", "mode", "state"), [(RIGHT, "enforce", "valid"), (WRONG, "observe", "observed")])
def test_what_needs_no_answer_any_more_ends_the_call_all_the_same(
    send: Send, output: Any, mode: Any, state: str
) -> None:
    call = answered(send, grant=1)
    make_tool(call.agent, mode=mode)
    assert send(call.agent, output, call=call, at=NOON).call.state == state


def test_an_agent_that_never_reads_is_brought_before_people_again(send: Send) -> None:
    call = answered(send, grant=1)
    for renewals in range(1, MOST_RENEWALS + 1):
        send(call.agent, WRONG, call=call, at=NOON)
        assert stands(call) == ("guided", 3 + renewals, 4 + renewals, 1)
    attempt = send(call.agent, WRONG, call=call, at=NOON)
    assert (attempt.status, stands(call)) == ("blocked", ("blocked", 7, 7, 2))
    answer(call, make_user("tom"), grant=1, at=NOON)
    send(call.agent, WRONG, call=call, at=NOON)
    assert stands(call) == ("guided", 8, 9, 2)  # each answer has renewals of its own


@pytest.mark.parametrize(
    ("is_read", "gives_up", "status", "expected"),
    [
        (False, False, "blocked", ("guided", 4, 5, 1)),
        (True, False, "unavailable", ("unavailable", 4, 4, 1)),
        (False, True, "unavailable", ("unavailable", 4, 4, 1)),
    ],
)
def test_a_model_that_could_not_be_asked_uses_up_no_unread_answer(
    send: Send, is_read: bool, gives_up: bool, status: str, expected: Any
) -> None:
    call = answered(send, grant=1, is_read=is_read)
    attempt = send(call.agent, None, call=call, at=NOON, api_error="HTTP 503", gives_up=gives_up)
    assert (attempt.status, stands(call)) == (status, expected)
    told_of_grants = [event.data.get("granted") for event in Event.objects.filter(name="attempt.unasked")]
    assert told_of_grants == [1 if status == "blocked" else None]


@pytest.fixture
def by_worker(settings: Settings) -> Send:
    """Submit attempts that wait for a worker."""
    configure(settings, judge="worker")
    return submit


def test_attempts_that_wait_together_are_judged_in_order_and_grants_begin_anew_between(by_worker: Send) -> None:
    call = fail(by_worker, 3, at=NOON)
    judge_all(now=NOON)
    answer(call, make_user(), grant=2, at=NOON)
    for _ in range(5):
        by_worker(call.agent, WRONG, call=call, at=NOON)
    judge_all(now=NOON)
    assert [told(each) for each in call.attempts.filter(number__gt=3).order_by("number")] == [
        ("retry", "4/5"), ("blocked", "5/7"), ("retry", "6/7"), ("blocked", "7/9"), ("retry", "8/9"),
    ]  # fmt: skip
    assert stands(call) == ("guided", 8, 9, 1)


def test_what_was_submitted_before_the_answer_was_read_does_not_use_it_up(by_worker: Send) -> None:
    call = fail(by_worker, 3, at=NOON)
    judge_all(now=NOON)
    given = answer(call, make_user(), grant=1, at=NOON)
    by_worker(call.agent, WRONG, call=call, at=NOON)
    mark_delivered(given, now=NOON + SECOND)
    judge_all(now=NOON + 2 * SECOND)
    assert stands(call) == ("guided", 4, 5, 1)
    by_worker(call.agent, WRONG, call=call, at=NOON + 3 * SECOND)
    judge_all(now=NOON + 4 * SECOND)
    assert stands(call) == ("blocked", 5, 5, 2)


def test_an_attempt_that_workers_died_of_uses_up_no_unread_answer(by_worker: Send) -> None:
    call = fail(by_worker, 3, at=NOON)
    judge_all(now=NOON)
    answer(call, make_user(), grant=2, at=NOON)
    attempt = by_worker(call.agent, WRONG, call=call, at=NOON)
    Attempt.objects.filter(pk=attempt.pk).update(deliveries=3)
    judge_all(now=NOON)
    assert Attempt.objects.get(pk=attempt.pk).state == "dead"
    assert stands(call) == ("guided", 4, 6, 1)
