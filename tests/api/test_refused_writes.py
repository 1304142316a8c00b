"""A database that takes no writes: who writes is told why and when to come again."""

from __future__ import annotations

import pytest
from django.db import connection

from tests.api.conftest import Door
from tests.factories import RIGHT, make_tool

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite makes itself full, read-only and locked"),
]
# What keeps a connection from writing, and what the agent reads.
WRONGS = {
    "PRAGMA max_page_count = 1": "since its disk is full: make room; send the request again.",
    "PRAGMA query_only = ON": "since it may only be read",
}


@pytest.mark.parametrize(("wrong", "told"), WRONGS.items())
def test_a_submit_is_told_why_nothing_is_written(door: Door, wrong: str, told: str) -> None:
    make_tool(door.agent)
    with connection.cursor() as cursor:
        cursor.execute(wrong)  # of no page that is there: those stay
    try:
        replies = [door.submit(RIGHT | {"note": "x" * 60_000}) for _ in range(3)]
    finally:
        connection.close()  # what was said to it goes with it
    assert (replies[-1].status, replies[-1].headers["Retry-After"]) == (503, "1")
    assert replies[-1].code == "database-unavailable"
    assert told in replies[-1].body["detail"]
    assert door.submit(RIGHT).status == 200
