"""What a page repeats of its own address holds no secret, and what was looked for is found all the same."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from django.test import Client

from dashboard.navigation import Role
from retrycontract.store.models import Call, SavedReply
from tests.dashboard.conftest import logged_in
from tests.factories import make_blocked, make_user

pytestmark = pytest.mark.django_db
TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
ADDRESSES = {
    "/": ("q", "tool", "agent", "like", "after", "seen", "show", "other"),
    "/tools/": ("q", "range", "other"),
    "/insights/": ("range", "other"),
    "/agent-responses/": ("task", "status", "period", "other"),
    "/hints/": ("show", "after"),
    "/login/": ("next",),
}


@pytest.mark.parametrize("path", ADDRESSES)
def test_no_page_repeats_a_secret_of_its_address(path: str) -> None:
    make_blocked(tool=f"note-{TOKEN}")
    browser = Client() if path == "/login/" else logged_in(make_user("ada", Role.ADMIN))
    for name in ADDRESSES[path]:
        response = browser.get(path, {name: f"/{TOKEN}", TOKEN: "1"})
        assert response.status_code == 200, name
        assert TOKEN not in response.content.decode(), name


def test_who_is_sent_to_the_login_takes_no_secret_along(db: None) -> None:
    response = Client().get(f"/?q={TOKEN}")
    assert response.status_code == 302
    assert TOKEN not in response["Location"]


def test_what_was_looked_for_is_found(desk: Client) -> None:
    found = make_blocked(session_id=TOKEN, tool_call_id="a")
    other = make_blocked(session_id="s", tool_call_id="b")
    assert TOKEN not in Call.objects.get(pk=found.pk).session_id  # type: ignore[operator]
    page = desk.get(f"/?{urlencode({'q': TOKEN})}").content.decode()
    assert found.public_id in page
    assert other.public_id not in page


def test_an_address_without_a_secret_stays_as_it_is(desk: Client) -> None:
    response = desk.get("/tools/?q=größe+%2B1&range=30d&q=two")
    assert response.wsgi_request.GET.getlist("q") == ["größe +1", "two"]


def test_words_are_redacted_before_their_beginning_names_the_reply(desk: Client) -> None:
    call = make_blocked()
    desk.post(
        f"/calls/{call.public_id}/keep-reply/", {"text": f"Please use the token {TOKEN} for all that you do there."}
    )
    kept = SavedReply.objects.get()
    assert kept.title.startswith("Please use the token [REDACTED: GITHUB_TOKEN]")
    assert TOKEN[:20] not in kept.title + kept.text
    assert TOKEN[-12:] not in kept.title + kept.text
