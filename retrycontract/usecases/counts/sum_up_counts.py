"""Sum up the counts of hours and days that are over, so that what pages show costs the same however much there is."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from retrycontract.store.models import Rollup, Summary, SummarySpan
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.counts.recount import SETTLED

HOURS_KEPT: Final = timedelta(days=4)  # longer times are shown by days


def sum_up_counts(*, now: datetime) -> bool:
    """Sum up the next day and the next hour that are over; False when there is nothing to do.

    What is left out between two had nothing counted: sums reach from the first day, or the first hour that is kept.
    """
    due = [(span, at) for span in SummarySpan if (at := _next(span, now)) is not None]
    for span, at in due:
        with write_transaction():  # the counts are read in it: nobody makes them anew meanwhile
            Summary.objects.write(span, at, Rollup.objects.filter(hour__gte=at, hour__lt=at + span.length).tally())
            Summary.objects.forget_hours_before(_first_hour(now))
    return bool(due)


def sum_up_everything(*, now: datetime) -> None:
    """Sum up all that is over."""
    while sum_up_counts(now=now):
        pass


def _next(span: SummarySpan, now: datetime) -> datetime | None:
    """Give the next hour or day in which something was counted, if it is over."""
    counted = Rollup.objects.order_by("hour").values_list("hour", flat=True)
    if found := Summary.objects.reach().get(span):
        counted = counted.filter(hour__gte=found[1])
    if span is SummarySpan.HOUR:
        counted = counted.filter(hour__gte=_first_hour(now))
    first = counted.first()
    if first is None or span.beginning(first) + span.length > now - SETTLED:
        return None
    return span.beginning(first)


def _first_hour(now: datetime) -> datetime:
    return SummarySpan.DAY.beginning(now - HOURS_KEPT)
