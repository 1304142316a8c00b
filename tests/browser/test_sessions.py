"""A session that ends, or a page that is left, while something is typed: no word is lost."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import expect

from retrycontract.store.models import Guidance
from tests.browser.test_desk import SOON, Site
from tests.browser.test_desk import site as site
from tests.factories import PASSWORD, make_blocked, make_user

if TYPE_CHECKING:
    from playwright.sync_api import Dialog, Page
    from pytest_django.live_server_helper import LiveServer

    from tests.browser.conftest import NewPage

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
ENDED = "Your session has ended"


def write(page: Page, words: str) -> None:
    page.get_by_label("What should the agent change?").fill(words)


def log_in_again(page: Page) -> None:
    page.get_by_label("User name").fill("mia")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()


def test_after_a_login_in_another_tab_the_form_is_sent_as_if_nothing_had_happened(site: Site) -> None:
    site.open(make_blocked())
    write(site.page, "An hour of work")
    Session.objects.all().delete()
    line = site.page.locator("#connection")
    expect(line).to_contain_text(ENDED, timeout=SOON)
    with site.page.expect_popup() as opened:
        line.get_by_role("link", name="Log in").click()
    log_in_again(opened.value)
    expect(opened.value.get_by_role("button", name="Send answer")).to_be_visible()
    opened.value.close()
    site.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # headless, every tab is in sight
    expect(line).to_be_empty()
    expect(site.page.get_by_label("What should the agent change?")).to_have_value("An hour of work")
    site.page.get_by_role("button", name="Send answer").click()
    expect(site.page.get_by_text("Sent to deployer")).to_be_visible()
    assert Guidance.objects.get().text == "An hour of work"


@pytest.mark.parametrize("rest", ["", "group/"])
def test_nobody_is_shown_what_another_one_typed_before_the_log_out(site: Site, rest: str) -> None:
    make_user("leo")
    make_blocked()
    call = make_blocked()
    site.page.goto(f"{site.url}/calls/{call.public_id}/{rest}")
    site.page.locator("#id_text").fill("Between the two of us")
    site.page.goto(f"{site.url}/settings/")
    site.page.get_by_role("button", name="Log out").first.click()
    expect(site.page.get_by_label("User name")).to_be_visible()
    other = Site(site.url, site.page.context.new_page())
    other.log_in("leo")
    # The tab is asked anew, and the browser would fill in what was typed there.
    for _ in range(2):
        site.page.go_back()
    expect(site.page).to_have_url(f"{site.url}/calls/{call.public_id}/{rest}")
    expect(site.page.locator("#id_text")).to_have_value("")
    site.page.locator("#id_text").fill("leo's own")
    site.page.reload()
    expect(site.page.locator("#id_text")).to_have_value("leo's own")


def test_coming_back_without_a_login_changes_nothing(site: Site) -> None:
    site.open(make_blocked())
    Session.objects.all().delete()
    expect(site.page.locator("#connection")).to_contain_text(ENDED, timeout=SOON)
    with site.page.expect_response(re.compile("/login/")):
        site.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(site.page.locator("#connection")).to_contain_text(ENDED)


def test_without_scripts_words_are_given_back_and_the_login_leads_to_the_call(
    site: Site, live_server: LiveServer, new_page: NewPage
) -> None:
    plain = Site(live_server.url, new_page(java_script_enabled=False))
    plain.log_in()
    call = make_blocked()
    plain.open(call)
    write(plain.page, "An hour of work")
    Session.objects.all().delete()
    plain.page.get_by_role("button", name="Preview").click()
    expect(plain.page.get_by_label("Your text")).to_have_value("An hour of work")
    plain.page.get_by_role("link", name="Log in").click()
    log_in_again(plain.page)
    expect(plain.page).to_have_url(f"{plain.url}/calls/{call.public_id}/")


def test_whoever_leaves_words_unsent_finds_them_again_and_is_not_asked(site: Site) -> None:
    call, asked = make_blocked(), []

    def leave(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    site.page.on("dialog", leave)
    site.open(call)
    site.page.get_by_label("What should the agent change?").press_sequentially("Half a sent")
    site.page.keyboard.press("Escape")
    site.page.keyboard.press("i")
    expect(site.page).to_have_url(f"{site.url}/")
    site.open(call)
    expect(site.page.get_by_label("What should the agent change?")).to_have_value("Half a sent")
    assert asked == []
