"""Read how agents and their tools fare, from the counts: history itself is never looked through."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from retrycontract.contract.decisions import Decision
from retrycontract.store.models import OTHER, Measure
from retrycontract.usecases.counts.keep_count import AT, BUCKETS, CHARACTERS_OF_TOKEN, LAST_NUMBER, LATER, LONGEST
from retrycontract.usecases.counts.read_counts import (
    RATED,
    CountScope,
    Point,
    read_details,
    read_failed,
    read_points,
    read_tool_totals,
)

MOST_HEAT: Final = 200  # cells of a map, the hottest
MOST_REASONS: Final = 20  # why a model could not be asked
OTHER_REASONS: Final = "other reasons"
COSTS: Final = frozenset({Measure.RETRY_TEXT, Measure.RETRY_TOKENS})


@dataclass(frozen=True, slots=True)
class ToolRate:
    """Hold how a tool's attempts went; the name is empty for tools that nobody registered."""

    namespace: str
    tool_name: str
    judged: int
    valid: int
    first_tries: int
    first_valid: int

    @property
    def failure_rate(self) -> float:
        """Give the part of all attempts that failed."""
        return 1 - self.valid / self.judged if self.judged else 0.0

    @property
    def first_try_rate(self) -> float:
        """Give the part of first attempts that were valid."""
        return self.first_valid / self.first_tries if self.first_tries else 0.0


@dataclass(frozen=True, slots=True)
class Heat:
    """Hold how often a field failed with a code; the root's place is empty, `*` stands for items."""

    place: str
    code: str
    amount: int


@dataclass(frozen=True, slots=True)
class FailurePoint:
    """Hold how many attempts failed with a code in one step of a series."""

    at: datetime
    code: str
    amount: int


@dataclass(frozen=True, slots=True)
class ToolFailurePoint:
    """Hold how many attempts of a tool failed in one step of a series."""

    at: datetime
    namespace: str
    tool_name: str
    amount: int


@dataclass(frozen=True, slots=True)
class AttemptRate:
    """Hold how attempts of one number went; beyond the largest budget the number is `more`."""

    number: str
    judged: int
    valid: int

    @property
    def rate(self) -> float:
        """Give the part that was valid: of later numbers, how many recovered."""
        return self.valid / self.judged if self.judged else 0.0


@dataclass(frozen=True, slots=True)
class AnswerTimes:
    """Hold how long answers took: how many fell under each limit in seconds, None for longer than all.

    `each` is how many took so many seconds; empty where some were counted by limits alone.
    """

    buckets: tuple[tuple[int | None, int], ...]
    seconds: int
    each: tuple[tuple[int, int], ...] = ()

    @property
    def answers(self) -> int:
        return sum(amount for _, amount in self.buckets)


@dataclass(frozen=True, slots=True)
class DecisionRate:
    """Hold what answers of one decision were good for."""

    decision: Decision
    given: int
    tried: int
    worked: int


@dataclass(frozen=True, slots=True)
class CostPoint:
    """Hold what retries cost in one step of a series."""

    at: datetime
    characters: int  # of agents that did not count their tokens
    counted: int = 0  # tokens of agents that did

    @property
    def tokens(self) -> int:
        """Give the tokens that were told, and estimate the rest."""
        return self.counted + self.characters // CHARACTERS_OF_TOKEN


@dataclass(frozen=True, slots=True)
class Insights:
    """Hold all that the page shows of a scope."""

    failures: tuple[FailurePoint, ...]
    tool_failures: tuple[ToolFailurePoint, ...]
    attempts: tuple[AttemptRate, ...]
    answer_times: AnswerTimes
    decisions: tuple[DecisionRate, ...]
    costs: tuple[CostPoint, ...]
    escalations: int
    outcomes: dict[str, int]
    api_errors: dict[str, int]

    @property
    def judged(self) -> int:
        return sum(rate.judged for rate in self.attempts)

    @property
    def first_try(self) -> AttemptRate:
        return next((rate for rate in self.attempts if rate.number == "1"), AttemptRate("1", 0, 0))

    @property
    def recovered(self) -> int:
        """Count the calls that failed at first and were valid later."""
        return sum(rate.valid for rate in self.attempts) - self.first_try.valid

    @property
    def recovery_rate(self) -> float:
        """Give the part of the calls that failed at first and were valid later.

        Calls begin in one time and may end in another: of a short time it is near the truth.
        """
        failed = self.first_try.judged - self.first_try.valid
        return min(self.recovered / failed, 1.0) if failed else 0.0

    @property
    def tokens(self) -> int:
        """Give the tokens that retries cost, estimated where no agent told them."""
        return self.counted_tokens + sum(point.characters for point in self.costs) // CHARACTERS_OF_TOKEN

    @property
    def counted_tokens(self) -> int:
        """Give those of them that agents told."""
        return sum(point.counted for point in self.costs)


