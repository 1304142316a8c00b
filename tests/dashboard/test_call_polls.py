"""The page of a call that stands open: what is new comes by itself, and never over what somebody types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from retrycontract.contract.decisions import Decision
from retrycontract.usecases.answers.deliver_answer import acknowledge_guidance, mark_delivered
from retrycontract.usecases.calls.cancel_call import cancel_call
from tests.dashboard.conftest import HTMX, text_of
from tests.factories import WRONG, answer, make_agent, make_blocked, make_user, submit

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.test import Client


from tests.dashboard.test_call import address, poll_address

pytestmark = pytest.mark.django_db


def test_a_poll_gets_nothing_while_nothing_changed(desk: Client) -> None:
    call = make_blocked()
    live = poll_address(desk.get(address(call)).content.decode())
    assert desk.get(live, headers=HTMX).status_code == 204


def test_a_poll_brings_a_new_attempt_and_never_the_form(desk: Client) -> None:
    call = make_blocked()
    live = poll_address(desk.get(address(call)).content.decode())
    submit(make_agent(), WRONG, call=call)
    response = desk.get(live, headers=HTMX)
    html = response.content.decode()
    assert "Attempt 4, while Blocked" in text_of(response)
    assert "<form" not in html
    assert "<textarea" not in html
    assert "notice-warn" not in html
    assert desk.get(poll_address(html), headers=HTMX).status_code == 204


def test_a_poll_brings_delivery_and_acknowledgement(desk: Client, mia: User) -> None:
    call = make_blocked()
    given = answer(call, mia)
    for step, word in ((mark_delivered, "Delivered"), (acknowledge_guidance, "confirmed")):
        live = poll_address(desk.get(address(call)).content.decode())
        step(given, now=timezone.now())
        given.refresh_from_db()
        assert word in text_of(desk.get(live, headers=HTMX))


def test_a_poll_tells_the_one_who_types_that_somebody_else_was_first(desk: Client) -> None:
    call = make_blocked()
    live = poll_address(desk.get(address(call)).content.decode())
    answer(call, make_user("noah"), text="Noah was here.")
    response = desk.get(live, headers=HTMX)
    assert 'id="answer-notice" role="status" hx-swap-oob="true"' in response.content.decode()
    page = text_of(response)
    assert "noah has answered this call" in page
    assert "> Noah was here." in page


def test_a_poll_tells_the_one_who_types_that_the_call_ended_or_asks_anew(desk: Client) -> None:
    ended, again = make_blocked(), make_blocked()
    lives = [poll_address(desk.get(address(call)).content.decode()) for call in (ended, again)]
    cancel_call(ended, now=timezone.now())
    answer(again, make_user("noah"), grant=1, is_read=True)
    submit(make_agent(), WRONG, call=again)
    assert "needs no answer any more: it is cancelled" in text_of(desk.get(lives[0], headers=HTMX))
    assert "The agent has failed again and asks again." in text_of(desk.get(lives[1], headers=HTMX))


def test_a_viewer_follows_without_a_form(viewer: Client) -> None:
    call = make_blocked()
    live = poll_address(viewer.get(address(call)).content.decode())
    answer(call, make_user("noah"), Decision.REJECT, text="No.")
    response = viewer.get(live, headers=HTMX)
    assert "Rejected by noah" in text_of(response)
    assert "answer-notice" not in response.content.decode()


def test_an_answer_that_was_not_fetched_is_whole_and_read_with_the_attempts_that_are_left(
    desk: Client, mia: User
) -> None:
    call = make_blocked()
    answer(call, mia, grant=1)
    submit(make_agent(), WRONG, call=call)
    page = text_of(desk.get(address(call)))
    assert "The agent tried again without it. What that uses up is granted anew, three times at most." in page
    assert "call the tool again: this is attempt 5/5." in page.partition("What the model reads")[2]
