"""Outputs that take seconds to judge: none is judged at the door, and none for longer than it may be."""

from __future__ import annotations

import sys
from datetime import timedelta
from types import FrameType
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from retrycontract.contract.schemas.admission import APART, DearSchema
from retrycontract.usecases.counts.keep_count import WorkUsedUpError, charge, refuse_overdrawn
from retrycontract.usecases.tools.contracts import pinned
from retrycontract.usecases.tools.register_tool import register_tool
from tests.bombs import Bomb, known
from tests.contract.test_admission_hostile import doubled
from tests.factories import make_agent, make_tool, submit
from tests.usecases.conftest import NOON, configure, send_and_judge

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("bomb", known(), ids=lambda bomb: bomb.name)
def test_what_once_froze_the_service_is_not_judged_at_the_door(bomb: Bomb) -> None:
    agent = make_agent()
    make_tool(agent, schema=bomb.schema)
    assert submit(agent, bomb.value).is_waiting


def test_what_would_take_a_minute_is_cut_off_and_counts_as_a_failed_attempt(settings: Settings) -> None:
    configure(settings, check_seconds=0.3)
    agent, bomb = make_agent(), known()[0]
    make_tool(agent, schema=bomb.schema)
    attempt = send_and_judge(agent, bomb.value)
    assert (attempt.status, attempt.is_valid, attempt.deliveries) == ("retry", False, 1)
    assert "too much work to check" in attempt.feedback
    assert "send fewer and shorter values at once" in attempt.feedback


def test_a_small_output_is_judged_at_the_door_however_dear_large_ones_are() -> None:
    agent, bomb = make_agent(), known()[1]
    make_tool(agent, schema=bomb.schema)
    assert submit(agent, {"a": [1, 2]}).status == "valid"


def test_three_bombs_block_their_call_and_the_escalation_says_why(settings: Settings) -> None:
    configure(settings, check_seconds=0.1)
    agent, bomb = make_agent(), known()[1]
    make_tool(agent, schema=bomb.schema)
    call = None
    for _ in range(3):
        call = send_and_judge(agent, bomb.value, call=call).call
    assert call is not None
    assert call.state == "blocked"
    assert "too much work to check" in call.escalations.open().get().text
    assert call.version is not None
    assert call.version.quarantined_at is None  # it was the output, and the next one may be small


def test_an_agent_that_has_used_up_its_work_waits_for_what_it_owes(settings: Settings) -> None:
    configure(settings, work_seconds_per_minute=30, work_burst_seconds=10)
    agent = make_agent()
    charge(agent.pk, 12, now=NOON)
    agent.refresh_from_db()
    with pytest.raises(WorkUsedUpError) as refused:
        refuse_overdrawn(agent, now=NOON)
    assert refused.value.wait == 4
    refuse_overdrawn(agent, now=NOON + timedelta(seconds=4))


def test_a_clock_that_is_set_back_makes_nobody_wait_for_days(settings: Settings) -> None:
    configure(settings, work_seconds_per_minute=30, work_burst_seconds=10)
    agent = make_agent()
    charge(agent.pk, 1, now=NOON + timedelta(days=2))
    agent.refresh_from_db()
    refuse_overdrawn(agent, now=NOON)
    charge(agent.pk, 1, now=NOON)
    agent.refresh_from_db()
    assert agent.work_until == NOON.timestamp() + 2


DEAR: list[tuple[dict[str, Any], Any, Any]] = [
    ({"properties": {"a": {"type": "string", "pattern": "^(?!.*[.]{2})[a-z.]+$"}}}, {"a": "a.b"}, {"a": "a..b"}),
    ({"properties": {"a": {"enum": list(range(6_000))}}}, {"a": 5_999}, {"a": 6_000}),
    (doubled(15, "anyOf"), "\"x\"", "1"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "right", "wrong"), DEAR, ids=["look-around", "6,000 values", "expansion"])
def test_a_dear_schema_is_judged_by_in_a_child_alone(schema: dict[str, Any], right: Any, wrong: Any) -> None:
    agent = make_agent()
    assert register_tool(agent, "t", schema, now=NOON).warnings[0].reason.startswith(APART)
    verdicts = [send_and_judge(agent, value, tool="t") for value in (right, wrong)]
    assert [(attempt.status, attempt.is_dear) for attempt in verdicts] == [("valid", True), ("retry", True)]
    assert "too much work" not in verdicts[1].feedback
    contract = pinned(verdicts[0].call.tool, verdicts[0].call.version, "tool_call")
    assert "compiled" not in vars(contract)
    with pytest.raises(DearSchema):
        _ = contract.compiled


def test_a_search_that_goes_back_without_end_is_cut_off_and_told() -> None:
    agent = make_agent()
    register_tool(agent, "t", {"properties": {"a": {"pattern": r"^((a|aa)+)\1$"}}}, now=NOON)
    attempt = send_and_judge(agent, {"a": "a" * 80 + "b"}, tool="t")
    assert attempt.status == "retry"
    assert "takes too many steps" in attempt.feedback
    assert "send a shorter text" in attempt.feedback


@pytest.mark.usefixtures("shared_database")
@pytest.mark.parametrize("judge", ["auto", "worker"])
def test_no_writer_waits_while_a_large_output_is_read_through(settings: Settings, judge: str) -> None:
    configure(settings, judge=judge)
    agent, within = make_agent(), list[str]()
    make_tool(agent, schema={})

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and connection.in_atomic_block:
            within.append(frame.f_code.co_name)

    sys.setprofile(look)
    try:
        assert send_and_judge(agent, {"a": [1, 2]}).status == "valid"
    finally:
        sys.setprofile(None)
    assert "fill_in" in within
    assert {"has_redaction", "text_of"}.isdisjoint(within)
