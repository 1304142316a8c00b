"""What was typed survives a session that ended and a page that went out of date: it is shown to be copied."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from django.test import Client

from tests.dashboard.conftest import HTMX, logged_in, text_of
from tests.factories import make_blocked

if TYPE_CHECKING:
    from django.contrib.auth.models import User

pytestmark = pytest.mark.django_db
WORDS = 'An hour of <b>"work"</b>'
SHOWN = "An hour of &lt;b&gt;&quot;work&quot;&lt;/b&gt;</textarea>"
# Where something is typed, and the field that it is typed into.
FIELDS = [
    ("/calls/{call}/", "text"),
    ("/calls/{call}/", "arguments"),
    ("/calls/{call}/preview/", "text"),
    ("/calls/{call}/preview/", "arguments"),
    ("/calls/{call}/claim/", "text"),
    ("/calls/{call}/snooze/", "text"),
    ("/calls/{call}/keep-reply/", "text"),
    ("/calls/{call}/group/", "text"),
    ("/settings/replies/", "text"),
    ("/tools/new/", "schema"),
    ("/tools/new/", "description"),
    ("/tools/{tool}/schema/", "schema"),
    ("/playground/", "schema"),
    ("/playground/", "output"),
]


def at(path: str) -> str:
    """Give the address with the keys of a Blocked call and its tool."""
    call = make_blocked()
    return path.format(call=call.public_id, tool=call.tool_id)


@pytest.mark.parametrize(("path", "field"), FIELDS)
def test_after_the_session_ended_every_form_gives_back_what_was_typed(client: Client, path: str, field: str) -> None:
    page = client.post(at(path), {field: WORDS, "decision": "hint"})
    assert page.status_code == 401
    assert "Your session has ended" in text_of(page)
    assert "no-store" in page["Cache-Control"]
    assert SHOWN in page.content.decode()


@pytest.mark.parametrize(
    ("decision", "title"),
    [("hint", "What stood in the editor"), ("corrected", "Your arguments"), ("", "Your arguments")],
)
def test_what_stood_in_the_editor_beside_a_hint_is_not_said_to_be_typed(
    client: Client, decision: str, title: str
) -> None:
    typed = {"text": "Use it", "arguments": "{}"} | ({"decision": decision} if decision else {})
    page = text_of(client.post(at("/calls/{call}/"), typed))
    assert re.findall("Your text|Your arguments|What stood in the editor", page) == ["Your text", title]


@pytest.mark.parametrize(("path", "field"), FIELDS)
def test_a_page_that_went_out_of_date_gives_back_what_was_typed(mia: User, path: str, field: str) -> None:
    page = logged_in(mia, enforce_csrf_checks=True).post(at(path), {field: WORDS, "decision": "hint"})
    assert page.status_code == 403
    assert "This page was out of date" in text_of(page)
    assert "no-store" in page["Cache-Control"]
    assert SHOWN in page.content.decode()


def test_the_login_leads_back_to_the_page_where_it_was_typed(client: Client) -> None:
    path = at("/calls/{call}/")
    page = client.post(f"{path}preview/", {"text": WORDS}, headers={"Referer": f"http://testserver{path}?a=b"})
    assert f'href="/login/?next={path}%3Fa%3Db"' in page.content.decode()


@pytest.mark.parametrize("referer", ["", "https://evil.example/x", "not an address", "//evil.example"])
def test_the_login_leads_to_the_inbox_where_no_page_of_ours_is_known(client: Client, referer: str) -> None:
    page = client.post("/next/", headers={"Referer": referer})
    assert page.status_code == 401
    assert 'href="/login/?next=/"' in page.content.decode()


@pytest.mark.parametrize(
    "path", ["/settings/second-factor/", "/settings/password/", "/admin/password_change/", "/calls/x/"]
)
def test_no_password_and_no_code_is_given_back(client: Client, mia: User, path: str) -> None:
    secrets = {"password": "hunter2-1", "old_password": "hunter2-2", "new_password1": "hunter2-3", "code": "hunter2-4"}
    assert "hunter2" not in client.post(path, secrets).content.decode()
    assert "hunter2" not in logged_in(mia, enforce_csrf_checks=True).post(path, secrets).content.decode()


@pytest.mark.parametrize("name", ["preview", "keep-reply", "claim"])
def test_an_address_that_takes_the_form_leads_to_the_call_when_it_is_loaded_anew(desk: Client, name: str) -> None:
    path = at("/calls/{call}/")
    assert desk.get(f"{path}{name}/")["Location"] == path


def test_a_script_is_told_that_the_session_ended_without_a_page(client: Client) -> None:
    response = client.post(at("/calls/{call}/preview/"), {"text": WORDS}, headers=HTMX)
    assert response.status_code == 401
    assert response.content == b""


@pytest.mark.parametrize("path", ["/login/", "/admin/", "/settings/replies/"])
@pytest.mark.parametrize(
    ("kind", "sent"),
    [("; charset=iso-8859-1", b"a=b"), ("; charset=utf-7", b"a=b"), ("", b"&".join([b"a=b"] * 1_001))],
)
def test_a_form_that_cannot_be_read_is_refused_in_words(path: str, kind: str, sent: bytes) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.cookies["csrftoken"] = "a" * 32
    response = browser.post(path, sent, content_type=f"application/x-www-form-urlencoded{kind}")
    assert response.status_code == 400
    assert "This request cannot be read" in text_of(response)
