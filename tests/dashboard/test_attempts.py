"""What a call's page says of its attempts: what changed between them, and how many there were."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from retrycontract.contract.outputs import Generation
from tests.dashboard.conftest import text_of
from tests.factories import RIGHT, WRONG, make_agent, make_blocked, make_call, make_tool, submit

if TYPE_CHECKING:
    from django.test import Client

    from retrycontract.store.models import Call

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
