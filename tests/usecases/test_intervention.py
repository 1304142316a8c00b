"""When an agent's response is wrong once too often, webhook and events name the reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.utils import timezone

from retrycontract.contract.webhooks import WebhookEvent
from retrycontract.store.models import Door, Event, OutboxMessage
from retrycontract.store.transactions import Position
from retrycontract.usecases.notify.follow_events import follow_events
from retrycontract.usecases.notify.tend_endpoint import add_endpoint
from tests.factories import RIGHT, WRONG, make_agent, make_call, make_tool

pytestmark = pytest.mark.django_db

REASON = {"event": "HUMAN_INTERVENTION_REQUIRED", "reason": "FORMATTING_CORRECTION_EXHAUSTED"}


@pytest.fixture(autouse=True)
def _endpoint() -> None:
    add_endpoint(
        "https://hooks.example/x", list(WebhookEvent), now=timezone.now(), actor="ada", door=Door.COMMAND
    )  # fmt: skip


def told() -> tuple[Any, Any]:
    """Give what the webhook and the audit trail say of the newest Blocked call."""
    message = OutboxMessage.objects.filter(subject="call.blocked").latest("pk")
    return json.loads(message.text)["data"], Event.objects.filter(name="escalation.opened").latest("pk").data


@pytest.mark.parametrize(("kind", "is_named"), [("agent_response", True), ("extraction", False), ("tool_call", False)])
def test_the_reason_is_named_for_responses(kind: str, is_named: bool) -> None:
    agent = make_agent()
    make_tool(agent, kind=kind)
    call = make_call(agent, [WRONG] * 3, kind=kind, task_id="t", turn=1)
    assert (call.state, call.escalations.count()) == ("blocked", 1)
    for data in told():
        assert (data.items() >= REASON.items()) is is_named


def test_a_response_that_is_only_held_names_no_reason() -> None:
    agent = make_agent()
    make_tool(agent, hold=True, kind="agent_response")
    call = make_call(agent, [WRONG, WRONG, RIGHT], kind="agent_response", task_id="t", turn=1)
    for data in told() if call.escalations.exists() else ():
        assert "reason" not in data


def test_the_event_stream_names_it() -> None:
    agent = make_agent()
    make_tool(agent, kind="agent_response")
    make_call(agent, [WRONG] * 3, kind="agent_response", task_id="t", turn=1)
    page = follow_events(agent, Position(0))
    bodies = [json.loads(event.body)["data"] for event in page.events if event.type == "call.blocked"]
    assert [body.items() >= REASON.items() for body in bodies] == [True]
