"""Browsers of those who look after the service, and a database with something of everything in it."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dashboard.navigation import Role
from retrycontract.contract.webhooks import WebhookEvent
from retrycontract.store.models import (
    ApiKey,
    Call,
    Channel,
    ChannelTurn,
    Claim,
    Door,
    Escalation,
    HeldAnswer,
    IdempotencyKey,
    Notice,
    OutboxMessage,
    Preferences,
    ProviderIdentity,
    Rollup,
    SavedReply,
    Snooze,
    Summary,
    SummarySpan,
    WebhookDelivery,
    WorkerBeat,
)
from retrycontract.usecases.answers.reuse_answers import set_hint_from
from retrycontract.usecases.notify.tend_endpoint import add_endpoint
from retrycontract.usecases.people.log_in import LoginTry, begin_factor, begin_login
from tests.factories import answer, make_agent, make_blocked, make_tool, make_user, submit


@pytest.fixture(scope="session", autouse=True)
def static_folder() -> None:
    """The folder of collected files, empty: WhiteNoise warns when there is none."""
    Path(django_settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)


@pytest.fixture
def ada(db: None) -> User:
    """Somebody of the role admin: staff, and no superuser."""
    return make_user("ada", Role.ADMIN)


@pytest.fixture
def admin(ada: User) -> Client:
    """The browser of ada."""
    client = Client()
    client.force_login(ada)
    return client


@pytest.fixture
def answered(ada: User) -> Call:
    """A call with attempts, an escalation, guidance and events; its agent has a key."""
    return make_everything(ada)


def make_everything(ada: User) -> Call:
    """Make a row of every model, around a call that ada has answered."""
    agent = make_agent()
    ApiKey.create_for(agent, agent.created_at)
    make_tool(agent, "reply", kind="agent_response")
    submit(agent, "Sure!", tool="reply", kind="agent_response", task_id="t", turn=1)
    call = make_blocked(agent, context={"goal": "Deploy"})
    answer(call, ada)
    now = agent.created_at
    message = OutboxMessage.objects.create(channel=Channel.EMAIL, subject="s", text="t", created_at=now)
    escalation = call.escalations.get()
    Notice.objects.create(escalation=escalation, channel=Channel.EMAIL, message=message, created_at=now)
    ChannelTurn.objects.create(channel=Channel.EMAIL, free_at=now)
    make_delivery(now)
    WorkerBeat.objects.beat("worker-1", now)
    make_desk_work(ada, escalation, now)
    begin_login(LoginTry("ada", "192.0.2.1"), now=timezone.now())
    begin_factor(ada, now=now)
    ProviderIdentity.objects.create(operator=ada, issuer="https://id.example", subject="a-1", linked_at=now)
    Preferences.objects.create(operator=ada, time_zone="Europe/Zurich")
    Summary.objects.write(SummarySpan.DAY, SummarySpan.DAY.beginning(now), Rollup.objects.all().tally())
    IdempotencyKey.objects.create(agent=agent, key_hash="k", request_hash="r", answer={"a": 1}, created_at=now)
    return call


def make_desk_work(operator: User, escalation: Escalation, now: datetime) -> None:
    """Make what an operator leaves behind at the desk besides answers."""
    until = now + timedelta(hours=1)
    Snooze.objects.create(escalation=escalation, operator=operator, snoozed_at=now, until=until, reason="Later.")
    Claim.objects.create(escalation=escalation, operator=operator, claimed_at=now, until=until)
    HeldAnswer.objects.create(
        escalation=escalation, call=escalation.call, operator=operator, batch="b", decision="hint", text="Later.",
        grant=1, rendered="Later.", held_at=now, send_at=until,
    )  # fmt: skip
    set_hint_from(escalation.guidance.get(), operator, now=now)
    SavedReply.objects.create(operator=operator, title="Region", text="Use eu-west-1.", position=1, updated_at=now)


def make_delivery(now: datetime) -> WebhookDelivery:
    """Make an endpoint, a message to it, and a try that failed."""
    endpoint, _ = add_endpoint("https://hooks.example/x", list(WebhookEvent), now=now, actor="ada", door=Door.COMMAND)
    message = OutboxMessage.objects.create(
        channel=Channel.ENDPOINT, endpoint=endpoint, subject="call.blocked", text="{}", created_at=now, due_at=now
    )
    return WebhookDelivery.objects.create(message=message, tried_at=now, status=500, reason="no", duration_ms=7)


def post(client: Client, path: str, data: dict[str, Any]) -> Any:
    """Send a form of the admin."""
    return client.post(f"/admin/{path}", data)
