"""The page of the agent-response log."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.dashboard.conftest import text_of
from tests.factories import RIGHT, WRONG, make_agent, make_call, make_tool

MALFORMED = '{"service": "web'
PLACE: dict[str, Any] = {"kind": "agent_response", "turn": 4}


def make_log(*outputs: Any, task: str = "task-1", **more: Any) -> Any:
    agent = make_agent()
    make_tool(agent, kind="agent_response")
    return make_call(agent, outputs, task_id=task, **PLACE, **more)


def test_the_log_reads_as_it_went_and_leads_to_the_call(desk: Client) -> None:
    call = make_log(MALFORMED, WRONG, RIGHT)
    page = desk.get("/agent-responses/")
    text = text_of(page)
    places = [
        text.index(word) for word in ("Malformed the reply", "Schema violation correction 1", "Success correction 2")
    ]
    assert places == sorted(places)
    assert f"/calls/{call.public_id}/?attempt=2#attempt-2" in page.content.decode()
    assert "task-1 turn 4" in text.replace("task-1turn", "task-1 turn")


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", True), ("?status=SUCCESS", True), ("?status=MALFORMED", False), ("?task=task-1", True),
        ("?task=other", False), ("?period=day", True), ("?period=hour", False), ("?status=odd&period=odd", True),
    ],
)  # fmt: skip
def test_filters_narrow_it(desk: Client, query: str, shown: bool) -> None:
    call = make_log(RIGHT, at=timezone.now() - timedelta(hours=2))
    assert (call.public_id in desk.get(f"/agent-responses/{query}").content.decode()) is shown


def test_an_empty_log_says_what_would_stand_there(desk: Client) -> None:
    assert "No responses yet" in text_of(desk.get("/agent-responses/"))
    assert "No response fits" in text_of(desk.get("/agent-responses/?task=x"))


def test_pages_follow_each_other(desk: Client) -> None:
    for number in range(52):
        make_log(RIGHT, task=f"t{number}")
    first = desk.get("/agent-responses/").content.decode()
    after = first.split("after=")[1].split('"')[0]
    rest = desk.get(f"/agent-responses/?after={after}").content.decode()
    assert (first.count("log-line "), rest.count("log-line ")) == (50, 2)
    assert desk.get("/agent-responses/?after=x").status_code == 404


def test_what_models_wrote_is_text(desk: Client) -> None:
    make_log("<script>alert(1)</script>\u202e", task="<b>t\u202e")
    page = desk.get("/agent-responses/?task=%3Cb%3Et").content.decode() + desk.get("/agent-responses/").content.decode()
    assert "<script>alert" not in page
    assert "<b>t" not in page
    assert "\u202e" not in page


def test_a_page_costs_the_same_however_much_it_shows(desk: Client) -> None:
    counts = []
    for more in (1, 9):
        for _ in range(more):
            make_log(MALFORMED, RIGHT)
        with CaptureQueriesContext(connection) as queries:
            desk.get("/agent-responses/")
        counts.append(len(queries))
    assert counts[0] == counts[1]
