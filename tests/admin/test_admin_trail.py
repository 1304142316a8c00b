"""Whatever can be done in the admin or by a command is in the audit trail, by who did it."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin import site
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db.models import Model
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

import retrycontract.management.commands
from retrycontract.store.models import (
    Call,
    Door,
    Event,
    OutboxMessage,
    ToolVersion,
)
from retrycontract.usecases.people.log_in import LoginTry, begin_factor, begin_login
from tests.admin.conftest import post
from tests.factories import make_user

pytestmark = pytest.mark.django_db

# Each action of a page, with the rows that it is taken on and the event that it leaves.
ACTIONS: dict[tuple[str, str], tuple[type[Model], str]] = {
    ("call", "cancel"): (Call, "call.cancelled"),
    ("outboxmessage", "send_again"): (OutboxMessage, "message.sent_again"),
    ("user", "let_in_again"): (User, "operator.freed"),
    ("user", "log_out_everywhere"): (User, "operator.logged_out"),
    ("user", "take_second_factor_away"): (User, "operator.second_factor_off"),
}


@pytest.fixture
def busy(answered: Call) -> None:
    """Bring everything into a state in which each action has something to do."""
    now = timezone.now()
    ToolVersion.objects.update(quarantined_at=now)
    OutboxMessage.objects.update(delivered_at=now)
    mia = make_user("mia")  # nobody lifts what protects their own account
    begin_login(LoginTry("mia", "192.0.2.1"), now=now + timedelta(hours=1))
    begin_factor(mia, now=now)


def test_every_action_of_the_admin_is_told_here() -> None:
    found = {
        (model._meta.model_name, action) for model, page in site._registry.items() for action in page.actions or ()
    }
    assert found == set(ACTIONS)


@pytest.mark.parametrize(("model_name", "action"), ACTIONS)
def test_an_action_leaves_an_event_by_who_took_it(admin: Client, busy: None, model_name: str, action: str) -> None:
    model, name = ACTIONS[model_name, action]
    row = model._default_manager.order_by("-pk").first()
    assert row is not None
    path = f"{model._meta.app_label}/{model_name}/"
    post(admin, path, {"action": action, "_selected_action": [row.pk], "confirmed": "yes"})
    event = Event.objects.filter(name=name).latest("pk")
    assert (event.actor, event.door) == ("ada", Door.ADMIN)


def test_the_docs_call_what_is_done_to_accounts_as_the_page_does(admin: Client) -> None:
    page = admin.get("/admin/auth/user/").content.decode()
    docs = " ".join((Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8").split())
    actions = [action for model, action in ACTIONS if model == "user"]
    offered = [re.search(rf'<option value="{action}">([^<]+)<', page) for action in actions]
    assert [found[1] for found in offered if found and f"*{found[1]}*" not in docs] == []
    assert all(offered)


# Each command that changes something: its words and the event that it leaves.
COMMANDS: dict[str, tuple[tuple[str, ...], str]] = {
    "create_agent": (("new",), "key.issued"),
    "create_operator": (("new",), "operator.admitted"),
    "free_operator": (("mia",), "operator.freed"),
    "rebuild_metrics": ((), "metrics.rebuilt"),
    "rotate_keys": (("make",), "keys.made"),
}
ELSEWHERE = {
    "backup": "only reads",
    "doctor": "only reads",
    "export": "only reads",
    "import": "replaces everything: tests/management/test_transfer.py",
    "restore": "the same: tests/management/test_copies.py",
    "seed": "plants a history that is made up, trail and all",
    "up": "starts the service; what it makes, it makes by the use cases above",
}


def test_every_command_is_told_here() -> None:
    folder = Path(next(iter(retrycontract.management.commands.__path__)))
    assert {path.stem for path in folder.glob("*.py")} - {"__init__"} == set(COMMANDS) | set(ELSEWHERE)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_changes_something_leaves_an_event(
    busy: None, command: str, settings: Settings, tmp_path: Path, capsys: Any
) -> None:
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"data_dir": tmp_path})
    words, name = COMMANDS[command]
    call_command(command, *words)
    assert Event.objects.filter(name=name).latest("pk").door == Door.COMMAND
