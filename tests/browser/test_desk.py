"""The desk in a real browser: what it looks like, that everybody can use it, and that it lives."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it ships no types
from django.conf import settings
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone
from playwright.sync_api import expect

from tests.browser.scene import Desk, make_desk
from tests.factories import PASSWORD, answer, make_agent, make_blocked, make_user, submit

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from pytest_django.live_server_helper import LiveServer

    from retrycontract.store.models import Call
    from tests.browser.conftest import NewPage

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ROOT: Final = Path(__file__).resolve().parent.parent.parent
SOON: Final = 10_000  # milliseconds: a poll comes every three seconds
Scheme = Literal["light", "dark"]
Looks = tuple[tuple[Scheme, int], ...]
LOOKS: Final = [
    pytest.param(((scheme, width),), id=f"{scheme}-{width}", marks=pytest.mark.soak)
    for scheme in ("light", "dark")
    for width in (1280, 360)
]
RULES: Final = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "rules": {"target-size": {"enabled": True}},
    # What passed would be described with every node: twice the time, and nobody reads it.
    "resultTypes": ["violations"],
    "preload": False,
}


@dataclass(frozen=True)
class Site:
    """The running pages and one browser page in them."""

    url: str
    page: Page

    def log_in(self, name: str = "mia") -> None:
        """Log in beside the browser, which shows the inbox then; `test_sessions` does it by the form."""
        client = Client()
        assert client.post("/login/", {"username": name, "password": PASSWORD}).status_code == 302
        session = client.cookies[settings.SESSION_COOKIE_NAME].value
        self.page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": self.url}])
        self.page.goto(self.url)
        expect(self.page.get_by_role("heading", name="Inbox")).to_be_visible()

    def open(self, call: Call) -> None:
        self.page.goto(f"{self.url}/calls/{call.public_id}/")


@pytest.fixture
def site(live_server: LiveServer, page: Page) -> Site:
    """The desk, with an operator who has logged in."""
    make_user("mia")
    site = Site(live_server.url, page)
    site.log_in()
    return site


def picture(page: Page, name: str) -> None:
    """Save a picture of the whole page to the folder of RETRYCONTRACT_SCREENSHOTS, if it is set."""
    if folder := os.environ.get("RETRYCONTRACT_SCREENSHOTS"):
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=ROOT / folder / f"{name}.png", full_page=True, animations="disabled")


def check_look(page: Page, name: str, looks: Looks = ()) -> None:
    """Take a picture; fail on any violation that axe finds, and on a page that scrolls sideways: as it is, or in looks.

    Among several looks each is looked at in turn on the page that is open.
    """
    for scheme, width in looks:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 800})
        picture(page, f"{name}-{scheme}-{width}")
        check_access(page, f"{name}-{scheme}-{width}")
    if not looks:
        picture(page, name)
        check_access(page, name)


def check_access(page: Page, name: str) -> None:
    """Fail on any violation that axe finds, and on a page that scrolls sideways."""
    found = Axe().run(page, options=RULES).response["violations"]
    assert [f"{rule['id']}: {[node['html'] for node in rule['nodes']]}" for rule in found] == [], name
    check_width(page, name)


def check_width(page: Page, name: str) -> None:
    """Fail on a page that scrolls sideways."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} scrolls sideways"


def opened(new_page: NewPage, looks: Looks) -> Page:
    """Open a page in the first of the looks."""
    scheme, width = looks[0]
    return new_page(color_scheme=scheme, viewport={"width": width, "height": 800})


def look_at_everything(site: Site, desk: Desk, looks: Looks) -> None:
    page = site.page
    check_look(page, "inbox", looks)
    for tab in ("mine", "agent", "answered", "all", "snoozed"):
        page.goto(f"{site.url}/?show={tab}")
        check_look(page, f"inbox-{tab}", looks)
    page.goto(f"{site.url}/?q=nothing-like-it")
    check_look(page, "inbox-no-match", looks)
    for name, call in (("blocked", desk.blocked), ("guided", desk.guided), ("ended", desk.ended)):
        site.open(call)
        page.evaluate("document.querySelectorAll('main details').forEach((fold) => { fold.open = true; })")
        check_look(page, f"call-{name}", looks)
    site.open(desk.blocked)
    page.get_by_text("Corrected arguments", exact=True).first.click()
    expect(page.locator("#preview")).to_contain_text("VAL-007")
    check_look(page, "call-corrected", looks)
    page.keyboard.press("Escape")
    page.keyboard.press("s")
    expect(page.get_by_role("dialog", name="Snooze until when?")).to_be_visible()
    check_look(page, "call-snooze", looks)
    page.goto(f"{site.url}/?tool=deploy_service")
    page.locator("[data-all]").first.click()
    page.locator("#id_text").fill("Use one of the regions that the schema names.")
    expect(page.locator("#preview")).to_contain_text("The agent will read exactly this")
    check_look(page, "group", looks)
    page.get_by_role("button", name="Send to all ticked").click()
    expect(page.get_by_role("heading", name="calls answered")).to_be_visible()
    check_look(page, "group-report", looks)
    page.goto(f"{site.url}/?tool=book_flight&code=VAL-008")
    check_look(page, "inbox-filtered", looks)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys").locator("kbd").first).to_be_visible()
    check_look(page, "keys", looks)
    page.goto(f"{site.url}/nowhere/")
    check_look(page, "not-found", looks)


