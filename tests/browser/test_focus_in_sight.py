"""What the keyboard reaches is in sight: no bar that stays on the page covers it, at any size and zoom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from tests.browser.scene import make_desk
from tests.browser.test_desk import Site
from tests.browser.test_desk import site as site
from tests.factories import RIGHT, make_blocked

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from pytest_django.live_server_helper import LiveServer

    from retrycontract.store.models import Call

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# A bar that stays at the bottom stands on these alone.
WITH_ANSWERS: Final = ("call", "group")
PAGES: Final = (*WITH_ANSWERS, "inbox", "calls", "tools", "settings", "insights", "playground")
# The first is a screen of 1280x800 that is zoomed to 200 %.
SIZES: Final = ((640, 400), (683, 384), (960, 540), (640, 800), (360, 800), (960, 660), (320, 256), (1280, 400))
MOST_STOPS: Final = 400
# Name what has the focus and is out of sight; "" of what is in sight, null where every stop was seen.
HIDDEN: Final = """async () => {
    // What a page shows and hides as it scrolls follows within a frame.
    for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
    const focused = document.activeElement;
    if (focused === document.body || window.stops.has(focused)) return null;
    window.stops.add(focused);
    // Of what is small its middle is wanted; of what may be larger than its room any part.
    const parts = (length) => length < 80 ? [0.5] : [0.02, 0.25, 0.5, 0.75, 0.98];
    const isSeen = Array.from(focused.getClientRects()).some((box) => parts(box.width).some((x) =>
        parts(box.height).some((y) => {
            const hit = document.elementFromPoint(box.left + box.width * x, box.top + box.height * y);
            return hit && (focused.contains(hit) || hit.closest("label")?.control === focused);
        })));
    if (isSeen) return "";
    const name = focused.ariaLabel || focused.labels?.[0]?.innerText || focused.innerText || focused.id;
    return `${focused.localName} ${name.trim().replace(/\\s+/g, " ").slice(0, 60)}`;
}"""


def out_of_sight(page: Page, key: str) -> tuple[int, list[str]]:
    """Press a key until every stop of the page had the focus; count them, and name those that nobody could see then."""
    page.evaluate("window.stops = new Set()")
    hidden: list[str] = []
    for number in range(MOST_STOPS):
        page.keyboard.press(key)
        found = page.evaluate(HIDDEN)
        if found is None:
            return number, hidden
        if found:
            hidden.append(f"{key}: {found}")
    raise AssertionError(f"over {MOST_STOPS} stops")


def both_ways(page: Page) -> list[str]:
    """Go through the page by keyboard, to its end and back; name what had the focus out of sight."""
    page.evaluate("document.querySelector('.skip').focus()")
    there, hidden = out_of_sight(page, "Tab")
    back, hidden_back = out_of_sight(page, "Shift+Tab")
    assert back == there + 1  # it began at the first
    return hidden + hidden_back


def two_calls(site: Site) -> Call:
    """Make two calls with the same mistake, for which a fix is suggested; give the first."""
    first, _ = (make_blocked(output=RIGHT | {"replicas": "3"}) for _ in range(2))
    site.page.goto(site.url)
    return first


def check_focus(site: Site, call: Call, name: str) -> None:
    """Fail on what has the focus and is out of sight: as the page comes, and with an answer of every kind."""
    page = site.page
    page.goto(
        site.url + reverse(f"dashboard:{name}", kwargs={"public_id": call.public_id} if name in WITH_ANSWERS else {})
    )
    assert both_ways(page) == [], name
    if name == "playground":
        page.get_by_role("link", name="Wrong values").click()
        assert both_ways(page) == [], "playground, with a verdict"
    if name in WITH_ANSWERS:
        page.locator("#id_text").fill("Use one of the regions.\n" * 12)
        expect(page.locator("#preview")).to_contain_text("The agent will read exactly this")
        assert both_ways(page) == [], f"{name}, answered"
    if name == "call":
        page.keyboard.press("Escape")
        page.keyboard.press("e")
        page.locator("#id_arguments").fill('{"replicas": "many"}')
        expect(page.locator("#preview")).to_contain_text("VAL-0")
        assert both_ways(page) == [], "call, corrected"


@pytest.mark.parametrize(("width", "height"), [(640, 400), (360, 800)])
def test_no_bar_covers_what_has_the_focus_beside_an_answer(site: Site, width: int, height: int) -> None:
    call = two_calls(site)
    site.page.set_viewport_size({"width": width, "height": height})
    for name in WITH_ANSWERS:
        check_focus(site, call, name)


@pytest.mark.soak
@pytest.mark.parametrize(("width", "height"), [*SIZES, (1280, 800)])
def test_whatever_has_the_focus_is_in_sight_on_every_page(
    live_server: LiveServer, page: Page, width: int, height: int
) -> None:
    desk = make_desk(timezone.now())
    User.objects.filter(pk=desk.operator.pk).update(is_staff=True, is_superuser=True)  # who sees every page
    site = Site(live_server.url, page)
    site.log_in()
    call = two_calls(site)
    page.set_viewport_size({"width": width, "height": height})
    for name in PAGES:
        check_focus(site, call, name)


def test_what_has_the_focus_stays_above_the_bar_as_that_grows(site: Site) -> None:
    page = site.page
    page.set_viewport_size({"width": 640, "height": 800})
    site.open(two_calls(site))
    words = page.get_by_label("What should the agent change?")
    words.focus()
    foot = page.locator(".answer-foot")
    page.evaluate("""() => { // as near to the bar as it can be
        const [field, bar] = ["#id_text", ".answer-foot"].map((one) =>
            document.querySelector(one).getBoundingClientRect());
        scrollBy(0, field.bottom - bar.top);
    }""")
    before = foot.bounding_box()
    page.keyboard.type("Use eu-west-1.")
    expect(page.locator("#preview")).to_contain_text("The agent will read exactly this")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    grown, field = foot.bounding_box(), words.bounding_box()
    assert before
    assert grown
    assert field
    assert grown["height"] > before["height"]
    assert field["y"] + field["height"] <= grown["y"]


def test_the_open_menu_of_a_narrow_page_goes_as_the_keyboard_goes_on(site: Site) -> None:
    two_calls(site)
    page = site.page
    page.set_viewport_size({"width": 640, "height": 800})
    menu = page.locator("[data-menu]")
    menu.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(menu).to_have_attribute("open", "")
    page.get_by_role("button", name="Log out").focus()
    expect(menu).to_have_attribute("open", "")
    page.keyboard.press("Tab")
    expect(menu).not_to_have_attribute("open", "")
