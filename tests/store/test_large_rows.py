"""Outputs of megabytes that wait: who chooses among them, or asks for a verdict, reads none of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from retrycontract.store.models import Attempt, Call
from retrycontract.store.models.attempts import NEWEST, WAITING
from tests.factories import make_agent, make_tool, submit
from tests.file_database import file_database as file_database
from tests.usecases.conftest import judge_all

COUNTS = Path("/proc/self/io")
WAITING_ONES, SIZE = 12, 1_500_000


@contextmanager
def bytes_read(most: int) -> Iterator[None]:
    """Fail when the block reads more than so many bytes, for whoever opens the database anew."""
    connection.close()
    connection.ensure_connection()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA mmap_size = 0")
    before = int(COUNTS.read_text(encoding="ascii").split()[1])
    yield
    assert int(COUNTS.read_text(encoding="ascii").split()[1]) - before < most


@pytest.mark.skipif(not COUNTS.exists(), reason="the system does not count what a process reads")
def test_outputs_that_wait_are_not_read_by_who_chooses_among_them_or_asks_for_a_verdict(file_database: Path) -> None:
    agent = make_agent()
    make_tool(agent, schema={"type": "object", "properties": {"a": {"type": "string"}}})
    attempts = [submit(agent, "{ " * (SIZE // 2)) for _ in range(WAITING_ONES)]
    assert all(attempt.is_waiting for attempt in attempts)
    with bytes_read(SIZE):
        assert len(WAITING[None].tuples(now=timezone.now())) == WAITING_ONES
    with bytes_read(SIZE):
        assert all(NEWEST.first(call_id=attempt.call_id) for attempt in attempts)
    with bytes_read(SIZE):
        assert len(Call.objects.of(agent).page(after=None, size=50)) == WAITING_ONES
    with pytest.raises(AssertionError), bytes_read(SIZE):
        Attempt.objects.get(pk=attempts[0].pk)  # the control
    assert judge_all() == WAITING_ONES
    with bytes_read(SIZE):
        assert all(NEWEST.first(call_id=attempt.call_id) for attempt in attempts)
