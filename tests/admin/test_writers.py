"""The admin writes beside everybody else: nobody waits for a lock that the other holds."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from django.test import Client

from dashboard.navigation import Role
from retrycontract.store.models import Event, Tool
from tests.admin.conftest import post
from tests.factories import RIGHT, make_agent, make_tool, make_user, submit
from tests.file_database import all_at_once
from tests.file_database import file_database as file_database

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
