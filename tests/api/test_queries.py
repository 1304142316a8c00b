"""How many statements a submission costs: the front door is the place where each one counts."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from retrycontract.store.models import Tool
from tests.api.conftest import Door
from tests.factories import RIGHT, WRONG, make_tool

SAVEPOINTS = ("SAVEPOINT", "RELEASE")  # the test's own transaction makes savepoints of the others


@pytest.fixture(autouse=True)
def _ready(door: Door) -> None:
    make_tool(door.agent)
    door.submit(RIGHT)  # the key is noted as used, the tool is compiled


def statements(door: Door, arguments: object, **fields: object) -> list[str]:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert door.submit(arguments, **fields).status == 200
    # What quick checks take is charged in sums, which may be due in any request of the process.
    told = (query["sql"] for query in queries if not query["sql"].startswith(SAVEPOINTS))
    return [sql for sql in told if not (sql.startswith("UPDATE") and "work_until" in sql)]


def kinds(found: list[str]) -> list[str]:
    return [" ".join(sql.replace('"', "").split()[:1]) for sql in found]


def test_the_first_attempt_of_a_call_costs_eight_statements(door: Door) -> None:
    found = statements(door, WRONG, session_id="s", turn=1)
    # key, tool, candidates within the transaction, a standing hint for the mistake;
    # call, event, counts, attempt
    # and, where several may write at once, the lock that makes them begin one call
    locks = 1 if connection.features.has_select_for_update else 0
    assert kinds(found) == ["SELECT"] * (4 + locks) + ["INSERT"] * 4


def test_naming_the_current_version_costs_no_statement(door: Door) -> None:
    current = Tool.objects.get().current_version
    assert current is not None
    unnamed = statements(door, RIGHT, session_id="one", turn=1)
    named = statements(door, RIGHT, session_id="other", turn=1, version=current.schema_hash)
    assert kinds(named) == kinds(unnamed)


def test_the_second_attempt_costs_ten_statements(door: Door) -> None:
    call_id = door.submit(WRONG, session_id="s").body["call_id"]
    found = statements(door, WRONG, call_id=call_id)
    # key, tool, call, errors of the first attempt, a standing hint for the mistake; call, event, the hint that the
    # first attempt was told, counts, attempt
    assert kinds(found) == ["SELECT"] * 5 + ["UPDATE", "INSERT", "SELECT", "INSERT", "INSERT"]


def test_the_attempt_that_blocks_adds_history_round_escalation_endpoints_and_event(door: Door) -> None:
    call_id = door.submit(WRONG, session_id="s").body["call_id"]
    door.submit(WRONG, call_id=call_id)
    found = statements(door, WRONG, call_id=call_id)
    # the hint that the attempt before was told; history, round, the earlier output that the text shows; escalation;
    # endpoints that want to know; event
    expected = ["SELECT"] * 3 + ["UPDATE", "INSERT", "SELECT", "INSERT", "INSERT"] + ["SELECT"] * 3
    expected += ["INSERT", "SELECT", "INSERT"]
    assert kinds(found) == expected
