"""What an operator has at hand for an answer: saved replies and what worked before, taken over without losing words."""

from __future__ import annotations

import json
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dashboard.call.suggestions import SHOWN_REPLIES
from dashboard.navigation import Role
from retrycontract.contract.decisions import Decision
from retrycontract.store.models import Guidance, SavedReply
from retrycontract.usecases.answers.reuse_answers import save_reply, set_hint_from
from tests.dashboard.conftest import HTMX, text_of
from tests.dashboard.test_answer import send
from tests.factories import RIGHT, WRONG, answer, make_agent, make_blocked, make_call, make_tool, make_user, submit

if TYPE_CHECKING:
    from pytest_django import DjangoAssertNumQueries

    from retrycontract.store.models import Call

QUERIES = 17  # of the page of a Blocked call, however much is at hand
pytestmark = pytest.mark.django_db


def field(page: str, name: str) -> str:
    """Give what stands in a text field of a page."""
    return unescape(page.partition(f'name="{name}"')[2].partition(">\n")[2].partition("</textarea>")[0])


def answered_before(text: str = "Use eu-west-1.", *, output: Any = RIGHT, **more: Any) -> None:
    call = make_blocked()
    answer(call, make_user(f"op{Guidance.objects.count()}"), text=text, is_read=True, **more)
    submit(call.agent, output, call=call)


def open_page(desk: Client, call: Call) -> str:
    return text_of(desk.get(f"/calls/{call.public_id}/"))


def test_what_was_answered_before_is_offered_with_its_record(desk: Client) -> None:
    answered_before()
    answered_before(output=WRONG)
    page = open_page(desk, make_blocked())
    assert "Answered before" in page
    assert "Use eu-west-1." in page
    assert "Hint, 2 times, next attempt valid once" in page


def test_nothing_is_offered_for_a_mistake_that_nobody_answered(desk: Client) -> None:
    answered_before()
    assert "Answered before" not in open_page(desk, make_blocked(output={"service": "web"}))


def test_what_never_worked_is_not_offered(desk: Client) -> None:
    answered_before(output=WRONG)
    assert "Answered before" not in open_page(desk, make_blocked())


def test_a_proposal_joins_what_was_typed_and_waits_to_be_sent(desk: Client) -> None:
    answered_before()
    call = make_blocked()
    past = str(Guidance.objects.get().record_id)
    page = send(desk, call, to="preview/", past=past, text="Half a sent", decision="reject").content.decode()
    assert field(page, "text") == "Half a sent\nUse eu-west-1."
    assert 'value="hint" checked' in page
    assert "&gt; Use eu-west-1." in page
    assert not Guidance.objects.filter(call=call).exists()


def test_a_proposal_that_is_taken_twice_stands_there_once(desk: Client) -> None:
    answered_before()
    past = str(Guidance.objects.get().record_id)
    page = send(desk, make_blocked(), to="preview/", past=past, text="Use eu-west-1.").content.decode()
    assert field(page, "text") == "Use eu-west-1."


def test_a_correction_is_offered_as_it_would_be_made_here(desk: Client) -> None:
    answered_before("", decision=Decision.CORRECTED, arguments=RIGHT)
    call = make_blocked(output=WRONG | {"service": "api"})
    said = "<p>Corrected arguments, with the same change made to this call.</p>"
    assert said in desk.get(f"/calls/{call.public_id}/").content.decode(), "our own words in one piece"
    past = str(Guidance.objects.get().record_id)
    page = send(desk, call, to="preview/", past=past).content.decode()
    assert json.loads(field(page, "arguments")) == RIGHT | {"service": "api"}
    assert 'value="corrected" checked' in page


def test_a_correction_that_does_not_fit_is_not_offered(desk: Client) -> None:
    make_tool(make_agent(), "tag", {"type": "object", "properties": {"tags": {"items": {"type": "string"}}}})
    first = make_blocked(output={"tags": ["a", 1]}, tool="tag")
    answer(first, make_user("noah"), Decision.CORRECTED, text="", arguments={"tags": ["a", "1"]})
    assert "with the same change made" not in open_page(desk, make_blocked(output={"tags": [1]}, tool="tag"))


def test_a_proposal_that_does_not_exist_changes_nothing(desk: Client) -> None:
    page = send(desk, make_blocked(), to="preview/", past="99", reply="99", text="Mine.").content.decode()
    assert field(page, "text") == "Mine."


def test_replies_are_offered_with_their_keys_own_before_shared(desk: Client, mia: User) -> None:
    save_reply(make_user("ada", Role.ADMIN), "Dates", "ISO dates.", now=timezone.now(), shared=True, position=1)
    save_reply(mia, "Regions", 'Use "eu-west-1".', now=timezone.now(), position=1)
    html = desk.get(f"/calls/{make_blocked().public_id}/").content.decode()
    assert html.index('data-key="1"') < html.index("<bdi>Regions</bdi>") < html.index("<bdi>Dates</bdi>")
    assert 'data-insert="Use &quot;eu-west-1&quot;."' in html


