"""From a number of the insights to what is behind it, and back, in a browser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from dashboard.navigation import Role
from tests.browser.test_desk import Site
from tests.factories import RIGHT, WRONG, make_agent, make_call, make_tool, make_user

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from pytest_django.live_server_helper import LiveServer

# What ends behind the right edge of its card.
OUTSIDE = """(all) => all.filter((one) =>
    one.getBoundingClientRect().right > one.closest("section").getBoundingClientRect().right)
    .map((one) => one.textContent)"""

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_board_leads_to_a_mistakes_line_in_the_schema_to_its_calls_and_back(
    live_server: LiveServer, page: Page
) -> None:
    make_user("ada", Role.ADMIN)
    make_tool(make_agent())
    make_call(make_agent(), [WRONG, RIGHT])
    site = Site(live_server.url, page)
    site.log_in("ada")
    page.goto(f"{live_server.url}/insights/?range=30d&by=tokens")
    board = page.get_by_role("region", name="The ranking, with its numbers")
    board.get_by_role("link", name="VAL-008").click()
    expect(page.get_by_role("heading", name="Edit the schema")).to_be_visible()
    expect(page.get_by_text("Outputs fail at /region")).to_be_visible()
    page.get_by_role("link", name="It is described in line").click()
    schema = page.locator("#id_schema")
    expect(schema).to_be_focused()
    line = schema.evaluate("(one) => one.value.slice(0, one.selectionEnd).split('\\n').pop()")
    assert "region" in line
    page.get_by_role("link", name="Back to the insights").click()
    expect(page).to_have_url(re.compile(r"/insights/\?range=30d&by=tokens$"))
    board.get_by_role("link", name="1 failed attempt: their calls").click()
    expect(page.locator(".row-link")).to_have_count(1)
    page.go_back()
    expect(board).to_be_visible()


def test_long_names_leave_the_numbers_in_their_cards(live_server: LiveServer, page: Page) -> None:
    make_user("ada", Role.ADMIN)
    for name in ("operations-of-a-team-with-a-long-name-", "deliveries-of-a-team-with-a-long-name-"):
        for tool in ("a_tool_" * 8, "deploy"):
            make_tool(make_agent(name * 2), tool)
            make_call(make_agent(name * 2), [WRONG, RIGHT], tool=tool)
    site = Site(live_server.url, page)
    site.log_in("ada")
    page.goto(f"{live_server.url}/insights/")
    for width in (1440, 1024, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.locator(".plots td.number").evaluate_all(OUTSIDE) == [], width
