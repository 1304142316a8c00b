"""The board ranks what history says, compares rates without being fooled by few, and tells medians."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest

from retrycontract.contract.decisions import Decision
from retrycontract.contract.outputs import Generation
from retrycontract.store.models import Attempt, Measure, Rollup
from retrycontract.usecases.calls.claim_call import claim_call, release_claim
from retrycontract.usecases.counts.answer_times import answer_seconds, count_open_waits, quantile
from retrycontract.usecases.counts.read_board import COVERED, LEAST_SHOWN, Share, read_board
from retrycontract.usecases.counts.read_counts import CountScope, SourceCut
from retrycontract.usecases.counts.read_insights import AnswerTimes
from retrycontract.usecases.counts.recount import recount, sum_up_everything
from tests.factories import RIGHT, WRONG, answer, make_agent, make_blocked, make_call, make_tool, make_user, submit
from tests.usecases.conftest import NOON
from tests.usecases.test_rollups import LONG_AGO

pytestmark = pytest.mark.django_db
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
WEEK = CountScope(NOON - 6 * DAY - 12 * HOUR, NOON + HOUR)


def test_a_mistake_is_ranked_with_its_people_its_tokens_and_the_period_before() -> None:
    agent, mia = make_agent(), make_user()
    make_tool(agent)
    told = Generation(model="opus", tokens_in=80, tokens_out=20)
    make_call(agent, [WRONG], at=NOON - 9 * DAY, generation=told)
    make_call(agent, [{"service": 1, "region": "mars"}, RIGHT], at=NOON - DAY, generation=told)
    call = make_blocked(agent, at=NOON, generation=told)
    claim_call(call, mia, now=NOON + timedelta(minutes=1))
    answer(call, mia, at=NOON + timedelta(minutes=4))
    first, second = read_board(WEEK)[0].problems
    assert (first.code, first.place, first.failed, first.judged) == ("VAL-008", "/region", 4, 5)
    assert (first.tokens, first.answers, first.seconds) == (350, 1, 180), "tokens are shared by two mistakes of one"
    assert (first.before, second.before) == (Share(1, 1), Share(0, 1))
    assert (second.place, second.failed, sum(first.series), first.series[-1]) == ("/service", 1, 4, 3)
    assert [one.place for one in read_board(WEEK, by="tokens")[0].problems] == ["/region", "/service"]
    assert Rollup.objects.all().tally() == recount(since=LONG_AGO), "counted anew, it is the same"


def test_each_code_says_how_many_calls_began_with_it_and_came_right() -> None:
    agent = make_agent()
    make_tool(agent)
    haiku, opus = Generation(model="haiku"), Generation(model="opus")
    make_call(agent, [WRONG, RIGHT], at=NOON, generation=haiku)
    make_call(agent, [{"service": 1, "region": "mars"}, WRONG, RIGHT], at=NOON, generation=opus)
    make_call(agent, [WRONG], at=NOON, generation=opus)
    make_call(agent, [RIGHT], at=NOON, generation=opus)
    make_call(agent, [{"service": 1, "region": "mars"}, RIGHT], at=NOON - 9 * DAY)
    board, _ = read_board(WEEK)
    told = [(one.name, one.first, one.recovered) for one in board.codes]
    assert told == [("VAL-008", Share(3, 4), Share(2, 3)), ("VAL-002", Share(1, 4), Share(1, 1))]
    (of_haiku,) = read_board(CountScope(WEEK.start, WEEK.end, cut=SourceCut(model="haiku")))[0].codes
    assert (of_haiku.first, of_haiku.recovered) == (Share(1, 1), Share(1, 1))
    assert Rollup.objects.all().tally() == recount(since=LONG_AGO), "counted anew, it is the same"
    sum_up_everything(now=NOON + DAY)
    assert read_board(WEEK)[0].codes == board.codes


def test_an_accepted_mistake_is_not_recovered_and_a_corrected_one_is() -> None:
    mia = make_user()
    answer(make_blocked(at=NOON), mia, Decision.ACCEPT, text="It is right.", at=NOON)
    corrected = make_blocked(at=NOON)
    answer(corrected, mia, Decision.CORRECTED, text="", arguments=RIGHT, at=NOON)
    submit(make_agent(), RIGHT, call=corrected, at=NOON)
    (standing,) = read_board(WEEK)[0].codes
    assert standing.recovered == Share(1, 2)
    assert Rollup.objects.all().tally() == recount(since=LONG_AGO)


def test_who_gave_a_call_back_or_never_took_it_on_gave_no_minutes() -> None:
    mia, noah = make_user(), make_user("noah")
    for taken_by, released in ((mia, True), (noah, False), (None, False)):
        call = make_blocked(at=NOON)
        if taken_by:
            claim_call(call, taken_by, now=NOON + timedelta(minutes=1))
        if released:
            release_claim(call, mia, now=NOON + timedelta(minutes=2))
        answer(call, mia, at=NOON + timedelta(minutes=8))
    (problem,) = read_board(WEEK)[0].problems
    assert (problem.answers, problem.seconds) == (3, 0)
    assert Rollup.objects.all().tally() == recount(since=LONG_AGO)


def test_sums_and_hourly_counts_say_the_same_and_a_cut_leaves_the_others_out() -> None:
    make_tool(make_agent("one"))
    make_tool(make_agent("two"))
    for number in range(30):
        name, model = ("one", "two")[number % 2], ("opus", "haiku", None)[number % 3]
        at = NOON - timedelta(hours=5 * number)
        make_call(make_agent(name), [WRONG, RIGHT][: 1 + number % 4 // 2], at=at, generation=Generation(model=model))
    cuts = [WEEK, CountScope(WEEK.start, WEEK.end, cut=SourceCut(model="opus")),
            CountScope(WEEK.start, WEEK.end, "one", "deploy"),
            CountScope(WEEK.start, WEEK.end, cut=SourceCut(agent=str(make_agent("two").pk)))]  # fmt: skip
    hourly = [read_board(scope) for scope in cuts]
    failed = Attempt.objects.filter(is_valid=False, judged_at__gte=WEEK.start)
    by_history = [
        failed,
        failed.filter(model="opus"),
        *(failed.filter(call__agent__name=name) for name in ("one", "two")),
    ]
    assert [sum(one.failed for one in board.problems) for board, _ in hourly] == [rows.count() for rows in by_history]
    sum_up_everything(now=NOON + HOUR)
    assert [read_board(scope) for scope in cuts] == hourly


def test_what_is_not_listed_is_never_more_than_a_quarter() -> None:
    tally: Counter[int] = Counter()
    for number in range(60):
        tally[number] = 100 - number
        make = Rollup(hour=NOON, namespace="n", tool_name=f"t{number}", measure=Measure.PLACE,
                      label="VAL-001 /a\t1\t1\t", amount=tally[number])  # fmt: skip
        make.save()
    board, _ = read_board(WEEK)
    assert board.listed.rate >= COVERED or len(board.problems) == 40
    assert len(board.problems) > LEAST_SHOWN
    assert board.hidden == 60 - len(board.problems)
    assert board.listed.whole == tally.total()


@pytest.mark.parametrize("whole", [1, 3, 6, 7, 28, 29, 30, 1_000])
def test_an_interval_holds_its_rate_and_begins_or_ends_at_none_or_all(whole: int) -> None:
    for part in {0, 1, whole // 2, whole - 1, whole}:
        share = Share(part, whole)
        low, high = share.interval
        assert 0 <= low <= share.rate <= high <= 1
        assert (low == 0, high == 1) == (part == 0, part == whole)


def test_of_a_part_that_is_more_than_its_whole_nothing_is_said() -> None:
    for share in (Share(30, 27), Share(3, 0), Share(-1, 4)):
        assert (share.whole, share.rate, share.interval) == (0, 0.0, (0.0, 1.0))


@pytest.mark.parametrize(
    ("now", "before", "is_below"),
    [
        (Share(50, 100), Share(80, 100), True),
        (Share(1, 2), Share(80, 100), False),  # two calls say nothing
        (Share(78, 100), Share(80, 100), False),
        (Share(0, 0), Share(80, 100), False),
        (Share(90, 100), Share(80, 100), False),
    ],
)
def test_a_rate_is_worse_only_where_chance_is_no_explanation(now: Share, before: Share, *, is_below: bool) -> None:
    assert now.is_below(before) is is_below


def test_a_new_model_that_does_worse_is_told_and_one_that_does_as_well_is_not() -> None:
    make_tool(make_agent())
    for number in range(30):
        make_call(make_agent(), [RIGHT], at=NOON - 8 * DAY, generation=Generation(model="old"))
        worse = [WRONG] if number % 2 else [RIGHT]
        make_call(make_agent(), worse, at=NOON - DAY, generation=Generation(model="new"))
        make_call(make_agent(), [RIGHT], at=NOON - DAY, generation=Generation(model="good"))
    board, _ = read_board(WEEK)
    (setback,) = board.setbacks
    assert (setback.model, setback.now, setback.others) == ("new", Share(15, 30), Share(30, 30))
    assert {(marker.kind, marker.name) for marker in board.markers} == {("model", "new"), ("model", "good")}


def test_open_waits_count_in_the_median_and_many_answers_are_estimated() -> None:
    mia = make_user()
    for minutes in (2, 4, 6):
        answer(make_blocked(at=NOON - HOUR), mia, at=NOON - HOUR + timedelta(minutes=minutes))
    make_blocked(at=NOON - DAY)
    make_blocked(at=NOON - 2 * DAY)
    waits = count_open_waits(WEEK, NOON)
    assert sorted(waits) == [86_400, 172_800]
    each = answer_seconds(WEEK, 3)
    times = AnswerTimes(((60, 0), (300, 2), (900, 1), (None, 0)), 720)
    assert quantile(times, [], 0.5, each=each) == 240
    assert quantile(times, waits, 0.5, each=each) == 360
    assert answer_seconds(WEEK, 4) is None, "not all were found"
    assert 60 < (quantile(times, [], 0.5) or 0) <= 300
    assert (quantile(times, waits, 0.9) or 0) > 14_400
    assert quantile(AnswerTimes((), 0), [], 0.5) is None
