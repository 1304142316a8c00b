"""Claims, snoozes and the next call, as the desk shows and takes them, with htmx and without."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from dashboard.call.work import snooze_choices
from retrycontract.store.models import Call, Claim, Snooze
from retrycontract.usecases.calls.claim_call import claim_call, claim_of, snooze_call
from tests.dashboard.conftest import HTMX, Page, logged_in, text_of
from tests.factories import answer, make_agent, make_blocked, make_user

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.test import Client

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def page_of(call: Call) -> str:
    return f"/calls/{call.public_id}/"


def work_address(response: Page) -> str:
    match = re.search(r'id="work".*?hx-get="([^"]+)"', response.content.decode(), re.DOTALL)
    assert match is not None
    return match.group(1).replace("&amp;", "&")


def make_three() -> list[Call]:
    """Make three calls with mistakes of their own, the longest waiting first."""
    now = timezone.now()
    return [make_blocked(make_agent(f"agent-{n}"), at=now - (3 - n) * HOUR) for n in range(3)]


# ---- Claiming ----


def test_a_claim_says_who_has_the_call_and_until_when(desk: Client, mia: User) -> None:
    call = make_blocked()
    assert "Nobody has it yet" in text_of(desk.get(page_of(call)))
    part = desk.post(f"{page_of(call)}claim/", {"action": "claim"}, headers=HTMX)
    until = Claim.objects.get(operator=mia).until
    assert f"You have it until {until:%H:%M}" in text_of(part)
    assert "<html" not in part.content.decode()
    leo = logged_in(make_user("leo"))
    assert re.search(r"leo has it|mia has it [45] min( \d+ s)? left", text_of(leo.get(page_of(call))))


def test_who_comes_second_sees_who_has_it_and_may_answer_all_the_same(desk: Client) -> None:
    call, leo = make_blocked(), make_user("leo")
    claim_call(call, leo, now=timezone.now())
    part = desk.post(f"{page_of(call)}claim/", {"action": "claim"}, headers=HTMX)
    assert "leo has it" in text_of(part)
    assert "Claim" not in text_of(part)
    form = {"decision": "hint", "text": "Use eu-west-1.", "escalation": call.escalations.get().public_id}
    assert desk.post(page_of(call), form).status_code == 302


def test_what_ran_out_is_taken_over(desk: Client, mia: User) -> None:
    call = make_blocked()
    claim_call(call, make_user("leo"), now=timezone.now() - 6 * timedelta(minutes=1))
    assert "Nobody has it yet" in text_of(desk.get(page_of(call)))
    desk.post(f"{page_of(call)}claim/", {"action": "claim"}, headers=HTMX)
    claim = claim_of(call, now=timezone.now())
    assert claim is not None
    assert claim.operator == mia


def test_typing_keeps_a_claim_and_takes_none(desk: Client, mia: User) -> None:
    call = make_blocked()
    assert desk.post(f"{page_of(call)}claim/", {"action": "renew"}, headers=HTMX).status_code == 204
    assert not Claim.objects.exists()
    claim_call(call, mia, now=timezone.now() - timedelta(minutes=3))
    before = Claim.objects.get().until
    assert 'hx-vals=\'{"action": "renew"}\'' in desk.get(page_of(call)).content.decode()
    desk.post(f"{page_of(call)}claim/", {"action": "renew"}, headers=HTMX)
    assert Claim.objects.get().until > before


def test_a_claim_without_scripts_keeps_what_was_typed(desk: Client, mia: User) -> None:
    call = make_blocked()
    form = {"decision": "hint", "text": "Half a sent", "grant": "2", "escalation": call.escalations.get().public_id}
    page = desk.post(f"{page_of(call)}claim/", form | {"action": "claim"})
    assert page.status_code == 200
    assert "Half a sent</textarea>" in page.content.decode()
    assert "You have it until" in text_of(page)
    page = desk.post(f"{page_of(call)}claim/", form | {"action": "release"})
    assert "Half a sent</textarea>" in page.content.decode()
    assert not Claim.objects.exists()


def test_a_claim_without_a_session_loses_no_text(client: Client) -> None:
    call = make_blocked()
    page = client.post(f"{page_of(call)}claim/", {"action": "claim", "decision": "hint", "text": "An hour of work"})
    assert page.status_code == 401
    assert "An hour of work" in page.content.decode()


def test_a_claim_of_what_was_answered_meanwhile_shows_what_became_of_it(desk: Client) -> None:
    call = make_blocked()
    answer(call, make_user("leo"))
    assert desk.post(f"{page_of(call)}claim/", {"action": "claim"}).headers["Location"] == page_of(call)
    part = desk.post(f"{page_of(call)}claim/", {"action": "claim"}, headers=HTMX)
    assert text_of(part).strip() == ""


def test_a_poll_tells_of_a_claim_of_a_snooze_and_of_nothing_else(desk: Client, mia: User) -> None:
    call, leo, now = make_blocked(), make_user("leo"), timezone.now()
    address = work_address(desk.get(page_of(call)))
    assert desk.get(address, headers=HTMX).status_code == 204
    claim_call(call, leo, now=now)
    part = desk.get(address, headers=HTMX)
    assert "leo has it" in text_of(part)
    assert desk.get(work_address(part), headers=HTMX).status_code == 204
    snooze_call(call, leo, until=now + HOUR, now=now, reason="asks the team")
    part = desk.get(work_address(part), headers=HTMX)
    assert re.search(r"Snoozed until \w{3} \d\d:\d\d by leo “asks the team”", text_of(part))


# ---- The next ----


def test_next_opens_and_claims_what_waits_longest_and_nobody_has(desk: Client, mia: User) -> None:
    first, second, third = make_three()
    claim_call(first, make_user("leo"), now=timezone.now())
    assert desk.post("/next/").headers["Location"] == page_of(second)
    assert desk.post("/next/", {"beside": second.public_id}).headers["Location"] == page_of(third)
    response = desk.post("/next/", {"beside": third.public_id}, follow=True)
    assert "Nothing else waits that nobody has." in text_of(response)
    assert set(Claim.objects.filter(operator=mia).values_list("escalation__call", flat=True)) == {second.pk, third.pk}


def test_send_and_next_claims_the_next_and_leads_back_to_the_answered_call(desk: Client, mia: User) -> None:
    first, second, third = make_three()
    claim_call(second, make_user("leo"), now=timezone.now())
    form = {"decision": "hint", "text": "Use eu-west-1.", "escalation": first.escalations.get().public_id}
    page = desk.post(page_of(first), form | {"then": "next"}, follow=True)
    assert page.redirect_chain[-1][0] == page_of(third) + "#main"
    assert f'Sent to <a href="{page_of(first)}">agent-0</a>' in page.content.decode()
    assert Claim.objects.get(operator=mia).escalation.call == third


# ---- The inbox ----


def test_the_inbox_shows_who_has_what_and_mine_apart(desk: Client, mia: User) -> None:
    first, second, third = make_three()
    claim_call(first, mia, now=timezone.now())
    claim_call(second, make_user("leo"), now=timezone.now())
    inbox = text_of(desk.get("/"))
    assert "you have it" in inbox
    assert "leo has it" in inbox
    assert "Open 3 Mine 1 Waiting for agent 0 Answered 0 All 3" in inbox
    mine = desk.get("/", {"show": "mine"}).content.decode()
    assert [call.public_id in mine for call in (first, second, third)] == [True, False, False]


def test_others_see_a_claim_in_the_inbox_by_the_next_poll(desk: Client, mia: User) -> None:
    call = make_blocked()
    leo = logged_in(make_user("leo"))
    match = re.search(r'id="queue".*?hx-get="([^"]+)"', leo.get("/").content.decode(), re.DOTALL)
    assert match is not None
    address = match.group(1).replace("&amp;", "&")
    assert leo.get(address, headers=HTMX).status_code == 204
    claim_call(call, mia, now=timezone.now())
    assert "mia has it" in text_of(leo.get(address, headers=HTMX))


@pytest.mark.parametrize(
    ("show", "words"),
    [
        ("mine", "You have nothing on your desk"),
        ("snoozed", "Nothing is snoozed"),
        ("open", "Everything that waits is snoozed"),
    ],
)
def test_empty_tabs_teach(desk: Client, mia: User, show: str, words: str) -> None:
    call, now = make_blocked(), timezone.now()
    if show == "open":
        snooze_call(call, mia, until=now + HOUR, now=now)
    assert words in text_of(desk.get("/", {"show": show}))


# ---- Snoozing ----


def test_a_snoozed_call_leaves_the_queue_and_a_line_shows_it(desk: Client, mia: User) -> None:
    first, second, _ = make_three()
    response = desk.post(f"{page_of(first)}snooze/", {"until": "hour"}, headers=HTMX)
    assert (response.status_code, response["HX-Trigger"]) == (204, "desk:done")
    assert timezone.now() + HOUR - Snooze.objects.get().until < timedelta(minutes=1)
    inbox = desk.get("/")
    assert first.public_id not in inbox.content.decode()
    assert "1 snoozed" in text_of(inbox)
    assert first.public_id in desk.get("/", {"show": "snoozed"}).content.decode()
    assert desk.post("/next/").headers["Location"] == page_of(second)


def test_a_snooze_without_scripts_is_a_page_of_its_own(desk: Client) -> None:
    call = make_blocked()
    page = desk.get(f"{page_of(call)}snooze/")
    assert "Snooze until when?" in text_of(page)
    assert "Tomorrow morning" in text_of(page)
    page = desk.post(f"{page_of(call)}snooze/", {"until": "tomorrow"}, follow=True)
    assert "Snoozed; it comes back by itself." in text_of(page)
    page = desk.post(f"{page_of(call)}snooze/", {"action": "wake"}, follow=True)
    assert "Nobody has it yet" in text_of(page)
    assert call.public_id in desk.get("/").content.decode()


def test_a_time_of_choice_is_read_by_the_operators_clock(desk: Client) -> None:
    call, zone = make_blocked(), ZoneInfo("Asia/Tokyo")
    at = (timezone.now().astimezone(zone) + 2 * HOUR).replace(second=0, microsecond=0, tzinfo=None)
    desk.cookies["zone"] = "Asia/Tokyo"
    desk.post(f"{page_of(call)}snooze/", {"until": "own", "at": at.strftime("%Y-%m-%dT%H:%M")}, headers=HTMX)
    assert Snooze.objects.get().until == at.replace(tzinfo=zone)


@pytest.mark.parametrize(
    "at", ["", "soon", "2020-01-01T09:00", "2999-01-01T09:00", "2026-13-45T09:00", "2026-11-21T09:00+00:00"]
)
def test_a_time_that_cannot_be_is_refused_and_the_question_stays(desk: Client, at: str) -> None:
    call = make_blocked()
    page = desk.post(f"{page_of(call)}snooze/", {"until": "own", "at": at})
    assert page.status_code == 422
    assert "at most 7 days from now" in text_of(page)
    assert f'name="at" value="{at}"' in page.content.decode(), "what was typed stays"
    assert f'name="at" value="{at}"' in page.content.decode(), "what was typed stays"
    assert not Snooze.objects.exists()


def test_what_somebody_else_has_is_not_put_off(desk: Client) -> None:
    call = make_blocked()
    claim_call(call, make_user("leo"), now=timezone.now())
    assert "leo has it until" in text_of(desk.post(f"{page_of(call)}snooze/", {"until": "hour"}))
    assert not Snooze.objects.exists()


@pytest.mark.parametrize(
    ("hour", "offered"),
    [
        (8, ["09:30 Wed", "14:00 Wed", "09:00 Thu"]),
        (12, ["13:30 Wed", "14:00 Wed", "09:00 Thu"]),
        (13, ["14:30 Wed", "09:00 Thu"]),
        (23, ["00:30 Thu", "09:00 Thu"]),
    ],
)
def test_the_quick_choices_follow_the_operators_clock(hour: int, offered: list[str]) -> None:
    zone = ZoneInfo("Europe/Zurich")
    with timezone.override(zone):
        choices = snooze_choices(datetime(2026, 11, 18, hour, 30, tzinfo=zone))
        assert [f"{timezone.localtime(choice.until):%H:%M %a}" for choice in choices] == offered


def test_tomorrow_morning_is_nine_by_the_clock_when_the_clocks_change() -> None:
    zone = ZoneInfo("Europe/Zurich")
    with timezone.override(zone):
        *_, tomorrow = snooze_choices(datetime(2026, 10, 24, 20, 0, tzinfo=zone))
        assert timezone.localtime(tomorrow.until).isoformat() == "2026-10-25T09:00:00+01:00"


def test_viewers_are_offered_none_of_it(viewer: Client) -> None:
    call = make_blocked()
    pages = (viewer.get("/").content + viewer.get(page_of(call)).content).decode()
    for address in ("claim/", "snooze/", "next/"):
        assert address not in pages
