"""Tell how long people take to answer: the times of answers, and of those who still wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from math import ceil
from typing import Final

from retrycontract.store.models import Escalation, Guidance
from retrycontract.usecases.counts.read_counts import CountScope
from retrycontract.usecases.counts.read_insights import AnswerTimes

MOST_ANSWERS: Final = 1_000  # whose time is looked at one by one
MOST_OPEN: Final = 10_000  # requests for a person whose time is looked at


def count_open_waits(scope: CountScope, now: datetime) -> list[int]:
    """Give for how many seconds each open request for a person has waited, of the scope's tool where it has one."""
    asked = Escalation.objects.open().filter(opened_at__lt=scope.end)
    if scope.tool_name is not None:
        asked = asked.filter(call__tool_name=scope.tool_name, call__agent__namespace=scope.namespace)
    opened = asked.order_by().values_list("opened_at", flat=True)[:MOST_OPEN]
    return [int((now - at).total_seconds()) for at in opened]


def answer_seconds(scope: CountScope, answers: int) -> list[int] | None:
    """Give the seconds that each answer took; None where there were too many to look at each."""
    newest = Guidance.objects.order_by("-pk").values_list(
        "given_at", "escalation__opened_at", "call__tool_name", "call__agent__namespace"
    )[:MOST_ANSWERS]  # by their keys: a time has no index
    found = [
        max(int((given - opened).total_seconds()), 0)
        for given, opened, tool, namespace in newest
        if scope.start <= given < scope.end and scope.tool_name in (None, tool) and scope.namespace in (None, namespace)
    ]
    return found if len(found) == answers else None


def quantile(times: AnswerTimes, waits: Sequence[int], part: float, *, each: Sequence[int] | None = None) -> int | None:
    """Tell in seconds within how much time a part of all was answered; who still waits counts as answered now.

    Without `each` answer's time, counted or given, it is an estimate: within a bucket times are taken to lie evenly.
    None where nothing was asked.
    """
    seconds = Counter(dict(times.each)) or Counter(_spread(times) if each is None else each)
    seconds.update(waits)
    left = ceil(part * seconds.total() - 1e-9)  # of ten, nine tenths are nine
    for second in sorted(seconds):
        left -= seconds[second]
        if left <= 0:
            return second
    return None


def _spread(times: AnswerTimes) -> Iterable[int]:
    low = 0
    for limit, amount in times.buckets:
        length = (limit or low) - low
        yield from (low + round(length * (2 * number + 1) / (2 * amount)) for number in range(amount))
        low = limit or low
