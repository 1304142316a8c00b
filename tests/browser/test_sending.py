"""Sending, taking back and not losing what was typed, in a real browser."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings
from django.utils import timezone
from playwright.sync_api import expect

from retrycontract.contract.decisions import Decision
from retrycontract.store.models import Guidance, HeldAnswer
from retrycontract.usecases.answers.send_answer import send_answer, send_held
from retrycontract.usecases.calls.cancel_call import cancel_call
from tests.browser.test_desk import Site
from tests.browser.test_desk import site as site
from tests.factories import WRONG, answer, make_agent, make_blocked, make_tool, make_user, submit

if TYPE_CHECKING:
    from retrycontract.store.models import Call

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
GOES_OUT = re.compile(r"Goes\s+out in \d+ s to a")
FLIGHT = {
    "type": "object",
    "properties": {"cabin": {"enum": ["economy", "first"]}, "destination": {"type": "string", "pattern": "^[A-Z]{3}$"}},
    "required": ["cabin", "destination"],
}


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> None:
    holding = settings.RETRYCONTRACT.model_copy(update={"answer_hold_seconds": 30})
    monkeypatch.setattr(settings, "RETRYCONTRACT", holding)


def make_flights(number: int) -> list[Call]:
    agent = make_agent("travel")
    make_tool(agent, "book_flight", FLIGHT)
    cities = ("London", "Paris", "Rome")
    return [
        make_blocked(agent, {"cabin": "premium", "destination": cities[index % 3]}, tool="book_flight")
        for index in range(number)
    ]


def test_a_group_of_fourteen_hears_of_both_mistakes_in_four_keys_and_the_words(site: Site) -> None:
    make_flights(14)
    page = site.page
    page.reload()
    row = page.locator(".row-group")
    expect(row).to_contain_text("/cabin")
    expect(row).to_contain_text("/destination")
    page.keyboard.press("j")
    page.keyboard.press("a")
    expect(page.get_by_role("heading", name="What is wrong")).to_be_visible()
    wrong = page.locator(".errors").first
    for part in ("/cabin", "VAL-008", "/destination", "VAL-007", "London", "Paris", "Rome"):
        expect(wrong).to_contain_text(part)
    page.keyboard.press("g")
    page.keyboard.type("Use first, and IATA codes: LHR, CDG, FCO.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Sent for 14 calls")).to_be_visible()
    texts = Guidance.objects.values_list("rendered", flat=True)
    assert len(texts) == 14
    assert all("Use first, and IATA codes" in text for text in texts)


def test_what_is_held_is_nowhere_said_to_be_sent(site: Site, held: None) -> None:
    first, second = make_blocked(make_agent("a")), make_blocked(make_agent("b"))
    page = site.page
    page.clock.install()
    site.open(first)
    page.locator("#id_text").fill("Use eu-west-1.")
    page.get_by_role("button", name="Send answer").click()
    expect(page.get_by_text(GOES_OUT)).to_be_visible()
    expect(page.locator("#outcome")).to_contain_text("Not sent yet")
    expect(page.get_by_text("Sent to")).to_have_count(0)
    page.clock.fast_forward(31_000)
    expect(page.get_by_text("Given to a")).to_be_visible()
    expect(page.locator(".undo button")).to_be_disabled()
    # Whoever goes on reads it on the next call's page, and nothing of it once it was taken back.
    site.open(second)
    page.locator("#id_text").fill("Use us-east-1.")
    page.get_by_role("button", name="Send answer").click()
    expect(page.get_by_text(re.compile(r"Goes\s+out in \d+ s to b"))).to_be_visible()
    page.locator(".undo button").click()
    expect(page.get_by_text("Taken back: no agent saw it.")).to_be_visible()
    expect(page.locator(".notice", has_text="Goes out")).to_have_count(0)
    expect(page.get_by_text("Not sent yet")).to_have_count(0)


def test_send_and_next_lands_at_the_top_and_undo_brings_the_words_back(site: Site, held: None) -> None:
    first, second = make_blocked(make_agent("a")), make_blocked(make_agent("b"))
    page = site.page
    page.set_viewport_size({"width": 1440, "height": 900})
    site.open(first)
    page.keyboard.press("g")
    page.keyboard.type("Use eu-west-1.")
    page.keyboard.press("Control+Enter")
    expect(page).to_have_url(f"{site.url}/calls/{second.public_id}/#main")
    assert page.evaluate("scrollY") == 0
    expect(page.get_by_text(GOES_OUT)).to_be_in_viewport()
    assert not Guidance.objects.exists()
    page.keyboard.press("z")
    expect(page.get_by_text("Taken back: no agent saw it.")).to_be_visible()
    expect(page.locator("#id_text")).to_have_value("Use eu-west-1.")
    page.reload()
    expect(page.locator("#id_text")).to_have_value("Use eu-west-1.")
    expect(page.locator("#preview")).to_contain_text("> Use eu-west-1.")  # and can be sent as it stands
    assert not HeldAnswer.objects.exists()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text(GOES_OUT)).to_be_visible()
    send_held(now=timezone.now() + timedelta(seconds=31))
    assert Guidance.objects.get().call == first


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
def test_what_will_be_read_and_the_buttons_stay_in_view(site: Site, size: tuple[int, int]) -> None:
    call = make_blocked(output={"service": "web", "region": "eu-west"})
    mia = make_user("leo")
    answer(make_blocked(output={"service": "web", "region": "eu-west"}), mia, text="Use eu-west-1. " * 12)
    page = site.page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    site.open(call)
    page.locator("#id_text").fill("Use eu-west-1.")
    expect(page.get_by_text("2 are left")).to_be_in_viewport()
    expect(page.get_by_role("button", name="Send answer")).to_be_in_viewport()


def test_a_draft_lives_over_a_reload_and_a_login_and_is_nobody_elses(site: Site) -> None:
    make_user("leo")
    call = make_blocked()
    page = site.page
    site.open(call)
    page.locator("#id_text").fill("An hour of work")
    page.reload()
    expect(page.locator("#id_text")).to_have_value("An hour of work")
    page.context.clear_cookies()
    site.log_in("leo")
    site.open(call)
    expect(page.locator("#id_text")).to_have_value("")
    page.context.clear_cookies()
    site.log_in("mia")
    site.open(call)
    expect(page.locator("#id_text")).to_have_value("An hour of work")
    page.get_by_role("button", name="Send answer").click()
    expect(page.get_by_text("Sent to deployer")).to_be_visible()
    assert drafts(page) == []


@pytest.mark.parametrize("became", ["answered", "cancelled", "asked again"])
def test_a_draft_for_what_needs_no_answer_any_more_is_shown_to_be_copied_until_it_is_put_away(
    site: Site, became: str
) -> None:
    call, page = make_blocked(), site.page
    site.open(call)
    page.locator("#id_text").fill("An hour of <b>work</b>\nwas this")
    page.goto(f"{site.url}/")
    if became == "cancelled":
        cancel_call(call, now=timezone.now())
    else:
        answer(call, make_user("leo"), text="Use us-east-1.", grant=1, is_read=True)
    if became == "asked again":
        submit(call.agent, WRONG, call=call)
    site.open(call)
    left = page.locator("[data-left-over]")
    expect(left.get_by_text("Your words were not sent")).to_be_visible()
    expect(left.locator("pre")).to_have_text("An hour of <b>work</b>\nwas this")
    if became == "asked again":
        expect(page.locator("#id_text")).to_have_value("")
    left.get_by_role("button", name="Put away").click()
    expect(left).to_be_hidden()
    page.reload()
    expect(left).to_be_hidden()
    assert drafts(page) == []


@pytest.mark.usefixtures("held")
def test_a_call_whose_answer_is_held_is_not_offered_to_be_claimed(site: Site) -> None:
    call, page = make_blocked(), site.page
    site.open(call)
    page.locator("#id_text").fill("An hour of work")
    now, leo = timezone.now(), make_user("leo")
    send_answer(call.escalations.get(), leo, Decision.HINT, now=now, text="Use eu-west-1.", grant=2)
    page.get_by_role("button", name="Send answer").click()
    expect(page.locator("#answer-notice")).to_contain_text("leo has answered this call")
    expect(page.locator("#id_text")).to_have_value("An hour of work")
    for name in ("Claim", "Send answer"):
        expect(page.get_by_role("button", name=name)).to_be_hidden()
    expect(page.get_by_role("link", name="Snooze")).to_be_hidden()


def test_words_to_a_group_that_another_answered_first_stand_until_they_are_put_away(site: Site) -> None:
    calls = [make_blocked() for _ in range(2)]
    page, left = site.page, site.page.locator("[data-left-over]")
    page.goto(f"{site.url}/calls/{calls[0].public_id}/group/")
    page.locator("#id_text").fill("An hour of <b>work</b>\nwas this")
    leo = make_user("leo")
    for call in calls:
        answer(call, leo)
    page.get_by_role("button", name="Send to all ticked").click()
    expect(page.get_by_role("heading", name="0 calls answered, 2 not")).to_be_visible()
    for address in ("", f"/calls/{calls[0].public_id}/group/", f"/calls/{calls[1].public_id}/"):
        if address:
            page.goto(site.url + address)
        expect(left.get_by_text("Your words were not sent")).to_be_visible()
        expect(left.locator("pre")).to_have_text("An hour of <b>work</b>\nwas this")
    left.get_by_role("button", name="Put away").click()
    expect(left).to_be_hidden()
    page.goto(f"{site.url}/calls/{calls[0].public_id}/group/")
    expect(left).to_be_hidden()
    assert drafts(page) == []


def test_a_draft_to_a_group_stands_on_its_page_when_its_first_call_is_answered(site: Site) -> None:
    first, second, left_out = (make_blocked() for _ in range(3))
    page = site.page
    page.goto(f"{site.url}/calls/{first.public_id}/group/")
    page.locator("#id_text").fill("The order is fraudulent.")
    page.locator(f'[value="{left_out.public_id}"]').uncheck()
    answer(first, make_user("leo"))
    page.goto(f"{site.url}/calls/{second.public_id}/group/")
    expect(page.locator("#id_text")).to_have_value("The order is fraudulent.")
    expect(page.locator(f'[value="{second.public_id}"]')).to_be_checked()
    expect(page.locator(f'[value="{left_out.public_id}"]')).not_to_be_checked()
    page.get_by_role("button", name="Send to all ticked").click()
    expect(page.get_by_text("Sent for 1 call")).to_be_visible()
    assert len(drafts(page)) == 1, "what stands below the report for the call that was left out"


def test_a_draft_to_a_group_ticks_nobody_that_it_was_not_meant_for(site: Site) -> None:
    first, left_out = make_blocked(), make_blocked()
    page = site.page
    page.goto(f"{site.url}/calls/{first.public_id}/group/")
    page.locator("#id_text").fill("The order is fraudulent.")
    page.locator(f'[value="{left_out.public_id}"]').uncheck()
    came = make_blocked()
    page.reload()
    expect(page.locator("#id_text")).to_have_value("The order is fraudulent.")
    expect(page.locator(f'[value="{first.public_id}"]')).to_be_checked()
    for other in (left_out, came):
        expect(page.locator(f'[value="{other.public_id}"]')).not_to_be_checked()


def test_without_a_connection_an_answer_waits_and_goes_by_itself(site: Site) -> None:
    call = make_blocked()
    page = site.page
    site.open(call)
    page.locator("#id_text").fill("Use eu-west-1.")
    expect(page.locator("#preview")).to_contain_text("> Use eu-west-1.")  # the scripts are there
    page.context.set_offline(True)
    page.get_by_role("button", name="Send answer").click()
    expect(page.get_by_text("sent when it is back")).to_be_visible()
    # What was asked before the connection went, and is answered only now, takes nothing back.
    told = "{bubbles: true, detail: {successful: true, requestConfig: {verb: 'get'}}}"
    late = f"new CustomEvent('htmx:afterRequest', {told})"
    page.evaluate(f"document.body.dispatchEvent({late})")
    expect(page.get_by_text("sent when it is back")).to_be_visible()
    expect(page.locator("#id_text")).to_have_value("Use eu-west-1.")
    page.context.set_offline(False)
    expect(page.get_by_text("Sent to deployer")).to_be_visible()
    assert Guidance.objects.get().text == "Use eu-west-1."


def drafts(page: Any) -> list[str]:
    """List the drafts that the browser keeps."""
    found: list[str] = page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('draft:'))")
    return found
