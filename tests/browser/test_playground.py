"""The playground in a browser: the verdict follows what is typed, and what was typed stays where it is."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_desk import Site
from tests.browser.test_desk import site as site

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


def test_the_verdict_follows_what_is_typed_and_a_secret_comes_back_from_nobody(site: Site) -> None:
    page = site.page
    page.goto(f"{site.url}/playground/")
    page.get_by_role("link", name="Wrong values").click()
    output, verdict = page.get_by_label("Output"), page.locator("#verdict")
    expect(output).to_have_value(re.compile("buisness"))
    output.fill('{"from": "ZRH", "date": "2026-12-01", "cabin": "economy"}')
    expect(verdict).to_contain_text("The agent goes on")
    output.fill(f'{{"from": "{TOKEN}", "date": "2026-12-01", "cabin": "economy"}}')
    expect(verdict).to_contain_text("Not valid: the model tries again")
    expect(verdict).to_contain_text("[REDACTED: ")
    expect(output).to_have_value(re.compile(TOKEN))  # as it was typed: the page was not loaded anew
    page.get_by_label("Attempt", exact=True).select_option("3")
    expect(verdict).to_contain_text("a person is asked")
    verdict.get_by_text("MCP", exact=True).click()
    expect(verdict.locator("details[open]")).to_contain_text('"isError": true')
    page.get_by_label("Name", exact=True).fill("book_seat")
    expect(verdict.locator("details[open]")).to_contain_text("'book_seat'")  # what was unfolded stays so
    assert TOKEN not in verdict.inner_text()
    page.get_by_role("button", name="Check it").click()
    expect(page.get_by_text("Secrets were taken out")).to_be_visible()
    assert TOKEN not in page.content()
