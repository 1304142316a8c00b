"""What a check finds is told to whoever hears the page: in few words, while the field keeps the focus."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest
from playwright.sync_api import expect

from tests.browser.test_desk import Site, check_access
from tests.browser.test_desk import site as site
from tests.factories import RIGHT, make_blocked

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# Note what a live region says, one after the other.
LISTEN: Final = """(region) => {
    window.heard = [];
    new MutationObserver(() => window.heard.push(region.textContent)).observe(region, {childList: true, subtree: true});
}"""


def listened(page: Page, region: str) -> Locator:
    """Give a polite live region, with its words noted from now on."""
    said = page.locator(region)
    expect(said).to_have_attribute("role", "status")
    said.evaluate(LISTEN)
    return said


def check_told(field: Locator, *, is_wrong: bool, words: str | re.Pattern[str]) -> None:
    """Fail unless the field has the focus, is marked as it should be, and is described by the words."""
    expect(field).to_have_accessible_description(words)
    expect(field).to_be_focused()
    if is_wrong:
        expect(field).to_have_attribute("aria-invalid", "true")
    else:
        expect(field).not_to_have_attribute("aria-invalid", "true")


def test_a_correction_tells_what_is_wrong_with_it_and_when_nothing_is(site: Site) -> None:
    site.open(make_blocked())
    page = site.page
    said = listened(page, "#preview-said")
    page.keyboard.press("e")
    field = page.locator("#id_arguments")
    for typed, is_wrong, words in (
        ('{"region": 7}', True, re.compile(r"^\d errors?: /\w+ ")),
        ('{"region": ', True, re.compile("^This is not JSON yet")),
        ('{"service": "web", "region": "eu-west-1"}', False, "Valid. Ready to be sent."),
    ):
        field.fill(typed)
        check_told(field, is_wrong=is_wrong, words=words)
    expect(said).to_have_text("Valid. Ready to be sent.")
    heard = page.evaluate("window.heard")
    assert all(0 < len(words) < 300 for words in heard)
    field.fill('{"service": "web", "region":  "eu-west-1"}')
    expect(page.locator("#preview pre")).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert page.evaluate("window.heard") == heard  # what is as before is not said again
    check_access(page, "call, corrected")


def test_an_answer_for_all_tells_that_it_is_ready(site: Site) -> None:
    first, _ = (make_blocked(output=RIGHT | {"region": "mars"}) for _ in range(2))
    page = site.page
    page.goto(f"{site.url}/calls/{first.public_id}/group/")
    said = listened(page, "#preview-said")
    words = page.locator("#id_text")
    words.fill("Use eu-west-1.")
    expect(said).to_have_text("Ready to be sent.")
    check_told(words, is_wrong=False, words="Ready to be sent.")


def test_the_playground_tells_its_verdict_and_the_field_that_keeps_it_from_one(site: Site) -> None:
    page = site.page
    page.goto(f"{site.url}/playground/?example=values")
    said = listened(page, "#verdict-said")
    expect(said).to_contain_text("Not valid: the model tries again. 4 errors: /")
    output, schema = page.get_by_label("Output"), page.get_by_label("JSON Schema")
    output.fill('{"from": "ZRH", "date": "2026-12-01", "cabin": "economy"}')
    check_told(output, is_wrong=False, words="Valid.")
    schema.fill('{"type": ')
    check_told(schema, is_wrong=True, words=re.compile(r"^Nothing was checked\. Schema\. This is not JSON yet"))
    expect(output).not_to_have_attribute("aria-invalid", "true")
    expect(page.locator("#verdict [role=alert]")).to_have_count(0)  # it would be said twice, and at once
    schema.fill('{"type": "object"}')
    check_told(schema, is_wrong=False, words="Valid.")
