"""Sum up the counts of hours and days that are over, and count history anew."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Min, Prefetch

from retrycontract.contract.lifecycle import CallState
from retrycontract.store.models import (
    Attempt,
    Call,
    Door,
    Event,
    Measure,
    Rollup,
    Summary,
    SummarySpan,
    Tally,
    hour_of,
)
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.answers.reuse_answers import is_first_try
from retrycontract.usecases.counts.keep_count import (
    Steps,
    steps_of_answer,
    steps_of_attempt,
    steps_of_move,
    steps_of_recovery,
    steps_of_try,
    tally_of,
    tool_of_attempt,
    tool_of_call,
    unasked_because,
    work_on,
)

HOURS_KEPT: Final = timedelta(days=4)  # longer times are shown by days
MENDED: Final = 30  # sums that are made anew in one sweep, where they lost labels


def sum_up_counts(*, now: datetime) -> bool:
    """Sum up the next day and the next hour that are over; False when there is nothing to do.

    What is left out between two had nothing counted: sums reach from the first day, or the first hour that is kept.
    """
    due: list[tuple[SummarySpan, datetime]] = []
    for span in SummarySpan:
        counted = Rollup.objects.order_by("hour").values_list("hour", flat=True)
        if found := Summary.objects.reach().get(span):
            counted = counted.filter(hour__gte=found[1])
        if span is SummarySpan.HOUR:
            counted = counted.filter(hour__gte=_first_hour(now))
        first = counted.first()  # in which something was counted; it may not be over yet
        if first is not None and span.beginning(first) + span.length <= now - SETTLED:
            due.append((span, span.beginning(first)))
    for span, at in due:
        with write_transaction():  # the counts are read in it: nobody makes them anew meanwhile
            _sum_up(span, at)
            Summary.objects.forget_hours_before(_first_hour(now))
    if any(span is SummarySpan.HOUR for span, _ in due):  # once an hour: to look for these costs something
        for old, at in Summary.objects.lossy().values_list("span", "at")[:MENDED]:
            with write_transaction():
                Summary.objects.filter(span=old, at=at).delete()
                _sum_up(SummarySpan(old), at)
    return bool(due)


def _sum_up(span: SummarySpan, at: datetime) -> None:
    Summary.objects.write(span, at, Rollup.objects.filter(hour__gte=at, hour__lt=at + span.length).tally())


def sum_up_everything(*, now: datetime) -> None:
    """Sum up all that is over."""
    while sum_up_counts(now=now):
        pass


def _first_hour(now: datetime) -> datetime:
    return SummarySpan.DAY.beginning(now - HOURS_KEPT)


CHUNK: Final = 500  # calls that are in memory at once
SETTLED: Final = timedelta(minutes=5)  # by then no transaction of the hour before is open any more
READ: Final = ("guidance.delivered", "guidance.acknowledged")
JUDGED: Final = ("attempt.judged", "attempt.dead", "attempt.unasked")


def rebuild_rollups(*, since: datetime, now: datetime, actor: str, door: Door) -> int:
    """Replace the rollups of the hours that are over by what history says; returns how many counters there are.

    Nobody writes to an hour that is over, so nothing is counted twice. A day at a time, for others to write between.
    """
    start, end = hour_of(since), hour_of(now - SETTLED)
    by_day = defaultdict[datetime, Tally](Counter)
    for count, amount in recount(since=start).items():
        if amount and count.hour < end:
            by_day[max(SummarySpan.DAY.beginning(count.hour), start)][count] = amount
    at = start
    with write_transaction():
        Summary.objects.all().delete()  # of older counts, too: sums that lost labels are made anew from what is there
    while at < end:
        after = min(SummarySpan.DAY.beginning(at) + SummarySpan.DAY.length, end)
        with write_transaction():
            Rollup.objects.replace(by_day[at], start=at, end=after)
            Summary.objects.forget_from(at)  # also what was summed up meanwhile of days that are still to come
        at = after
    counters = sum(map(len, by_day.values()))
    with write_transaction():
        Event.record("metrics.rebuilt", actor=actor, door=door, at=now, since=start.isoformat(), counters=counters)
    return counters


def fold_rollups(*, now: datetime) -> int:
    """Put what several threads counted in hours that are over into one row each; returns how many rows were taken."""
    end = hour_of(now - SETTLED)
    if not Rollup.objects.spread(end).exists():  # looking costs no lock
        return 0
    with write_transaction():
        return Rollup.objects.fold(end)


def recount(*, since: datetime) -> Tally:
    """Count what happened from an hour on."""
    start = hour_of(since)
    attempts = Attempt.objects.only(
        "call_id",
        "number",
        "is_valid",
        "errors_json",
        "submitted_at",
        "output",
        "feedback",
        "model",
        "tokens_in",
        "tokens_out",
        "api_error",
    )
    # What is counted moves its call or counts an attempt of it: a call that was touched last before `start` adds
    # nothing.
    calls = Call.objects.filter(updated_at__gte=start).select_related("agent").order_by("pk")
    whole = calls.prefetch_related(
        Prefetch("attempts", attempts), "events", "guidance__escalation", "guidance__operator"
    )
    tally: Tally = Counter()
    for call in whole.iterator(chunk_size=CHUNK):
        for _, added in tallies_of_call(call):
            tally.update(added)
    # Calls that began before `start` brought all their events along.
    return Counter({count: amount for count, amount in tally.items() if count.hour >= start})


def first_hour() -> datetime | None:
    """Give the first hour of which history says everything."""
    # By its time: what was planted beside real calls came later and happened before.
    first = Event.objects.filter(call__isnull=False).aggregate(first=Min("at"))["first"]
    known = [hour for hour in (hour_of(first) if first else None, first_whole_hour()) if hour]
    return max(known, default=None)


def first_whole_hour() -> datetime | None:
    """Give the hour from which on nothing was forgotten; None when nothing ever was.

    Which calls went is known by when they were last touched: whatever happened later belongs to calls that stayed.
    """
    batches = Event.objects.filter(call=None, name="history.forgotten").values_list("data", flat=True)
    before = max((datetime.fromisoformat(data["before"]) for data in batches if "before" in data), default=None)
    return hour_of(before) + timedelta(hours=1) if before else None


def tallies_of_call(call: Call) -> Iterator[tuple[datetime, Tally]]:
    """Say what each event of a call adds, and when."""
    attempts = {attempt.number: attempt for attempt in call.attempts.all()}
    # Both come by their keys, and each answer was stored with its event: the next answer belongs to the next such
    # event.
    answers = iter(call.guidance.all())
    tool, newest, last = "", None, None  # the newest answer, and the same once its agent has it
    events = list(call.events.all())
    for attempt in attempts.values():
        attempt.call = call
    # Until the event that names its tool, if there is one, the call is counted as one of an unknown tool.
    found, is_found = (call.tool_id, call.version_id), not any("tool" in event.data for event in events)
    for event in events:
        is_found = is_found or "tool" in event.data
        call.tool_id, call.version_id = found if is_found else (None, None)
        judged = attempts[event.data["attempt"]] if event.name in JUDGED else None
        if judged is not None:
            tool = tool_of_attempt(judged)
        elif event.name != "escalation.opened":  # which is the attempt's before it
            tool = tool_of_call(call)
        given = next(answers) if event.name == "guidance.given" else None
        steps = _steps(event, judged)
        if event.from_state:  # others moved nothing
            steps += steps_of_move(event.from_state, event.to_state)
        if judged is not None and judged.is_valid:
            steps += steps_of_recovery(one for one in attempts.values() if one.number < judged.number)
        if given is not None:
            base = next((one for one in attempts.values() if one.pk == given.base_id), None)
            since = given.escalation.opened_at
            steps += steps_of_answer(given, base, work_on(given, (one for one in events if one.at >= since)))
        # The first attempt after an answer was read, as `follow_guidance` told it.
        was_guided = event.from_state == CallState.GUIDED
        if last and judged and judged.is_valid is not None and was_guided and is_first_try(last, judged):
            steps += steps_of_try(last.decision, bool(judged.is_valid))
            newest = last = None
        if given is not None:
            newest, last = given, None
        if event.name in READ:  # what was tried before that shows nothing of an answer
            last = newest
        yield event.at, tally_of(steps, event.at, namespace=call.agent.namespace, tool=tool)


def _steps(event: Event, attempt: Attempt | None) -> Steps:
    if attempt is not None and attempt.is_valid is not None:
        return steps_of_attempt(attempt)
    if attempt is not None and attempt.api_error is not None:
        return [(Measure.API_ERROR, unasked_because(attempt), 1)]
    if event.name == "escalation.opened":
        return [(Measure.ESCALATION, "", 1)]
    return []
