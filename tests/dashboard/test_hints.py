"""Standing hints at the desk: made by an answer, listed with their record, switched off."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client
from django.utils import timezone

from retrycontract.contract.decisions import Decision
from retrycontract.contract.feedback.guidance import MAX_STANDING
from retrycontract.store.models import Guidance, StandingHint
from retrycontract.usecases.answers.give_guidance import give_guidance
from retrycontract.usecases.answers.reuse_answers import set_hint_from
from retrycontract.usecases.calls.sweep import expire_overdue
from tests.dashboard.conftest import text_of
from tests.dashboard.test_answer import send
from tests.factories import RIGHT, WRONG, answer, make_agent, make_blocked, make_call, make_tool, make_user, submit

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from pytest_django import DjangoAssertNumQueries

pytestmark = pytest.mark.django_db


def stand(owner: User, tool: str = "deploy", text: str = "Use eu-west-1.") -> StandingHint:
    call = make_blocked(tool=tool)
    return set_hint_from(answer(call, owner, text=text), owner, now=timezone.now())


def test_an_answer_stands_for_the_next_agent_and_its_record_says_what_it_was_good_for(desk: Client, mia: User) -> None:
    sent = send(desk, make_blocked(), text="Use eu-west-1.", standing="on", lasts="7")
    page = text_of(desk.get(sent["Location"]))
    assert "Sent to deployer" in page
    assert "Agents that make the same mistake are told it until" in page
    hint = StandingHint.objects.get()
    assert hint.owner == mia
    assert timedelta(days=6, hours=23) < hint.expires_at - timezone.now() <= timedelta(days=7)
    told = submit(make_agent(), WRONG)
    assert "> Use eu-west-1." in told.feedback
    submit(make_agent(), RIGHT, call=told.call)
    listed = text_of(desk.get("/hints/"))
    for part in ("deploy", "/region VAL-008", "Use eu-west-1.", "mia", "shown once, next attempt valid once", "6 d"):
        assert part in listed, part
    page = text_of(desk.get(f"/calls/{told.call.public_id}/"))
    assert "It was told a standing hint of mia with this feedback." in page
    assert "Nobody had to be asked." in page


def test_without_the_tick_nothing_stands(desk: Client) -> None:
    send(desk, make_blocked(), text="Use eu-west-1.", lasts="7")
    assert not StandingHint.objects.exists()


@pytest.mark.parametrize("decision", ["accept", "reject", "corrected"])
def test_only_a_hint_stands(desk: Client, decision: str) -> None:
    assert send(desk, make_blocked(), decision=decision, text="Because.", standing="on").status_code == 302
    assert not StandingHint.objects.exists()


def test_words_too_long_to_stand_are_refused_before_anything_is_sent(desk: Client) -> None:
    response = send(desk, make_blocked(), text="x" * (MAX_STANDING + 1), standing="on")
    assert response.status_code == 422
    assert f"has {MAX_STANDING} characters at most, and this has {MAX_STANDING + 1}" in text_of(response)
    assert 'name="standing" checked' in response.content.decode()
    assert not Guidance.objects.exists()


def test_a_hint_that_cannot_be_set_keeps_no_answer_back(desk: Client) -> None:
    make_tool(make_agent(), "held", hold=True)
    call = make_blocked(tool="held")
    submit(make_agent(), RIGHT, call=call, tool="held")
    assert "Use this answer next time" not in text_of(desk.get(f"/calls/{call.public_id}/"))
    sent = send(desk, call, text="Do it again.", standing="on")
    page = desk.get(sent["Location"])
    assert "It is not told to the next agents, though: there is no mistake" in text_of(page)
    assert "notice-warn" in page.content.decode()
    assert Guidance.objects.filter(call=call).exists()


def test_who_answers_is_told_what_agents_are_told_already(desk: Client) -> None:
    stand(make_user("noah"))
    page = text_of(desk.get(f"/calls/{make_blocked().public_id}/"))
    assert "Agents are told noah’s words already (shown once, next attempt valid 0 times); yours replace them." in page


def test_an_answer_to_an_unknown_tool_cannot_stand(desk: Client) -> None:
    make_tool(make_agent())
    call = make_call(make_agent(), [WRONG] * 3, tool="dploy")
    assert "Use this answer next time" not in text_of(desk.get(f"/calls/{call.public_id}/"))


def test_a_hint_is_switched_off_and_listed_as_ended(desk: Client, mia: User) -> None:
    hint = stand(mia)
    page = text_of(desk.post(f"/hints/{hint.pk}/off/", follow=True))
    assert "Agents are told it no longer when they call deploy." in page
    assert "No answer stands yet" in page
    assert "Switched off" in text_of(desk.get("/hints/?show=ended"))
    assert "Use eu-west-1." not in submit(make_agent(), WRONG).feedback
    assert desk.post(f"/hints/{hint.pk}/off/").status_code == 302
    assert desk.post("/hints/999/off/").status_code == 404


def test_a_hint_that_expired_has_ended(desk: Client, mia: User) -> None:
    StandingHint.objects.filter(pk=stand(mia).pk).update(
        created_at=timezone.now() - timedelta(days=9), expires_at=timezone.now() - timedelta(days=2)
    )
    assert "Use eu-west-1." not in text_of(desk.get("/hints/"))
    assert "Expired" in text_of(desk.get("/hints/?show=ended"))


def test_a_hint_outlives_the_call_that_it_came_from(desk: Client, mia: User) -> None:
    StandingHint.objects.filter(pk=stand(mia).pk).update(source=None)
    assert "The call that showed the mistake is forgotten." in text_of(desk.get("/hints/"))
    submit(make_agent(), WRONG)
    page = text_of(desk.get("/hints/"))
    assert "/region VAL-008" in page
    assert "is forgotten" not in page


def test_the_mistake_of_a_hint_is_said_for_all_whatever_the_newest_one_sent(desk: Client, mia: User) -> None:
    stand(mia)
    for wrong, asked in (
        ({"service": "web", "region": "mars"}, "/region VAL-008 must be one of"),
        ({"service": "web", "region": "mars-2"}, "/region VAL-008 must be one of"),
    ):
        submit(make_agent(), wrong)
        page = text_of(desk.get("/hints/"))
        assert asked in page
        assert "mars" not in page
        assert "europe" not in page


def test_items_of_a_list_are_meant_wherever_they_stand(desk: Client, mia: User) -> None:
    schema = {"type": "object", "properties": {"ids": {"type": "array", "items": {"type": "integer"}}}}
    make_tool(make_agent(), "count", schema)
    call = make_blocked(tool="count", output={"ids": [1, "two", 3, "four"]})
    set_hint_from(answer(call, mia, text="Write numbers."), mia, now=timezone.now())
    page = text_of(desk.get("/hints/"))
    assert page.count("/ids/* VAL-002 must be an integer") == 1
    assert "two" not in page


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ({"region": "eu-west-1"}, "/service VAL-001 is missing: a string"),
        ({**RIGHT, "colour": "red"}, "/colour VAL-005 is not known: use one of the fields"),
        ('{"service": "web", "region": ', "VAL-004"),
    ],
)
def test_every_kind_of_mistake_has_its_words(desk: Client, mia: User, output: Any, said: str) -> None:
    set_hint_from(answer(make_blocked(output=output), mia, text="Do it right."), mia, now=timezone.now())
    page = text_of(desk.get("/hints/"))
    assert said in page
    assert "red" not in page.split("By mia")[0].replace("shared", "")


def test_a_viewer_reads_without_the_switch(viewer: Client, mia: User) -> None:
    stand(mia)
    page = text_of(viewer.get("/hints/"))
    assert "Use eu-west-1." in page
    assert "Switch off" not in page


def test_the_number_of_queries_does_not_grow_with_the_hints_and_older_ones_are_a_page_away(
    desk: Client, mia: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    hint = stand(mia)
    with django_assert_num_queries(6):
        desk.get("/hints/")
    for number in range(31):
        hint.pk, hint.tool_name, hint._state.adding = None, f"tool_{number}", True
        hint.save()
    with django_assert_num_queries(6):
        page = text_of(desk.get("/hints/"))
    assert "tool_30" in page
    assert "tool_0 " not in page
    oldest = StandingHint.objects.get(tool_name="tool_1")
    assert "tool_0 " in text_of(desk.get(f"/hints/?show=on&after={oldest.pk}"))


def test_a_late_answer_and_the_expiry_before_it_are_told(desk: Client, mia: User) -> None:
    call = make_blocked()
    expire_overdue(now=timezone.now() + timedelta(days=30))
    call.refresh_from_db()
    later = timezone.now() + timedelta(days=31)
    give_guidance(call.escalations.get(), mia, Decision.HINT, text="Late.", now=later)
    page = text_of(desk.get(f"/calls/{call.public_id}/"))
    assert "Expired: nobody had answered in time" in page
    assert "late answer" in page
