"""The answer in a real browser: replies, what worked before, the editor, hints that stand; every state to be seen."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import expect

from retrycontract.contract.decisions import Decision
from retrycontract.store.models import Guidance, StandingHint
from retrycontract.usecases.answers.reuse_answers import save_reply
from retrycontract.usecases.calls.claim_call import snooze_call
from tests.browser.states import WRONG, make_states
from tests.browser.test_desk import LOOKS, Looks, Site, check_look, opened
from tests.browser.test_desk import site as site
from tests.factories import RIGHT, answer, make_agent, make_blocked, make_tool, make_user, submit

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from pytest_django.live_server_helper import LiveServer

    from tests.browser.conftest import NewPage

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
NEAR: Final = RIGHT | {"replicas": "4"}
ABOVE_THE_FOOT: Final = """(field) => field.getBoundingClientRect().bottom
    <= document.querySelector(".answer-foot").getBoundingClientRect().top + 1"""


@pytest.mark.parametrize("looks", [*LOOKS, pytest.param((("light", 1600),), id="light-1600", marks=pytest.mark.soak)])
def test_every_state_of_a_call_is_fit_to_be_seen_and_used(
    live_server: LiveServer, new_page: NewPage, looks: Looks
) -> None:
    states = make_states(make_user("mia"), timezone.now())
    site = Site(live_server.url, opened(new_page, looks))
    complaints: list[str] = []
    site.page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    site.log_in()
    for name, call in states.items():
        site.open(call)
        expect(site.page.locator("#work:visible:not(:has(*))")).to_have_count(0)
        check_look(site.page, f"state-{name}", looks)
    site.open(states["blocked"])
    editor = correct(site.page)
    editor.fill(json.dumps(WRONG | {"env": {"DB_PASSWORD": "[REDACTED: PASSWORD]"}}, indent=2))
    expect(site.page.locator("#preview [data-line]").first).to_be_visible()
    check_look(site.page, "editor", looks)
    site.page.goto(f"{site.url}/hints/?show=ended")
    check_look(site.page, "hints-ended", looks)
    assert complaints == []


def correct(page: Page) -> Any:
    """Choose to correct the arguments; gives their field."""
    page.get_by_text("Corrected arguments", exact=True).first.click()
    return page.locator("#id_arguments")


def words(page: Page) -> Any:
    return page.get_by_label("What should the agent change?")


def test_a_reply_is_put_where_the_caret_is_and_can_be_taken_back(site: Site) -> None:
    save_reply(User.objects.get(), "Regions", "Use eu-west-1.", now=timezone.now(), position=1)
    site.open(make_blocked())
    field = words(site.page)
    field.fill("Before.\nAfter.")
    field.evaluate("field => field.setSelectionRange(7, 7)")
    site.page.get_by_role("button", name="Regions").click()
    expect(field).to_have_value("Before.\nUse eu-west-1.\nAfter.")
    expect(site.page.locator("#preview")).to_contain_text("> Use eu-west-1.")
    field.press("Control+z")
    expect(field).to_have_value("Before.\nAfter.")


def test_an_answer_is_given_by_keys_with_a_saved_reply(site: Site) -> None:
    save_reply(User.objects.get(), "Regions", "Use eu-west-1.", now=timezone.now(), position=4)
    call = make_blocked()
    site.open(call)
    site.page.keyboard.press("4")
    expect(words(site.page)).to_have_value("Use eu-west-1.")
    site.page.keyboard.type(" 4 is a letter here")
    site.page.keyboard.press("Control+Enter")
    expect(site.page.get_by_text("Sent to deployer")).to_be_visible()
    assert Guidance.objects.get().text == "Use eu-west-1. 4 is a letter here"


def test_what_worked_before_is_taken_over_by_one_key_and_the_page_stays(site: Site) -> None:
    earlier = make_blocked()
    answer(earlier, make_user("noah"), text="Use eu-west-1.", is_read=True)
    submit(make_agent(), RIGHT, call=earlier)
    call = make_blocked()
    site.open(call)
    expect(site.page.get_by_text("Hint, once, next attempt valid once")).to_be_visible()
    words(site.page).fill("Mind:")
    words(site.page).press("Escape")
    site.page.evaluate("document.documentElement.dataset.same = 'yes'")
    site.page.keyboard.press("u")
    expect(words(site.page)).to_have_value("Mind:\nUse eu-west-1.")
    expect(words(site.page)).to_be_focused()
    expect(site.page.locator("#preview")).to_contain_text("> Use eu-west-1.")
    assert site.page.evaluate("document.documentElement.dataset.same") == "yes"
    expect(site.page.get_by_role("button", name="Preview", exact=True)).to_be_hidden()
    site.page.keyboard.press("Control+Enter")
    expect(site.page.get_by_text("Sent to deployer")).to_be_visible()


def test_suggestions_leave_the_words_and_both_ways_to_send_in_sight_on_a_low_screen(site: Site) -> None:
    for text in ("Use eu-west-1. " * 8, "Look at the schema. " * 8, "Ask the user for the region. " * 8):
        earlier = make_blocked()
        answer(earlier, User.objects.get(username="mia"), text=text, is_read=True)
        submit(make_agent(), RIGHT, call=earlier)
    call = make_blocked()
    make_blocked(make_agent("other"))
    site.page.set_viewport_size({"width": 1024, "height": 768})
    site.open(call)
    expect(site.page.locator(".proposal")).to_have_count(3)
    expect(words(site.page)).to_be_in_viewport(ratio=0.9)
    send, on = (site.page.locator(f"[{name}]").bounding_box() for name in ("data-send", "data-send-next"))
    assert send is not None
    assert on is not None
    assert send["y"] == on["y"], "side by side"


@pytest.mark.parametrize("height", [720, pytest.param(768, marks=pytest.mark.soak), 800])
@pytest.mark.parametrize("more", ["", "snoozed", "corrected"])
def test_every_suggestion_is_whole_and_the_words_in_sight_while_one_types_on_a_low_screen(
    site: Site, height: int, more: str
) -> None:
    agent, mia = make_agent(), User.objects.get(username="mia")
    earlier, call = (make_blocked(agent, NEAR) for _ in range(2))
    answer(earlier, mia, text="Write replicas as a number, not as text. " * 5, is_read=True)
    submit(agent, RIGHT | {"replicas": 4}, call=earlier)
    save_reply(mia, "Region", "Use eu-west-1.", now=timezone.now(), position=1)
    if more == "snoozed":
        snooze_call(call, mia, until=timezone.now() + timedelta(hours=1), now=timezone.now())
    site.page.set_viewport_size({"width": 1280, "height": height})
    site.open(call)
    if more == "corrected":
        correct(site.page)
    written = site.page.locator("#id_text")
    written.press_sequentially("Use a number")
    expect(site.page.locator("#preview")).to_contain_text("do not match" if more == "corrected" else "> Use a number")
    expect(written).to_be_in_viewport(ratio=0.9)
    is_whole = "(boxes) => boxes.every((box) => box.scrollHeight <= box.clientHeight + 1 && box.clientHeight > 90)"
    assert site.page.locator(".proposals").evaluate_all(is_whole)
    assert written.evaluate(ABOVE_THE_FOOT), "nothing covers the words"


def test_what_a_group_will_read_is_seen_with_what_is_changed_in_the_others(site: Site) -> None:
    agent, mia = make_agent(), User.objects.get(username="mia")
    sent = {"service": "web", "replicas": 3}
    earlier, first, *_ = (make_blocked(agent, sent) for _ in range(5))
    answer(earlier, mia, Decision.CORRECTED, text="", arguments=sent | {"region": "eu-west-1"}, is_read=True)
    submit(agent, sent | {"region": "eu-west-1"}, call=earlier)
    for size in ((1280, 720), (1280, 800), (1920, 1080)):
        site.page.set_viewport_size({"width": size[0], "height": size[1]})
        site.page.goto(f"{site.url}/calls/{first.public_id}/group/")
        site.page.keyboard.press("u")
        read = site.page.locator("#preview pre")
        expect(read).to_contain_text("Send exactly these")
        assert read.evaluate("(text) => text.clientHeight >= 100 && text.scrollTop === 0"), size
        expect(site.page.locator("#preview .fix li").first).to_be_in_viewport(ratio=0.9)


def test_the_report_of_a_group_stands_beside_the_answer_to_the_rest(site: Site) -> None:
    first, left_out = (make_blocked() for _ in range(2))
    for size in ((1280, 720), (1600, 900)):
        site.page.set_viewport_size({"width": size[0], "height": size[1]})
        site.page.goto(f"{site.url}/calls/{first.public_id}/group/")
        site.page.locator(f'[value="{left_out.public_id}"]').uncheck()
        site.page.locator("#id_text").fill("Use eu-west-1.")
        site.page.get_by_role("button", name="Send to all ticked").click()
        expect(site.page.locator(".report")).to_be_in_viewport(ratio=1)
        first, left_out = left_out, make_blocked()


def test_words_are_kept_as_a_reply_while_one_answers(site: Site) -> None:
    site.open(make_blocked())
    words(site.page).fill("Use eu-west-1.")
    site.page.get_by_role("button", name="Save as reply").click()
    expect(site.page.get_by_role("status").get_by_text("Kept as")).to_be_visible()
    expect(words(site.page)).to_have_value("Use eu-west-1.")
    expect(site.page.locator("[data-key='1']")).to_contain_text("Use eu-west-1.")


def test_the_editor_names_the_line_leads_there_and_lays_out(site: Site) -> None:
    site.open(make_blocked())
    editor = correct(site.page)
    expect(site.page.locator("#schema")).to_have_attribute("open", "")
    schema, history = (site.page.locator(name).bounding_box() for name in ("#schema", ".timeline"))
    beside = editor.bounding_box()
    assert schema
    assert history
    assert beside
    assert schema["x"] + schema["width"] <= beside["x"], "the schema stands beside the editor"
    assert schema["y"] + schema["height"] <= history["y"], "above the history"
    editor.fill('{\n  "service": "web",\n  "region": "mars"\n}')
    below = site.page.locator(".editor-lines").bounding_box()
    assert below is not None
    assert below == editor.bounding_box(), "what is marked lies under what is typed"
    link = site.page.get_by_role("link", name="Line 3")
    expect(link).to_be_visible()
    expect(site.page.locator(".editor-line.is-wrong")).to_have_text('  "region": "mars"')
    link.click()
    expect(editor).to_be_focused()
    assert editor.evaluate("f => f.value.slice(f.selectionStart, f.selectionEnd)") == '  "region": "mars"'
    editor.fill('{"service": "web", "region": "eu-west-1"')
    site.page.get_by_role("link", name="Go there").click()
    expect(editor).to_be_focused()
    editor.fill('{"service": "web", "region": "eu-west-1"}')
    site.page.get_by_role("button", name="Pretty-print").click()
    expect(editor).to_have_value('{\n  "service": "web",\n  "region": "eu-west-1"\n}')
    expect(site.page.locator(".is-wrong")).to_have_count(0)
    expect(site.page.locator("#preview")).to_contain_text("Send exactly these")


def test_a_long_output_is_shown_in_its_place_and_put_into_the_form_when_it_is_to_be_corrected(site: Site) -> None:
    call = make_blocked(output={"service": 1} | {f"note {n}": "x" * 90 for n in range(90)})
    site.open(call)
    newest = site.page.locator("#attempt-3")
    site.page.get_by_label("What should the agent change?").fill("My own words")
    expect(newest).not_to_contain_text("note 50")
    newest.get_by_role("link", name="Show the whole output").click()
    expect(newest).to_contain_text("note 50")
    site.page.keyboard.press("Escape")  # keys are letters in a field
    site.page.evaluate("document.activeElement.blur()")
    site.page.keyboard.press("e")
    arguments = site.page.get_by_role("textbox", name="Corrected arguments")
    expect(arguments).to_have_value(re.compile("note 89"))
    expect(arguments).to_be_focused()
    expect(site.page.get_by_label("Note to the agent")).to_have_value("My own words")


def test_a_new_line_is_indented_and_tab_leaves_the_editor(site: Site) -> None:
    site.open(make_blocked())
    editor = correct(site.page)
    editor.fill("")
    editor.press_sequentially('{\n"region": 1')
    expect(editor).to_have_value('{\n  "region": 1')
    editor.press("Tab")
    expect(editor).not_to_be_focused()


def test_a_redacted_value_is_marked_and_an_edited_mark_is_refused_by_name(site: Site) -> None:
    agent = make_agent()
    make_tool(agent, "rotate", {"type": "object", "properties": {"region": {"enum": ["eu"]}, "api_key": {}}})
    call = make_blocked(agent, {"region": "europe", "api_key": "hunter2-correct-horse-9"}, tool="rotate")
    site.open(call)
    editor = correct(site.page)
    expect(site.page.locator(".editor-lines mark")).to_have_count(1)
    expect(site.page.get_by_text("The agent keeps its own value")).to_be_visible()
    mended = editor.input_value().replace("europe", "eu")
    editor.fill(mended.replace("REDACTED", "REDACTED2"))
    expect(site.page.locator("#preview")).to_contain_text("at /api_key")
    editor.fill(mended)
    expect(site.page.locator("#preview")).to_contain_text("The agent will read exactly this")
    editor.press("Control+Enter")
    expect(site.page.get_by_text("Sent to deployer")).to_be_visible()
    assert Guidance.objects.get().patch == [{"op": "replace", "path": "/region", "value": "eu"}]


def test_an_answer_is_let_stand_and_switched_off(site: Site) -> None:
    site.open(make_blocked())
    words(site.page).fill("Use eu-west-1.")
    site.page.get_by_label("Use this answer next time").check()
    site.page.get_by_label("How long it stands").select_option("7 days")
    site.page.get_by_role("button", name="Send answer").click()
    expect(site.page.get_by_text("Agents that make the same mistake are told it until")).to_be_visible()
    site.page.get_by_role("link", name="Standing hints").click()
    site.page.get_by_role("button", name="Switch off").click()
    expect(site.page.get_by_text("No answer stands yet")).to_be_visible()
    assert StandingHint.objects.get().off_at is not None


def test_without_scripts_everything_at_hand_is_taken_by_the_page(live_server: LiveServer, new_page: NewPage) -> None:
    mia = make_user("mia")
    save_reply(mia, "Regions", "Use eu-west-1.", now=timezone.now(), position=1)
    site = Site(live_server.url, new_page(java_script_enabled=False))
    site.log_in()
    site.open(make_blocked())
    words(site.page).fill("Mind:")
    site.page.get_by_role("button", name="Regions").click()
    expect(words(site.page)).to_have_value("Mind:\nUse eu-west-1.")
    site.page.get_by_role("button", name="Save as reply").click()
    expect(site.page.get_by_text("Kept as")).to_be_visible()
    site.page.get_by_role("button", name="Send answer").click()
    expect(site.page.get_by_text("Sent to deployer")).to_be_visible()
