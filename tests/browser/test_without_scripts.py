"""The operator's whole day with JavaScript off: take, put off, bring back, answer one, answer all."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from retrycontract.store.models import Guidance
from tests.browser.test_desk import Site
from tests.factories import make_agent, make_blocked, make_user

if TYPE_CHECKING:
    from pytest_django.live_server_helper import LiveServer

    from tests.browser.conftest import NewPage

pytestmark = [pytest.mark.soak, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def site(live_server: LiveServer, new_page: NewPage) -> Site:
    """The desk in a browser that runs no scripts."""
    make_user("mia")
    site = Site(live_server.url, new_page(java_script_enabled=False))
    site.log_in()
    return site


def test_a_call_is_taken_put_off_brought_back_and_answered(site: Site) -> None:
    now, page = timezone.now(), site.page
    first, second = (make_blocked(make_agent(f"agent-{n}"), at=now - timedelta(minutes=9 - n)) for n in range(2))
    page.reload()
    page.get_by_role("button", name="Take the next").click()
    expect(page).to_have_url(re.compile(first.public_id))
    expect(page.locator("#work")).to_contain_text("You have it until")
    text = page.get_by_label("What should the agent change?")
    text.fill("Use eu-west-1.")
    page.get_by_role("button", name="Release").click()
    expect(page.locator("#work")).to_contain_text("Nobody has it yet")
    expect(text).to_have_value("Use eu-west-1.")
    page.get_by_role("link", name="Snooze").click()
    page.get_by_role("button", name="In an hour").click()
    expect(page.get_by_text("Snoozed; it comes back by itself.")).to_be_visible()
    page.get_by_role("link", name="1 snoozed").click()
    page.locator(f"#link-{first.public_id}").click()
    page.get_by_role("button", name="Bring it back").click()
    text.fill("Use eu-west-1.")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview")).to_contain_text("> Use eu-west-1.")
    page.get_by_role("button", name="Send and next").click()
    expect(page).to_have_url(re.compile(second.public_id))
    page.get_by_role("status").get_by_role("link", name="agent-0").click()
    expect(page).to_have_url(re.compile(first.public_id))


def test_arguments_are_checked_by_preview_laid_out_and_sent(site: Site) -> None:
    call, page = make_blocked(), site.page
    site.open(call)
    page.get_by_role("radio", name="Corrected arguments").check()
    editor = page.locator("#id_arguments")
    editor.fill('{"service": "web",\n"region": "mars"}')
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview")).to_contain_text("Line 2")
    expect(editor).to_have_value('{"service": "web",\n"region": "mars"}')
    editor.fill('{"service": "web", "region": "eu-west-1"}')
    page.get_by_role("button", name="Pretty-print").click()
    expect(editor).to_have_value('{\n  "service": "web",\n  "region": "eu-west-1"\n}')
    page.get_by_role("button", name="Send answer").click()
    expect(page.get_by_text("Sent to deployer")).to_be_visible()
    assert Guidance.objects.get().decision == "corrected"


@pytest.mark.parametrize(("decision", "state"), [("Accept as is", "accepted"), ("Reject", "rejected")])
def test_a_call_is_ended_with_a_reason(site: Site, decision: str, state: str) -> None:
    call, page = make_blocked(), site.page
    site.open(call)
    page.get_by_role("radio", name=decision).check()
    page.locator("#id_text").fill("The release was withdrawn.")
    page.get_by_role("button", name="Send answer").click()
    expect(page.locator("#outcome")).to_contain_text(f"The call ended: {state}")


def test_a_group_is_answered_and_the_report_leads_to_what_was_left(site: Site) -> None:
    calls, page = [make_blocked() for _ in range(3)], site.page
    page.reload()
    page.locator("[data-all]").first.click()
    page.locator(f'[value="{calls[2].public_id}"]').uncheck()
    page.get_by_label("What should the agents change?").fill("Use eu-west-1.")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview")).to_contain_text("> Use eu-west-1.")
    expect(page.locator(f'[value="{calls[2].public_id}"]')).not_to_be_checked()
    page.get_by_role("button", name="Send to all ticked").click()
    expect(page.get_by_role("heading", name="2 calls answered")).to_be_visible()
    expect(page.get_by_text("1 still wait")).to_be_visible()
    page.get_by_role("link", name=calls[0].public_id).click()
    expect(page.get_by_role("heading", name="Answered")).to_be_visible()


def test_search_and_filters_are_plain_forms(site: Site) -> None:
    call, other, page = make_blocked(), make_blocked(make_agent("b"), {}, tool="refund"), site.page
    page.reload()
    page.get_by_role("searchbox").fill("refund")
    page.get_by_role("searchbox").press("Enter")
    expect(page.locator(".row")).to_have_count(1)
    expect(page.locator(f"#row-{other.public_id}")).to_be_visible()
    page.get_by_text("Filter", exact=True).click()
    page.locator("select[name=tool]").select_option("deploy")
    page.get_by_role("searchbox").fill("")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(f"#row-{call.public_id}")).to_be_visible()
