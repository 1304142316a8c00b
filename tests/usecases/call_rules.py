"""What must hold of all calls that are stored, whatever happened to them: read from the rows, past the use cases."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from django.db import connection

from retrycontract.store.models import Attempt, Call, Escalation, Event, Guidance, HeldAnswer, Rollup
from tests.usecases.expected_calls import ENDS, MOST_RENEWALS, Expected

MEASURES = ("judged", "valid", "escalation", "guidance", "tried", "worked", "api_error", "outcome")
# What is written once: the call of each row, its key, and all of it that may not change.
WRITTEN = {
    "event": "SELECT call_id, id, event.* FROM retrycontract_event event",
    "verdict": "SELECT call_id, id, attempt.* FROM retrycontract_attempt attempt "
    "WHERE state IN ('judged', 'dead', 'discarded', 'unasked')",
    "answer": "SELECT call_id, id, escalation_id, operator_id, decision, text, arguments, patch, base_id, granted, "
    "rendered, given_at FROM retrycontract_guidance",
    "version of an answer": "SELECT call_id, version.id, version.* FROM retrycontract_guidanceversion version "
    "JOIN retrycontract_guidance answer ON answer.id = guidance_id",
}
WAITING = ("queued", "leased")
Written = dict[tuple[str, int], tuple[Any, ...]]


def grown(before: Written) -> Written:
    """Read history, which has what was written before, and further events behind it only."""
    now: Written = {}
    with connection.cursor() as cursor:
        for what, statement in WRITTEN.items():
            cursor.execute(statement)
            now |= {(what, row[1]): row for row in cursor.fetchall()}
    changed = [at for at, row in before.items() if now.get(at) != row]
    assert not changed, f"history was changed: {changed}"
    last = max((key for what, key in before if what == "event"), default=0)
    assert all(key > last for what, key in now.keys() - before.keys() if what == "event"), "an event was put in between"
    return now


def kept_ends(before: Mapping[int, str]) -> dict[int, str]:
    """Read the ends of calls: only what expired may be left, and only by an answer."""
    states = dict(Call.objects.values_list("pk", "state"))
    answered = set(Guidance.objects.values_list("call_id", flat=True))
    for key, end in before.items():
        may_be_left = end == "expired" and key in answered
        assert states[key] == end or may_be_left, f"an end was left: {end} became {states[key]}"
    return {key: state for key, state in states.items() if state in ENDS}


def replay_trails(expected: Mapping[int, Expected]) -> None:
    """Go through each trail: it leads to where its call stands, and no attempt goes beyond the budget."""
    told = ("name", "from_state", "to_state", "attempts_made", "data")
    trails = defaultdict[int, list[tuple[Any, ...]]](list)
    for key, *event in Event.objects.filter(call__isnull=False).order_by("pk").values_list("call_id", *told):
        trails[key].append(tuple(event))
    states = dict(Call.objects.values_list("pk", "state"))
    assert trails.keys() == states.keys(), "a call without a trail, or a trail without a call"
    for key, events in trails.items():
        state, budget, is_asked, came, judged, renewals = "", expected[key].first_budget, False, 0, 0, 0
        for name, source, target, made, data in events:
            assert source in ("", state) or not state, f"{name} moves from {source}, not from {state}"
            state, number = target, data.get("attempt", 0)
            assert number <= came + 1, "a number is left out"
            came = max(came, number)
            if "granted" in data:  # by an answer, or once more since nobody has read it
                renewals = 0 if name == "guidance.given" else renewals + 1
                assert not renewals or source == target == "guided", "a grant began anew where nothing was granted"
                assert renewals <= MOST_RENEWALS, "a grant began anew without end"
                budget = (number or made) + data["granted"]
            if name in ("attempt.judged", "attempt.dead"):
                assert number > judged, "an attempt was judged twice, or out of order"
                judged, goes_on = number, target in ("retrying", "pending", "guided")
                assert not goes_on or number < budget, "more attempts than the budget allows"
                assert not (goes_on and is_asked), "Blocked no more, though nobody answered"
            assert not (name == "escalation.opened" and is_asked), "a person was asked twice"
            is_asked = (is_asked or name == "escalation.opened") and name != "guidance.given"
        assert state == states[key], f"the trail ends at {state}, its call is {states[key]}"


def compare_calls(expected: Mapping[int, Expected]) -> None:
    """Find each call where it should be, with its requests for people and their answers."""
    asked, opened = Counter[int](), Counter[int]()
    for key, state in Escalation.objects.values_list("call_id", "state"):
        asked[key] += 1
        opened[key] += state == "open"
    given = list(Guidance.objects.values_list("call_id", "escalation_id"))
    assert len({escalation for _, escalation in given}) == len(given), "a request was answered twice"
    answers, held = Counter(key for key, _ in given), set(HeldAnswer.objects.values_list("call_id", flat=True))
    found = {
        key: (*row, asked[key], opened[key], answers[key], key in held)
        for key, *row in Call.objects.values_list("pk", "state", "attempts_made", "attempts_allowed")
    }
    for key, call in expected.items():
        is_blocked = int(call.state == "blocked")
        wanted = (call.state, call.made, call.allowed, call.rounds, is_blocked, call.answers, call.held is not None)
        assert found.get(key) == wanted, f"a call is {found.get(key)}, not {wanted}"
    assert {*found, *asked, *answers, *held} == {*expected}, "something of a forgotten call is left"


def compare_attempts(expected: Mapping[int, Expected]) -> None:
    """Find each attempt with what its agent was told, and what waits, and nothing else, with its sealed text."""
    told, waiting = defaultdict[int, dict[int, str]](dict), defaultdict[int, list[int]](list)
    rows = Attempt.objects.order_by("number").values_list("call_id", "number", "state", "status", "sealed")
    for key, number, state, status, sealed in rows:
        told[key][number] = status
        assert (sealed is not None) is (state in WAITING), "something sealed is left"
        if state in WAITING:
            assert not expected[key].has_ended, "something sealed is left behind an end"
            waiting[key].append(number)
    assert told.keys() == expected.keys(), "attempts of a forgotten call are left"
    for key, call in expected.items():
        assert sorted(told[key]) == list(range(1, call.made + 1)), "attempts are numbered with gaps, or miscounted"
        assert {number: status for number, status in told[key].items() if status} == call.told, "told otherwise"
        assert waiting[key] == [one.number for one in call.waiting], "others wait than should"


def counted() -> Counter[tuple[str, str]]:
    """Sum the counters of all hours and tools up."""
    found = Counter[tuple[str, str]]()
    for each, amount in Rollup.objects.filter(measure__in=MEASURES).tally().items():
        found[each.measure, each.label] += amount
    return found
