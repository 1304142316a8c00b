"""Read how agents and their tools fare, from the hourly counts: history itself is never looked through."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.db.models import QuerySet, Sum
from django.db.models.functions import TruncDay, TruncHour

from retrycontract.contract.lifecycle import Decision
from retrycontract.store.models import Measure, Rollup
from retrycontract.store.models.rollups import RollupQuerySet
from retrycontract.usecases.keep_count import BUCKETS, LAST_NUMBER, LATER, LONGEST

FINE: Final = timedelta(days=3)  # a longer time is shown by days
MOST_HEAT: Final = 200  # cells of a map, the hottest
CHARACTERS_OF_TOKEN: Final = 4  # a rule of thumb: every model counts its own


@dataclass(frozen=True, slots=True)
class Scope:
    """Say what is looked at: from the hour of `start` to before `end`, and of which namespace and tool."""

    start: datetime
    end: datetime
    namespace: str | None = None
    tool_name: str | None = None

    @property
    def step(self) -> timedelta:
        """Give what one point of a series stands for: an hour or a day, in UTC."""
        return timedelta(hours=1) if self.end - self.start <= FINE else timedelta(days=1)

    def counted(self, *measures: Measure) -> RollupQuerySet:
        """Find the counters of some measures."""
        chosen = {name: value for name, value in asdict(self).items() if name in NAMES and value is not None}
        return Rollup.objects.filter(measure__in=measures, hour__gte=self.start, hour__lt=self.end, **chosen)


NAMES: Final = ("namespace", "tool_name")


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
    """Hold how often a tool failed with a code in one step of a series."""

    at: datetime
    namespace: str
    tool_name: str
    code: str
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
    """Hold how long answers took: how many fell under each limit in seconds, None for longer than all."""

    buckets: tuple[tuple[int | None, int], ...]
    seconds: int

    @property
    def answers(self) -> int:
        """Count the answers."""
        return sum(amount for _, amount in self.buckets)

    @property
    def mean(self) -> timedelta:
        """Give the mean time."""
        return timedelta(seconds=self.seconds / self.answers) if self.answers else timedelta()


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
    characters: int

    @property
    def tokens(self) -> int:
        """Estimate the tokens."""
        return self.characters // CHARACTERS_OF_TOKEN


@dataclass(frozen=True, slots=True)
class Insights:
    """Hold all that the page shows of a scope."""

    failures: tuple[FailurePoint, ...]
    attempts: tuple[AttemptRate, ...]
    answer_times: AnswerTimes
    decisions: tuple[DecisionRate, ...]
    costs: tuple[CostPoint, ...]
    escalations: int
    outcomes: dict[str, int]


def read_insights(scope: Scope) -> Insights:
    """Read everything in three queries."""
    totals = _totals(scope)
    return Insights(
        failures=_failures(scope),
        attempts=_attempts(totals),
        answer_times=_answer_times(totals),
        decisions=_decisions(totals),
        costs=_costs(scope),
        escalations=totals[Measure.ESCALATION, ""],
        outcomes={label: amount for (measure, label), amount in sorted(totals.items()) if measure == Measure.OUTCOME},
    )


def read_tool_rates(scope: Scope) -> tuple[ToolRate, ...]:
    """Read how each tool fared, the busiest first; one query."""
    found: dict[tuple[str, str], Counter[str]] = {}
    rows = scope.counted(Measure.JUDGED, Measure.VALID).order_by().values_list(*NAMES, "measure", "label")
    for namespace, tool, measure, label, amount in rows.annotate(total=Sum("amount")):
        counter = found.setdefault((namespace, tool), Counter())
        counter[measure] += amount
        counter[f"first {measure}"] += amount if label == "1" else 0
    rates = [
        ToolRate(*key, each[Measure.JUDGED], each[Measure.VALID], each["first judged"], each["first valid"])
        for key, each in found.items()
    ]
    return tuple(sorted(rates, key=lambda rate: (-rate.judged, rate.namespace, rate.tool_name)))


def read_heat_map(scope: Scope) -> tuple[Heat, ...]:
    """Read which fields failed with which codes, the hottest first; one query."""
    rows = scope.counted(Measure.PLACE).order_by().values_list("label").annotate(total=Sum("amount"))
    found = []
    for label, amount in rows.order_by("-total", "label")[:MOST_HEAT]:
        code, _, place = label.partition(" ")
        found.append(Heat(place, code, amount))
    return tuple(found)


def _totals(scope: Scope) -> Counter[tuple[str, str]]:
    measures = [measure for measure in Measure if measure not in (Measure.PLACE, Measure.FAILURE, Measure.RETRY_TEXT)]
    rows = scope.counted(*measures).order_by().values_list("measure", "label").annotate(total=Sum("amount"))
    return Counter({(measure, label): amount for measure, label, amount in rows})


def _failures(scope: Scope) -> tuple[FailurePoint, ...]:
    rows = _stepped(scope, Measure.FAILURE).values_list("at", *NAMES, "label").annotate(total=Sum("amount"))
    return tuple(FailurePoint(*row) for row in rows.order_by("at", *NAMES, "label"))


def _costs(scope: Scope) -> tuple[CostPoint, ...]:
    rows = _stepped(scope, Measure.RETRY_TEXT).values_list("at").annotate(total=Sum("amount"))
    return tuple(CostPoint(*row) for row in rows.order_by("at"))


def _stepped(scope: Scope, measure: Measure) -> QuerySet[Any]:
    step = TruncHour if scope.step < timedelta(days=1) else TruncDay
    return scope.counted(measure).order_by().annotate(at=step("hour", tzinfo=UTC))


def _attempts(totals: Counter[tuple[str, str]]) -> tuple[AttemptRate, ...]:
    numbers = [*map(str, range(1, LAST_NUMBER + 1)), LATER]
    rates = [AttemptRate(number, totals[Measure.JUDGED, number], totals[Measure.VALID, number]) for number in numbers]
    return tuple(rate for rate in rates if rate.judged)


def _answer_times(totals: Counter[tuple[str, str]]) -> AnswerTimes:
    buckets = [(limit, totals[Measure.GUIDANCE_TIME, str(limit)]) for limit in BUCKETS]
    return AnswerTimes((*buckets, (None, totals[Measure.GUIDANCE_TIME, LONGEST])), totals[Measure.GUIDANCE_SECONDS, ""])


def _decisions(totals: Counter[tuple[str, str]]) -> tuple[DecisionRate, ...]:
    return tuple(
        DecisionRate(
            one, *(totals[measure, one.value] for measure in (Measure.GUIDANCE, Measure.TRIED, Measure.WORKED))
        )
        for one in Decision
    )
