"""Statements that are written once give what their querysets give."""

from __future__ import annotations

import random
from collections.abc import Callable
from copy import copy
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection, models, transaction
from django.utils import timezone

from retrycontract.contract.lifecycle import CallState
from retrycontract.store.fields import JSONText
from retrycontract.store.models import Agent, ApiKey, Attempt, Call, Event, Tool
from retrycontract.store.models.agents import AGENT_ALONE, KEY_BY_DIGEST
from retrycontract.store.models.answers import HINT_FOR, StandingHint
from retrycontract.store.models.attempts import (
    CALL_TO_DECIDE,
    CLAIMABLE,
    LEASED_BY,
    NEWEST,
    NEXT_WAITING,
    NUMBERED,
    TO_JUDGE,
    WAITING,
)
from retrycontract.store.models.calls import AS_COUNTED, AS_SEEN, CALL_OF_AGENT, CONTINUED
from retrycontract.store.models.tools import TOOL_BY_NAME
from retrycontract.store.statements import Statement, insert, rewrite
from tests.factories import WRONG, make_agent, make_tool, submit
from tests.usecases.conftest import configure

pytestmark = pytest.mark.django_db

READS = {
    "key": KEY_BY_DIGEST, "tool": TOOL_BY_NAME, "continued": CONTINUED, "to judge": TO_JUDGE, "lock": AGENT_ALONE,
    "call": CALL_TO_DECIDE, "next": NEXT_WAITING, "hint": HINT_FOR, "lease": LEASED_BY,
    "seen": AS_SEEN, "counted": AS_COUNTED, "of agent": CALL_OF_AGENT, "newest": NEWEST, "numbered": NUMBERED,
}  # fmt: skip

# What a field has to write itself, or might write otherwise than it is.
ODD: dict[type, list[Any]] = {
    models.CharField: [CallState.VALID, "é 100 %s 'x'", ""], models.TextField: ["\u2028 %", ""],
    models.BooleanField: [True, False, 1], models.FloatField: [0.1, 3],
    models.BinaryField: [b"\x00%s", memoryview(b"m")],
    JSONText: [{"a": ["é", 1e308]}, [], "text"], models.DateTimeField: [timezone.now()],
    models.PositiveIntegerField: [True, 2**31 - 1],
}  # fmt: skip


def everything(row: models.Model, depth: int = 3) -> dict[str, Any]:
    """Read every column of a row, and of the rows that were selected along with it."""
    own = {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}
    along = {
        name: related and everything(related, depth - 1)
        for name, related in row._state.fields_cache.items()
        if depth and isinstance(related, models.Model | None)
    }
    return own | {"class": type(row), "stored": not row._state.adding, "db": row._state.db, **along}


def make_hint(namespace: str) -> None:
    """Store a hint for a day."""
    owner, now = get_user_model().objects.create_user("owner"), timezone.now()
    StandingHint.objects.create(
        namespace=namespace, tool_name="deploy", fingerprint="f", text="Say it so.", owner=owner, created_at=now,
        expires_at=now + timedelta(days=1),
    )  # fmt: skip


