"""Indexes cost room and time with every call: few hold them all, and none grows against the order of new rows."""

from __future__ import annotations

import random
import sqlite3
from datetime import UTC, datetime, timedelta

import pytest
from django.apps import apps
from django.db import OperationalError, connection

from retrycontract.store.fields import IN_BLOCKS, new_call_id
from retrycontract.store.models import Call
from retrycontract.store.models.events import SLACK, within
from tests.factories import make_blocked
from tests.management.conftest import printed

pytestmark = pytest.mark.django_db
# Those without which a page or a submit would read all calls; every other one holds the few that it is for.
OF_EVERY_CALL = {"call_unique_public_id", "call_by_agent", "call_by_tool_name"}


def test_few_indexes_hold_every_call() -> None:
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, Call._meta.db_table)
    made = {name for name, one in found.items() if (one["index"] or one["unique"]) and not one["primary_key"]}
    partial = {index.name for index in Call._meta.indexes if index.condition is not None}
    assert made - partial == OF_EVERY_CALL


def test_no_index_goes_downwards() -> None:
    """New keys would come before the others of their group: a page that is full is split, and both halves stay so."""
    models = apps.get_app_config("retrycontract").get_models()
    indexes = [index for model in models for index in model._meta.indexes]
    assert not [index.name for index in indexes if any(order for _, order in index.fields_orders)]


@pytest.mark.soak
@pytest.mark.skipif(connection.vendor != "sqlite", reason="pages of PostgreSQL's many small indexes outweigh few rows")
def test_the_indexes_of_calls_take_no_more_room_than_the_calls() -> None:
    printed("seed", "--calls", "3000")
    of_calls = "SELECT name FROM sqlite_master WHERE tbl_name = %s"
    statement = f"SELECT name, SUM(pgsize) FROM dbstat WHERE name IN ({of_calls}) GROUP BY name"
    with connection.cursor() as cursor:
        try:
            cursor.execute(statement, [Call._meta.db_table])
        except OperationalError:
            pytest.skip(f"SQLite {sqlite3.sqlite_version} was built without dbstat")
        sizes = dict(cursor.fetchall())
    rows = sizes.pop(Call._meta.db_table)
    assert sum(sizes.values()) <= rows, sizes


@pytest.fixture
def minutes() -> list[datetime]:
    """Some calls a minute apart, on both sides of several milestones, in keys of an order that is off by the slack."""
    chance, begin = random.Random(1), datetime(2030, 1, 1, tzinfo=UTC)
    times = [begin + timedelta(minutes=number) + SLACK * chance.random() for number in range(900)]
    fields = {field.attname: getattr(made, field.attname) for made in [make_blocked()] for field in made._meta.fields}
    Call.objects.bulk_create(
        Call(**fields | {"id": None, "public_id": new_call_id(), "created_at": at, "tool_name": "of a time"})
        for at in times
    )
    return times


def test_milestones_leave_out_no_call_of_a_time(minutes: list[datetime]) -> None:
    chance, calls = random.Random(2), Call.objects.filter(tool_name="of a time")
    drawn = [sorted(chance.choices(minutes, k=2)) for _ in range(30)]
    for first, last in [*drawn, [minutes[0] - SLACK * 9, minutes[-1] + SLACK * 9]]:
        for since, until in ((first, last), (first, None), (None, last)):
            plain = calls
            plain = plain.filter(created_at__gte=since) if since else plain
            plain = plain.filter(created_at__lt=until) if until else plain
            found = within(calls, "created_at", since=since, until=until).order_by("-pk")
            assert [call.pk for call in found] == [call.pk for call in plain.order_by("-pk")]


def test_the_calls_of_a_tool_come_by_blocks_as_they_come_by_keys(minutes: list[datetime]) -> None:
    calls = Call.objects.filter(tool_name="of a time")
    keys = [call.pk for call in calls.order_by("-pk")]
    assert [call.pk for call in calls.order_by(*IN_BLOCKS)] == keys
    for key in (keys[0], keys[300], keys[-1], keys[-1] - 1, 10**17):
        assert [call.pk for call in calls.up_to(key).order_by(*IN_BLOCKS)] == [one for one in keys if one <= key]


@pytest.mark.parametrize("kept", [0, 1, 3])
def test_keys_are_found_among_many(minutes: list[datetime], kept: int) -> None:
    keys = frozenset([call.pk for call in Call.objects.all()][:kept])
    assert {call.pk for call in Call.objects.filter(pk__among=keys)} == keys
    assert Call.objects.exclude(pk__among=keys).count() == Call.objects.count() - kept
