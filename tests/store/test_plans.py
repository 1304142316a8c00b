"""What is asked with every submit and every sweep is found by an index, however many rows there are."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from retrycontract.store.fields import IN_BLOCKS, SqlLiteral
from retrycontract.store.models import Attempt, Call, ChannelTurn, Event, OutboxMessage, WebhookEndpoint
from retrycontract.store.models.calls import CONTINUED
from retrycontract.store.models.escalations import free_calls, snoozed_calls
from retrycontract.store.models.events import within

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL reads tables as small as these whole"),
]
NOW = timezone.now()
ASKED: dict[str, tuple[QuerySet[Any], str]] = {
    "the call of a session": (
        CONTINUED.queryset(agent_id=1, tool_call_id="id", session_id="s", tool_name="t"), "call_open_by_session"
    ),
    "what waits for a worker": (Attempt.objects.claimable(NOW)[:200], "attempt_waiting"),
    "what was left behind": (Attempt.objects.left_behind(NOW, NOW)[:200], "attempt_waiting"),
    "who was told a hint last": (Attempt.objects.filter(standing_hint=1).order_by("-pk")[:1], "attempt_told"),
    "whether anything waits": (Attempt.objects.waiting().order_by("pk")[:1], "attempt_waiting"),
    "the operators' queue": (Call.objects.blocked()[:50], "call_queue"),
    "what was put off": (snoozed_calls(NOW), "snooze_until"),
    "what nobody took on": (free_calls(NOW), "claim_until"),
    "what nobody answered": (Call.objects.overdue(NOW)[:200], "call_queue"),
    "what retention forgets": (Call.objects.ended_before(NOW).order_by()[:100], "call_ended"),
    "the newest calls of a state": (Call.objects.in_states("rejected").order_by("-pk")[:50], "call_by_state"),
    "the newest calls of some states": (Call.objects.in_states("guided", "pending").order_by(), "call_by_state"),
    "the newest calls of a tool": (Call.objects.filter(tool_name="t").order_by(*IN_BLOCKS)[:50], "call_by_tool_name"),
    "the calls of a session": (Call.objects.filter(session_id="s").order_by("-pk")[:50], "call_by_session"),
    "where the calls of a time begin": (within(Call.objects.all(), "created_at", since=NOW, until=NOW), "call_by_time"),
    "where the events of a time begin": (within(Event.objects.all(), "at", since=NOW, until=NOW), "event_by_time"),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_it_is_found_by_its_index(name: str) -> None:
    asked, index = ASKED[name]
    plan = asked.explain()
    assert f"INDEX {index}" in plan, plan


@pytest.mark.parametrize(
    "ask",
    [
        lambda: OutboxMessage.objects.next_endpoint(NOW, NOW),
        lambda: list(ChannelTurn.objects.taken(NOW, NOW)),
        lambda: OutboxMessage.objects.next_of(WebhookEndpoint(pk=1), NOW),
    ],
    ids=["the next endpoint", "whose turn is taken", "the next message"],
)
def test_messages_are_found_by_endpoint_and_time(ask: Callable[[], object]) -> None:
    """A receiver that is down has a hundred thousand of them: to read all, each second, took more than a core."""
    with CaptureQueriesContext(connection) as asked:
        ask()
    with connection.cursor() as cursor:
        for query in asked:
            cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
            steps = [step for *_, step in cursor.fetchall() if "outbox" in step]
            assert steps
            found = [re.search(r"\(endpoint_id=\? AND .*(due_at|last_tried_at)[<>=]", step) for step in steps]
            assert all(found), steps


@pytest.mark.parametrize("text", ["it's", "100 %s", 'a "b"', "%%"])
def test_a_constant_is_written_as_it_is(text: str) -> None:
    """Neither a quote nor a percent sign ends it or asks for a parameter."""
    assert Call.objects.filter(state=SqlLiteral(text), session_id=text).count() == 0
    assert f"""'{text.replace("'", "''")}'""" in str(Call.objects.filter(state=SqlLiteral(text)).query)