@pytest.fixture
def asked(settings: Any) -> dict[str, list[dict[str, Any]]]:
    """Make rows, and say what each statement is asked: what is there, what is not, and what would be SQL."""
    configure(settings, judge="worker")
    agent = make_agent()
    make_tool(agent)
    _, text = ApiKey.create_for(agent, timezone.now(), expires_at=timezone.now() + timedelta(days=1))
    attempts = [
        submit(agent, WRONG, session_id=session, tool_call_id=name, tool=tool)
        for session, name, tool in (("s", "é1", "deploy"), (None, "é1", "deploy"), ("s", "b", "unknown"))
    ]
    make_hint(agent.namespace)
    leased = Attempt.claim(attempts[2].pk, token="t", now=timezone.now(), until=timezone.now() + timedelta(minutes=1))
    assert leased is not None
    odd = "o'hara \" % %s ? \\"
    return {
        "key": [{"digest": ApiKey.digest_of(text)}, {"digest": odd}],
        "tool": [{"namespace": agent.namespace, "name": "deploy"}, {"namespace": odd, "name": odd}],
        "continued": [
            {"agent_id": agent.pk, "tool_call_id": name, "session_id": "s", "tool_name": tool}
            for name, tool in (("é1", "deploy"), ("new", "unknown"), (odd, odd))
        ],
        "to judge": [{"pk": attempt.pk} for attempt in attempts] + [{"pk": 0}],
        "lock": [{"agent_id": agent.pk}, {"agent_id": 0}],
        "call": [{"pk": attempt.call_id} for attempt in attempts] + [{"pk": 0}],
        "next": [{"call_id": attempts[1].call_id, "but": but} for but in (0, attempts[1].pk)],
        "hint": [
            {"now": timezone.now() + later, "namespace": agent.namespace, "tool_name": "deploy", "fingerprint": of}
            for later, of in ((timedelta(), "f"), (timedelta(days=2), "f"), (timedelta(), odd))
        ],
        "seen": [{"pk": attempts[0].call_id, "state": state} for state in ("pending", "valid")],
        "counted": [{"pk": attempts[0].call_id, "state": "pending", "attempts_made": made} for made in (0, 1)],
        "of agent": [{"agent_id": agent.pk, "public_id": public_id} for public_id in (attempts[0].call.public_id, odd)],
        "newest": [{"call_id": attempts[0].call_id}, {"call_id": 0}],
        "numbered": [{"call_id": attempts[0].call_id, "number": number} for number in (1, 2)],
        "lease": [{"pk": leased.pk, "token": token} for token in ("t", odd)],
    }


@pytest.mark.parametrize("name", READS)
def test_a_statement_gives_what_its_queryset_gives(name: str, asked: dict[str, list[dict[str, Any]]]) -> None:
    statement: Statement[Any] = READS[name]
    found = 0
    for values in asked[name] * 2:  # the second time nothing is written anew
        rows = list(statement.queryset(**values))
        assert [everything(row) for row in statement.rows(**values)] == [everything(row) for row in rows]
        assert statement.exists(**values) == bool(rows)
        assert statement.count(**values) == len(rows)
        found += len(rows)
    assert found


def test_values_and_a_lease_are_what_their_querysets_find(asked: dict[str, list[dict[str, Any]]]) -> None:
    now, until = timezone.now(), timezone.now() + timedelta(minutes=1)
    keys = [values["pk"] for values in reversed(asked["to judge"][:3])]
    for moment in (now, now + timedelta(hours=1)) * 2:
        for waiting in WAITING.values():
            assert waiting.tuples(now=moment) == list(waiting.queryset(now=moment))
    leased = Attempt.lease(keys, most=5, token="t2", now=now, until=until)
    assert [attempt.pk for attempt in leased] == keys[1:], "one has another's lease"
    assert {attempt.call.agent.name for attempt in leased} == {"deployer"}
    stored = Attempt.objects.filter(lease_token="t2").values_list("state", "lease_until", "deliveries")
    assert list(stored) == [("leased", until, 0)] * 2
    assert Attempt.lease(keys, most=5, token="t3", now=until + timedelta(1), until=until) == [], "nobody's any more"


def test_a_row_that_was_read_by_a_statement_can_be_changed_and_saved(asked: Any) -> None:
    tool = Tool.named(Agent.objects.get().namespace, "deploy")
    assert tool is not None
    tool.description = "changed"
    tool.save()
    assert Tool.objects.get().description == "changed"


def test_an_update_changes_what_the_queryset_would(asked: dict[str, list[dict[str, Any]]]) -> None:
    now = timezone.now()
    first, second = (values["pk"] for values in asked["to judge"][:2])
    changes = {"state": "leased", "lease_token": "it's", "lease_until": now}
    changes["deliveries"] = models.F("deliveries") + 1
    assert CLAIMABLE[None].queryset(pk=first, now=now).update(**changes) == 1
    assert CLAIMABLE[True].update(changes, pk=second, now=now) == 0, "it is quick"
    assert CLAIMABLE[False].update(changes, pk=second, now=now) == 1
    assert CLAIMABLE[None].update(changes, pk=second, now=now - timedelta(seconds=1)) == 0
    left, right = (Attempt.objects.values(*changes).get(pk=pk) for pk in (first, second))
    assert left == right
    assert right["deliveries"] == 1