@pytest.mark.parametrize("looks", LOOKS)
def test_every_page_is_fit_to_be_seen_and_used(live_server: LiveServer, new_page: NewPage, looks: Looks) -> None:
    desk = make_desk(timezone.now())
    site = Site(live_server.url, opened(new_page, looks))
    site.page.goto(site.url)
    check_look(site.page, "login", looks)
    site.log_in()
    look_at_everything(site, desk, looks)


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.soak)])
def test_the_empty_inbox_is_fit_to_be_seen_and_used(live_server: LiveServer, new_page: NewPage, scheme: Scheme) -> None:
    make_user("mia")
    site = Site(live_server.url, new_page(color_scheme=scheme, viewport={"width": 360, "height": 800}))
    site.log_in()
    check_look(site.page, f"inbox-first-look-{scheme}-360")
    snippets = site.page.locator("pre.snippet:visible")
    assert snippets.count() == 3
    assert snippets.evaluate_all("(all) => all.every((one) => one.getBoundingClientRect().right < innerWidth)")
    site.page.set_viewport_size({"width": 1280, "height": 800})
    check_look(site.page, f"inbox-first-look-{scheme}-1280")
    answer(make_blocked(), make_user("noah"))
    site.page.reload()
    check_look(site.page, f"inbox-empty-{scheme}-1280")


def test_a_new_blocked_call_appears_without_a_reload(site: Site) -> None:
    expect(site.page.get_by_text("No agent has called yet")).to_be_visible()
    call = make_blocked()
    expect(site.page.locator(f"#row-{call.public_id}")).to_be_visible(timeout=SOON)
    assert site.page.title().startswith("(1) Inbox")
    submit(make_agent(), {"service": "web", "region": "eu-west-1"}, call=call)
    expect(site.page.get_by_text("Nobody waits for you")).to_be_visible(timeout=SOON)


def test_the_page_follows_the_agent_and_leaves_alone_what_is_typed_and_unfolded(site: Site) -> None:
    call = make_blocked()
    site.open(call)
    words = site.page.get_by_label("What should the agent change?")
    words.fill("Half a sent")
    site.page.locator("#attempt-1 > summary").click()
    submit(make_agent(), {"service": "web", "region": "mars"}, call=call)
    words.focus()
    expect(site.page.get_by_text("Attempt 4, while Blocked", exact=True)).to_be_visible(timeout=SOON)
    expect(words).to_have_value("Half a sent")
    expect(words).to_be_focused()
    assert site.page.locator("#attempt-1").get_attribute("open") is not None


