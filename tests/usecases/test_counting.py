"""How attempts are counted, and what each verdict does to its call; at the door and by the worker."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from django.utils import timezone

from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.decisions import Decision
from retrycontract.store.models import Call, Escalation, Event
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.calls.continue_call import (
    CallEndedError,
    CallNotFoundError,
    CallOfOtherToolError,
    NewAttempt,
    UnknownVersionError,
)
from retrycontract.usecases.calls.submit_attempt import submit_attempt
from retrycontract.usecases.tools.register_tool import ToolSettings, register_tool
from tests.factories import DEPLOY, RIGHT, WRONG, answer, make_agent, make_tool, make_user
from tests.usecases.conftest import Send, fail

pytestmark = pytest.mark.django_db


def shown(attempt: Any) -> str:
    return f"{attempt.shown_attempt}/{attempt.shown_max}"


def test_attempts_one_and_two_are_told_and_the_third_blocks_the_call(send: Send) -> None:
    call = fail(send, 3)
    told = [(shown(attempt), attempt.status) for attempt in call.attempts.order_by("number")]
    assert told == [("1/3", "retry"), ("2/3", "retry"), ("3/3", "blocked")]
    texts = [attempt.feedback for attempt in call.attempts.order_by("number")]
    assert ["One attempt is left" in text for text in texts] == [False, True, False]
    assert "now Blocked" in texts[2]
    assert (call.state, call.escalations.open().count()) == ("blocked", 1)
    assert call.blocked_at is not None
    assert call.expires_at is not None


def test_the_escalation_tells_the_whole_history(send: Send) -> None:
    text = fail(send, 3).escalations.get().text
    assert [f"Attempt {number}" in text for number in (1, 2, 3, 4)] == [True, True, True, False]
    assert "/region" in text
    assert '"europe"' in text


def test_a_valid_attempt_ends_the_call_without_a_word_to_the_model(send: Send) -> None:
    agent = make_agent()
    make_tool(agent)
    attempt = send(agent, RIGHT)
    assert (attempt.call.state, attempt.status, attempt.feedback) == ("valid", "valid", "")


def test_a_hint_that_grants_two_makes_four_of_five(send: Send) -> None:
    call = fail(send, 3)
    answer(call, make_user(), Decision.HINT, grant=2)
    attempt = send(call.agent, WRONG, call=call)
    assert (shown(attempt), attempt.status, attempt.call.state) == ("4/5", "retry", "guided")
    attempt = send(call.agent, RIGHT, call=call)
    assert (shown(attempt), attempt.call.state) == ("5/5", "valid")


def test_when_no_granted_attempt_remains_the_call_is_blocked_and_escalated_again(send: Send) -> None:
    call = fail(send, 3)
    answer(call, make_user(), Decision.HINT, grant=2, is_read=True)
    states = [send(call.agent, WRONG, call=call).call.state for _ in range(2)]
    assert states == ["guided", "blocked"]
    assert [(e.round, e.state) for e in call.escalations.order_by("round")] == [(1, "answered"), (2, "open")]
    answer(call, make_user("tom"), Decision.HINT, grant=1, is_read=True)
    assert send(call.agent, WRONG, call=call).call.state == "blocked"
    assert call.escalations.count() == 3


@pytest.mark.parametrize(
    ("decision", "allowed"), [(Decision.HINT, 5), (Decision.CORRECTED, 4), (Decision.ACCEPT, 4), (Decision.REJECT, 3)]
)
def test_each_decision_grants_its_attempts(send: Send, decision: Decision, allowed: int) -> None:
    call = fail(send, 3)
    answer(call, make_user(), decision, arguments=RIGHT)
    assert Call.objects.get(pk=call.pk).attempts_allowed == allowed


def test_a_valid_attempt_while_blocked_closes_the_escalation(send: Send) -> None:
    call = fail(send, 3)
    attempt = send(call.agent, RIGHT, call=call)
    assert (attempt.call.state, attempt.call.expires_at) == ("valid", None)
    assert call.escalations.get().state == "resolved"
    assert list(call.events.order_by("pk").values_list("name", flat=True))[-1] == "escalation.resolved"


def test_a_failed_attempt_while_blocked_is_recorded_and_told_the_same(send: Send) -> None:
    call = fail(send, 3)
    before = call.attempts.get(number=3).feedback
    for number in (4, 5):
        attempt = send(call.agent, WRONG, call=call)
        assert (attempt.number, shown(attempt), attempt.status) == (number, "3/3", "blocked")
        assert attempt.feedback == before
    assert call.escalations.count() == 1


def test_a_grant_after_attempts_while_blocked_goes_on_from_the_last_number(send: Send) -> None:
    call = fail(send, 4)
    answer(call, make_user(), Decision.HINT, grant=2)
    assert shown(send(call.agent, WRONG, call=call)) == "5/6"


def failed_and_held(send: Send, *, times: int) -> Call:
    """Fail with a tool that is held."""
    agent, call = make_agent(), None
    make_tool(agent, hold=True)
    for _ in range(times):
        call = send(agent, WRONG, call=call).call
    assert call is not None
    return call


def test_hold_keeps_the_gate_closed_until_a_person_answered(send: Send) -> None:
    call = failed_and_held(send, times=3)
    agent = call.agent
    attempt = send(agent, RIGHT, call=call)
    assert (attempt.is_valid, attempt.status, attempt.call.state) == (True, "blocked", "blocked")
    assert "valid now, but a person was asked" in attempt.feedback
    summary = call.escalations.get().text
    assert "Attempt 4: valid, and held until a person has answered" in summary
    assert "unable to provide valid arguments" not in summary
    send(agent, WRONG, call=call)
    assert "unable to provide valid arguments" in call.escalations.get().text
    answer(call, make_user(), Decision.ACCEPT)
    assert Call.objects.get(pk=call.pk).state == "accepted"


def test_what_fails_while_a_held_call_is_blocked_stands_in_the_text_at_once(send: Send) -> None:
    call = failed_and_held(send, times=5)
    text = call.escalations.get().text
    assert "failed after 5 attempts" in text
    assert "Attempt 5" in text


def test_hold_does_not_matter_before_the_call_is_blocked(send: Send) -> None:
    agent = make_agent()
    make_tool(agent, hold=True)
    assert send(agent, RIGHT).call.state == "valid"


def test_an_observed_tool_is_recorded_and_never_blocked(send: Send) -> None:
    agent = make_agent()
    register_tool(agent, "deploy", DEPLOY, now=timezone.now(), settings=ToolSettings(mode="observe", max_attempts=1))
    attempt = send(agent, WRONG)
    assert (attempt.call.state, attempt.status, attempt.is_valid, attempt.feedback) == ("observed", "valid", False, "")
    assert attempt.errors
    assert not attempt.call.escalations.exists()


def test_an_unknown_tool_is_the_models_mistake_and_names_the_nearest(send: Send) -> None:
    agent = make_agent()
    make_tool(agent)
    attempt = send(agent, RIGHT, tool="deplyo")
    assert (attempt.status, shown(attempt), attempt.call.state) == ("retry", "1/3", "retrying")
    assert attempt.errors[0].error_code is ErrorCode.OBJECT_SCHEMA_VIOLATION
    assert "call 'deploy' instead" in attempt.feedback


def test_a_call_of_an_unknown_tool_takes_over_the_tool_that_is_named_next(send: Send) -> None:
    agent = make_agent()
    tool = make_tool(agent)
    call = send(agent, RIGHT, tool="deplyo").call
    attempt = send(agent, WRONG, call=call)
    assert (attempt.call.tool, attempt.call.version, attempt.call.tool_name) == (tool, tool.current_version, "deploy")
    assert "for tool 'deploy' (attempt 2/3)" in attempt.feedback
    assert send(agent, RIGHT, call=call).call.state == "valid"


def test_a_call_of_a_known_tool_does_not_change_its_tool(send: Send) -> None:
    call = fail(send, 1)
    make_tool(call.agent, "other")
    with pytest.raises(CallOfOtherToolError):
        send(call.agent, RIGHT, tool="other", call=call)


def test_the_agents_own_rejection_is_a_failure_with_its_reason(send: Send) -> None:
    agent = make_agent()
    make_tool(agent)
    attempt = send(agent, RIGHT, callback_error="the cluster is frozen")
    assert (attempt.status, attempt.is_valid, attempt.call.state) == ("retry", False, "retrying")
    assert [error.error_code for error in attempt.errors] == [ErrorCode.OBJECT_SCHEMA_VIOLATION]
    assert "the cluster is frozen" in attempt.feedback


def test_all_failures_count_against_one_budget(send: Send) -> None:
    agent = make_agent()
    make_tool(agent)
    call = send(agent, "{no json").call
    send(agent, WRONG, call=call)
    assert send(agent, RIGHT, call=call, callback_error="no").call.state == "blocked"


def test_a_call_is_judged_by_the_version_that_it_began_with(send: Send) -> None:
    call = fail(send, 1)
    register_tool(call.agent, "deploy", {"type": "object", "required": ["everything"]}, now=timezone.now())
    assert send(call.agent, RIGHT, call=call).call.state == "valid"
    assert send(call.agent, RIGHT, session_id="other").status == "retry"


def test_a_submission_may_name_an_older_version_by_its_hash(send: Send) -> None:
    agent = make_agent()
    old = make_tool(agent).current_version
    assert old is not None
    register_tool(agent, "deploy", {"type": "object", "required": ["everything"]}, now=timezone.now())
    attempt = send(agent, RIGHT, version=old.schema_hash)
    assert (attempt.call.state, attempt.call.version) == ("valid", old)


def test_a_hash_that_the_tool_does_not_have_is_refused(send: Send) -> None:
    agent = make_agent()
    make_tool(agent)
    other = make_tool(agent, "other", {"type": "object"}).current_version
    assert other is not None
    with pytest.raises(UnknownVersionError):
        send(agent, RIGHT, version=other.schema_hash)
    assert not Call.objects.exists()


def test_an_attempt_at_a_call_that_has_ended_is_refused(send: Send) -> None:
    agent = make_agent()
    make_tool(agent)
    call = send(agent, RIGHT).call
    with pytest.raises(CallEndedError):
        send(agent, RIGHT, call=call)
    assert call.attempts.count() == 1


def test_a_call_of_another_agent_is_unknown(send: Send) -> None:
    call = fail(send, 1)
    stranger = make_agent("stranger")
    new = NewAttempt(tool="deploy", tool_call_id="x", output=RIGHT, call_id=call.public_id)
    with pytest.raises(CallNotFoundError):
        submit_attempt(stranger, new, now=timezone.now())


def test_every_move_is_in_the_audit_trail(send: Send) -> None:
    call = fail(send, 3)
    answer(call, make_user(), Decision.HINT, grant=2)
    send(call.agent, WRONG, call=call)
    cancel_call(Call.objects.get(pk=call.pk), now=timezone.now())
    moves = [
        (event.name, event.from_state, event.to_state)
        for event in call.events.exclude(name="attempt.queued").exclude(from_state="")
    ]
    assert [(name, to) for name, _, to in moves] == [
        ("attempt.judged", "retrying"),
        ("attempt.judged", "retrying"),
        ("attempt.judged", "blocked"),
        ("guidance.given", "guided"),
        ("attempt.judged", "guided"),
        ("call.cancelled", "cancelled"),
    ]
    # Queued attempts make a call pending before they are judged.
    assert [source for _, source, _ in moves[:3]] in (["pending", "retrying", "retrying"], ["pending"] * 3)
    assert [source for _, source, _ in moves[3:]] == ["blocked", "guided", "guided"]


def test_each_event_begins_where_the_one_before_ended(send: Send) -> None:
    call = fail(send, 3)
    send(call.agent, WRONG, call=call)
    send(call.agent, RIGHT, call=call)
    moves = list(call.events.exclude(from_state=""))
    for before, after in pairwise(moves):
        assert after.from_state == before.to_state
    assert moves[-1].to_state == "valid"
    assert {event.actor for event in moves} == {"deployer"}


def test_queuing_is_a_move_of_its_own(send: Send) -> None:
    call = fail(send, 2)
    queued = Event.objects.filter(call=call, name="attempt.queued").values_list("from_state", "to_state", "door")
    judged = Event.objects.filter(call=call, name="attempt.judged").values_list("door", flat=True)
    if queued:
        assert list(queued) == [("pending", "pending", "api"), ("retrying", "pending", "api")]
        assert set(judged) == {"worker"}
    else:
        assert set(judged) == {"api"}


def test_events_hold_names_and_numbers_but_no_values(send: Send) -> None:
    call = fail(send, 3)
    assert "europe" not in str(list(Event.objects.values()))
    event = call.events.filter(name="attempt.judged").first()
    assert event is not None
    assert event.data == {"attempt": 1, "valid": False, "codes": ["VAL-008"]}


def test_a_context_is_redacted_and_bounded(send: Send) -> None:
    agent = make_agent()
    make_tool(agent)
    secret = "ghp_" + "aZ3kQ9xW7bN2mL5vR8tY1cF4hJ6dS0gPuE9i"
    context = {"goal": f"use {secret}", "last_user_message": "x" * 100_000, "list": ["y" * 100] * 1_000}
    context |= {f"more_{number}": 1 for number in range(1_000)}
    kept = send(agent, WRONG, context=context).call.context
    assert secret not in str(kept)
    assert kept["goal"].startswith("use [REDACTED")
    assert len(kept) == 20
    assert all(len(str(value)) <= 2_000 for value in kept.values())


def test_the_escalation_pairs_the_original_call_with_its_own_id(send: Send) -> None:
    make_tool(make_agent())
    call = None
    for name in ("first", "second", "third"):
        call = send(make_agent(), WRONG | {"service": name}, call=call, tool_call_id=f"{name}-id").call
    text = Escalation.objects.get().text
    assert '"service": "first"' in text
    assert "\n  id: first-id\n" in text
    assert "third-id" not in text