def test_changes_may_be_nothing_a_row_or_what_the_queryset_looks_for(asked: Any) -> None:
    by_state = Statement(lambda state: Call.objects.filter(state=state, session_id="s"), "state")
    call = Call.objects.filter(session_id="s", tool__isnull=False).get()
    call.tool_id = None
    Call.objects.filter(pk=call.pk).update(tool=None, correlation_id="c")
    tool = Tool.objects.get()
    changes = {"state": CallState.RETRYING, "tool": tool, "correlation_id": None, "context": {"a": ["é"]}}
    assert by_state.update(changes, state=CallState.PENDING) == 2
    stored = Call.objects.get(pk=call.pk)
    assert (stored.state, stored.tool, stored.correlation_id, stored.context) == tuple(changes.values())


def test_a_statement_is_written_for_the_database_that_is_asked() -> None:
    statement = Statement(lambda name: Agent.objects.filter(name=name), "name")
    statement.rows(name="a")
    assert [vendor for vendor, *_ in statement._written] == [connection.vendor]


def stored_by(way: Callable[[Any], None], row: Any) -> dict[str, Any]:
    """Store a row in one way, and give the columns that the database then holds, beside what the row says of itself."""
    row = copy(row)
    row._state = copy(row._state)
    with transaction.atomic():
        way(row)
        columns = type(row).objects.values().get(pk=row.pk)
        transaction.set_rollback(True)
    own = {
        "adding": row._state.adding,
        "db": row._state.db,
        "pk": type(row.pk),
        "at": type(columns.pop("stored_at", 0)),
    }
    return {name: value for name, value in columns.items() if name != "id"} | own


@pytest.mark.parametrize("model", [Call, Attempt, Event])
def test_a_row_is_stored_as_its_own_save_stores_it(model: Any, asked: Any) -> None:
    drawn = random.Random(model.__name__)
    for old in model.objects.all():
        fields = [field for field in model._meta.local_concrete_fields if not field.primary_key]
        for field in fields:
            values = [
                getattr(old, field.attname),
                *([None] if field.null and field.name not in ("sealed", "is_valid") else []),
                *ODD.get(type(field), []),
            ]
            if isinstance(field, models.CharField) and (field.max_length or 0) < 64:
                values = values[:1]  # states and the like, that the database checks
            setattr(old, field.attname, drawn.choice(values))
        if model is not Event:  # which is never changed
            assert stored_by(rewrite, old) == stored_by(lambda row: row.save(), old)
        new = model(**{field.attname: getattr(old, field.attname) for field in fields if field.name != "stored_at"})
        for name, value in {"public_id": "call_new", "number": 77}.items():
            if hasattr(new, name):
                setattr(new, name, value)
        for state in (False, True):  # the second time nothing is written anew
            assert stored_by(insert, new) == stored_by(lambda row: row.save(force_insert=True), new), state


def test_what_waits_in_one_call_is_not_sought_in_all_that_waits(asked: dict[str, list[dict[str, Any]]]) -> None:
    """PostgreSQL believes the queue to be as short as when it last looked, and would go through it for each call."""
    assert "'queued'" in str(Attempt.objects.waiting().query)
    call = Call.objects.get(pk=asked["next"][0]["call_id"])
    for found in (call.attempts.waiting_in_call(), NEXT_WAITING.queryset(call_id=call.pk, but=0)):
        assert "'queued'" not in str(found.query), "of which its index is"
    waiting = set(Attempt.objects.waiting().values_list("pk", flat=True))
    assert waiting == set(Attempt.objects.waiting_in_call().values_list("pk", flat=True)) != set()