def test_a_link_to_an_attempt_leads_to_it_unfolded_and_that_of_its_trace_to_where_traces_are_shown(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    shows = settings.RETRYCONTRACT.model_copy(update={"trace_url": f"{site.url}/traces/{{trace_id}}"})
    monkeypatch.setattr(settings, "RETRYCONTRACT", shows)
    call = make_blocked(traceparent=f"00-{'4bf9' * 8}-00f067aa0ba902b7-01")
    site.open(call)
    site.page.get_by_role("link", name="4bf94bf9").click()
    site.page.wait_for_url(f"{site.url}/traces/{'4bf9' * 8}")
    site.open(call)
    site.page.locator("#attempt-1 > summary").click()
    site.page.get_by_role("link", name="Link to this attempt").last.click()
    address = site.page.url
    assert address.endswith(f"/calls/{call.public_id}/?attempt=1#attempt-1")
    site.page.goto(site.url)
    site.page.goto(address)
    expect(site.page.locator("#attempt-1")).to_have_attribute("open", "")
    expect(site.page.locator("#attempt-1")).to_be_in_viewport()


def test_older_attempts_are_read_by_their_links_in_their_place_and_by_an_address_from_before_they_were_old(
    site: Site,
) -> None:
    call = make_blocked()
    for number in range(4, 18):
        submit(make_agent(), {"service": "web", "region": f"mars {number}", "of": {"many": ["x"] * 30}}, call=call)
    site.open(call)
    site.page.locator("#attempt-9").click()
    expect(site.page.locator("details#attempt-9")).to_contain_text("mars 9")
    site.page.get_by_role("link", name="7 older attempts").click()
    expect(site.page.locator("#timeline-title")).to_contain_text("attempts 7 to 1 of 17, newest first")
    check_look(site.page, "older-attempts", (("light", 1280), ("dark", 360)))
    site.page.goto(site.url)
    site.page.goto(f"{site.url}/calls/{call.public_id}/#attempt-2")
    expect(site.page.locator("#attempt-2")).to_have_attribute("open", "")
    expect(site.page.locator("#attempt-2")).to_be_in_viewport()
    site.page.get_by_role("link", name="Newest attempts").click()
    expect(site.page.locator("#attempt-17")).to_have_attribute("open", "")


def test_whoever_types_is_told_that_somebody_else_was_first(site: Site) -> None:
    call = make_blocked()
    site.open(call)
    words = site.page.get_by_label("What should the agent change?")
    words.fill("My own words")
    answer(call, make_user("noah"), text="Noah was here.")
    notice = site.page.locator("#answer-notice")
    expect(notice).to_contain_text("noah has answered this call", timeout=SOON)
    expect(notice).to_contain_text("> Noah was here.")
    expect(words).to_have_value("My own words")
    expect(site.page.get_by_role("button", name="Send answer")).to_be_hidden()
    words.press("Control+Enter")
    expect(site.page.locator("#answer-notice")).to_contain_text("noah has answered this call")
    expect(site.page.get_by_label("What should the agent change?")).to_have_value("My own words")


def test_a_session_that_ends_is_said_and_the_asking_stops(site: Site) -> None:
    site.open(make_blocked())
    site.page.get_by_label("What should the agent change?").fill("An hour of work")
    Session.objects.all().delete()
    line = site.page.locator("#connection")
    expect(line).to_contain_text("Your session has ended", timeout=SOON)
    asked: list[str] = []
    site.page.on("request", lambda request: asked.append(request.url))
    site.page.wait_for_timeout(4_000)
    assert asked == []
    site.page.get_by_role("button", name="Send answer").click()
    expect(site.page.get_by_label("Your text")).to_have_value("An hour of work")


def test_a_page_that_nobody_sees_asks_for_nothing(live_server: LiveServer, page: Page) -> None:
    page.add_init_script("Object.defineProperty(document, 'visibilityState', {get: () => window.seen || 'hidden'})")
    make_user("mia")
    site = Site(live_server.url, page)
    site.log_in()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(4_000)
    assert [url for url in asked if not url.endswith("/favicon.svg")] == []  # the browser's own, whenever it likes
    with page.expect_request(re.compile("seen=")):
        page.evaluate("window.seen = 'visible'; document.dispatchEvent(new Event('visibilitychange'))")


def test_ctrl_enter_sends_the_answer(site: Site) -> None:
    call = make_blocked()
    site.open(call)
    site.page.get_by_label("What should the agent change?").fill("Use eu-west-1.")
    site.page.keyboard.press("Control+Enter")
    expect(site.page.get_by_text("Sent to deployer")).to_be_visible()
    call.refresh_from_db()
    assert call.state == "guided"


def test_everything_can_be_reached_with_the_keyboard(site: Site) -> None:
    call = make_blocked()
    site.page.reload()
    site.page.keyboard.press("Tab")
    expect(site.page.get_by_text("Skip to content")).to_be_focused()
    site.page.keyboard.press("Enter")
    for _ in range(12):
        site.page.keyboard.press("Tab")
        if site.page.evaluate("document.activeElement.classList.contains('row-link')"):
            break
    site.page.keyboard.press("Enter")
    expect(site.page).to_have_url(re.compile(call.public_id))
    site.page.get_by_role("radio", name="Hint").focus()
    site.page.keyboard.press("ArrowDown")
    expect(site.page.get_by_role("radio", name="Corrected arguments")).to_be_checked()
    expect(site.page.get_by_label("Note to the agent")).to_be_visible()
    expect(site.page.get_by_role("group", name="More attempts")).to_be_hidden()


def test_the_chosen_colours_stay(site: Site) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light: Any = site.page.evaluate(ground)
    site.page.get_by_role("button", name="Dark").click()
    dark: Any = site.page.evaluate(ground)
    assert dark != light
    site.page.reload()
    assert site.page.evaluate(ground) == dark
    expect(site.page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
    site.page.get_by_role("button", name="As the system").click()
    site.page.reload()
    assert site.page.evaluate(ground) == light


def test_without_scripts_there_are_a_preview_button_and_a_way_through(
    live_server: LiveServer, new_page: NewPage
) -> None:
    make_user("mia")
    call = make_blocked()
    site = Site(live_server.url, new_page(java_script_enabled=False))
    site.log_in()
    site.page.locator(f"#link-{call.public_id}").click()
    site.page.get_by_label("What should the agent change?").fill("Use eu-west-1.")
    site.page.get_by_role("button", name="Preview").click()
    expect(site.page.locator("#preview")).to_contain_text("> Use eu-west-1.")
    site.page.get_by_role("button", name="Send answer").click()
    expect(site.page.get_by_text("Sent to deployer")).to_be_visible()
