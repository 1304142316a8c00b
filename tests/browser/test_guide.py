"""The pictures of the operators' guide, taken of the desk as it is: `make pictures` writes them anew."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

import pytest
from django.core.management import call_command
from django.utils import timezone
from playwright.sync_api import expect

from dashboard.navigation import Role
from retrycontract.store.models import Tool
from tests.browser.scene import make_desk
from tests.browser.test_desk import ROOT, Site
from tests.factories import make_user

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from pytest_django.live_server_helper import LiveServer

    from tests.browser.conftest import NewPage

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

IMAGES: Final = ROOT / "docs" / "images"
PICTURES: Final = {"inbox", "call", "correcting", "group", "keys", "playground", "insights", "tool"}
SHOWN: Final = re.compile(r"!\[[^\]]{20,}\]\((?:docs/)?images/(\w+)\.png\)")  # with words for who cannot see it


@pytest.fixture
def site(live_server: LiveServer, new_page: NewPage) -> Site:
    """The desk, sharp enough for a document."""
    return Site(live_server.url, new_page(viewport={"width": 1280, "height": 800}, device_scale_factor=1.5))


def take(page: Page, name: str, *, height: int = 800) -> None:
    """Take a picture of the top of the page; it is kept when RETRYCONTRACT_DOC_IMAGES is set."""
    assert name in PICTURES
    page.set_viewport_size({"width": 1280, "height": height})
    page.evaluate("scrollTo(0, 0)")
    taken = page.screenshot(animations="disabled")
    if os.environ.get("RETRYCONTRACT_DOC_IMAGES"):
        (IMAGES / f"{name}.png").write_bytes(taken)


def test_every_picture_is_shown_and_every_shown_picture_is_taken() -> None:
    shown = {name for page in ("README.md", "docs/operators.md") for name in SHOWN.findall((ROOT / page).read_text())}
    assert shown == PICTURES == {file.stem for file in IMAGES.iterdir()}


@pytest.mark.soak
def test_the_work_of_an_operator_in_pictures(site: Site) -> None:
    desk, page = make_desk(timezone.now()), site.page
    site.log_in()
    take(page, "inbox", height=740)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    take(page, "keys")
    site.open(desk.blocked)
    page.get_by_label("What should the agent change?").fill("Use IATA codes: ZRH and LHR. The cabin is 'business'.")
    expect(page.locator("#preview")).to_contain_text("The agent will read exactly this")
    take(page, "call", height=1080)
    page.get_by_text("Corrected arguments", exact=True).first.click()
    expect(page.locator("#preview")).to_contain_text("VAL-007")
    take(page, "correcting", height=900)
    page.goto(f"{site.url}/?tool=deploy_service")
    page.locator("[data-all]").first.click()
    page.locator("#id_text").fill("Use one of the regions that the schema names.")
    expect(page.locator("#preview")).to_contain_text("The agent will read exactly this")
    take(page, "group")


@pytest.mark.soak
def test_the_playground_in_a_picture(site: Site) -> None:
    make_user("mia")
    site.log_in()
    site.page.goto(f"{site.url}/playground/?example=values")
    site.page.get_by_role("button", name="Check it").click()
    expect(site.page.locator("#verdict")).to_contain_text("The model reads exactly this")
    take(site.page, "playground", height=1000)


@pytest.mark.soak
def test_what_became_of_it_in_pictures(site: Site) -> None:
    call_command("seed", calls=4_000, days=30)
    make_user("mia", Role.ADMIN)
    site.log_in()
    site.page.goto(f"{site.url}/insights/?range=30d")
    take(site.page, "insights", height=900)
    tool = Tool.objects.get(name="deploy")
    site.page.goto(f"{site.url}/tools/{tool.pk}/?range=30d")
    take(site.page, "tool", height=900)
