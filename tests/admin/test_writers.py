"""The admin writes beside everybody else: nobody waits for a lock that the other holds."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from dashboard.navigation import Role
from retrycontract.store.models import Event, Tool
from tests.admin.conftest import post
from tests.factories import RIGHT, make_agent, make_tool, make_user, submit
from tests.file_database import all_at_once
from tests.file_database import file_database as file_database

if TYPE_CHECKING:
    from pytest_django.fixtures import SettingsWrapper

PATIENCE = 15  # seconds; SQLite gives up on a lock after 20


def test_forms_of_the_admin_and_submissions_take_turns(file_database: Path) -> None:
    ada, agent = make_user("ada", Role.ADMIN), make_agent()
    tool = make_tool(agent)
    inline = {"versions-TOTAL_FORMS": 0, "versions-INITIAL_FORMS": 0, "expires_after": "", "on_expiry": ""}

    done = threading.Event()

    def change_settings() -> None:
        client = Client()
        client.force_login(ada)
        try:
            for number in range(1, 11):
                form = {"strict": "on", "mode": "", "max_attempts": number} | inline
                assert post(client, f"retrycontract/tool/{tool.pk}/change/", form).status_code == 302
        finally:
            done.set()

    def keep_submitting() -> None:
        while not done.is_set():
            assert submit(agent, RIGHT).call.state == "valid"

    started = time.monotonic()
    all_at_once(lambda work: work(), [change_settings, keep_submitting, keep_submitting])
    assert time.monotonic() - started < PATIENCE
    assert Event.objects.filter(name="tool.changed").count() == 10
    assert Tool.objects.get().max_attempts == 10


class WatchedHasher(MD5PasswordHasher):
    """Note whether a hash is made while nobody else may write."""

    algorithm, is_in_turn = "watched", list[bool]()

    def encode(self, *given: Any) -> str:
        self.is_in_turn.append(connection.in_atomic_block)
        return super().encode(*given)


def test_a_password_is_hashed_before_the_turn_to_write(file_database: Path, settings: SettingsWrapper) -> None:
    ada, client = make_user("ada", Role.ADMIN), Client()
    client.force_login(ada)
    settings.PASSWORD_HASHERS = [f"{__name__}.{WatchedHasher.__name__}", *settings.PASSWORD_HASHERS]
    first, second, usable = "a much better battery", "an even better battery", {"usable_password": "true"}
    new = {"username": "noah", "role": "operator", "password1": first, "password2": first} | usable
    assert post(client, "auth/user/add/", new).status_code == 302
    noah = User.objects.get(username="noah")
    assert noah.check_password(first)
    changed = {"password1": second, "password2": second} | usable
    assert post(client, f"auth/user/{noah.pk}/password/", changed).status_code == 302
    noah.refresh_from_db()
    assert noah.check_password(second)
    assert WatchedHasher.is_in_turn
    assert not any(WatchedHasher.is_in_turn)
    endless = "long " * 100_000
    refused = post(client, "auth/user/add/", new | {"username": "eve", "password1": endless, "password2": endless})
    assert "at most 1000 characters" in refused.content.decode()
