"""Two operators at once: who has what is seen live, one answer counts, and no word that somebody typed is lost."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from retrycontract.store.models import Claim, Guidance
from tests.browser.test_desk import SOON, Site
from tests.factories import RIGHT, WRONG, make_agent, make_blocked, make_user, submit

if TYPE_CHECKING:
    from pytest_django.live_server_helper import LiveServer

    from retrycontract.store.models import Call
    from tests.browser.conftest import NewPage

pytestmark = [pytest.mark.soak, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def mia(live_server: LiveServer, new_page: NewPage) -> Site:
    """The browser of one operator."""
    return at_the_desk("mia", live_server, new_page)


@pytest.fixture
def leo(live_server: LiveServer, new_page: NewPage) -> Site:
    """The browser of another."""
    return at_the_desk("leo", live_server, new_page)


def at_the_desk(name: str, live_server: LiveServer, new_page: NewPage) -> Site:
    make_user(name)
    site = Site(live_server.url, new_page())
    site.log_in(name)
    return site


def words(page: Page) -> str:
    return page.get_by_label("What should the agent change?").input_value()


def write(page: Page, text: str) -> None:
    page.get_by_label("What should the agent change?").fill(text)


def test_a_claim_is_seen_by_the_other_live_in_the_inbox_and_at_the_call(mia: Site, leo: Site) -> None:
    call = make_blocked()
    mia.open(call)
    leo.open(call)
    write(leo.page, "Half a sent")
    mia.page.get_by_role("button", name="Claim").click()
    expect(mia.page.locator("#work")).to_contain_text("You have it until")
    expect(leo.page.locator("#work")).to_contain_text("mia has it", timeout=SOON)
    expect(leo.page.get_by_role("button", name="Claim")).to_have_count(0)
    assert words(leo.page) == "Half a sent"
    leo.page.goto(leo.url)
    expect(leo.page.locator(f"#row-{call.public_id}")).to_contain_text("mia has it")
    mia.page.get_by_role("button", name="Release").click()
    expect(leo.page.locator(f"#row-{call.public_id}")).not_to_contain_text("has it", timeout=SOON)


def test_a_claim_that_ran_out_is_taken_over_and_the_first_one_sees_it(mia: Site, leo: Site) -> None:
    call = make_blocked()
    for site in (mia, leo):
        site.open(call)
    mia.page.get_by_role("button", name="Claim").click()
    expect(leo.page.locator("#work")).to_contain_text("mia has it", timeout=SOON)
    write(mia.page, "I was called away")
    past = timezone.now() - timedelta(minutes=10)
    Claim.objects.update(claimed_at=past, until=past + timedelta(minutes=5))
    leo.page.get_by_role("button", name="Claim").click(timeout=SOON)
    expect(leo.page.locator("#work")).to_contain_text("You have it until")
    expect(mia.page.locator("#work")).to_contain_text("leo has it", timeout=SOON)
    assert words(mia.page) == "I was called away"


def test_typing_keeps_a_claim(mia: Site) -> None:
    call = make_blocked()
    mia.open(call)
    mia.page.get_by_role("button", name="Claim").click()
    expect(mia.page.locator("#work")).to_contain_text("You have it until")
    now = timezone.now()
    Claim.objects.update(claimed_at=now - timedelta(minutes=4), until=now + timedelta(minutes=1))
    with mia.page.expect_response(re.compile("/claim/$")):
        mia.page.get_by_label("What should the agent change?").press_sequentially("Use")
    assert Claim.objects.get().until > now + timedelta(minutes=4)


def test_two_who_take_the_next_get_two_calls(mia: Site, leo: Site) -> None:
    now = timezone.now()
    first, second = (make_blocked(make_agent(f"agent-{n}"), at=now - timedelta(minutes=9 - n)) for n in range(2))
    for site, call in ((mia, first), (leo, second)):
        site.page.reload()
        site.page.get_by_role("button", name="Take the next").click()
        expect(site.page).to_have_url(re.compile(call.public_id))
        expect(site.page.locator("#work")).to_contain_text("You have it")


def test_of_two_answers_at_once_one_counts_and_both_texts_stand(mia: Site, leo: Site) -> None:
    call = make_blocked()
    for site, text in ((mia, "Mia's words"), (leo, "Leo's words")):
        site.open(call)
        write(site.page, text)
    mia.page.get_by_role("button", name="Send answer").click()
    expect(mia.page.get_by_text("Sent to deployer")).to_be_visible()
    # Leo's page may have heard of it by now, or not: sent by the key it goes either way.
    leo.page.get_by_label("What should the agent change?").press("Control+Enter")
    expect(leo.page.locator("#answer-notice")).to_contain_text("mia has answered this call")
    assert words(leo.page) == "Leo's words"
    assert [given.text for given in Guidance.objects.all()] == ["Mia's words"]


def test_what_another_answered_meanwhile_is_reported_and_the_words_for_the_group_stand(mia: Site, leo: Site) -> None:
    calls = [make_blocked(context={"goal": "Roll out the web shop"}) for _ in range(3)]
    mia.page.goto(f"{mia.url}/calls/{calls[0].public_id}/group/")
    mia.page.locator(f'[value="{calls[2].public_id}"]').uncheck()
    mia.page.get_by_label("What should the agents change?").fill("Use eu-west-1.")
    leo.open(calls[1])
    write(leo.page, "Leo's words")
    leo.page.get_by_role("button", name="Send answer").click()
    expect(leo.page.get_by_text("Sent to deployer")).to_be_visible()
    mia.page.keyboard.press("Control+Enter")
    expect(mia.page.get_by_role("heading", name="1 call answered, 1 not")).to_be_visible()
    left = mia.page.get_by_role("listitem").filter(has_text="leo answered it first")
    expect(left).to_contain_text("Roll out the web shop")
    expect(left.get_by_role("link")).to_have_attribute("href", f"/calls/{calls[1].public_id}/")
    expect(mia.page.get_by_label("What should the agents change?")).to_have_value("Use eu-west-1.")
    assert sorted(given.text for given in Guidance.objects.all()) == ["Leo's words", "Use eu-west-1."]


def test_a_call_that_its_agent_tries_again_keeps_what_is_typed(mia: Site) -> None:
    call = make_blocked()
    mia.open(call)
    mia.page.get_by_role("button", name="Claim").click()
    write(mia.page, "Use eu-west-1.")
    submit(make_agent(), WRONG, call=call)
    expect(mia.page.get_by_text("Attempt 4, while Blocked", exact=True)).to_be_visible(timeout=SOON)
    assert words(mia.page) == "Use eu-west-1."
    submit(make_agent(), RIGHT, call=call)
    expect(mia.page.locator("#answer-notice")).to_contain_text("needs no answer any more", timeout=SOON)
    assert words(mia.page) == "Use eu-west-1."


def test_what_one_snoozes_leaves_the_list_of_the_other(mia: Site, leo: Site) -> None:
    call = make_blocked()
    for site in (mia, leo):
        site.page.reload()
    mia.page.keyboard.press("j")
    mia.page.keyboard.press("s")
    expect(mia.page.get_by_role("dialog", name="Snooze until when?")).to_be_visible()
    mia.page.keyboard.press("Enter")
    expect(mia.page.locator(f"#row-{call.public_id}")).to_have_count(0, timeout=SOON)
    expect(leo.page.get_by_text("1 snoozed")).to_be_visible(timeout=SOON)
    expect(leo.page.locator(f"#row-{call.public_id}")).to_have_count(0)


def test_a_snooze_at_the_call_keeps_what_is_typed_and_the_call_can_be_brought_back(mia: Site) -> None:
    call = make_blocked()
    mia.open(call)
    write(mia.page, "Ask the team first")
    mia.page.get_by_role("link", name="Snooze").click()
    dialog = mia.page.get_by_role("dialog", name="Snooze until when?")
    dialog.get_by_role("button", name="Snooze", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("at most 7 days")
    dialog.get_by_role("button", name="Tomorrow morning").click()
    expect(dialog).to_be_hidden()
    expect(mia.page.locator("#work")).to_contain_text("Snoozed until", timeout=SOON)
    mia.page.get_by_role("button", name="Bring it back").click()
    expect(mia.page.locator("#work")).not_to_contain_text("Snoozed until")
    assert words(mia.page) == "Ask the team first"


def rows(site: Site) -> list[str]:
    return site.page.locator(".row").evaluate_all("(rows) => rows.map((row) => row.id)")


def test_a_claim_of_another_does_not_move_the_list(mia: Site, leo: Site) -> None:
    calls: list[Call] = [make_blocked(make_agent(f"agent-{n}")) for n in range(3)]
    leo.page.reload()
    before = rows(leo)
    places = "(rows) => rows.map((row) => row.getBoundingClientRect().top)"
    tops = leo.page.locator(".row").evaluate_all(places)
    mia.open(calls[1])
    mia.page.keyboard.press("c")
    expect(leo.page.locator(f"#row-{calls[1].public_id}")).to_contain_text("mia has it", timeout=SOON)
    assert rows(leo) == before
    assert leo.page.locator(".row").evaluate_all(places) == tops
