"""Names, goals and values as long as they may be: no page scrolls sideways, and no word of ours is broken for them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from retrycontract.usecases.answers.reuse_answers import save_reply, set_hint_from
from tests.browser.states import make_endpoint, make_keys
from tests.browser.test_desk import Site, picture
from tests.browser.test_every_page import PAGES
from tests.factories import DEPLOY, answer, make_agent, make_blocked, make_tool, make_user

if TYPE_CHECKING:
    from pytest_django.live_server_helper import LiveServer

    from retrycontract.store.models import Call
    from tests.browser.conftest import NewPage

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TOOL: Final = "create_or_update_supplier_master_record_with_tax_registration_and_payment_terms_in_the_erp_system"
AGENT: Final = "procurement-and-supplier-onboarding-assistant-for-the-european-region-v2"
OUTPUT: Final = {
    "service": "w" * 300,
    "region": "a-region-with-a-name-that-goes-on-and-on-" * 3,
    "f" * 90: {"g" * 90: 1},
}
# The words before values: broken over lines they cannot be read any more.
BROKEN: Final = """(words) => words.filter((word) => {
    const text = document.createRange();
    text.selectNodeContents(word);
    const lines = new Set(Array.from(text.getClientRects(), (line) => line.top));
    return !/\\s/.test(word.textContent.trim()) && lines.size > 1;
}).map((word) => word.textContent)"""


def make_long(operator: User) -> Call:
    """Make a group of two calls, a hint that stands, a reply, keys and an endpoint, all with long names."""
    agent, now = make_agent(AGENT), timezone.now()
    make_tool(agent, TOOL, DEPLOY)

    def blocked(session: str, output: object) -> Call:
        context = {"goal": "Rechtsschutz" * 30}
        return make_blocked(agent, output, tool=TOOL, session_id=f"{session}-{'0123456789' * 12}", context=context)

    set_hint_from(answer(blocked("hinted", {"service": 1}), operator, text="A" * 500), operator, now=now)
    make_keys(agent, now)
    make_endpoint(now, f"https://{'hooks-of-the-european-region.' * 6}example/{'0' * 200}")
    save_reply(operator, "R" * 80, "B" * 500, now=now)
    blocked("first", OUTPUT)
    return blocked("second", OUTPUT)


@pytest.mark.soak
@pytest.mark.parametrize("width", [360, 768, 1280, 1920])
def test_long_names_widen_no_page_and_break_no_word_of_ours(
    live_server: LiveServer, new_page: NewPage, width: int
) -> None:
    site = Site(live_server.url, new_page(viewport={"width": width, "height": 800}))
    mia = make_user("mia")
    User.objects.filter(pk=mia.pk).update(is_staff=True, is_superuser=True)
    call = make_long(mia)
    site.log_in()
    wide, broken = [], []
    for name, keys_of in PAGES.items():
        site.page.goto(live_server.url + reverse(f"dashboard:{name}", kwargs=keys_of(call)))
        picture(site.page, f"long-{name}-{width}")
        if not site.page.evaluate("document.documentElement.scrollWidth <= innerWidth"):
            wide.append(name)
        broken += site.page.locator("dt:visible, .modes > .faint:visible").evaluate_all(BROKEN)
    assert (wide, broken) == ([], [])


def test_a_page_of_its_own_keeps_its_name_where_the_menu_is_a_strip_of_icons(
    live_server: LiveServer, new_page: NewPage
) -> None:
    page = new_page(viewport={"width": 1024, "height": 768})
    page.goto(f"{live_server.url}/login/")
    name = page.locator(".brand > span").bounding_box()
    assert name is not None
    assert name["width"] > 50


def test_a_long_name_begins_on_the_line_that_is_marked(live_server: LiveServer, new_page: NewPage) -> None:
    """A line of nothing but indentation says nothing, and looks like a fault of its own."""
    site = Site(live_server.url, new_page(viewport={"width": 1280, "height": 800}))
    call = make_long(make_user("mia"))
    site.log_in()
    site.open(call)
    line = site.page.locator(".jbad", has_text="f" * 80).first
    tops = line.evaluate(
        "(line) => [line.getClientRects()[0].top, line.querySelector('.jk bdi').getClientRects()[0].top]"
    )
    assert tops[1] - tops[0] < 10


def test_the_reading_pane_cuts_neither_times_nor_how_many_more_mistakes_there_are(
    live_server: LiveServer, new_page: NewPage
) -> None:
    site = Site(live_server.url, new_page(viewport={"width": 1280, "height": 800}))
    make_user("mia")
    wrong = {"service": 1, "region": "europe", "replicas": "4"}
    make_blocked(output=wrong, tool="register_supplier", at=timezone.now() - timedelta(hours=21, minutes=26))
    site.log_in()
    site.page.keyboard.press("p")
    row = site.page.locator(".split[data-open] .row").first
    cut = "(part) => part.scrollWidth > part.clientWidth"
    assert [row.locator(name).evaluate(cut) for name in (".row-time", ".row-place .faint")] == [False, False]
