"""When nobody answers: how long each tool waits, what becomes of its calls, and what their agents are told."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import Settings

from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.decisions import Decision
from retrycontract.store.models import Agent, Call, Guidance, Tool
from retrycontract.usecases.answers.give_guidance import AlreadyAnsweredError, give_guidance
from retrycontract.usecases.calls.sweep import expire_overdue
from retrycontract.usecases.tools.register_tool import ToolSettings, register_tool
from tests.factories import DEPLOY, WRONG, answer, make_agent, make_blocked, make_call, make_tool, make_user, submit
from tests.usecases.conftest import NOON, configure

pytestmark = pytest.mark.django_db

HALF_AN_HOUR = timedelta(minutes=30)


def configured(settings: Settings, tool: str = "deploy", **override: Any) -> None:
    settings.CONTRACT = RetryConfiguration(overrides=((tool, override),))


def registered(agent: Agent, **changes: Any) -> Tool:
    return register_tool(agent, "deploy", DEPLOY, now=NOON, settings=ToolSettings(**changes)).tool


def ended(call: Call) -> Call:
    """Read a call after its time has passed."""
    assert call.expires_at is not None
    assert expire_overdue(now=call.expires_at - timedelta(seconds=1)) == 0
    assert expire_overdue(now=call.expires_at) == 1
    return Call.objects.get(pk=call.pk)


def test_a_call_waits_as_long_as_the_service_says(settings: Settings) -> None:
    configure(settings, blocked_expires_after_days=2)
    assert make_blocked(at=NOON).expires_at == NOON + timedelta(days=2)


def test_the_file_sets_it_for_a_tool(settings: Settings) -> None:
    configured(settings, "dep*", expires_after="30m")
    assert make_blocked(at=NOON).expires_at == NOON + HALF_AN_HOUR


def test_the_tool_itself_comes_before_the_file(settings: Settings) -> None:
    configured(settings, expires_after="30m", on_expiry="reject")
    registered(make_agent(), expires_after=timedelta(hours=1), on_expiry="expire")
    call = make_blocked(at=NOON)
    assert call.expires_at == NOON + timedelta(hours=1)
    assert ended(call).state == "expired"


def test_a_second_round_waits_as_long_as_the_first(settings: Settings) -> None:
    configured(settings, expires_after="30m")
    call = make_blocked(at=NOON)
    answer(call, make_user(), at=NOON, is_read=True)
    again = make_blocked_again(call)
    assert again.expires_at == NOON + timedelta(days=1) + HALF_AN_HOUR


def make_blocked_again(call: Call) -> Call:
    for _ in range(2):
        submit(call.agent, WRONG, call=call, at=NOON + timedelta(days=1))
    return Call.objects.get(pk=call.pk)


def test_what_expires_may_be_answered_late(settings: Settings) -> None:
    configured(settings, expires_after="30m", on_expiry="expire")
    call = ended(make_blocked(at=NOON))
    assert (call.state, call.expired_into, call.is_unanswered) == ("expired", "expire", True)
    give_guidance(call.escalations.get(), make_user(), Decision.HINT, now=NOON + timedelta(days=1), text="Sorry.")
    assert (Call.objects.get().state, Call.objects.get().expired_into) == ("guided", None)


@pytest.mark.parametrize("source", ["file", "tool"])
def test_a_policy_may_reject_what_nobody_answered(settings: Settings, source: str) -> None:
    if source == "file":
        configured(settings, on_expiry="reject")
    else:
        registered(make_agent(), on_expiry="reject")
    call = ended(make_blocked(at=NOON))
    assert (call.state, call.has_ended, call.expired_into, call.is_unanswered) == ("rejected", True, "reject", True)
    assert call.escalations.get().state == "expired"
    event = call.events.get(name="call.expired")
    assert (event.to_state, event.actor, event.data) == ("rejected", "sweep", {"on_expiry": "reject"})


def test_what_a_policy_rejected_is_over(settings: Settings) -> None:
    configured(settings, on_expiry="reject")
    call = ended(make_blocked(at=NOON))
    with pytest.raises(AlreadyAnsweredError) as refused:
        give_guidance(call.escalations.get(), make_user(), Decision.HINT, now=NOON, text="Too late.")
    assert refused.value.guidance is None
    assert Call.objects.get().state == "rejected"
    assert not Guidance.objects.exists()


def test_a_persons_rejection_is_none_of_a_policy() -> None:
    call = make_blocked(at=NOON)
    answer(call, make_user(), Decision.REJECT, at=NOON)
    stored = Call.objects.get()
    assert (stored.state, stored.expired_into, stored.is_unanswered) == ("rejected", None, False)


def test_a_call_of_an_unknown_tool_expires_too(settings: Settings) -> None:
    configured(settings, "deploi", expires_after="30m")
    agent = make_agent()
    make_tool(agent)
    call = make_call(agent, [WRONG] * 3, tool="deploi", at=NOON)
    assert call.expires_at == NOON + HALF_AN_HOUR
    assert ended(call).state == "expired"
