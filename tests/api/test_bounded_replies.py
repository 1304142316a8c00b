"""A reply lists what a client can use, however much is wrong."""

from __future__ import annotations

import json

import pytest
from pytest_django import Settings

from retrycontract.api.presenters import verdict
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.store.models import Agent, Attempt, Call
from retrycontract.store.sizes import MOST_TOGETHER
from tests.api.conftest import PREFIX, Door
from tests.factories import make_call, make_tool
from tests.usecases.conftest import judge_all


def reply_to(mistakes: int, words: int, *, unknown: int = 0, provider_id: str = "c1") -> dict[str, object]:
    found = [ValidationError(ErrorCode.TYPE_MISMATCH, f"/{at}", "word " * words) for at in range(mistakes)]
    found += [
        ValidationError(ErrorCode.UNKNOWN_FIELD, f"/{at}", "word " * words, severity=ErrorSeverity.WARNING)
        for at in range(unknown)
    ]
    errors = [error.to_json() for error in found]
    call = Call(agent=Agent(name="agent"), tool_name="tool", state="retrying", attempts_made=1, attempts_allowed=3)
    attempt = Attempt(call=call, number=1, tool_call_id="c1", status="retry", errors_json=errors, feedback="Wrong.")
    return verdict(attempt, render="langchain", provider_id=provider_id).model_dump(mode="json")


@pytest.mark.parametrize("provider_id", ["c1", "i" * 16_384, "\u202e" * 1_000])
@pytest.mark.parametrize(("mistakes", "words"), [(4_000, 5), (100, 200), (4_000, 200)])
def test_a_reply_has_64_kb_and_counts_what_it_leaves_out(mistakes: int, words: int, provider_id: str) -> None:
    reply = reply_to(mistakes, words, provider_id=provider_id)
    assert len(json.dumps(reply)) <= 65_536
    assert isinstance(listed := reply["errors"], list)
    assert 0 < len(listed) <= 100
    assert reply["errors_left_out"] == mistakes - len(listed)


def test_one_mistake_in_a_name_of_a_megabyte_is_told_shortened() -> None:
    errors = [ValidationError(ErrorCode.UNKNOWN_FIELD, f"/{'k' * 1_000_000}", "Unknown field", keyword="x").to_json()]
    call = Call(agent=Agent(name="agent"), tool_name="tool", state="retrying", attempts_made=1, attempts_allowed=3)
    attempt = Attempt(call=call, number=1, tool_call_id="c1", status="retry", errors_json=errors, feedback="Wrong.")
    reply = verdict(attempt, render="langchain").model_dump(mode="json")
    assert len(json.dumps(reply)) <= 65_536
    assert reply["errors"][0]["field_path"].startswith("/kkk")
    assert reply["errors_left_out"] == 0


def test_an_ordinary_reply_leaves_nothing_out() -> None:
    reply = reply_to(20, 5)
    assert reply["errors_left_out"] == 0
    assert isinstance(listed := reply["errors"], list)
    assert len(listed) == 20


def test_warnings_stand_in_more_places_of_a_reply_and_are_cut_earlier() -> None:
    reply = reply_to(1, 5, unknown=400)
    assert len(json.dumps(reply)) <= 65_536
    assert isinstance(listed := reply["warnings"], list)
    assert 20 < len(listed) < 100
    assert reply["errors_left_out"] == 401 - 1 - len(listed)


LARGE = "x" * 900_000


@pytest.mark.django_db
def test_a_long_history_is_read_a_part_at_a_time(door: Door) -> None:
    make_tool(door.agent)
    call = make_call(door.agent, [{"service": 5, "region": LARGE + str(number)} for number in range(10)])
    judge_all()
    path: str | None = f"/calls/{call.public_id}"
    seen, parts = list[int](), list[int]()
    while path is not None:
        part = door.get(path).body
        assert len(json.dumps(part)) < MOST_TOGETHER + 500_000
        parts.append(len(part["attempts"]))
        seen += [attempt["number"] for attempt in part["attempts"]]
        path = part["next"] and part["next"].removeprefix(PREFIX)
    assert (seen, parts) == ([*range(1, 11)], [4, 4, 2])
    assert door.get(f"/calls/{call.public_id}?after=99").body["attempts"] == []
    assert door.get(f"/calls/{call.public_id}?after=-1").status == 422


@pytest.mark.django_db
def test_a_page_of_large_responses_ends_early(door: Door) -> None:
    make_tool(door.agent, kind="agent_response")
    for number in range(3):
        make_call(door.agent, ["{" + LARGE + str(number)] * 3, kind="agent_response", task_id=f"task-{number}")
    judge_all()
    path: str | None = "/agent-responses"
    seen, parts = list[str](), list[int]()
    while path is not None:
        part = door.get(path).body
        parts.append(len(part["responses"]))
        seen += [line["task_id"] for line in part["responses"]]
        path = part["next"] and part["next"].removeprefix(PREFIX)
    assert (seen, parts) == (["task-2"] * 3 + ["task-1"] * 3 + ["task-0"] * 3, [4, 4, 1])


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/calls/{}", "/agent-responses"])
def test_who_reads_much_again_and_again_waits_as_who_has_much_checked(
    door: Door, settings: Settings, path: str
) -> None:
    make_tool(door.agent, kind="agent_response")
    small, large = (
        make_call(door.agent, [json.dumps({"region": [{"word": "some"}] * count})] * 3, kind="agent_response")
        for count in (1, 20_000)
    )
    judge_all()
    Agent.objects.update(work_until=0)  # what the checks took is not what is tried here
    limits = {"work_seconds_per_minute": 1, "work_burst_seconds": 0.3}
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update=limits)
    assert {door.get(f"/calls/{small.public_id}").status for _ in range(40)} == {200}
    assert Agent.objects.get().work_until == 0
    replies = [door.get(path.format(large.public_id))]
    while replies[-1].status == 200 and len(replies) < 1_000:
        replies.append(door.get(path.format(large.public_id)))
    assert (replies[-1].status, replies[-1].code) == (429, "too-much-work")
    assert int(replies[-1].headers["Retry-After"]) > 0
    assert door.get("/calls").status == 200