def read_insights(scope: CountScope, *, is_by_tool: bool = True) -> Insights:
    """Read everything, in as many queries for an hour as for a year; failures by tool where they are asked for."""
    points = read_points(scope)
    totals: Counter[tuple[str, str]] = Counter()
    for point, amount in points.items():
        totals[point.measure, point.label] += amount
    failed = read_failed(scope) if is_by_tool else {}
    labels = {label: amount for (measure, label), amount in sorted(totals.items()) if measure == Measure.OUTCOME}
    buckets = [(limit, totals[Measure.GUIDANCE_TIME, str(limit)]) for limit in BUCKETS]
    numbers = [*map(str, range(1, LAST_NUMBER + 1)), LATER]
    rates = [AttemptRate(number, totals[Measure.JUDGED, number], totals[Measure.VALID, number]) for number in numbers]
    decisions = tuple(
        DecisionRate(
            one, *(totals[measure, one.value] for measure in (Measure.GUIDANCE, Measure.TRIED, Measure.WORKED))
        )
        for one in Decision
    )
    given = (*buckets, (None, totals[Measure.GUIDANCE_TIME, LONGEST]))
    each = tuple(
        (int(label.removeprefix(AT)), amount)
        for (measure, label), amount in totals.items()
        if measure == Measure.GUIDANCE_TIME and label.startswith(AT)
    )
    is_each = sum(amount for _, amount in each) == sum(amount for _, amount in given)
    reasons = {label: amount for (measure, label), amount in totals.items() if measure == Measure.API_ERROR}
    return Insights(
        failures=tuple(
            FailurePoint(point.at, point.label, amount)
            for point, amount in sorted(points.items())
            if point.measure == Measure.FAILURE
        ),
        tool_failures=tuple(ToolFailurePoint(*point, amount) for point, amount in sorted(failed.items())),
        attempts=tuple(rate for rate in rates if rate.judged),
        answer_times=AnswerTimes(given, totals[Measure.GUIDANCE_SECONDS, ""], each if is_each else ()),
        decisions=decisions,
        costs=tuple(
            CostPoint(at, points[Point(at, Measure.RETRY_TEXT, "")], points[Point(at, Measure.RETRY_TOKENS, "")])
            for at in sorted({point.at for point in points if point.measure in COSTS})
        ),
        escalations=totals[Measure.ESCALATION, ""],
        outcomes=labels,
        api_errors=_commonest(reasons),
    )


def _commonest(amounts: dict[str, int]) -> dict[str, int]:
    """Keep the commonest by name: agents write them."""
    ranked = sorted(amounts, key=lambda reason: (reason == OTHER, -amounts[reason], reason))
    named = {reason: amounts[reason] for reason in sorted(ranked[:MOST_REASONS]) if reason != OTHER}
    rest = sum(amounts.values()) - sum(named.values())
    return named | ({OTHER_REASONS: rest} if rest else {})


def read_tool_rates(scope: CountScope) -> tuple[ToolRate, ...]:
    """Read how each tool fared, the busiest first."""
    rates = [ToolRate(*names, *map(totals.__getitem__, RATED)) for names, totals in read_tool_totals(scope).items()]
    return tuple(sorted(rates, key=lambda rate: (-rate.judged, rate.namespace, rate.tool_name)))


def read_heat_map(scope: CountScope) -> tuple[Heat, ...]:
    """Read which fields failed with which codes, the hottest first."""
    places: Counter[str] = Counter()
    for detail, amount in read_details(scope).items():
        places[detail.head] += amount if detail.measure == Measure.PLACE else 0
    named = (item for item in (+places).items() if not item[0].endswith(OTHER))
    hottest = sorted(named, key=lambda item: (-item[1], item[0]))[:MOST_HEAT]
    parted = [(label.partition(" "), amount) for label, amount in hottest]
    return tuple(Heat(place, code, amount) for (code, _, place), amount in parted)
