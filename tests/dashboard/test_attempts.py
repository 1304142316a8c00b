"""What a call's page says of its attempts: what changed between them, and how many there were."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from html import unescape
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from dashboard.navigation import Role
from retrycontract.contract.outputs import Generation, Kind
from retrycontract.store.models import Attempt, Call
from retrycontract.usecases.answers.deliver_answer import mark_delivered
from retrycontract.usecases.calls.cancel_call import cancel_call
from tests.dashboard.conftest import HTMX, logged_in, text_of
from tests.factories import (
    DEPLOY,
    RIGHT,
    WRONG,
    answer,
    make_agent,
    make_blocked,
    make_call,
    make_tool,
    make_user,
    submit,
)
from tests.usecases.conftest import configure

if TYPE_CHECKING:
    from django.test import Client
    from pytest_django import Settings

    from retrycontract.store.models import Tool

pytestmark = pytest.mark.django_db


def read(desk: Client, call: Call) -> str:
    return text_of(desk.get(f"/calls/{call.public_id}/"))


def test_each_place_that_the_agent_changed_is_shown_with_both_values(desk: Client) -> None:
    agent = make_agent()
    make_tool(agent)
    outputs = [
        {"service": "web", "region": "mars", "replicas": 1},
        {"service": "web", "region": "venus", "dry_run": True},
    ]
    page = read(desk, make_call(agent, [WRONG, *outputs]))
    assert "Changed since attempt 2 3" in page
    for part in (
        'changed /region before: "mars" now: "venus"',
        "removed /replicas before: 1",
        "added /dry_run now: true",
    ):
        assert part in page, part


def test_an_agent_that_sends_the_same_again_is_told_on(desk: Client) -> None:
    page = read(desk, make_blocked())
    assert "Exactly what attempt 2 sent: the agent changed nothing." in page
    assert "Changed since" not in page


def test_output_that_never_parsed_is_compared_with_nothing(desk: Client) -> None:
    agent = make_agent()
    make_tool(agent)
    page = read(desk, make_call(agent, [WRONG, '{"service": ', RIGHT | {"region": "mars"}]))
    assert "Changed since" not in page


def test_attempts_while_blocked_are_counted_apart(desk: Client) -> None:
    call = make_blocked()
    for _ in range(9):
        submit(make_agent(), {"service": "web", "region": "mars"}, call=call)
    page = read(desk, call)
    assert "3 of 3, and 9 more while Blocked" in page
    assert "12 of 3" not in page


def test_a_held_call_says_that_its_output_is_valid(desk: Client) -> None:
    agent = make_agent()
    make_tool(agent, hold=True)
    call = make_blocked(agent)
    assert "The output is valid now." not in read(desk, call)
    submit(agent, RIGHT, call=call)
    assert "The output is valid now." in read(desk, call)


def test_a_long_goal_is_text_and_no_heading(desk: Client) -> None:
    call = make_blocked(context={"goal": "Roll out web. " * 50})
    html = desk.get(f"/calls/{call.public_id}/").content.decode()
    assert '<p class="goal-text"><bdi>Roll out web.' in html


def test_an_answer_that_is_sent_with_next_leads_to_the_call_that_waits_longest(desk: Client) -> None:
    first, second = make_blocked(), make_blocked()
    form = {"decision": "hint", "text": "Use eu-west-1.", "then": "next"}
    sent = desk.post(f"/calls/{first.public_id}/", form | {"escalation": first.escalations.get().public_id})
    assert sent["Location"] == f"/calls/{second.public_id}/#main"
    sent = desk.post(f"/calls/{second.public_id}/", form | {"escalation": second.escalations.get().public_id})
    assert sent["Location"] == f"/calls/{second.public_id}/#main"


def test_an_attempt_says_which_model_wrote_it_and_what_that_took(desk: Client) -> None:
    agent = make_agent()
    make_tool(agent)
    told = Generation(model="opus \u202e4", tokens_in=1_200, tokens_out=80, seconds=2.5)
    page = read(desk, make_call(agent, [WRONG], generation=told))
    assert "Model opus \\u202e4 Tokens 1,200 in, 80 out Took 2.5 s" in page
    assert "Model" not in read(desk, make_call(agent, [WRONG]))


GIVEN: dict[str, dict[str, Any]] = {
    "an object": {"output": WRONG},
    "no JSON": {"output": '{"service": '},
    "no text": {"output": ""},
    "blanks": {"output": "  "},
    "a null": {"output": None},
    "a null as text": {"output": "null"},
    "a text in JSON": {"output": '"web"'},
    "a number": {"output": 1e400},
    "a list": {"output": [[], {}]},
    "half a character": {"output": '{"service": "\\ud800"}'},
    "nested too deeply": {"output": "[" * 10_000},
    "refused besides": {"output": RIGHT, "callback_error": "frozen"},
    "refused by the agent alone": {"output": None, "callback_error": "the model could not be asked"},
    "not asked": {"output": None, "api_error": "rate limit"},
}
OF_CALL = ("/calls/{call}/", "/calls/{call}/?whole=1", "/calls/{call}/?whole=3", "/calls/{call}/?seen=",
           "/calls/{call}/group/")  # fmt: skip
SHOWN = ("/", "/?show=all", "/calls/", "/calls.csv", "/agent-responses/", "/tools/", "/tools/{tool}/", "/insights/",
         "/audit/", "/admin/retrycontract/attempt/", "/admin/retrycontract/attempt/{attempt}/change/")  # fmt: skip


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("given", GIVEN)
def test_every_page_shows_every_attempt(given: str, kind: Kind) -> None:
    agent = make_agent()
    tool = make_tool(agent, schema=_schema(kind), kind=kind)
    call = make_call(agent, [GIVEN[given]["output"]] * 3, kind=kind, **_beside(given))
    _look_at_every_page(tool, call)


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("state", ["queued", "discarded"])
def test_every_page_shows_an_attempt_that_nobody_judged(state: str, kind: Kind, settings: Settings) -> None:
    configure(settings, judge="worker")
    agent = make_agent()
    tool = make_tool(agent, schema=_schema(kind), kind=kind)
    call = make_call(agent, [WRONG], kind=kind)
    if state == "discarded":
        cancel_call(call, now=timezone.now())
    assert call.attempts.get().state == state
    _look_at_every_page(tool, call)


def _schema(kind: Kind) -> Any:
    return {"language": "json"} if kind == Kind.SOURCE_FILE else DEPLOY


def _beside(given: str) -> dict[str, Any]:
    return {name: value for name, value in GIVEN[given].items() if name != "output"}


def _look_at_every_page(tool: Tool, call: Call) -> None:
    browser = logged_in(make_user("ada", Role.ADMIN))
    about = {"call": call.public_id, "tool": tool.pk, "attempt": call.attempts.latest("number").pk}
    for path in (*OF_CALL, *SHOWN):
        for headers in ({}, HTMX):
            assert browser.get(path.format(**about), headers=headers).status_code < 400, path
    for schema in (_schema(call.kind), {"language": "python"} if call.kind == Kind.SOURCE_FILE else True):
        tried = browser.post(f"/tools/{tool.pk}/schema/", {"schema": json.dumps(schema), "step": "try", "base": ""})
        assert tried.status_code < 500
    for form in ({"decision": "corrected", "load": "1"}, {"decision": "hint", "text": "x"}):
        assert browser.post(f"/calls/{call.public_id}/preview/", form, headers=HTMX).status_code < 500


def test_an_attempt_without_an_output_is_told_as_that(desk: Client) -> None:
    tool = make_tool(make_agent())
    make_call(make_agent(), [None], **_beside("refused by the agent alone"))
    assert "What it sent No output." in text_of(desk.get(f"/tools/{tool.pk}/"))


FIELDS = [f"field_{number}" for number in range(8)]
OF_FIELDS: dict[str, Any] = {"type": "object", "properties": {name: {"type": "integer"} for name in FIELDS}}


def make_long(number: int, mistakes: int = 8, words: int = 1) -> Call:
    """Make a Blocked call of so many attempts with mistakes; what follows the third is written at once."""
    agent = make_agent()
    make_tool(agent, "order", OF_FIELDS)
    outputs = [{name: f"{made} of <{name}>" * words for name in FIELDS[:mistakes]} for made in range(3)]
    call = make_call(agent, outputs, tool="order")
    of_third = {field.attname: getattr(call.attempts.get(number=3), field.attname) for field in Attempt._meta.fields}
    rows = [
        Attempt(**of_third | {"id": None, "number": made, "output": outputs[made % 3], "output_hash": str(made)})
        for made in range(4, number + 1)
    ]
    for row in rows:
        row.submitted_at += timedelta(seconds=row.number)
    Attempt.objects.bulk_create(rows, batch_size=500)
    Call.objects.filter(pk=call.pk).update(attempts_made=number)
    return Call.objects.get(pk=call.pk)


def numbers_on(html: str) -> list[int]:
    return [int(number) for number in re.findall(r'id="attempt-(\d+)"', html)]


def link_called(words: str, html: str) -> str | None:
    found = [
        href for href, text in re.findall(r'<a\s[^>]*?href="([^"]+)"[^>]*>(.*?)</a>', html, re.DOTALL)
        if words in " ".join(re.sub("<[^>]+>", " ", text).split())
    ]  # fmt: skip
    return unescape(found[0]) if found else None


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["a page", "a fragment"])
def test_older_attempts_stand_on_pages_that_lead_to_each_other(desk: Client, headers: dict[str, str]) -> None:
    call = make_long(25)
    address: str | None = f"/calls/{call.public_id}/"
    seen: list[list[int]] = []
    while address:
        html = desk.get(address, headers=headers).content.decode()
        assert (link_called("Newest attempts", html) is None) == (not seen)
        seen.append(numbers_on(html))
        address = link_called("older attempt", html)
    assert [*chain.from_iterable(seen)] == list(range(25, 0, -1))
    assert len(seen) == 3
    assert "attempts 5 to 1 of 25, newest first" in text_of(desk.get(f"/calls/{call.public_id}/?after=6"))


def test_a_page_of_older_attempts_follows_its_agent_as_it_is(desk: Client) -> None:
    call = make_long(25)
    html = desk.get(f"/calls/{call.public_id}/?after=6").content.decode()
    poll = re.search(r'id="live".*?hx-get="([^"]+)"', html, re.DOTALL)
    assert poll is not None
    asked = unescape(poll.group(1))
    assert desk.get(asked, headers=HTMX).status_code == 204
    Call.objects.filter(pk=call.pk).update(attempts_made=26)
    assert numbers_on(desk.get(asked, headers=HTMX).content.decode()) == [5, 4, 3, 2, 1]


@pytest.mark.parametrize("number", [1, 5, 6, 15, 16, 24, 25])
def test_the_link_to_an_attempt_leads_to_it_wherever_it_is(desk: Client, number: int) -> None:
    call = make_long(25)
    for asked in ("attempt", "whole"):
        html = desk.get(f"/calls/{call.public_id}/?{asked}={number}").content.decode()
        assert f'id="attempt-{number}" open' in html
        assert link_called("Link to this attempt", html.split(f'id="attempt-{number}"')[1]) == (
            f"/calls/{call.public_id}/?attempt={number}#attempt-{number}"
        )


@pytest.mark.parametrize("asked", ["after=0", "after=x", "after=26", "after=1", "attempt=99", "attempt=-1",
                                   "whole=" + "9" * 30, "after=" + "9" * 30, "attempt=%C2%B2"])  # fmt: skip
def test_an_address_that_names_no_older_attempt_shows_the_newest(desk: Client, asked: str) -> None:
    call = make_long(25)
    assert numbers_on(desk.get(f"/calls/{call.public_id}/?{asked}").content.decode()) == list(range(25, 15, -1))


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (3, "3rd time the same:"),
        (20, "20th time the same:"),
        (21, "The same 20 times or more:"),
        (60, "The same 20 times or more:"),
    ],
)
def test_the_head_says_no_number_that_is_not_true(desk: Client, number: int, said: str) -> None:
    assert said in read(desk, make_long(number))


@pytest.mark.parametrize(("mistakes", "words"), [(8, 1), (8, 40), (4, 12), (1, 1)])
@pytest.mark.parametrize("number", [3, 25, 60, 3_000])
def test_the_page_of_a_call_stays_small_however_many_attempts_it_has(
    desk: Client, number: int, mistakes: int, words: int
) -> None:
    address = f"/calls/{make_long(number, mistakes, words).public_id}/"
    middle = max(number // 2, 1)
    for asked in ("", f"?after={middle + 1}", f"?attempt={middle}", "?attempt=1"):
        page = desk.get(address + asked).content
        assert len(page) < 60_000, asked
        assert 0 < len(numbers_on(page.decode())) <= 10, asked


def test_what_people_answered_stands_on_the_page_of_its_attempts(desk: Client) -> None:
    call = make_blocked()
    noah = make_user("noah")
    given = []
    for _ in range(8):
        answered = answer(call, noah)
        mark_delivered(answered, now=timezone.now())
        given.append(answered.pk)
        for _ in range(3):
            submit(make_agent(), WRONG, call=call)
        call.refresh_from_db()
    address: str | None = f"/calls/{call.public_id}/"
    pages = []
    while address:
        html = desk.get(address).content.decode()
        pages.append([int(key) for key in re.findall(r'id="guidance-(\d+)"', html)])
        address = link_called("older attempt", html)
    assert [*chain.from_iterable(pages)] == given[::-1]
    assert all(1 <= len(page) <= 4 for page in pages)