def test_without_scripts_a_reply_comes_back_below_what_was_typed(desk: Client, mia: User) -> None:
    kept = save_reply(mia, "Regions", "Use eu-west-1.", now=timezone.now(), position=1)
    page = send(desk, make_blocked(), to="preview/", reply=str(kept.pk), text="Mind this:\r\n", grant="4")
    assert field(page.content.decode(), "text") == "Mind this:\nUse eu-west-1."
    assert 'value="4" checked' in page.content.decode()


def test_the_reply_of_somebody_else_cannot_be_taken(desk: Client) -> None:
    kept = save_reply(make_user("noah"), "Mine", "Noah's own.", now=timezone.now())
    page = send(desk, make_blocked(), to="preview/", reply=str(kept.pk)).content.decode()
    assert "Noah's own." not in unescape(page)


def test_the_typed_words_are_kept_as_a_reply_on_the_next_free_key(desk: Client, mia: User) -> None:
    save_reply(mia, "First", "Kept before.", now=timezone.now(), position=1)
    call = make_blocked()
    response = send(desk, call, to="keep-reply/", headers=HTMX, text="Use eu-west-1.\nThen deploy.")
    assert "Kept as “Use eu-west-1.” on key 2" in text_of(response)
    assert field(response.content.decode(), "text") == "Use eu-west-1.\nThen deploy."
    kept = SavedReply.objects.get(position=2)
    assert (kept.title, kept.text, kept.operator) == ("Use eu-west-1.", "Use eu-west-1.\nThen deploy.", mia)
    assert not Guidance.objects.exists()


def test_without_scripts_the_page_says_that_the_words_are_kept_or_why_not(desk: Client) -> None:
    call = make_blocked()
    assert "Kept as “Mind the case.”" in text_of(send(desk, call, to="keep-reply/", text="Mind the case."))
    refused = text_of(send(desk, call, to="keep-reply/", text=" "))
    assert "Give it a title" in refused


def test_arguments_are_laid_out_over_lines_and_what_is_no_json_is_left_alone(desk: Client) -> None:
    call = make_blocked()
    page = send(desk, call, to="preview/", headers=HTMX, pretty="yes", decision="corrected", arguments='{"b":[1]}')
    assert field(page.content.decode(), "arguments") == '{\n  "b": [\n    1\n  ]\n}'
    for typed in ('{"b":', '{"b": 1e999}'):
        page = send(desk, call, to="preview/", headers=HTMX, pretty="yes", decision="corrected", arguments=typed)
        assert field(page.content.decode(), "arguments") == typed


def test_a_script_gets_the_fields_alone_and_a_viewer_nothing(desk: Client, viewer: Client) -> None:
    call = make_blocked()
    for to in ("preview/", "keep-reply/"):
        html = send(desk, call, to=to, headers=HTMX, pretty="yes", text="x").content.decode()
        assert "<html" not in html
        assert 'name="decision"' in html
        assert send(viewer, call, to=to, pretty="yes", text="x").status_code == 403


def test_the_number_of_queries_does_not_grow_with_what_is_at_hand(
    desk: Client, mia: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    address = f"/calls/{make_blocked().public_id}/"
    with django_assert_num_queries(QUERIES):
        desk.get(address)
    for number in range(1, 10):
        save_reply(mia, f"Reply {number}", "Words.", now=timezone.now(), position=number)
        answered_before(f"Words {number}.")
    set_hint_from(Guidance.objects.latest("pk"), mia, now=timezone.now())
    with django_assert_num_queries(QUERIES):
        page = text_of(desk.get(address))
    for part in ("Reply 9", "Words 9.", "Agents are told mia’s words already"):
        assert part in page, part


def test_replies_beyond_the_shown_are_counted(desk: Client, mia: User) -> None:
    for number in range(SHOWN_REPLIES + 2):
        save_reply(mia, f"Reply {number:02}", "Words.", now=timezone.now())
    page = open_page(desk, make_blocked())
    assert "Reply 19" in page
    assert "Reply 20" not in page
    assert "2 more" in page


@pytest.mark.parametrize(
    ("first", "corrected"),
    [
        (None, RIGHT),
        ("no JSON", RIGHT),
        (RIGHT, RIGHT | {"service": "w" * 5_000}),
    ],
    ids=["no-output", "unread", "large"],
)
def test_a_correction_that_fits_no_other_call_is_not_offered_for_one(desk: Client, first: Any, corrected: Any) -> None:
    agent, said = make_agent(), "the account does not exist"
    make_tool(agent)
    first, call, _ = (make_call(agent, [output] * 3, callback_error=said) for output in (first, RIGHT, RIGHT))
    answer(first, make_user("ada"), decision=Decision.CORRECTED, arguments=corrected, text="So it is.")
    assert "Answered before" not in open_page(desk, call)
    record = str(Guidance.objects.get().record_id)
    for page in (f"/calls/{call.public_id}/group/", f"/calls/{call.public_id}/group/?fix={record}"):
        assert desk.get(page).status_code == 200
    assert desk.post("/next/").status_code == 302
