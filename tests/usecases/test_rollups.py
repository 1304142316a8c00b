"""What is counted as it happens is what history says, whoever does what at the same moment."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from retrycontract.contract.decisions import Decision
from retrycontract.contract.outputs import UNTOLD, Generation
from retrycontract.store.models import Agent, Call, Escalation, LostRaceError, Measure, Rollup
from retrycontract.usecases.answers.give_guidance import AlreadyAnsweredError, RefusedAnswerError, give_guidance
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.calls.continue_call import CallEndedError
from retrycontract.usecases.calls.sweep import expire_overdue, judge_waiting
from retrycontract.usecases.counts.recount import fold_rollups, rebuild_rollups, recount
from tests.factories import RIGHT, WRONG, answer, make_agent, make_blocked, make_call, make_tool, make_user, submit
from tests.file_database import all_at_once
from tests.usecases.conftest import NOON, Send, configure, fail

HOUR = timedelta(hours=1)
BY: dict[str, Any] = {"actor": "rebuild_metrics", "door": "command"}
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def counts(measure: Measure, tool: str = "deploy") -> dict[str, int]:
    """Sum up one measure of a tool by its label."""
    found: Counter[str] = Counter()
    for count, amount in Rollup.objects.all().tally().items():
        if (count.measure, count.tool_name) == (measure, tool):
            found[count.label] += amount
    return dict(found)


@pytest.mark.django_db
def test_attempts_are_counted_by_their_number_and_failures_by_code(send: Send) -> None:
    call = fail(send, 2)
    send(call.agent, RIGHT, call=call)
    send(call.agent, {"service": 1, "region": 2, "zone": 3, "zone2": 4})
    assert counts(Measure.JUDGED) == {"1": 2, "2": 1, "3": 1}
    assert counts(Measure.VALID) == {"3": 1}
    assert counts(Measure.FAILURE) == {"VAL-008": 3, "VAL-002": 1, "VAL-005": 1}, "a code counts once for each attempt"
    assert counts(Measure.OUTCOME) == {"valid": 1}


@pytest.mark.django_db
def test_an_escalation_and_the_time_to_its_answer_are_counted() -> None:
    call = make_blocked(at=NOON)
    answer(call, make_user(), at=NOON + timedelta(minutes=4))
    assert counts(Measure.ESCALATION) == {"": 1}
    assert counts(Measure.GUIDANCE) == {"hint": 1}
    assert counts(Measure.GUIDANCE_TIME) == {"300": 1, "at 240": 1}
    assert counts(Measure.GUIDANCE_SECONDS) == {"": 240}
    assert counts(Measure.OUTCOME) == {}, "the call has not ended"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        (lambda call: answer(call, make_user(), Decision.ACCEPT), "accepted"),
        (lambda call: answer(call, make_user(), Decision.REJECT), "rejected"),
        (lambda call: cancel_call(call, now=timezone.now()), "cancelled"),
        (lambda _: expire_overdue(now=timezone.now() + timedelta(days=8)), "expired"),
        (lambda call: submit(call.agent, RIGHT, call=call), "valid"),
    ],
)
def test_each_end_of_a_call_is_an_outcome(end: Callable[[Call], Any], outcome: str) -> None:
    end(make_blocked())
    assert counts(Measure.OUTCOME) == {outcome: 1}


@pytest.mark.django_db
def test_a_call_that_is_only_observed_is_an_outcome_of_its_own() -> None:
    tool = make_tool(make_agent())
    tool.mode = "observe"
    tool.save()
    submit(make_agent(), WRONG)
    assert counts(Measure.OUTCOME) == {"observed": 1}


@pytest.mark.django_db
def test_names_that_nobody_registered_are_not_kept(send: Send) -> None:
    call = send(make_agent(), RIGHT, tool="made_up_1").call
    send(make_agent(), RIGHT, tool="made_up_2")
    make_tool(make_agent())
    send(make_agent(), RIGHT, call=call)
    assert counts(Measure.JUDGED, tool="") == {"1": 2}
    assert counts(Measure.JUDGED) == {"2": 1}
    assert set(Rollup.objects.values_list("tool_name", flat=True)) == {"", "deploy"}
    assert Rollup.objects.all().tally() == recount(since=LONG_AGO)


@pytest.mark.django_db
def test_namespaces_and_hours_are_counted_apart() -> None:
    for name, at in (("one", NOON), ("one", NOON + HOUR), ("two", NOON + HOUR - timedelta(microseconds=1))):
        make_tool(make_agent(name))
        submit(make_agent(name), RIGHT, at=at)
    judged = Rollup.objects.filter(measure=Measure.JUDGED).order_by("namespace", "hour")
    assert list(judged.values_list("namespace", "hour", "amount")) == [
        ("one", NOON, 1),
        ("one", NOON + HOUR, 1),
        ("two", NOON, 1),
    ]


@pytest.mark.django_db
def test_numbers_of_attempts_beyond_ten_are_one_label() -> None:
    call, mia = make_blocked(), make_user()
    for _ in range(2):
        answer(call, mia, grant=5, is_read=True)
        for _ in range(5):
            call = submit(call.agent, WRONG, call=call).call
    assert counts(Measure.JUDGED) == {str(number): 1 for number in range(1, 11)} | {"more": 3}


@pytest.mark.django_db
def test_what_cannot_be_read_any_more_is_not_counted(settings: Settings) -> None:
    configure(settings, judge="worker")
    make_tool(make_agent())
    submit(make_agent(), WRONG)
    configure(settings, encryption_keys=["MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="])
    judge_waiting(clock=timezone.now)
    assert not Rollup.objects.exists()
    assert recount(since=LONG_AGO) == Counter()


class Story:
    """A story of one agent and its operator in which anything may happen next."""

    def __init__(self, agent: Agent, operator: User) -> None:
        self.agent, self.operator, self.now = agent, operator, NOON

    def act(self, chance: random.Random) -> None:
        """Do something that may be done, or is refused."""
        self.now += timedelta(minutes=chance.choice((0, 1, 7, 50, 400)))
        calls = list(Call.objects.filter(agent=self.agent).select_related("agent", "tool", "version")[:3])
        call = chance.choice([None, *calls])
        with suppress(CallEndedError, LostRaceError, AlreadyAnsweredError, RefusedAnswerError, Escalation.DoesNotExist):
            self._act(chance, call)

    def _act(self, chance: random.Random, call: Call | None) -> None:
        match chance.choice(("submit", "submit", "submit", "judge", "answer", "cancel", "expire")):
            case "submit":
                tool = call.tool_name if call else chance.choice(("deploy", "deploy", "unheard_of"))
                told = chance.choice(
                    (UNTOLD, Generation(model="m", tokens_in=7), Generation(tokens_in=1, tokens_out=2))
                )
                output = chance.choice((WRONG, WRONG, RIGHT, {}, "{"))
                submit(self.agent, output, tool=tool, call=call, at=self.now, generation=told)
            case "judge":
                judge_waiting(clock=lambda: self.now)
            case "answer" if call:
                escalation = call.escalations.latest("round")
                decision = chance.choice(list(Decision))
                arguments = RIGHT if decision is Decision.CORRECTED else None
                give_guidance(
                    escalation, self.operator, decision, now=self.now, text="Use eu-west-1.", arguments=arguments
                )
            case "cancel" if call:
                cancel_call(call, now=self.now)
            case "expire":
                expire_overdue(now=self.now)


@pytest.mark.django_db
@pytest.mark.parametrize("judge", ["auto", "worker"])
@pytest.mark.parametrize("seed", range(10))
def test_what_was_counted_in_any_story_is_what_history_says(settings: Settings, judge: str, seed: int) -> None:
    configure(settings, judge=judge)
    chance = random.Random(seed)
    make_tool(make_agent())
    story = Story(make_agent(), make_user())
    for _ in range(60):
        story.act(chance)
    kept = Rollup.objects.all().tally()
    assert kept == recount(since=LONG_AGO)
    assert {count.measure for count in kept} >= {Measure.JUDGED, Measure.FAILURE, Measure.OUTCOME}


@pytest.mark.usefixtures("shared_database")
@pytest.mark.parametrize("judge", ["auto", "worker"])
def test_what_was_counted_by_many_at_once_is_what_history_says(settings: Settings, judge: str) -> None:
    configure(settings, judge=judge)
    make_tool(make_agent())
    stories = [Story(make_agent(), user) for user in map(make_user, "abcdefgh")]

    def live(number: int) -> None:
        chance = random.Random(number)
        for _ in range(12):
            stories[number].act(chance)

    all_at_once(live, list(range(8)))
    assert Rollup.objects.all().tally() == recount(since=LONG_AGO)


def spread(amounts: dict[int, int], hour: datetime = NOON) -> None:
    """Put amounts of one counter into its shards."""
    for shard, amount in amounts.items():
        Rollup.objects.create(
            hour=hour, namespace="n", tool_name="t", measure=Measure.JUDGED, label="1", shard=shard, amount=amount
        )


@pytest.mark.django_db
def test_shards_of_hours_that_are_over_are_folded_into_one_row() -> None:
    spread({0: 1, 3: 2, 7: 4})
    spread({2: 8}, NOON + HOUR)
    before = Rollup.objects.all().tally()
    assert fold_rollups(now=NOON + HOUR + timedelta(minutes=6)) == 2
    assert fold_rollups(now=NOON + HOUR + timedelta(minutes=6)) == 0
    assert set(Rollup.objects.values_list("hour", "shard", "amount")) == {(NOON, 0, 7), (NOON + HOUR, 2, 8)}
    assert Rollup.objects.all().tally() == before


@pytest.mark.usefixtures("shared_database")
def test_many_who_fold_at_once_lose_nothing() -> None:
    spread(dict.fromkeys(range(8), 5))
    before = Rollup.objects.all().tally()
    all_at_once(lambda _: fold_rollups(now=NOON + 2 * HOUR), [None] * 4)
    assert Rollup.objects.all().tally() == before


@pytest.mark.django_db
def test_rollups_are_rebuilt_from_history() -> None:
    make_tool(make_agent())
    for hour in range(3):
        make_call(make_agent(), [WRONG, RIGHT], at=NOON + hour * HOUR + timedelta(minutes=30))
    before = Rollup.objects.all().tally()
    Rollup.objects.filter(hour=NOON).delete()
    Rollup.objects.filter(hour=NOON + HOUR).update(amount=99, shard=3)
    spread({0: 7}, NOON + HOUR)
    rebuild_rollups(since=NOON, now=NOON + 2 * HOUR + timedelta(minutes=45), **BY)
    assert Rollup.objects.all().tally() == before


@pytest.mark.django_db
def test_a_rebuild_replaces_a_day_at_a_time() -> None:
    """In one transaction those of two months took 16 s, and nobody else could write."""
    for day in range(5):
        spread({0: 1}, NOON + day * 24 * HOUR)
    with CaptureQueriesContext(connection) as asked:
        rebuild_rollups(since=NOON, now=NOON + 5 * 24 * HOUR, **BY)
    began = [number for number, query in enumerate(asked) if query["sql"].startswith(("SAVEPOINT", "BEGIN"))]
    emptied = 'DELETE FROM "retrycontract_rollup"'
    deleted = [number for number, query in enumerate(asked) if query["sql"].startswith(emptied)]
    assert len(deleted) == 6, "the first day and the last are cut by noon"
    assert len({max(each for each in began if each < number) for number in deleted}) == len(deleted)
    assert not Rollup.objects.exists()


@pytest.mark.django_db
def test_a_rebuild_leaves_the_hour_under_way_and_what_is_older_than_it_was_told() -> None:
    spread({0: 1}, NOON)
    spread({0: 2}, NOON + 2 * HOUR)
    rebuild_rollups(since=NOON + HOUR, now=NOON + 2 * HOUR + timedelta(minutes=59), **BY)
    assert sorted(Rollup.objects.values_list("amount", flat=True)) == [1, 2]
    rebuild_rollups(since=NOON, now=NOON + 3 * HOUR, **BY)
    assert list(Rollup.objects.values_list("amount", flat=True)) == [2], "its transactions may still be open"
