"""The desk hears of news by its stream alone: the polls are switched off here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.test_story import agent as agent
from tests.browser.test_story import log_in, stuck

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.serving.service import AgentClient, Service

pytestmark = pytest.mark.browser


def test_a_call_appears_and_is_followed_without_a_single_poll(service: Service, agent: AgentClient, page: Page) -> None:
    page.add_init_script("window.setInterval = () => 0")
    log_in(page, service)
    with page.expect_request("**/live/"):
        page.reload()
    call_id = stuck(agent)
    link = page.locator(f"#link-{call_id}")
    expect(link).to_be_visible()
    link.click()
    expect(page.get_by_role("button", name="Send answer")).to_be_visible()
    agent.submit("get_weather", "w4", {"city": "Bern", "unit": "celsius"}, call_id=call_id)
    expect(page.locator(".call-title")).to_contain_text("Valid")
