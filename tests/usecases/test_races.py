"""Threads that do the same at the same moment."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from retrycontract.contract.decisions import Decision
from retrycontract.contract.matching import AmbiguousCallError
from retrycontract.contract.schemas.tool_lists import DeclaredTool
from retrycontract.store.models import Attempt, Call, Door, Event, Guidance, ProviderIdentity, Tool
from retrycontract.usecases.answers.deliver_answer import acknowledge_guidance
from retrycontract.usecases.answers.give_guidance import AlreadyAnsweredError, give_guidance
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.calls.continue_call import CallEndedError
from retrycontract.usecases.calls.repeat_request import (
    IdempotencyConflictError,
    RequestKey,
    answer_in_steps,
    answer_once,
)
from retrycontract.usecases.calls.sweep import expire_overdue, forget_calls, judge_waiting
from retrycontract.usecases.people.admit import admit_by_provider
from retrycontract.usecases.tools.register_tool import import_tools, register_tool
from tests.factories import DEPLOY, RIGHT, WRONG, answer, make_agent, make_tool, make_user, submit
from tests.file_database import all_at_once
from tests.usecases.conftest import configure

pytestmark = pytest.mark.usefixtures("shared_database")

THREADS = 32


@pytest.fixture(params=["auto", "worker"], ids=["at the door", "by the worker"], autouse=True)
def judge(request: pytest.FixtureRequest, settings: Settings) -> str:
    configure(settings, judge=request.param)
    name: str = request.param
    return name


# What nobody judges, or a worker whatever is set, is the same both ways.
EITHER_WAY = pytest.mark.parametrize("judge", ["auto"], indirect=True)


def judge_everything() -> None:
    judge_waiting(clock=timezone.now)


def test_many_attempts_at_one_call_are_numbered_and_blocked_as_one_after_the_other() -> None:
    agent = make_agent()
    make_tool(agent)
    call = submit(agent, WRONG).call
    all_at_once(lambda _: submit(agent, WRONG, call=call), [None] * (THREADS - 1))
    judge_everything()
    attempts = list(Attempt.objects.order_by("number"))
    assert [attempt.number for attempt in attempts] == list(range(1, THREADS + 1))
    assert [attempt.status for attempt in attempts] == ["retry"] * 2 + ["blocked"] * (THREADS - 2)
    stored = Call.objects.get()
    assert (stored.state, stored.attempts_made, stored.attempts_allowed) == ("blocked", THREADS, 3)
    assert stored.escalations.count() == 1
    assert stored.events.filter(name="attempt.judged").count() == THREADS


def test_many_first_attempts_with_the_same_id_begin_one_call() -> None:
    agent = make_agent()
    make_tool(agent)
    all_at_once(lambda _: submit(agent, WRONG, tool_call_id="id", session_id="s"), [None] * THREADS)
    judge_everything()
    assert Call.objects.count() == 1
    assert Call.objects.get().attempts_made == THREADS
    assert Call.objects.get().escalations.count() == 1


def test_many_submissions_with_one_key_make_one_attempt_and_get_one_answer() -> None:
    agent = make_agent()
    make_tool(agent)
    key = RequestKey.of("key", "body")
    made = all_at_once(lambda _: submit(agent, WRONG, tool_call_id="id", session_id="s", key=key), [None] * 50)
    judge_everything()
    assert {attempt.pk for attempt in made} == {Attempt.objects.get().pk}
    assert Call.objects.get().attempts_made == 1


def test_many_submissions_with_one_key_and_no_session_begin_one_call() -> None:
    agent = make_agent()
    make_tool(agent)
    key = RequestKey.of("key", "body")
    all_at_once(lambda _: submit(agent, RIGHT, tool_call_id="id", session_id=None, key=key), [None] * THREADS)
    judge_everything()
    assert (Call.objects.count(), Attempt.objects.count()) == (1, 1)


@EITHER_WAY
def test_of_many_equal_requests_one_is_done_and_the_others_are_told_its_answer() -> None:
    agent, done = make_agent(), []

    def answer(number: int) -> dict[str, int]:
        done.append(number)
        another_began.wait(0.3)
        if len(done) > 1:
            another_began.set()
        return {"done by": number}

    another_began = threading.Event()
    key = RequestKey.of("key", "body")
    told = all_at_once(
        lambda number: answer_once(agent, key, lambda: answer(number), now=timezone.now()), list(range(THREADS))
    )
    assert len(done) == 1
    assert told == [{"done by": done[0]}] * THREADS


@EITHER_WAY
def test_a_request_that_failed_leaves_its_key_and_nothing_else_to_the_next() -> None:
    agent, key = make_agent(), RequestKey.of("key", "body")

    def fail() -> None:
        make_tool(agent)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        answer_once(agent, key, fail, now=timezone.now())
    assert not Tool.objects.exists()
    assert answer_once(agent, key, lambda: "done", now=timezone.now()) == "done"


@EITHER_WAY
def test_of_requests_in_steps_with_one_key_the_others_are_refused_before_they_do_anything() -> None:
    agent, done, both = make_agent(), list[str](), threading.Barrier(2)

    def send(body: str) -> str:
        def answer() -> str:
            done.append(body)
            if body == "same":
                both.wait(30)  # two are under way at once
            return f"done {len(done)}"

        try:
            told: str = answer_in_steps(agent, RequestKey.of("key", body), answer, now=timezone.now())
        except IdempotencyConflictError:
            return "refused"
        return told

    first, second = all_at_once(send, ["same", "same"])
    assert first == second == send("same")
    assert send("other") == "refused"
    assert done == ["same", "same"]


@EITHER_WAY
def test_a_request_in_steps_that_failed_leaves_its_key_to_any_other() -> None:
    agent = make_agent()
    with pytest.raises(ZeroDivisionError):
        answer_in_steps(agent, RequestKey.of("key", "wrong"), lambda: 1 // 0, now=timezone.now())
    for _ in range(2):
        key = RequestKey.of("key", "right")
        assert answer_in_steps(agent, key, lambda: {"done": 1}, now=timezone.now()) == {"done": 1}


@EITHER_WAY
def test_lists_with_the_same_tools_in_another_order_are_imported_at_once() -> None:
    agent = make_agent()
    tools = [DeclaredTool(f"tool {number}", "", DEPLOY) for number in range(20)]

    def bring(number: int) -> list[str]:
        brought = tools[:: 1 if number % 2 else -1]
        made = import_tools(agent, brought, now=timezone.now())
        return [done.tool.name for done in made.registered]

    names = [tool.name for tool in tools]
    assert all_at_once(bring, list(range(8))) == [names[::-1], names] * 4


def test_many_parallel_calls_of_one_turn_begin_as_many_calls() -> None:
    agent = make_agent()
    make_tool(agent)
    all_at_once(lambda n: submit(agent, WRONG, tool_call_id=f"id_{n}", session_id="s", turn=1), list(range(THREADS)))
    assert Call.objects.count() == THREADS
    with pytest.raises(AmbiguousCallError):
        submit(agent, WRONG, tool_call_id="new", session_id="s", turn=2)


def test_of_many_valid_attempts_one_ends_the_call() -> None:
    agent = make_agent()
    make_tool(agent)
    call = submit(agent, WRONG).call

    def send(_: object) -> bool:
        try:
            submit(agent, RIGHT, call=call)
        except CallEndedError:
            return False
        return True

    taken = sum(all_at_once(send, [None] * 8))
    judge_everything()
    assert Attempt.objects.filter(status="valid").count() == 1
    assert Attempt.objects.count() == taken + 1
    assert Call.objects.get().state == "valid"
    assert not Attempt.objects.waiting().exists()


@EITHER_WAY
def test_many_workers_judge_each_attempt_once(settings: Settings) -> None:
    configure(settings, judge="worker")
    agent = make_agent()
    make_tool(agent)
    calls = [submit(agent, WRONG).call for _ in range(8)]
    for call in calls:
        submit(agent, WRONG, call=call)
    judged = all_at_once(lambda _: judge_waiting(clock=timezone.now), [None] * 8)
    judge_everything()
    assert sum(judged) <= 16
    assert set(Attempt.objects.values_list("state", "deliveries")) == {("judged", 1)}
    assert set(Call.objects.values_list("state", flat=True)) == {"retrying"}


def blocked() -> Call:
    agent = make_agent()
    make_tool(agent)
    call = submit(agent, WRONG).call
    for _ in range(2):
        submit(agent, WRONG, call=call)
    judge_everything()
    return Call.objects.select_related("agent").get(pk=call.pk)


def test_of_many_answers_the_first_wins_and_the_others_are_told_which_it_was() -> None:
    call = blocked()
    users = [make_user(f"user{number}") for number in range(8)]
    escalation = call.escalations.get()

    def give(user: Any) -> Guidance | AlreadyAnsweredError:
        own = type(escalation).objects.get(pk=escalation.pk)
        try:
            return give_guidance(own, user, Decision.HINT, now=timezone.now(), text=f"from {user.username}")
        except AlreadyAnsweredError as told:
            return told

    results = all_at_once(give, users)
    winners = [result for result in results if isinstance(result, Guidance)]
    assert len(winners) == 1
    told = [result.guidance for result in results if isinstance(result, AlreadyAnsweredError)]
    assert told == winners * 7
    assert call.events.filter(name="guidance.given").count() == 1
    assert Call.objects.get().attempts_allowed == 5


def test_an_answer_and_attempts_at_the_same_moment_leave_the_whole_grant() -> None:
    call = blocked()
    user = make_user()

    def act(number: int) -> None:
        if number:
            submit(call.agent, WRONG, call=call)
        else:
            answer(call, user, Decision.HINT, grant=5)

    all_at_once(act, list(range(4)))
    judge_everything()
    stored = Call.objects.get()
    guidance = Guidance.objects.get()
    before = stored.attempts_allowed - 5
    assert 3 <= before <= 6
    assert f"this is attempt {before + 1}/{before + 5}" in guidance.rendered
    assert (stored.state, stored.attempts_made) == ("guided", 6)


def test_an_answer_and_the_expiry_at_the_same_moment_end_in_the_answer() -> None:
    call = blocked()
    user = make_user()
    assert call.expires_at is not None
    late = call.expires_at

    def act(is_answer: bool) -> None:
        if is_answer:
            answer_whatever_stands(call, user)
        else:
            expire_overdue(now=late)

    all_at_once(act, [True, False])
    assert Call.objects.get().state == "guided"
    assert call.escalations.get().state == "answered"


def answer_whatever_stands(call: Call, user: Any) -> None:
    give_guidance(call.escalations.get(), user, Decision.HINT, now=timezone.now(), text="Use eu-west-1.")


def test_a_cancel_and_attempts_at_the_same_moment_leave_nothing_waiting() -> None:
    call = blocked()

    def act(number: int) -> None:
        try:
            if number:
                submit(call.agent, WRONG, call=call)
            else:
                cancel_call(Call.objects.select_related("agent").get(pk=call.pk), now=timezone.now())
        except CallEndedError:
            pass

    all_at_once(act, list(range(6)))
    judge_everything()
    assert Call.objects.get().state == "cancelled"
    assert not Attempt.objects.waiting().exists()
    assert not Attempt.objects.exclude(sealed=None).exists()


def test_a_call_that_moved_since_it_was_read_is_cancelled_all_the_same() -> None:
    read_before = Call.objects.select_related("agent").get(pk=blocked().pk)
    answer(Call.objects.select_related("agent", "tool").get(), make_user(), Decision.HINT)
    assert cancel_call(read_before, now=timezone.now())
    assert Call.objects.get().state == "cancelled"


def test_many_acknowledgements_are_one() -> None:
    call = blocked()
    answer(call, make_user(), Decision.HINT)
    done = all_at_once(
        lambda _: acknowledge_guidance(Guidance.objects.select_related("call__agent").get(), now=timezone.now()),
        [None] * 8,
    )
    assert sorted(done) == [False] * 7 + [True]
    assert call.events.filter(name="guidance.acknowledged").count() == 1


@EITHER_WAY
def test_many_registrations_of_one_tool_make_one_version() -> None:
    agent = make_agent()
    done = all_at_once(lambda _: register_tool(agent, "deploy", DEPLOY, now=timezone.now()), [None] * 8)
    assert sorted(registration.is_new_tool for registration in done) == [False] * 7 + [True]
    assert {registration.version.number for registration in done} == {1}


@EITHER_WAY
def test_many_changes_of_one_tool_number_their_versions() -> None:
    agent = make_agent()
    schemas = [DEPLOY | {"title": f"version {number}"} for number in range(8)]
    done = all_at_once(lambda schema: register_tool(agent, "deploy", schema, now=timezone.now()), schemas)
    assert sorted(registration.version.number for registration in done) == list(range(1, 9))


@EITHER_WAY
def test_first_log_ins_of_one_person_at_once_all_end_as_the_same_operator(settings: Settings) -> None:
    configure(settings, oidc_issuer="https://id.example", oidc_roles=["*=viewer"])
    claims, service = {"sub": "u-1", "preferred_username": "noor"}, settings.RETRYCONTRACT

    def come(_: object) -> str:
        return admit_by_provider(claims, service, now=timezone.now(), door=Door.DASHBOARD).get_username()

    assert all_at_once(come, [None] * 8) == ["noor"] * 8
    assert ProviderIdentity.objects.count() == 1


def test_retention_forgets_what_is_old_while_more_comes_in_and_nothing_of_that(judge: str, settings: Settings) -> None:
    agent, long_ago = make_agent(), timezone.now() - timedelta(days=400)
    make_tool(agent)
    configure(settings, judge="auto")
    old = [submit(agent, RIGHT, at=long_ago).call for _ in range(30)]
    configure(settings, judge=judge)

    def work(number: int) -> None:
        if number % 4:
            submit(agent, RIGHT, tool_call_id=f"new {number}")
        else:
            forget_calls(now=timezone.now())

    all_at_once(work, list(range(THREADS)))
    judge_everything()
    assert Call.objects.count() == THREADS * 3 // 4
    assert not Call.objects.filter(pk__in=[call.pk for call in old]).exists()
    assert {call.state for call in Call.objects.all()} == {"valid"}
    assert sum(event.data["calls"] for event in Event.objects.filter(name="history.forgotten")) == len(old)
