"""An answer that its agent no longer needed when its hold was over: its operator reads so, with the words."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from dashboard.navigation import Role
from retrycontract.store.models import Call, HeldAnswer
from retrycontract.usecases.answers.send_answer import send_held
from retrycontract.usecases.calls.cancel_call import cancel_call
from tests.dashboard.conftest import HTMX, logged_in, text_of
from tests.factories import RIGHT, make_blocked, make_user, submit

if TYPE_CHECKING:
    from django.test import Client
    from pytest_django import Settings

pytestmark = pytest.mark.django_db
WORDS = "Use eu-west-1, as the ticket says."


@pytest.fixture
def sent(settings: Settings, desk: Client) -> Call:
    """A call whose answer is held."""
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"answer_hold_seconds": 8})
    call = make_blocked()
    form = {"escalation": call.escalations.get().public_id, "base": 3, "decision": "hint", "text": WORDS, "grant": 2}
    assert desk.post(f"/calls/{call.public_id}/", form).status_code == 302
    desk.get("/")  # what was said of it has been read
    return call


def test_the_inbox_and_the_call_say_that_it_was_not_sent_and_why(desk: Client, sent: Call) -> None:
    assert "was not sent" not in text_of(desk.get("/"))
    submit(sent.agent, RIGHT, call=sent)
    send_held(now=timezone.now() + timedelta(seconds=9))
    for address in ("/", f"/calls/{sent.public_id}/"):
        page = text_of(desk.get(address))
        assert "was not sent" in page, address
        assert "the agent’s own next attempt was valid" in page, address
        assert WORDS in page, address


def test_a_cancelled_call_is_named_so(desk: Client, sent: Call) -> None:
    cancel_call(sent, now=timezone.now())
    assert "the call was cancelled meanwhile" in text_of(desk.get("/"))


def test_a_poll_of_the_inbox_brings_it(desk: Client, sent: Call) -> None:
    seen = desk.get("/").context["queue"].version
    assert desk.get(f"/?seen={seen}", headers=HTMX).status_code == 204
    submit(sent.agent, RIGHT, call=sent)
    assert WORDS in text_of(desk.get(f"/?seen={seen}", headers=HTMX))


def test_only_its_operator_reads_it_in_the_inbox_and_puts_it_away(desk: Client, sent: Call) -> None:
    submit(sent.agent, RIGHT, call=sent)
    leo = logged_in(make_user("leo"))
    assert WORDS not in text_of(leo.get("/"))
    viewer = logged_in(make_user("vera", Role.VIEWER))
    for other in (leo, viewer):
        page = text_of(other.get(f"/calls/{sent.public_id}/"))
        assert "The answer of mia was not sent" in page
        assert "Dismiss" not in page
    batch = HeldAnswer.objects.get().batch
    leo.post(f"/undo/{batch}/")
    assert HeldAnswer.objects.exists()
    assert "Dismissed" in text_of(desk.post(f"/undo/{batch}/", follow=True))
    assert WORDS not in text_of(desk.get("/"))
    assert not HeldAnswer.objects.exists()


def test_many_are_shown_some_at_a_time(desk: Client, sent: Call) -> None:
    for number in range(7):
        call = make_blocked()
        form = {"escalation": call.escalations.get().public_id, "base": 3, "decision": "hint", "text": f"No. {number}"}
        desk.post(f"/calls/{call.public_id}/", form | {"grant": 2})
        submit(call.agent, RIGHT, call=call)
    assert text_of(desk.get("/")).count("was not sent") == 5
