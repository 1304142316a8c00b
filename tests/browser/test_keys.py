"""The desk by single keys, and a list that does not move under whoever points at it."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import expect

from retrycontract.usecases.calls.sweep import index_calls
from retrycontract.usecases.people.admit import keep_preferences
from tests.browser.test_desk import SOON, Site, check_look
from tests.browser.test_desk import site as site
from tests.factories import RIGHT, WRONG, make_agent, make_blocked, make_call, make_tool

if TYPE_CHECKING:
    from playwright.sync_api import Route

    from retrycontract.store.models import Call

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def three_calls() -> list[Call]:
    """Make three calls with mistakes of their own, the longest waiting first."""
    now = timezone.now()
    return [make_blocked(make_agent(f"agent-{n}"), at=now - timedelta(minutes=9 - n)) for n in range(3)]


def test_j_and_k_move_and_enter_opens(site: Site) -> None:
    first, second, _ = three_calls()
    site.page.reload()
    for key, call in (("j", first), ("j", second), ("k", first)):
        site.page.keyboard.press(key)
        expect(site.page.locator(f"#link-{call.public_id}")).to_be_focused()
    site.page.keyboard.press("Enter")
    expect(site.page).to_have_url(re.compile(first.public_id))


def test_the_reading_pane_shows_the_call_of_the_row_beside_the_list(site: Site) -> None:
    first, second, third = three_calls()
    site.page.set_viewport_size({"width": 1280, "height": 800})
    site.page.reload()
    pane = site.page.get_by_label("The call beside the list")
    expect(pane).to_be_hidden()
    site.page.keyboard.press("p")
    expect(pane).to_contain_text(first.public_id)
    for _ in range(2):
        site.page.keyboard.press("j")
    expect(pane).to_contain_text(second.public_id)
    expect(site.page.locator(f"#link-{second.public_id}")).to_be_focused()
    site.page.locator(f"#row-{third.public_id}").click()
    expect(pane).to_contain_text(third.public_id)
    site.page.reload()
    expect(pane).to_contain_text(first.public_id)
    check_look(site.page, "inbox-with-pane")
    site.page.set_viewport_size({"width": 1024, "height": 800})
    expect(pane).to_be_hidden()
    site.page.keyboard.press("j")
    site.page.keyboard.press("Enter")
    expect(site.page).to_have_url(re.compile(first.public_id))


def test_the_pane_of_a_group_leads_to_one_answer_for_all(site: Site) -> None:
    agent = make_agent()
    calls = [make_blocked(agent) for _ in range(3)]
    site.page.set_viewport_size({"width": 1280, "height": 800})
    site.page.reload()
    site.page.keyboard.press("p")
    pane = site.page.get_by_label("The call beside the list")
    expect(pane).to_contain_text("The first of 3 calls with the same mistakes")
    expect(pane).to_contain_text(calls[0].public_id)
    pane.get_by_role("link", name="Answer all 3").click()
    expect(site.page).to_have_url(re.compile(f"{calls[0].public_id}/group"))


def test_a_whole_answer_is_given_by_keys_and_the_next_call_opens(site: Site) -> None:
    first, second, _ = three_calls()
    site.page.reload()
    site.page.keyboard.press("n")
    expect(site.page).to_have_url(re.compile(first.public_id))
    site.page.wait_for_load_state()  # a key before the script is there does nothing
    site.page.keyboard.press("e")
    expect(site.page.get_by_role("radio", name="Corrected arguments")).to_be_checked()
    expect(site.page.get_by_label("Corrected arguments", exact=False).last).to_be_focused()
    site.page.keyboard.press("Escape")
    site.page.get_by_text("Hint", exact=True).click()
    site.page.keyboard.press("g")
    site.page.keyboard.type("nice: j and k are letters here")
    expect(site.page.get_by_label("What should the agent change?")).to_have_value("nice: j and k are letters here")
    site.page.keyboard.press("Control+Enter")
    expect(site.page).to_have_url(re.compile(second.public_id))
    first.refresh_from_db()
    assert first.state == "guided"


def test_the_search_and_the_sheet_have_keys(site: Site) -> None:
    site.page.keyboard.press("/")
    expect(site.page.get_by_role("searchbox")).to_be_focused()
    site.page.keyboard.press("Escape")
    site.page.keyboard.press("?")
    sheet = site.page.get_by_role("dialog", name="Keys")
    expect(sheet).to_be_visible()
    told = sheet.locator("section").nth(1).locator("dt").all_inner_texts()
    assert len(told) == len(set(told)), "a key is told twice"
    site.page.keyboard.press("j")
    site.page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()


def test_d_folds_what_changed_since_the_attempt_before(site: Site) -> None:
    agent = make_agent()
    make_tool(agent)
    site.open(make_call(agent, [WRONG, WRONG, WRONG | {"region": "mars"}]))
    changed = site.page.locator("#diff-3")
    expect(changed).to_contain_text("/region")
    expect(changed).to_have_attribute("open", "")
    site.page.keyboard.press("d")
    expect(changed).not_to_have_attribute("open", "")
    site.page.keyboard.press("d")
    expect(changed).to_have_attribute("open", "")


def test_calls_are_claimed_released_and_snoozed_in_the_list(site: Site) -> None:
    first, second, third = three_calls()
    site.page.reload()
    for key, words in (("j", ""), ("j", ""), ("c", "you have it")):
        site.page.keyboard.press(key)
        expect(site.page.locator(f"#row-{second.public_id}")).to_contain_text(words, timeout=SOON)
    expect(site.page.locator(f"#link-{second.public_id}")).to_be_focused()
    site.page.keyboard.press("c")
    expect(site.page.locator(f"#row-{second.public_id}")).not_to_contain_text("you have it", timeout=SOON)
    site.page.keyboard.press("s")
    dialog = site.page.get_by_role("dialog", name="Snooze until when?")
    expect(dialog.get_by_role("button", name="In an hour")).to_be_focused()
    site.page.keyboard.press("k")  # no key acts under a dialog
    site.page.keyboard.press("Enter")
    expect(site.page.locator(f"#row-{second.public_id}")).to_have_count(0, timeout=SOON)
    expect(site.page.locator(f"#link-{third.public_id}")).to_be_focused()
    site.page.keyboard.press("k")
    expect(site.page.locator(f"#link-{first.public_id}")).to_be_focused()


def test_a_question_is_ready_as_soon_as_it_is_shown(site: Site) -> None:
    """A browser that is busy runs its timers late: a key pressed meanwhile must not send the form as a page."""
    _, second, third = three_calls()
    site.page.add_init_script(
        "const later = setTimeout; window.setTimeout = (work, ms, ...rest) => later(work, ms + 700, ...rest);"
    )
    site.page.reload()
    site.page.evaluate("window.isSamePage = true")
    for key in ("j", "j", "s"):
        site.page.keyboard.press(key)
    expect(site.page.get_by_role("button", name="In an hour")).to_be_focused()
    site.page.keyboard.press("Enter")
    expect(site.page.locator(f"#row-{second.public_id}")).to_have_count(0, timeout=SOON)
    expect(site.page.locator(f"#link-{third.public_id}")).to_be_focused()
    assert site.page.evaluate("window.isSamePage")


def test_a_group_is_answered_by_keys_alone(site: Site) -> None:
    calls = [make_blocked() for _ in range(3)]
    site.page.reload()
    site.page.keyboard.press("j")
    site.page.keyboard.press("a")
    expect(site.page.get_by_role("heading", name="One answer for all")).to_be_visible()
    site.page.keyboard.press("g")
    site.page.keyboard.type("Use eu-west-1.")
    site.page.keyboard.press("Control+Enter")
    expect(site.page.get_by_text("Sent for 3 calls")).to_be_visible()
    for call in calls:
        call.refresh_from_db()
        assert call.state == "guided"
    expect(site.page.get_by_role("heading", name="Nobody waits for you")).to_be_visible()


def test_a_group_is_sent_its_suggested_fix_by_two_keys(site: Site) -> None:
    calls = [make_blocked(output=RIGHT | {"replicas": "3"}) for _ in range(2)]
    site.page.goto(f"{site.url}/calls/{calls[0].public_id}/group/")
    site.page.keyboard.press("u")
    expect(site.page.locator("input[name=decision][value=corrected]")).to_be_checked()
    site.page.keyboard.press("Control+Enter")
    expect(site.page.get_by_text("Sent for 2 calls")).to_be_visible()


def test_no_key_acts_while_a_request_is_under_way(site: Site) -> None:
    call, _, _ = three_calls()
    site.open(call)
    held: list[Route] = []
    site.page.route("**/claim/", lambda route: held.append(route))
    with site.page.expect_request("**/claim/"):
        site.page.keyboard.press("c")
    for key in ("i", "n", "s", "c"):
        site.page.keyboard.press(key)
    site.page.wait_for_timeout(300)
    expect(site.page).to_have_url(re.compile(call.public_id))
    expect(site.page.get_by_role("dialog")).to_be_hidden()
    assert len(held) == 1
    held[0].continue_()
    expect(site.page.locator("#work")).to_contain_text("You have it until")
    site.page.keyboard.press("i")
    expect(site.page.get_by_role("heading", name="Inbox")).to_be_visible()


def test_keys_that_were_turned_off_do_nothing(site: Site) -> None:
    call = make_blocked()
    keep_preferences(User.objects.get(username="mia"), time_zone="", has_shortcuts=False)
    site.open(call)
    for key in ("g", "e", "i", "c", "s", "n", "?"):
        site.page.keyboard.press(key)
    expect(site.page).to_have_url(re.compile(call.public_id))
    expect(site.page.get_by_role("dialog")).to_be_hidden()
    expect(site.page.get_by_role("radio", name="Hint")).to_be_checked()


def test_new_calls_are_announced_and_do_not_move_what_one_points_at(site: Site) -> None:
    first = make_blocked(make_agent("a"))
    site.page.reload()
    site.page.keyboard.press("j")
    second, third = (make_blocked(make_agent(name)) for name in ("b", "c"))
    news = site.page.get_by_role("button", name="2 new")
    expect(news).to_be_visible(timeout=SOON)
    assert site.page.locator(".row").count() == 1
    expect(site.page.locator(f"#link-{first.public_id}")).to_be_focused()
    news.click()
    for call in (first, second, third):
        expect(site.page.locator(f"#row-{call.public_id}")).to_be_visible()
    expect(site.page.locator("#news")).to_have_count(0)


def test_one_search_opens_from_anywhere_and_leads_to_a_call_by_keys_alone(site: Site) -> None:
    make_tool(make_agent(), "book_flight")
    call = make_blocked(context={"goal": "Plan the board meeting"})
    index_calls()
    site.open(call)
    site.page.get_by_label("What should the agent change?").fill("Half an answer")
    site.page.keyboard.press("Control+k")
    found = site.page.locator("#found")
    expect(found.get_by_role("link", name="Insights")).to_be_visible()
    site.page.keyboard.type("flight")
    expect(found.get_by_role("link", name="book_flight")).to_be_visible()
    check_look(site.page, "find-light-1280")
    site.page.keyboard.press("Escape")
    expect(site.page.get_by_label("What should the agent change?")).to_have_value("Half an answer")
    site.page.goto(f"{site.url}/insights/")
    site.page.keyboard.press("/")
    site.page.keyboard.type("meeting board")
    expect(found.get_by_role("link", name="Plan the board meeting")).to_be_visible()
    site.page.keyboard.press("ArrowDown")
    site.page.keyboard.press("Enter")
    expect(site.page).to_have_url(re.compile(call.public_id))


def test_the_board_leads_to_the_calls_and_to_the_line_of_the_schema_and_back(site: Site) -> None:
    call = make_blocked()
    User.objects.filter(username="mia").update(is_staff=True, is_superuser=True)
    site.page.goto(f"{site.url}/insights/?range=24h")
    site.page.get_by_role("link", name="3 failed attempts: their calls").click()
    expect(site.page.locator(f"#row-{call.public_id}")).to_be_visible()
    site.page.go_back()
    site.page.get_by_role("link", name="/region VAL-008").click()
    schema = site.page.get_by_label("JSON Schema")
    expect(schema).to_be_focused()
    chosen = schema.evaluate("field => field.value.slice(field.selectionStart, field.selectionEnd)")
    assert chosen.strip() == '"region": {'
    site.page.get_by_role("link", name="Back to the insights").click()
    expect(site.page.get_by_role("heading", name="What to fix first")).to_be_visible()
