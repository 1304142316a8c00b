"""What pages show of the counts is what a plain look through history says."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from retrycontract.contract.decisions import Decision
from retrycontract.store.models import Attempt, Call, Guidance, Measure, Rollup
from retrycontract.usecases.counts.read_counts import CountScope
from retrycontract.usecases.counts.read_insights import (
    CostPoint,
    FailurePoint,
    Heat,
    ToolFailurePoint,
    read_heat_map,
    read_insights,
    read_tool_rates,
)
from tests.factories import RIGHT, WRONG, answer, make_agent, make_blocked, make_tool, make_user, submit
from tests.usecases.conftest import NOON

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
WHOLE = CountScope(NOON, NOON + DAY)
OUTPUTS: list[Any] = [WRONG, RIGHT, {}, "{", {"service": 1, "region": 2, "zone": 3}, WRONG]


@pytest.fixture
def history() -> None:
    """A day of two agents and an operator, by chance."""
    chance, mia, now = random.Random(5), make_user(), NOON
    for name in ("one", "two"):
        for tool in ("deploy", "scale"):
            make_tool(make_agent(name), tool)
    for number in range(40):
        now += timedelta(minutes=chance.randint(0, 20))
        agent = make_agent(chance.choice(("one", "two")))
        call: Call | None = None
        tool = chance.choice(("deploy", "scale"))
        for _ in range(chance.randint(1, 4)):
            if call is None or not call.has_ended:
                call = submit(agent, chance.choice(OUTPUTS), tool=tool, call=call, at=now).call
        if call is not None and call.state == "blocked" and number % 2:
            decision = chance.choice(list(Decision)[:2])
            later = now + timedelta(minutes=3)
            arguments = RIGHT if decision is Decision.CORRECTED else None
            answer(call, mia, decision, arguments=arguments, at=later, is_read=True)
            submit(agent, chance.choice((RIGHT, WRONG)), tool=tool, call=call, at=later)


def attempts() -> list[Attempt]:
    return list(Attempt.objects.select_related("call__agent").order_by("judged_at"))


def blocking(attempt: Attempt) -> list[dict[str, Any]]:
    return [error for error in attempt.errors_json if error["severity"] == "error"]


@pytest.mark.usefixtures("history")
def test_rates_of_tools_are_those_of_history() -> None:
    rates = read_tool_rates(WHOLE)
    assert sum(rate.judged for rate in rates) == Attempt.objects.count()
    for rate in rates:
        own = [
            attempt
            for attempt in attempts()
            if (attempt.call.agent.namespace, attempt.call.tool_name) == (rate.namespace, rate.tool_name)
        ]
        firsts = [attempt for attempt in own if attempt.number == 1]
        assert rate.failure_rate == pytest.approx(sum(not attempt.is_valid for attempt in own) / len(own))
        assert rate.first_try_rate == pytest.approx(sum(bool(a.is_valid) for a in firsts) / len(firsts))


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize("tool", [None, "deploy", "scale"])
def test_failures_over_time_are_those_of_history(tool: str | None) -> None:
    codes: Counter[Any] = Counter()
    tools: Counter[Any] = Counter()
    for attempt in attempts():
        assert attempt.judged_at is not None
        at, name = attempt.judged_at.replace(minute=0), attempt.call.tool_name
        if attempt.is_valid or tool not in (None, name):
            continue
        tools[at, attempt.call.agent.namespace, name] += 1
        codes.update((at, code) for code in {error["error_code"] for error in blocking(attempt)})
    found = read_insights(replace(WHOLE, tool_name=tool))
    assert set(found.failures) == {FailurePoint(*key, amount) for key, amount in codes.items()}
    assert set(found.tool_failures) == {ToolFailurePoint(*key, amount) for key, amount in tools.items()}


@pytest.mark.usefixtures("history")
def test_attempts_answers_and_costs_are_those_of_history() -> None:
    found = read_insights(WHOLE)
    judged = Counter(str(attempt.number) for attempt in attempts())
    valid = Counter(str(attempt.number) for attempt in attempts() if attempt.is_valid)
    assert {rate.number: (rate.judged, rate.valid) for rate in found.attempts} == {
        number: (amount, valid[number]) for number, amount in judged.items()
    }
    given = list(Guidance.objects.all())
    assert (found.answer_times.answers, found.answer_times.seconds) == (len(given), 180 * len(given))
    for rate in found.decisions:
        own = [guidance for guidance in given if guidance.decision == rate.decision]
        worked = [guidance for guidance in own if guidance.next_valid]
        assert (rate.given, rate.tried, rate.worked) == (len(own), len(own), len(worked))
    spent = sum(
        len(attempt.feedback) + (len(json.dumps(attempt.output, separators=(",", ":"))) if attempt.number > 1 else 0)
        for attempt in attempts()
    )
    assert sum(point.characters for point in found.costs) == spent
    assert CostPoint(NOON, 4_000).tokens == 1_000
    assert found.outcomes == dict(Counter(Call.objects.filter(state="valid").values_list("state", flat=True)))


def test_the_heat_map_names_fields_codes_and_nothing_that_a_model_made_up() -> None:
    agent = make_agent()
    items = {"type": "array", "items": {"type": "integer"}}
    schema = {"type": "object", "properties": {"a": items, "b": {"type": "string"}}, "additionalProperties": False}
    make_tool(agent, "odd", schema)
    submit(agent, {"a": ["x", "y", 1], "made_up": 1, "and \x00 \u202e more": 2}, tool="odd", at=NOON)
    submit(agent, {"a": ["x"], "b": 7}, tool="odd", at=NOON)
    assert read_heat_map(WHOLE) == (
        Heat("/a/*", "VAL-002", 2),
        Heat("/b", "VAL-002", 1),
        Heat("", "VAL-005", 1),
    )


@pytest.mark.usefixtures("history")
def test_a_scope_leaves_out_other_tools_namespaces_and_times() -> None:
    one = CountScope(NOON, NOON + DAY, namespace="one", tool_name="deploy")
    assert [(rate.namespace, rate.tool_name) for rate in read_tool_rates(one)] == [("one", "deploy")]
    assert {(point.namespace, point.tool_name) for point in read_insights(one).tool_failures} == {("one", "deploy")}
    assert read_tool_rates(CountScope(NOON - DAY, NOON)) == ()
    assert read_insights(CountScope(NOON - DAY, NOON)).attempts == ()
    assert sum(heat.amount for heat in read_heat_map(one)) == sum(
        Rollup.objects.filter(namespace="one", tool_name="deploy", measure=Measure.PLACE).values_list(
            "amount", flat=True
        )
    )


@pytest.mark.usefixtures("history")
def test_a_long_time_is_shown_by_days() -> None:
    points = read_insights(CountScope(NOON - 30 * DAY, NOON + 30 * DAY)).failures
    assert {point.at.hour for point in points} == {0}
    hourly = read_insights(WHOLE).failures
    assert sum(point.amount for point in points) == sum(point.amount for point in hourly)


def test_no_page_asks_more_the_more_there_is() -> None:
    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as asked:
            read_insights(WHOLE)
            read_tool_rates(WHOLE)
            read_heat_map(WHOLE)
        return len(asked)

    make_blocked(at=NOON)
    before = queries()
    for n in range(5):
        make_blocked(make_agent(f"agent-{n}"), {"service": "web"}, at=NOON)
    assert queries() == before
