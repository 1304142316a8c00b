"""The desk's stream of events: what the view writes, and where it says to ask again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.test import Client

from retrycontract.store.models import Event
from tests.factories import make_blocked

if TYPE_CHECKING:
    from django.test import Client as Browser

pytestmark = pytest.mark.django_db
PENDING = "Retrycontract-Pending"


def test_who_begins_is_told_of_what_happens_from_now_on(desk: Browser) -> None:
    make_blocked()
    newest = Event.objects.latest("pk").pk
    response = desk.get("/live/")
    assert response["Content-Type"] == "text/event-stream"
    assert response[PENDING] == f"desk; /live/?after={newest}"
    assert response.content == b""


def test_news_are_one_frame_however_many_there_are(desk: Browser) -> None:
    make_blocked()
    asked_again = desk.get("/live/")[PENDING].partition("; ")[2]
    assert desk.get(asked_again).content == b""
    make_blocked()
    news = desk.get(asked_again)
    assert news.content == b"data: changed\n\n"
    assert desk.get(news[PENDING].partition("; ")[2]).content == b""


@pytest.mark.parametrize("after", ["x", "-1", "9" * 40, "٣", ""])
def test_a_place_that_nobody_gave_out_begins_now(desk: Browser, after: str) -> None:
    make_blocked()
    response = desk.get("/live/", {"after": after})
    assert (response.status_code, response.content) == (200, b"")


def test_who_is_not_logged_in_is_told_to_come_no_more() -> None:
    response = Client().get("/live/")
    assert response.status_code == 204
    assert PENDING not in response
