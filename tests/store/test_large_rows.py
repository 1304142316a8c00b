"""Outputs and corrections of megabytes: who chooses among them, asks for a verdict or lists them reads none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin import site
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dashboard.call.call_history import read_version
from dashboard.navigation import Role
from retrycontract.contract.decisions import Decision
from retrycontract.store.models import Attempt, Call, HeldAnswer, IdempotencyKey
from retrycontract.store.models.attempts import NEWEST, WAITING
from retrycontract.usecases.answers.reuse_answers import set_hint_from
from tests.factories import answer, make_agent, make_tool, make_user, submit
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


DESK = ("/", "/?show=answered", "/?show=all", "/calls/", "/calls/?state=blocked", "/hints/", "/insights/", "/audit/")


@pytest.mark.skipif(not COUNTS.exists(), reason="the system does not count what a process reads")
def test_no_list_of_the_desk_or_the_admin_reads_what_is_long(file_database: Path, client: Client) -> None:
    agent, ada, now = make_agent(), make_user("ada", Role.ADMIN), timezone.now()
    make_tool(agent, schema={"properties": {"a": {"type": "string"}, "n": {"type": "integer"}}})
    right, wrong = {"a": "x" * SIZE, "n": 1}, {"a": "x" * SIZE, "n": "one"}

    def block(output: Any = wrong) -> Call:
        call = submit(agent, output).call
        for _ in range(2):
            judge_all()
            submit(agent, output, call=call)
        judge_all()
        return Call.objects.get(pk=call.pk)

    first, second, third, fourth = (block() for _ in range(4))
    fifth, _ = (block({"a": {"b": "x" * SIZE, "c": 1}, "n": 1}) for _ in range(2))  # for which no fix is known
    for call in (first, second):
        answer(call, ada, Decision.CORRECTED, arguments=right)
    submit(agent, wrong, call=first)
    set_hint_from(answer(third, ada), ada, now=now)
    HeldAnswer.objects.create(
        escalation=fourth.escalations.get(), call=fourth, operator=ada, batch="b", decision="corrected",
        arguments=right, grant=1, rendered="So.", held_at=now, send_at=now + timedelta(hours=1),
    )  # fmt: skip
    for attempt in Attempt.objects.defer("output"):
        key = f"key-{attempt.pk}"
        IdempotencyKey.objects.create(agent=agent, key_hash=key, request_hash=key, attempt=attempt, created_at=now)
    client.force_login(ada)
    group = f"/calls/{fifth.public_id}/group/"
    models = [f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist" for model in site._registry]
    for address in (*DESK, group, *map(reverse, models)):
        assert client.get(address).status_code == 200  # templates are read once
        with bytes_read(SIZE):
            client.get(address)
    with bytes_read(SIZE):
        read_version(second)  # as the page of a call asks every few seconds
