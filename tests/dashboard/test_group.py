"""One answer for a whole group at the desk: the choice, the exact preview, and the report."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from dashboard.inbox import group_answer, waiting_group
from retrycontract.store.models import Call, Guidance, HeldAnswer, StandingHint
from retrycontract.usecases.answers.send_answer import send_held
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.calls.claim_call import claim_call, snooze_call
from retrycontract.usecases.calls.sweep import expire_overdue
from tests.canaries.places import canary
from tests.dashboard.conftest import HTMX, text_of
from tests.factories import RIGHT, answer, make_agent, make_blocked, make_tool, make_user, submit

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.test import Client
    from pytest_django import DjangoAssertNumQueries
    from pytest_django.fixtures import SettingsWrapper

pytestmark = pytest.mark.django_db
QUERIES, FOR_FIXES = 12, 2
HINT = {"decision": "hint", "text": "Use eu-west-1.", "grant": "2"}


def make_group(size: int = 3, **more: Any) -> list[Call]:
    now = timezone.now()
    return [make_blocked(at=now - timedelta(minutes=size - n), **more) for n in range(size)]


def page_of(call: Call) -> str:
    return f"/calls/{call.public_id}/group/"


def ids(*calls: Call) -> list[str]:
    return [call.public_id for call in calls]


def ticked(page: str) -> list[str]:
    return re.findall(r'name="call"\s+value="([^"]+)" checked', page)


def test_a_group_is_answered_at_once_and_the_report_says_so(desk: Client, mia: User) -> None:
    calls = make_group()
    assert f'href="{page_of(calls[0])}"' in desk.get("/").content.decode()
    page = desk.get(page_of(calls[0]))
    assert "3 calls wait with this mistake" in text_of(page)
    assert page.content.decode().count(" checked") == 3 + 2
    page = desk.post(page_of(calls[0]), HINT | {"call": ids(*calls)})
    assert "3 calls answered" in text_of(page)
    assert "No call waits with this mistake any more." in text_of(page)
    assert set(Call.objects.values_list("state", flat=True)) == {"guided"}
    assert set(Guidance.objects.values_list("operator", "granted")) == {(mia.pk, 2)}


def test_what_could_not_be_answered_is_named_with_its_reason_and_a_link(desk: Client, mia: User) -> None:
    agent = make_agent()
    first, taken, late, changed, left_out = make_group(5)
    now = timezone.now()
    claim_call(taken, make_user("leo"), now=now)
    answer(late, make_user("ada"))
    submit(agent, {"service": 1, "region": "eu-west-1"}, call=changed)
    page = desk.post(page_of(first), HINT | {"call": [*ids(first, taken, late, changed), "call_nowhere"]})
    text = text_of(page)
    assert "1 call answered, 4 not" in text
    for call, why in ((taken, "leo has it"), (late, "ada answered it first"), (changed, "another mistake meanwhile")):
        assert re.search(rf"{call.public_id}\W+[^.]{{0,20}}{why}", text), why
        assert f'href="/calls/{call.public_id}/"' in page.content.decode()
    assert "there is no such call" in text
    assert "2 still wait with this mistake; your words stand in the form." in text
    assert "Use eu-west-1.</textarea>" in page.content.decode()
    left_out.refresh_from_db()
    assert left_out.state == "blocked"


def test_the_mistake_that_the_page_showed_is_answered_though_its_first_call_made_another(desk: Client) -> None:
    agent = make_agent()
    first, second, third = (make_blocked(agent) for _ in range(3))
    page = desk.get(page_of(first)).content.decode()
    shown = re.search(r'name="mistake" value="([^"]+)"', page)
    assert shown
    submit(agent, {"service": 1, "region": "eu-west-1"}, call=first)
    typed = HINT | {"mistake": shown[1], "call": ids(first, second), "standing": "on"}
    assert third.public_id in desk.post(page_of(first), typed | {"preview": "yes"}).content.decode()
    text = text_of(desk.post(page_of(first), typed))
    assert "1 call answered, 1 not" in text
    assert re.search(rf"{first.public_id}\W+[^.]{{0,20}}another mistake meanwhile", text)
    assert "1 call waits with this mistake" in text
    assert [hint.fingerprint for hint in StandingHint.objects.all()] == [shown[1]]
    assert [one.call_id for one in Guidance.objects.all()] == [second.pk]


@pytest.mark.parametrize("more", [{}, {"call": []}, {"preview": "yes"}])
def test_words_for_calls_that_all_were_answered_meanwhile_stand_on_the_page(desk: Client, more: dict[str, Any]) -> None:
    calls = make_group(2)
    leo = make_user("leo")
    for call in calls:
        answer(call, leo)
    page = text_of(desk.post(page_of(calls[0]), HINT | {"text": "An hour of <b>work</b>", "call": ids(*calls)} | more))
    assert "Your words were not sent: no call waits for them any more. An hour of <b>work</b>" in page


def test_words_that_reached_some_of_the_calls_stand_for_the_others(desk: Client) -> None:
    first, late = make_group(2)
    answer(late, make_user("leo"))
    page = text_of(desk.post(page_of(first), HINT | {"call": ids(first, late)}))
    assert "Your words were not sent to all: no call waits for them any more. Use eu-west-1." in page
    assert "not sent" not in text_of(desk.post(page_of(late), HINT | {"call": ids(make_blocked())}))


@pytest.mark.parametrize("end", ["cancelled", "expired", "valid"])
def test_of_a_call_that_ended_without_an_answer_it_is_said_how(desk: Client, end: str) -> None:
    first, ended = make_group(2)
    if end == "cancelled":
        cancel_call(ended, now=timezone.now())
    elif end == "valid":
        submit(ended.agent, RIGHT, call=ended)
    else:
        Call.objects.filter(pk=ended.pk).update(expires_at=timezone.now())
        expire_overdue(now=timezone.now())
    text = text_of(desk.post(page_of(first), HINT | {"call": ids(first, ended)}))
    assert re.search(rf"{ended.public_id}\W+[^.]{{0,20}}it ended meanwhile: {end}", text)


@pytest.mark.parametrize(
    "word", [canary("a mistake of a group"), '"><script>alert(1)</script>', "0" * 16, "\0", "é" * 99]
)
@pytest.mark.parametrize("more", [{"preview": "yes"}, {"all": "yes"}, {"call": []}, {"standing": "on"}])
def test_a_mistake_that_no_page_showed_is_not_given_back_and_gets_no_answer(
    desk: Client, word: str, more: dict[str, Any]
) -> None:
    calls = make_group(2)
    typed = HINT | {"mistake": word, "call": ids(*calls)} | more
    for headers in ({}, HTMX):
        page = desk.post(page_of(calls[0]), typed, headers=headers).content.decode()
        assert page
        assert word not in page
        assert "alert(1)" not in page
    assert not Guidance.objects.exists()
    assert not StandingHint.objects.exists()


def test_the_preview_is_the_text_that_the_first_of_them_reads(desk: Client) -> None:
    first, second = make_group(2)
    part = desk.post(page_of(first), HINT | {"call": ids(second)}, headers=HTMX)
    assert "<html" not in part.content.decode()
    page = desk.post(page_of(first), HINT | {"call": ids(first, second), "preview": "yes"})
    assert "Use eu-west-1.</textarea>" in page.content.decode()
    assert not Guidance.objects.exists()
    desk.post(page_of(first), HINT | {"call": ids(first, second)})
    rendered = " ".join(Guidance.objects.get(call=first).rendered.split())
    assert rendered in text_of(page)
    assert rendered in text_of(part)


def test_what_was_left_out_and_what_came_meanwhile_stays_unticked_under_the_words(desk: Client) -> None:
    for decision in ("hint", "reject"):
        first, second, left_out = make_group()
        typed = {"decision": decision, "text": "The order is fraudulent.", "grant": "2", "call": ids(first, second)}
        came = make_blocked()  # after the page was read
        page = desk.post(page_of(first), typed).content.decode()
        assert "The order is fraudulent.</textarea>" in page
        assert ticked(page) == []
        assert "with all of them" in page
        assert re.search(r'value="hint"\s+checked', page)  # none of them is rejected by the same key pressed again
        page = desk.post(page_of(first), typed | {"call": []}).content.decode()
        assert "Choose at least one call." in page
        page = desk.post(page_of(first), typed | {"call": [], "all": "yes"}).content.decode()
        assert ticked(page) == ids(left_out, came)
        assert "The order is fraudulent.</textarea>" in page
        desk.post(page_of(first), typed | {"call": ids(left_out, came)})


def test_what_could_not_be_answered_stays_ticked_for_another_answer(desk: Client) -> None:
    half = {"service": "web", "region": "eu-west-1"}
    first, odd, left_out = (make_blocked(output=half | {"replicas": sent}) for sent in ("4", "few", "5"))
    Call.objects.update(fingerprint=first.fingerprint)
    fix = {"call": ids(first, odd), "decision": "corrected", "fix": "near", "text": "", "grant": "2"}
    page = desk.post(page_of(first), fix)
    assert "1 call answered, 1 not" in text_of(page)
    assert ticked(page.content.decode()) == ids(odd)
    assert left_out.public_id in page.content.decode()


def test_a_group_that_is_taken_back_is_ticked_as_it_was(desk: Client, settings: SettingsWrapper) -> None:
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"answer_hold_seconds": 30})
    first, second, left_out = make_group()
    page = desk.post(page_of(first), HINT | {"decision": "reject", "call": ids(first, second)}).content.decode()
    undo = re.search(r'action="(/undo/[^"]+)"', page)
    assert undo
    page = desk.post(undo[1], follow=True).content.decode()
    assert ticked(page) == ids(first, second)
    assert re.search(r'value="reject"\s+checked', page)
    assert left_out.public_id in page
    assert ticked(desk.get(page_of(first)).content.decode()) == ids(first, second, left_out)


@pytest.mark.parametrize("gone", [0, 2])
@pytest.mark.parametrize("became", ["cancelled", "valid", "another mistake", "sent"])
def test_a_group_is_taken_back_whatever_became_of_one_of_its_calls_meanwhile(
    desk: Client, settings: SettingsWrapper, became: str, gone: int
) -> None:
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"answer_hold_seconds": 30})
    calls = make_group()
    page = desk.post(page_of(calls[0]), HINT | {"call": ids(*calls)}).content.decode()
    undo = re.search(r'action="(/undo/[^"]+)"', page)
    assert undo
    other, kept = calls[gone], [call for call in calls if call != calls[gone]]
    if became == "cancelled":
        cancel_call(other, now=timezone.now())
    elif became == "sent":
        HeldAnswer.objects.filter(call=other).update(send_at=timezone.now())
        assert send_held(now=timezone.now()) == 1
    else:
        submit(other.agent, RIGHT if became == "valid" else {"service": 1, "region": "eu-west-1"}, call=other)
    response = desk.post(undo[1], follow=True)
    page = response.content.decode()
    assert response.redirect_chain[-1][0] in [page_of(call) for call in kept]
    assert ticked(page) == ids(*kept)
    assert "Use eu-west-1.</textarea>" in page
    said = "1 of the 3 calls has made another mistake or ended meanwhile, and is not ticked."
    assert (said in text_of(response)) is (became != "sent")
    assert ("1 of 3 had gone out; 2 taken back." in text_of(response)) is (became == "sent")
    again = desk.post(undo[1], follow=True)
    assert "Nothing to take back" in text_of(again)
    assert "had gone out" not in text_of(again)


def test_a_group_of_which_nothing_is_left_leads_to_a_call_that_can_be_answered(
    desk: Client, settings: SettingsWrapper
) -> None:
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"answer_hold_seconds": 30})
    first, second = make_group(2)
    page = desk.post(page_of(first), HINT | {"call": ids(first, second)}).content.decode()
    undo = re.search(r'action="(/undo/[^"]+)"', page)
    assert undo
    cancel_call(first, now=timezone.now())
    submit(second.agent, {"service": 1, "region": "eu-west-1"}, call=second)
    response = desk.post(undo[1], follow=True)
    assert response.redirect_chain[-1][0] == f"/calls/{second.public_id}/"
    assert "Use eu-west-1.</textarea>" in response.content.decode()


def test_a_group_is_rejected_with_a_reason(desk: Client) -> None:
    calls = make_group(2)
    desk.post(page_of(calls[0]), {"decision": "reject", "text": "Not on a Friday.", "call": ids(*calls)})
    assert set(Call.objects.values_list("state", flat=True)) == {"rejected"}


REFUSED: list[tuple[dict[str, str], bool, str]] = [
    ({"text": ""}, True, "Write what the agent should read."),
    ({"text": "x" * 4_001}, True, "at most 4000 can be sent"),
    ({}, False, "Choose at least one call."),
    ({"decision": "accept"}, True, "Select a valid choice"),
    ({"grant": "9"}, True, "Select a valid choice"),
]


@pytest.mark.parametrize(("fields", "chooses", "why"), REFUSED, ids=[row[2] + str(row[0])[:20] for row in REFUSED])
def test_an_answer_that_cannot_be_sent_comes_back_with_the_reason(
    desk: Client, fields: dict[str, str], chooses: bool, why: str
) -> None:
    calls = make_group(2)
    page = desk.post(page_of(calls[0]), HINT | fields | {"call": ids(*calls) if chooses else []})
    assert page.status_code == 422
    assert why in text_of(page)
    assert not Guidance.objects.exists()


def test_what_somebody_else_has_cannot_be_ticked(desk: Client) -> None:
    first, taken = make_group(2)
    claim_call(taken, make_user("leo"), now=timezone.now())
    page = desk.get(page_of(first)).content.decode()
    assert re.search(rf'value="{taken.public_id}" disabled', page)
    assert re.search(rf'value="{first.public_id}" checked', page)


def test_what_is_put_off_is_ticked_by_hand_only(desk: Client, mia: User) -> None:
    first, asleep = make_group(2)
    now = timezone.now()
    snooze_call(asleep, mia, until=now + timedelta(hours=1), now=now)
    page = desk.get(page_of(first))
    assert "snoozed until" in text_of(page)
    assert re.search(rf'value="{asleep.public_id}">', page.content.decode())
    assert "2 calls answered" in text_of(desk.post(page_of(first), HINT | {"call": ids(first, asleep)}))


def test_the_same_mistake_of_another_namespace_is_not_in_the_group(desk: Client) -> None:
    mine, other = make_blocked(make_agent("a")), make_blocked(make_agent("b"))
    page = desk.get(page_of(mine)).content.decode()
    assert other.public_id not in page
    desk.post(page_of(mine), HINT | {"call": ids(other)})
    assert not Guidance.objects.exists()


def test_a_call_without_a_fingerprint_is_answered_alone(desk: Client) -> None:
    call = make_blocked()
    Call.objects.update(fingerprint="")
    assert desk.get(page_of(call)).headers["Location"] == f"/calls/{call.public_id}/"


def test_a_large_group_is_answered_page_by_page(desk: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting_group, "SHOWN", 2)
    calls = make_group(3)
    assert "2+ calls wait" in text_of(desk.get(page_of(calls[0])))
    page = desk.post(page_of(calls[0]), HINT | {"call": ids(*calls[:2])})
    assert "1 still wait" in text_of(page)


def test_a_session_that_ended_loses_no_words(client: Client) -> None:
    call = make_blocked()
    page = client.post(page_of(call), HINT | {"text": "An hour of work", "call": ids(call)})
    assert page.status_code == 401
    assert "An hour of work" in page.content.decode()


def test_the_number_of_queries_does_not_grow_with_the_group(
    desk: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    make_tool(make_agent())
    first = make_blocked()
    with django_assert_num_queries(QUERIES):
        desk.get(page_of(first))
    make_group(6)
    with django_assert_num_queries(QUERIES):
        desk.get(page_of(first))
    first, *_ = make_group(3, output={"service": "web", "region": "eu-west-1", "replicas": "4"})
    with django_assert_num_queries(QUERIES + FOR_FIXES):  # how long the outputs are, and those that are not too long
        assert "Each of the 3 gets its own fix" in text_of(desk.get(page_of(first)))


def test_a_fix_that_leaves_mistakes_is_not_offered_for_all(desk: Client) -> None:
    """It could not be sent: the corrected arguments must match the schema."""
    half = {"service": "web", "region": "europe", "replicas": "4"}
    first, *_ = make_group(2, output=half)
    page = text_of(desk.get(page_of(first)))
    assert "Suggested fix" not in page
    assert "Use for all" not in page
    first, *_ = make_group(2, output=half | {"region": "eu-west-1"})
    assert "Each of the 2 gets its own fix like this." in text_of(desk.get(page_of(first)))


def test_the_calls_that_a_fix_mends_are_counted(desk: Client) -> None:
    sent = ({"replicas": "4"}, {"replicas": "5"}, {"replicas": "6", "region": "europe"})
    first, *_ = (make_blocked(output={"service": "web", "region": "eu-west-1"} | more) for more in sent)
    Call.objects.update(fingerprint=first.fingerprint)
    page = text_of(desk.get(page_of(first)))
    assert "2 of 3 have such a fix; the others are left." in page


def test_of_long_outputs_only_some_are_tried_by_the_page(desk: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    first, *rest = make_group(4, output={"service": "web", "region": "eu-west-1", "replicas": "4"})
    monkeypatch.setattr(waiting_group.with_outputs, "__defaults__", (100,))  # characters; two outputs have more
    page = text_of(desk.get(page_of(first)))
    assert "2 have such a fix so far; 2 more with long outputs are tried when you send." in page
    fix = {"call": ids(first, *rest), "decision": "corrected", "fix": "near", "text": "", "grant": "2"}
    assert "and 1 more" in text_of(desk.post(page_of(first), fix | {"preview": "yes"}))
    assert "4 calls answered" in text_of(desk.post(page_of(first), fix))


def test_each_agent_reads_the_fix_of_its_own_output_and_the_page_says_so(desk: Client) -> None:
    made = [{"service": "web", "region": "eu-west-1", "replicas": str(number)} for number in (2, 9)]
    first, other = (
        make_blocked(output=sent, at=timezone.now() - timedelta(minutes=9 - at)) for at, sent in enumerate(made)
    )
    fix = {"call": ids(first, other), "decision": "corrected", "fix": "near", "text": "", "grant": "2"}
    for more in ({}, HTMX):
        page = text_of(desk.post(page_of(first), fix | {"preview": "yes"}, headers=more))
        assert "only the number of its attempts differs" not in page
        told = page.partition("Each of the others reads the fix of its own output, where that leaves no mistake")[2]
        assert f"{other.public_id} /replicas" in told
        assert "now: 9" in told
    page = text_of(desk.post(page_of(first), HINT | {"call": ids(first, other), "preview": "yes"}))
    assert "only the number of its attempts differs" in page
    assert "its own output" not in page.partition("The agent will read exactly this")[2]
    desk.post(page_of(first), fix)
    given = {answer.call_id: answer.arguments for answer in Guidance.objects.all()}
    assert [given[call.pk]["replicas"] for call in (first, other)] == [2, 9]


def test_of_many_fixes_the_first_are_shown_and_the_others_counted(
    desk: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_answer, "SHOWN_FIXES", 2)
    calls = make_group(5, output={"service": "web", "region": "eu-west-1", "replicas": "4"})
    fix = {"call": ids(*calls), "decision": "corrected", "fix": "near", "text": "", "grant": "2", "preview": "yes"}
    assert "and 2 more" in text_of(desk.post(page_of(calls[0]), fix))
