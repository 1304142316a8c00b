"""A page on paper: light, whole, and without what only a screen can do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from tests.browser.scene import make_desk
from tests.browser.test_desk import Site, check_width, picture

if TYPE_CHECKING:
    from playwright.sync_api import Page, ViewportSize
    from pytest_django.live_server_helper import LiveServer

    from tests.browser.conftest import NewPage

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PAPER: Final[ViewportSize] = {"width": 718, "height": 1047}  # A4 within a margin of 1 cm, in pixels of CSS
# The scheme of the page, whether its ground is light, and whether its words are dark.
COLOURS: Final = """() => {
    const light = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 765;
    const shown = (name) => getComputedStyle(document.body)[name];
    const ground = getComputedStyle(document.documentElement).colorScheme;
    return [ground, shown("backgroundColor") === "rgba(0, 0, 0, 0)" || light(shown("backgroundColor")) > 0.9,
        light(shown("color")) < 0.3];
}"""


def check_paper(page: Page, name: str) -> None:
    """Fail on a page that is dark, scrolls sideways, or shows what nobody can use on paper."""
    page.set_viewport_size(PAPER)
    page.emulate_media(media="print", color_scheme="dark")
    picture(page, f"print-{name}")
    assert page.evaluate(COLOURS) == ["light", True, True], name
    expect(page.locator(":is(nav, .side, button, input, select, textarea, .answer-foot):visible")).to_have_count(0)
    expect(page.locator("h1")).to_be_visible()
    check_width(page, name)


@pytest.mark.parametrize("theme", ["", "dark"])
def test_pages_are_printed_light_and_without_navigation_and_forms(
    live_server: LiveServer, new_page: NewPage, theme: str
) -> None:
    desk = make_desk(timezone.now())
    site = Site(live_server.url, new_page(color_scheme="dark"))
    page = site.page
    site.log_in()
    if theme:
        page.context.add_cookies([{"name": "theme", "value": theme, "url": site.url}])
    for name, shown in (("", ".row"), ("calls/", ".log-line"), ("insights/", ".card")):
        page.goto(f"{site.url}/{name}")
        check_paper(page, name.strip("/") or "inbox")
        expect(page.locator(f"main {shown}").first).to_be_visible()
        page.emulate_media(media="screen")
        expect(page.locator(".side")).to_be_visible()
        assert page.evaluate(COLOURS)[1:] == [False, False]
    for call in (desk.blocked, desk.guided):
        page.emulate_media(media="screen")
        site.open(call)
        check_paper(page, f"call-{call.state}")
        for number in range(1, call.attempts_made + 1):  # the first of them are folded on the screen
            attempt = page.locator(f"#attempt-{number}")
            expect(attempt.locator(".error, pre").last).to_be_visible()
            expect(attempt.locator("summary").first).to_contain_text(re.compile(f"Attempt {number}"))
