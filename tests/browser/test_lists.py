"""The long lists in a browser: by keyboard, without JavaScript, with every filter open."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from dashboard.navigation import Role
from tests.browser.test_desk import Site, check_look
from tests.factories import RIGHT, answer, make_agent, make_blocked, make_call, make_tool, make_user

if TYPE_CHECKING:
    from pytest_django.live_server_helper import LiveServer

    from tests.browser.conftest import NewPage

# Broken over lines, or past the edge of the cell or the paragraph that they stand in.
OUT_OF_PLACE = """(words) => words.filter((word) => {
    const text = document.createRange();
    text.selectNodeContents(word);
    const lines = new Set(Array.from(text.getClientRects(), (line) => Math.round(line.top)));
    const place = word.closest("th, td, p").getBoundingClientRect();
    return lines.size > 1 || word.getBoundingClientRect().right > place.right + 1;
}).map((word) => word.textContent)"""

WIDE = (1024, 1280, 1440)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_call_is_found_by_keyboard(live_server: LiveServer, new_page: NewPage) -> None:
    make_user("mia")
    older, newer = make_blocked(), make_blocked(session_id="wanted")
    site = Site(live_server.url, new_page())
    site.log_in()
    page = site.page
    page.goto(f"{live_server.url}/calls/")
    for key, call in (("j", newer), ("j", older), ("k", newer)):
        page.keyboard.press(key)
        expect(page.locator(f"#row-{call.public_id} .row-link")).to_be_focused()
    page.keyboard.press("/")
    page.keyboard.type("wanted")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("q=wanted"))
    page.wait_for_load_state()  # the address is there before the script that hears the keys
    expect(page.locator(".row-link")).to_have_count(1)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(newer.public_id))


def test_calls_are_filtered_and_taken_away_without_javascript(live_server: LiveServer, new_page: NewPage) -> None:
    make_user("mia")
    blocked = make_blocked()
    make_call(make_agent(), [RIGHT])
    site = Site(live_server.url, new_page(java_script_enabled=False))
    site.log_in()
    page = site.page
    page.goto(f"{live_server.url}/calls/")
    page.get_by_text("Filter", exact=True).click()
    page.get_by_label("State").select_option("blocked")
    page.get_by_label("Created since").fill("2020-01-02T03:04")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".row-link")).to_have_count(1)
    with page.expect_download() as download:
        page.get_by_role("link", name="JSON lines").click()
    (line,) = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["call_id"] == blocked.public_id
    page.get_by_role("link", name="Since 2020-01-02 03:04 UTC").click()
    page.get_by_role("link", name="Blocked").click()
    expect(page.locator(".row-link")).to_have_count(2)


def test_long_lists_with_all_open_are_fit_to_be_seen(live_server: LiveServer, new_page: NewPage) -> None:
    """What agents call themselves and their sessions is as long as they like."""
    make_user("mia", Role.ADMIN)
    agent = make_agent("an-agent-with-a-name-" * 9)
    make_tool(agent)
    answer(make_blocked(agent, session_id="s" * 200, correlation_id="c" * 200), make_user("ann"))
    site = Site(live_server.url, new_page())
    site.log_in()
    for name in ("calls", "audit"):
        site.page.goto(f"{live_server.url}/{name}/?since=2020-01-02T03:04&zone=UTC")
        expect(site.page.locator(".log-line").first).to_be_visible()
        site.page.evaluate("document.querySelectorAll('main details').forEach((fold) => { fold.open = true; })")
        check_look(site.page, f"{name}-open", (("light", 360), ("light", 1280)))


def test_ordinary_names_and_times_stay_on_one_line_within_their_place(
    live_server: LiveServer, new_page: NewPage
) -> None:
    make_user("mia")
    agent, now = make_agent("seed-operations"), timezone.now()
    make_tool(agent, "summarise_pages")
    make_call(agent, [RIGHT], tool="summarise_pages", at=now - timedelta(hours=23, minutes=48))
    site = Site(live_server.url, new_page())
    site.log_in()
    answer(make_blocked(), make_user("leo"), at=now - timedelta(hours=14, minutes=57))
    for path in ("/tools/", "/calls/", "/?show=agent"):
        site.page.goto(live_server.url + path)
        for width in (360, 1280):
            site.page.set_viewport_size({"width": width, "height": 800})
            words = site.page.locator("code.tool:visible, .row-time > *:visible")
            assert words.count() > 0
            assert words.evaluate_all(OUT_OF_PLACE) == []


def test_every_tab_is_seen_whole_and_the_answer_stands_beside_the_call(
    live_server: LiveServer, new_page: NewPage
) -> None:
    make_user("mia")
    call = make_blocked(at=timezone.now() - timedelta(hours=47))
    site = Site(live_server.url, new_page())
    site.log_in()
    page = site.page
    # As in a service that is at work: each number of a tab has five figures.
    page.locator(".tabs .count").evaluate_all(
        "(counts) => counts.forEach((count) => { count.textContent = '10,000'; })"
    )
    tabs = page.locator(".tabs")
    for width in WIDE:
        page.set_viewport_size({"width": width, "height": 900})
        assert tabs.evaluate("(tabs) => tabs.scrollWidth <= tabs.clientWidth"), f"none is cut off at {width}"
        expect(tabs.get_by_role("link", name="All")).to_be_in_viewport(ratio=1)
    site.open(call)
    for width in WIDE:
        page.set_viewport_size({"width": width, "height": 900})
        side, story = page.locator(".call-side").bounding_box(), page.locator(".call-story").bounding_box()
        assert side is not None
        assert story is not None
        assert side["x"] >= story["x"] + story["width"], width
        expect(page.get_by_role("button", name="Send answer")).to_be_in_viewport()
