"""A database with something of everything in it, and how to run a command."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any

from django.contrib.auth.models import Group, Permission
from django.core.management import call_command
from django.utils import timezone

from dashboard.navigation import Role
from retrycontract.contract.decisions import Decision
from retrycontract.contract.webhooks import WebhookEvent
from retrycontract.management.transfer.rows import moved_models
from retrycontract.store.models import (
    ApiKey,
    Channel,
    Door,
    Escalation,
    Event,
    Guidance,
    HeldAnswer,
    Notice,
    OutboxMessage,
    ProviderIdentity,
    Tool,
    WebhookDelivery,
)
from retrycontract.usecases.answers.reuse_answers import save_reply, set_hint_from
from retrycontract.usecases.calls.claim_call import snooze_call
from retrycontract.usecases.calls.repeat_request import RequestKey
from retrycontract.usecases.notify.tend_endpoint import add_endpoint
from retrycontract.usecases.people.admit import keep_preferences
from retrycontract.usecases.people.log_in import begin_factor
from tests.factories import RIGHT, WRONG, answer, make_agent, make_blocked, make_call, make_tool, make_user, submit

MOVES = ("data.imported", "data.restored", "data.backed_up")


def printed(*arguments: str, **options: Any) -> str:
    """Run a command and give what it prints."""
    output = StringIO()
    call_command(*arguments, stdout=output, **options)
    return output.getvalue()


def fill() -> None:
    """Put rows of every kind into the database, odd values among them."""
    mia = make_user("mia")
    make_user("ada", Role.ADMIN).user_permissions.add(Permission.objects.get(codename="view_call"))
    Group.objects.get(name="admin").permissions.set(Permission.objects.filter(codename__startswith="view_")[:3])
    begin_factor(mia, now=timezone.now())
    keep_preferences(mia, time_zone="Europe/Zurich", has_shortcuts=False)
    ProviderIdentity.objects.create(
        operator=mia, issuer="https://id.example", subject="mía|1", linked_at=timezone.now()
    )
    agent = make_agent()
    ApiKey.create_for(agent, timezone.now())
    make_tool(agent, "deploy")
    make_tool(agent, "größe \U0001f680", {"type": "object", "properties": {"z": {}, "a": {"const": 1e308}}}, hold=True)
    make_call(agent, [WRONG, RIGHT], tool="größe \U0001f680", context={"goal": "\u202e\x7f 'quoted' \"twice\" \\"})
    endpoint, _ = add_endpoint(
        "https://x.example/y", list(WebhookEvent), agent, now=timezone.now(), actor="ada", door=Door.COMMAND
    )
    make_blocked(agent, {"service": "a\nb", "region": 12345678901234567890, "list": [None, True, 1.5, {}]})
    submit(agent, '{"never": parsed \ud800', key=RequestKey.of("mía-1", "POST"))
    for decision in Decision:
        arguments = RIGHT if decision is Decision.CORRECTED else None
        answer(make_blocked(agent), mia, decision, arguments=arguments)
    now = timezone.now()
    message = OutboxMessage.objects.create(channel=Channel.EMAIL, subject="s", text="t\u202e", created_at=now)
    escalation = Escalation.objects.earliest("pk")
    Notice.objects.create(escalation=escalation, channel=Channel.EMAIL, message=message, created_at=now)
    HeldAnswer.objects.create(
        escalation=escalation, call=escalation.call, operator=mia, batch="b", decision=Decision.CORRECTED,
        arguments={"a": [1.5, None]}, grant=1, stands_days=7, rendered="\u202e", held_at=now,
        send_at=now + timedelta(days=30),
    )  # fmt: skip
    snooze_call(escalation.call, mia, until=now + timedelta(hours=1), now=now, reason="\u202e")
    set_hint_from(Guidance.objects.earliest("pk"), mia, now=now)
    save_reply(mia, "Region \U0001f680", "Use eu-west-1.", now=now, position=1)
    sent = endpoint.messages.earliest("pk")
    WebhookDelivery.objects.create(message=sent, tried_at=now, reason="\u202e", duration_ms=1)
    Tool.objects.update(expires_after=timedelta(days=2, microseconds=1), on_expiry="reject")


def everything() -> dict[str, list[dict[str, Any]]]:
    """Read every value of every row that is moved, but for what a move says of itself; links as sorted names."""
    found = {}
    for model in moved_models():
        rows = []
        for row in model._base_manager.order_by("pk"):
            if isinstance(row, Event) and row.name in MOVES:
                continue
            values = {field.attname: getattr(row, field.attname) for field in model._meta.concrete_fields}
            links = {
                link.name: sorted(map(str, getattr(row, link.name).all())) for link in model._meta.local_many_to_many
            }
            rows.append({name: bytes(v) if isinstance(v, memoryview) else v for name, v in (values | links).items()})
        found[model._meta.label_lower] = rows
    return found
