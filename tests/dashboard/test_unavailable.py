"""Pages while the database is away: they say so for the moment, load themselves again, and lose no word."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from django.test import Client

from tests.dashboard.conftest import logged_in
from tests.factories import make_blocked, make_user
from tests.file_database import using

pytestmark = pytest.mark.django_db(transaction=True)
NOWHERE = Path("/nowhere/at/all.sqlite3")
PATHS = ["/", "/login/", "/tools/", "/agents/", "/audit/", "/insights/", "/webhooks/", "/settings/", "/admin/",
         "/playground/", "/?q=x", "/calls/call_01/"]  # fmt: skip


@pytest.fixture
def nowhere() -> Path | dict[str, object]:
    return {"NAME": str(NOWHERE), "HOST": "127.0.0.1", "PORT": "1"}


@pytest.mark.parametrize("path", PATHS)
def test_a_page_without_the_database_says_when_to_come_again(path: str, nowhere: dict[str, object]) -> None:
    client = logged_in(make_user())
    client.raise_request_exception = False
    with using(nowhere):
        response = client.get(path)
    assert (response.status_code, response["Retry-After"]) == (503, "5")
    page = response.content.decode()
    assert ('data-reload="5"' in page, "http-equiv" in page) == (True, False), (
        "no page is loaded anew under who reads it"
    )
    assert "script-src" in response["Content-Security-Policy"]


def test_words_that_came_with_a_form_are_on_the_page_and_can_be_sent_again(nowhere: dict[str, object]) -> None:
    client, call = logged_in(make_user()), make_blocked()
    client.raise_request_exception = False
    with using(nowhere):
        response = client.post(f"/calls/{call.public_id}/answer/", {"decision": "hint", "text": "Use <eu> & co."})
    page = response.content.decode()
    assert response.status_code == 503
    assert "Use &lt;eu&gt; &amp; co." in page
    assert f'action="/calls/{call.public_id}/answer/"' in page
    assert 'name="decision" value="hint"' in page
    assert "http-equiv" not in page  # loading it again would lose them


def test_a_password_is_never_written_into_the_page(nowhere: dict[str, object]) -> None:
    client = Client(raise_request_exception=False)
    with using(nowhere):
        response = client.post("/login/", {"username": "mia", "password": "correct horse"})
    assert response.status_code == 503
    assert "correct horse" not in response.content.decode()


def test_the_log_has_one_line_without_a_traceback_however_many_pages_fail(
    nowhere: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    client = logged_in(make_user())
    client.raise_request_exception = False
    with using(nowhere), caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert client.get("/").status_code == 503
    assert [record.levelname for record in caplog.records if record.exc_info] == []
    assert len(caplog.messages) <= 1, "none where an earlier test of this process met the outage"
    assert all(message.startswith("The database takes no writes: ") for message in caplog.messages)
