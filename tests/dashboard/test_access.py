"""Who may come in, and what each role may do."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.template.loader import render_to_string
from django.test import Client

from tests.dashboard.conftest import HTMX, logged_in, text_of
from tests.factories import PASSWORD, make_blocked, make_user

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("path", ["/", "/?show=all", "/calls/call_x/", "/calls/call_x/preview/"])
def test_every_page_asks_for_a_login_first(client: Client, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 302
    assert response["Location"].startswith("/login/?next=/")


def test_an_operator_logs_in_and_lands_where_the_link_led(client: Client) -> None:
    make_user("mia")
    call = make_blocked()
    response = client.post(
        f"/login/?next=/calls/{call.public_id}/",
        {"username": "mia", "password": PASSWORD, "next": f"/calls/{call.public_id}/"},
    )
    assert response["Location"] == f"/calls/{call.public_id}/"


def test_login_never_leads_to_another_site(client: Client) -> None:
    make_user("mia")
    response = client.post("/login/", {"username": "mia", "password": PASSWORD, "next": "https://evil.example/"})
    assert response["Location"] == "/"


def test_a_wrong_password_is_said_and_the_name_is_kept(client: Client) -> None:
    make_user("mia")
    response = client.post("/login/", {"username": "mia", "password": "wrong"})
    assert "That name, password or code is not right." in text_of(response)
    page = " ".join(response.content.decode().split())
    assert 'value="mia"' in page
    assert re.findall(r'<input id="(\w+)"[^>]* autofocus', page) == ["id_password"], "the name is there already"


def test_logging_out_needs_a_post(desk: Client) -> None:
    assert desk.get("/logout/").status_code == 405
    assert desk.post("/logout/")["Location"] == "/login/"
    assert desk.get("/").status_code == 302


@pytest.mark.parametrize("path", ["/", "/calls/{}/"])
def test_a_poll_whose_session_has_ended_is_told_so_and_gets_no_page(client: Client, path: str) -> None:
    response = client.get(path.format(make_blocked().public_id), headers=HTMX, follow=True)
    assert response.status_code == 401
    assert response.content == b""


def test_a_viewer_sees_everything_but_the_form(viewer: Client) -> None:
    call = make_blocked()
    page = viewer.get(f"/calls/{call.public_id}/")
    assert "/region" in text_of(page)
    assert "You may read; operators answer." in text_of(page)
    assert "Send answer" not in text_of(page)


@pytest.mark.parametrize("path", ["/calls/{}/", "/calls/{}/preview/"])
def test_a_viewer_who_posts_is_refused(viewer: Client, path: str) -> None:
    call = make_blocked()
    response = viewer.post(path.format(call.public_id), {"decision": "hint", "text": "Use eu-west-1."})
    assert response.status_code == 403
    assert "Not for your role" in text_of(response)
    call.refresh_from_db()
    assert call.state == "blocked"


@pytest.mark.parametrize("path", ["/admin/", "/audit/", "/audit.csv", "/settings/webhooks/new/", "/tools/new/"])
def test_an_operator_reads_which_role_a_page_needs_and_how_its_first_holder_is_made(desk: Client, path: str) -> None:
    response = desk.get(path, follow=True)
    assert response.status_code == 403
    assert "Administrators alone change tools, agents and webhooks, and open the audit trail" in text_of(response)
    assert "retrycontract operator create NAME --role admin" in text_of(response)


@pytest.mark.parametrize("path", ["/calls/{}/", "/calls/{}/preview/", "/logout/"])
def test_a_post_without_its_token_is_refused(mia: User, path: str) -> None:
    call = make_blocked()
    strict = logged_in(mia, enforce_csrf_checks=True)
    response = strict.post(path.format(call.public_id), {"decision": "hint", "text": "Use eu-west-1."})
    assert response.status_code == 403
    assert "This page was out of date" in text_of(response)


@pytest.mark.parametrize(
    ("method", "path"), [("put", "/"), ("delete", "/calls/"), ("post", "/hints/"), ("get", "/next/")]
)
def test_an_address_that_is_asked_otherwise_says_what_it_takes(desk: Client, method: str, path: str) -> None:
    response = getattr(desk, method)(path)
    assert response.status_code == 405
    assert response["Allow"].split(", ")[0] in text_of(response)


@pytest.mark.parametrize("path", ["/", "/calls/", "/calls.csv", "/find/", "/settings/"])
def test_the_head_of_a_page_can_be_asked_for(desk: Client, path: str) -> None:
    assert desk.head(path).status_code == 200


def test_an_unknown_address_has_a_page_of_its_own(desk: Client) -> None:
    response = desk.get("/calls/call_nobody/")
    assert response.status_code == 404
    assert "Nothing is here" in text_of(response)


def test_the_page_of_last_resort_needs_nothing_to_be_rendered() -> None:
    assert "Something broke on our side" in render_to_string("500.html")


def test_the_icon_is_found_where_browsers_guess_it(client: Client) -> None:
    assert client.get("/favicon.svg")["Location"].endswith("/dashboard/favicon.svg")


@pytest.mark.parametrize("path", ["/", "/login/", "/calls/{}/"])
def test_pages_carry_no_inline_script_or_style(desk: Client, path: str) -> None:
    page = desk.get(path.format(make_blocked().public_id), follow=True).content.decode()
    assert "<style" not in page
    assert " style=" not in page
    assert " onclick=" not in page
    assert "hx-on" not in page
    assert page.count("<script") == page.count("<script src=")


def test_what_operators_read_is_never_stored_by_browsers(desk: Client) -> None:
    assert "no-store" in desk.get("/")["Cache-Control"]
    assert "no-store" in desk.get(f"/calls/{make_blocked().public_id}/")["Cache-Control"]


@pytest.mark.parametrize(("cookie", "shown"), [("dark", True), ("light", True), ("", False), ('"><b>', False)])
def test_the_chosen_colours_come_with_the_page(client: Client, cookie: str, shown: bool) -> None:
    client.cookies["theme"] = cookie
    page = client.get("/login/").content.decode()
    assert (f'data-theme="{cookie}"' in page) is shown
    assert "<b>" not in page
