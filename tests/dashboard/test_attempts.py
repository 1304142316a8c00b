"""What a call's page says of its attempts: what changed between them, and how many there were."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from dashboard.navigation import Role
from retrycontract.contract.outputs import Generation, Kind
from retrycontract.usecases.calls.cancel_call import cancel_call
from tests.dashboard.conftest import HTMX, logged_in, text_of
from tests.factories import DEPLOY, RIGHT, WRONG, make_agent, make_blocked, make_call, make_tool, make_user, submit
from tests.usecases.conftest import configure

if TYPE_CHECKING:
    from django.test import Client
    from pytest_django import Settings

    from retrycontract.store.models import Call, Tool

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
