"""The live parts: polls where no stream comes through, a title that counts, and a list that stays under the pointer."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from retrycontract.store.models import Call
from retrycontract.usecases.calls.claim_call import claim_call
from tests.browser.test_desk import SOON, Site
from tests.browser.test_desk import site as site
from tests.factories import answer, make_agent, make_blocked, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PLACES = "(rows) => rows.map((row) => [row.id, row.getBoundingClientRect().top])"
SAY = "(note, time) => (note.querySelector('time').textContent = time, note.getBoundingClientRect().left)"
HIDDEN = "Object.defineProperty(document, 'visibilityState', {get: () => window.seen || 'hidden'})"


def wait_in_line(number: int) -> list[Call]:
    """Make calls with mistakes of their own, the longest waiting first."""
    now = timezone.now()
    return [make_blocked(make_agent(f"agent-{n}"), at=now - timedelta(minutes=9 - n)) for n in range(number)]


def test_without_a_stream_the_polls_bring_what_is_new(site: Site) -> None:
    site.page.route("**/live/", lambda route: route.abort())
    site.page.reload()
    call = make_blocked()
    expect(site.page.locator(f"#row-{call.public_id}")).to_be_visible(timeout=SOON)
    expect(site.page).to_have_title("(1) Inbox · retrycontract")


def test_nothing_moves_under_a_pointer_that_rests_and_the_title_counts_all_the_same(site: Site) -> None:
    first, second, third = wait_in_line(3)
    site.page.reload()
    site.page.locator(f"#row-{second.public_id}").hover()
    before = site.page.locator(".row").evaluate_all(PLACES)
    answer(first, make_user("noah"))
    expect(site.page.get_by_role("button", name="The list has changed")).to_be_visible(timeout=SOON)
    expect(site.page).to_have_title("(2) Inbox · retrycontract")
    site.page.wait_for_timeout(4_000)  # another poll
    assert site.page.locator(".row").evaluate_all(PLACES) == before
    site.page.locator(f"#link-{second.public_id}").click()
    expect(site.page.get_by_role("button", name="Send answer")).to_be_visible()
    assert second.public_id in site.page.url
    assert third.public_id not in site.page.url


SPY = """window.told = []; window.Notification = class extends EventTarget {
    static permission = "default";
    static async requestPermission() { return this.permission = "granted"; }
    constructor(title, said) { super(); window.told.push([title, said.body]); }
}"""


def test_whoever_allows_it_is_told_of_new_calls_while_the_inbox_is_out_of_sight(site: Site) -> None:
    site.page.add_init_script(f"{HIDDEN}; window.seen = 'visible'; {SPY}")
    site.page.reload()
    site.page.get_by_role("button", name="Tell me of new calls").click()
    expect(site.page.get_by_role("button", name="Tell me of new calls")).to_be_hidden()
    seen = make_blocked()
    expect(site.page.locator(f"#row-{seen.public_id}")).to_be_visible(timeout=SOON)
    site.page.evaluate("window.seen = 'hidden'")
    make_blocked(make_agent("other"))
    site.page.evaluate("htmx.trigger('#queue', 'desk:poll')")
    expect(site.page).to_have_title("(2) Inbox · retrycontract")
    noah = make_user("noah")
    for call in Call.objects.blocked():
        answer(call, noah)
    site.page.evaluate("htmx.trigger('#queue', 'desk:poll')")
    expect(site.page).to_have_title("Inbox · retrycontract")
    make_blocked()
    site.page.evaluate("htmx.trigger('#queue', 'desk:poll')")
    expect(site.page).to_have_title("(1) Inbox · retrycontract")
    told = [["A new call is Blocked", f"{said} for a person"] for said in ("2 wait", "1 waits")]
    assert site.page.evaluate("window.told") == told


def test_a_time_that_grows_moves_nothing_beside_it(site: Site) -> None:
    wait_in_line(1)
    site.page.reload()
    note = site.page.locator(".tabs-note")
    expect(note).to_be_visible()
    edges = [note.evaluate(SAY, time) for time in ("9 s", "10 s", "59 min", "1 h 6 min", "23 h 59 min", "6 d 23 h")]
    assert edges == edges[:1] * len(edges)


def test_what_moves_nothing_is_shown_under_the_pointer_and_under_the_focus(site: Site) -> None:
    calls = wait_in_line(2)
    site.page.reload()
    site.page.locator(f"#row-{calls[0].public_id}").hover()
    site.page.locator(f"#link-{calls[0].public_id}").focus()
    leo = make_user("leo")
    claim_call(calls[1], leo, now=timezone.now())
    expect(site.page.locator(f"#row-{calls[1].public_id}")).to_contain_text("leo has it", timeout=SOON)
    expect(site.page.locator(f"#link-{calls[0].public_id}")).to_be_focused()
    expect(site.page.locator("#news")).to_have_count(0)


def test_a_page_in_the_background_asks_once_a_minute_and_its_title_counts(site: Site) -> None:
    site.page.add_init_script(HIDDEN)
    site.page.clock.install()
    site.page.reload()
    make_blocked()
    asked: list[str] = []
    site.page.on("request", lambda request: asked.append(request.url))
    site.page.clock.run_for(50_000)
    assert asked == []
    site.page.clock.run_for(20_000)
    expect(site.page).to_have_title("(1) Inbox · retrycontract")
    assert len(asked) == 1


def test_nothing_of_the_inbox_moves_while_it_loads(site: Site) -> None:
    wait_in_line(6)
    site.page.add_init_script("""
        window.shifted = 0;
        new PerformanceObserver((list) => list.getEntries().forEach((entry) => { window.shifted += entry.value; }))
            .observe({ type: "layout-shift", buffered: true });""")
    site.page.reload()
    expect(site.page.locator("[data-themes]")).to_be_visible()
    site.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert site.page.evaluate("window.shifted") < 0.001
