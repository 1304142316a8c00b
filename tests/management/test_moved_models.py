"""Which models move between databases, and why the others stay: every model of ours has its row here."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.utils import timezone

from retrycontract.config.database_url import read_database_url
from retrycontract.management.transfer.rows import MADE_BY_MIGRATIONS, STAYING, label, moved_models
from retrycontract.store.models import (
    Attempt,
    Channel,
    ChannelTurn,
    Claim,
    Escalation,
    FailedLogins,
    IdempotencyKey,
    Summary,
    WorkerBeat,
)
from retrycontract.store.models.attempts import REMEMBERED_FOR
from tests.api.conftest import open_door
from tests.factories import WRONG, make_agent, make_blocked, make_tool, make_user
from tests.file_database import file_database as file_database
from tests.file_database import using
from tests.management.conftest import fill, printed
from tests.serving.servers import PostgreSQL

MOVES = "moves"
# What becomes of the rows of each model.
FATES = {
    "auth.group": MOVES,
    "auth.user": MOVES,
    "auth.permission": "every migration makes them anew; they are referred to by name",
    "retrycontract.agent": MOVES,
    "retrycontract.answerrecord": MOVES,
    "retrycontract.apikey": MOVES,
    "retrycontract.attempt": MOVES,
    "retrycontract.call": MOVES,
    "retrycontract.channelturn": "whose turn it is among the senders here",
    "retrycontract.claim": "who looks after what for the next minutes",
    "retrycontract.escalation": MOVES,
    "retrycontract.event": MOVES,
    "retrycontract.failedlogins": "who has to wait before the next login here, for a day at most",
    "retrycontract.guidance": MOVES,
    "retrycontract.guidanceversion": MOVES,
    "retrycontract.heldanswer": MOVES,
    "retrycontract.idempotencykey": MOVES,  # those of the last day
    "retrycontract.loggedresponse": "a view of the attempts",
    "retrycontract.notice": MOVES,
    "retrycontract.outboxmessage": MOVES,
    "retrycontract.preferences": MOVES,
    "retrycontract.provideridentity": MOVES,
    "retrycontract.rollup": MOVES,
    "retrycontract.savedreply": MOVES,
    "retrycontract.secondfactor": MOVES,
    "retrycontract.snooze": MOVES,
    "retrycontract.standinghint": MOVES,
    "retrycontract.summary": "sums of counts that are moved",
    "retrycontract.tool": MOVES,
    "retrycontract.toolversion": MOVES,
    "retrycontract.webhookdelivery": MOVES,
    "retrycontract.webhookendpoint": MOVES,
    "retrycontract.workerbeat": "signs of life of the workers here",
}  # fmt: skip


def every_model() -> list[Any]:
    return [model for app in ("auth", "retrycontract") for model in apps.get_app_config(app).get_models()]


def test_every_model_moves_or_says_why_not() -> None:
    assert sorted(map(label, every_model())) == sorted(FATES)
    assert sorted(map(label, moved_models())) == sorted(name for name, fate in FATES.items() if fate == MOVES)
    left_out = {label(model) for model in MADE_BY_MIGRATIONS}
    left_out |= {label(model) for model in every_model() if model._meta.proxy}
    assert {name: fate for name, fate in FATES.items() if fate != MOVES and name not in left_out} == STAYING


def rows() -> dict[str, int]:
    return {label(model): model._base_manager.count() for model in every_model() if not model._meta.proxy}


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=[pytest.mark.services, pytest.mark.soak])])
def elsewhere(request: pytest.FixtureRequest, tmp_path: Path, file_database: Path) -> Path | dict[str, Any]:
    """Another database, empty and migrated."""
    if request.param == "sqlite":
        return Path(shutil.copy(file_database, tmp_path / "elsewhere.sqlite3"))
    server: PostgreSQL = request.getfixturevalue("postgresql")
    address: dict[str, Any] = read_database_url(server.new_database())
    with using(address):
        call_command("migrate", verbosity=0)
    return address


def test_the_rows_of_what_moves_arrive_and_no_others(elsewhere: Path | dict[str, Any], tmp_path: Path) -> None:
    fill()
    now, mia = timezone.now(), make_user("noah")
    ChannelTurn.objects.get_or_create(channel=Channel.EMAIL, defaults={"free_at": now})
    Claim.objects.create(escalation=Escalation.objects.latest("pk"), operator=mia, claimed_at=now, until=now)
    FailedLogins.objects.create(key_hash="k", failures=1, last_at=now)
    Summary.objects.create(span="hour", at=now, is_whole=True, judged=1, valid=1, first_judged=1, first_valid=1)
    WorkerBeat.objects.beat("machine:7", now)
    before = rows()
    assert all(before.values()), "the scene lacks a model"
    printed("export", str(tmp_path / "all.jsonl"))
    with using(elsewhere):
        printed("import", str(tmp_path / "all.jsonl"))
        arrived = rows()
    arrived["retrycontract.event"] -= 1  # which says that data was imported
    for name, fate in FATES.items():
        if name in before and name != "auth.permission":
            assert arrived[name] == (before[name] if fate == MOVES else 0), name


def test_a_request_that_is_repeated_after_the_move_is_answered_as_before_and_counts_once(
    elsewhere: Path | dict[str, Any], tmp_path: Path
) -> None:
    door = open_door(make_agent())
    make_tool(door.agent)
    waiting = make_blocked(door.agent)
    asked: list[tuple[str, Any]] = [
        ("/calls", {"tool": "deploy", "tool_call_id": "id_1", "session_id": "s", "arguments": WRONG}),
        (f"/calls/{waiting.public_id}/cancel", None),
        ("/tools/import", [{"name": "listed", "input_schema": {"type": "object"}}]),
    ]

    def answers() -> list[tuple[int, str]]:
        sent = [door.post(path, body, **{"Idempotency-Key": f"idem-{path}"}) for path, body in asked]
        return [(reply.status, reply.text) for reply in sent]

    first, made = answers(), Attempt.objects.count()
    assert answers() == first
    printed("export", str(tmp_path / "all.jsonl"))
    with using(elsewhere):
        printed("import", str(tmp_path / "all.jsonl"))
        assert answers() == first
        assert Attempt.objects.count() == made


def test_requests_that_nobody_remembers_any_more_stay_where_they_are(
    elsewhere: Path | dict[str, Any], tmp_path: Path
) -> None:
    agent, now = make_agent(), timezone.now()
    make_tool(agent)
    ages = {"yesterday": REMEMBERED_FOR + timedelta(minutes=1), "today": REMEMBERED_FOR - timedelta(minutes=5)}
    for name, age in ages.items():
        IdempotencyKey.objects.create(agent=agent, key_hash=name, request_hash=name, created_at=now - age, answer={})
    printed("export", str(tmp_path / "all.jsonl"))
    with using(elsewhere):
        printed("import", str(tmp_path / "all.jsonl"))
        assert [kept.key_hash for kept in IdempotencyKey.objects.all()] == ["today"]
