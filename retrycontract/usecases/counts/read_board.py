"""Rank what goes wrong by what it costs, compare where it comes from, and tell what began meanwhile."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from math import sqrt
from typing import Final

from retrycontract.store.models import OTHER, Measure, StandingHint, ToolVersion
from retrycontract.store.models.summaries import OTHER_TOOL
from retrycontract.usecases.counts.read_counts import CountScope, Detail, read_details, steps_of
from retrycontract.usecases.counts.read_insights import (
    AnswerTimes,
    AttemptRate,
    FailurePoint,
    Insights,
    ToolFailurePoint,
)

LEAST_SHOWN, MOST_SHOWN = 10, 40  # of a ranking
COVERED: Final = 0.75  # of all that is ranked: the rest is never the largest part of what is shown
FEW: Final = 30  # of fewer, a rate says little
CERTAIN: Final = 1.96  # standard deviations: of twenty intervals, nineteen hold the truth
MOST_MARKERS: Final = 6
ALL_FAILED: Final = 20  # of a new model, attempts before anything is said of it
ToolName = tuple[str, str]  # namespace and name
OTHER_NAME: Final = (OTHER, "")  # and its namespace


@dataclass(frozen=True, slots=True)
class Share:
    """Hold how many of how many, with the interval that the truth lies in."""

    part: int
    whole: int

    def __post_init__(self) -> None:
        """Leave out what cannot be: of a part without its whole nothing is known."""
        if not 0 <= self.part <= self.whole:
            object.__setattr__(self, "whole", 0)

    @property
    def rate(self) -> float:
        return self.part / self.whole if self.whole else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Give Wilson's interval, which holds for few and for rates near nothing or all."""
        if not self.whole:
            return 0.0, 1.0
        square = CERTAIN**2 / self.whole
        middle = (self.rate + square / 2) / (1 + square)
        reach = CERTAIN / (1 + square) * sqrt(self.rate * (1 - self.rate) / self.whole + square / (4 * self.whole))
        # Of all or nothing the rate is a bound itself, which rounding would miss.
        return min(max(middle - reach, 0.0), self.rate), max(min(middle + reach, 1.0), self.rate)

    @property
    def is_few(self) -> bool:
        """Tell whether the rate stands on little."""
        return self.whole < FEW

    def is_below(self, other: Share) -> bool:
        """Tell whether the rate is lower than another, and not by chance (Newcombe's interval of the difference)."""
        reach = sqrt((self.interval[1] - self.rate) ** 2 + (other.rate - other.interval[0]) ** 2)
        return self.rate - other.rate + reach < 0


@dataclass(frozen=True, slots=True)
class CostlyMistake:
    """Hold what a mistake in a field of a tool came to: the tool's name is empty where nobody registered it."""

    namespace: str
    tool_name: str
    code: str
    place: str
    failed: int
    tokens: int
    answers: int
    seconds: int  # of people who had taken the call on
    judged: int  # attempts of the tool
    before: Share  # the same in the period before
    series: tuple[int, ...]

    @property
    def rate(self) -> Share:
        """Give the part of the tool's attempts that made it."""
        return Share(self.failed, self.judged)


@dataclass(frozen=True, slots=True)
class Standing:
    """Hold how one model, or one tool, fares."""

    name: str
    namespace: str
    first: Share  # valid at the first try
    recovered: Share  # of the calls that failed at first
    attempts: int

    @property
    def shares(self) -> tuple[Share, Share]:
        return self.first, self.recovered


@dataclass(frozen=True, slots=True)
class Marker:
    """Hold what began at a moment, and how the tool (or every tool) failed before and since."""

    at: datetime
    kind: str  # version, hint, model
    name: str
    namespace: str
    tool_name: str
    before: Share
    since: Share


@dataclass(frozen=True, slots=True)
class Setback:
    """Hold a model that does worse at the first try than those before it."""

    model: str
    since: datetime
    now: Share
    others: Share


@dataclass(frozen=True, slots=True)
class Board:
    """Hold what to fix first, and the rest that is told by source."""

    problems: tuple[CostlyMistake, ...]
    hidden: int  # problems that are not listed
    rare: int  # failed attempts by mistakes that were counted together
    listed: Share  # how much of all is listed
    tools: tuple[tuple[ToolName, Share], ...]  # failed attempts of all attempts, the most first, until most is told
    tools_total: int
    models: tuple[Standing, ...]
    by_tool: tuple[Standing, ...]  # what is not listed is one, `OTHER`, in both
    codes: tuple[Standing, ...]  # `first` says of how many first attempts each was a mistake
    markers: tuple[Marker, ...]
    setbacks: tuple[Setback, ...]


RANKED: Final[dict[str, Callable[[CostlyMistake], int]]] = {
    "failed": lambda problem: problem.failed,
    "minutes": lambda problem: problem.seconds,
    "tokens": lambda problem: problem.tokens,
}


def read_board(scope: CountScope, *, by: str = "failed") -> tuple[Board, Insights]:
    """Read the ranking, and what its details say of attempts and failures; in as many queries however much there is."""
    length, start = scope.end - scope.start, scope.span.beginning(scope.start)
    found = read_details(replace(scope, start=scope.start - length))
    here = Counter({detail: amount for detail, amount in found.items() if detail.at >= start})
    before = Counter({detail: amount for detail, amount in found.items() if detail.at < start})
    key = RANKED[by]
    found_problems = list(_problems(here, before, scope))
    rare = [problem for problem in found_problems if OTHER in (problem.tool_name, problem.place)]
    total = sum(map(key, found_problems))
    problems = sorted(
        (problem for problem in found_problems if OTHER not in (problem.tool_name, problem.place)),
        key=lambda one: (-key(one), -one.failed, one.tool_name, one.namespace, one.code, one.place),
    )
    shown = _until_covered([key(problem) for problem in problems], total)
    judged, valid = _judged(here), Counter[ToolName]()
    for detail, amount in here.items():
        valid[detail.namespace, detail.tool_name] += amount if detail.measure == Measure.SOURCE_VALID else 0
    failed = {tool: Share(all_ - valid[tool], all_) for tool, all_ in judged.items() if all_ > valid[tool]}
    total_failed = sum(share.part for share in failed.values())
    named = ((tool, share) for tool, share in failed.items() if tool != OTHER_TOOL)
    ranked = sorted(named, key=lambda item: (-item[1].part, item[0]))
    board = Board(
        problems=tuple(problems[:shown]),
        hidden=max(len(problems) - shown, 0),
        rare=sum(problem.failed for problem in rare),
        listed=Share(sum(map(key, problems[:shown])), total),
        tools=tuple(ranked[: _until_covered([share.part for _, share in ranked], total_failed)]),
        tools_total=total_failed,
        models=_standings(here, lambda detail: (detail.source.model, "")),
        by_tool=_standings(here, lambda detail: (detail.tool_name, detail.namespace)),
        codes=_by_code(here),
        markers=_markers(scope, here, before),
        setbacks=_setbacks(scope, here, before),
    )
    return board, _insights(here)


def _problems(here: Counter[Detail], before: Counter[Detail], scope: CountScope) -> Iterable[CostlyMistake]:
    sums: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    series: dict[tuple[str, str, str], Counter[datetime]] = defaultdict(Counter)
    earlier: Counter[tuple[str, str, str]] = Counter()
    judged, judged_before = _judged(here), _judged(before)
    for detail, amount in here.items():
        key = detail.namespace, detail.tool_name, detail.head
        sums[key][detail.measure] += amount
        if detail.measure == Measure.PLACE:
            series[key][detail.at] += amount
    for detail, amount in before.items():
        earlier[detail.namespace, detail.tool_name, detail.head] += amount if detail.measure == Measure.PLACE else 0
    steps = list(steps_of(scope))
    for key, amounts in sums.items():
        if not (amounts[Measure.PLACE] or amounts[Measure.PLACE_ANSWERS]):
            continue
        (namespace, tool_name, head), tool = key, key[:2]
        code, _, place = head.partition(" ")
        yield CostlyMistake(
            namespace, tool_name, code, place, amounts[Measure.PLACE], amounts[Measure.PLACE_TOKENS],
            amounts[Measure.PLACE_ANSWERS], amounts[Measure.PLACE_SECONDS], judged[tool],
            Share(earlier[key], judged_before[tool]), tuple(series[key][step] for step in steps),
        )  # fmt: skip


def _judged(details: Counter[Detail]) -> Counter[ToolName]:
    found: Counter[ToolName] = Counter()
    for detail, amount in details.items():
        found[detail.namespace, detail.tool_name] += amount if detail.measure == Measure.SOURCE_JUDGED else 0
    return found


def _until_covered(amounts: list[int], whole: int) -> int:
    """Tell how many of a ranking are shown: enough for most of the whole, few enough to be read."""
    told = 0
    for number, amount in enumerate(amounts):
        if number >= MOST_SHOWN or (number >= LEAST_SHOWN and told >= COVERED * whole):
            return number
        told += amount
    return len(amounts)


def _standings(details: Counter[Detail], name_of: Callable[[Detail], tuple[str, str]]) -> tuple[Standing, ...]:
    sums: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for detail, amount in details.items():
        if detail.measure in (Measure.SOURCE_JUDGED, Measure.SOURCE_VALID):
            sums[name_of(detail)][detail.measure] += amount
            sums[name_of(detail)][f"{detail.measure} first"] += amount if detail.head == "1" else 0
    other = sums.pop(OTHER_NAME, Counter())
    ranked = sorted(sums, key=lambda name: (-sums[name][Measure.SOURCE_JUDGED], name))
    attempts = [sums[name][Measure.SOURCE_JUDGED] for name in ranked]
    shown = _until_covered(attempts, sum(attempts) + other[Measure.SOURCE_JUDGED])
    for name in ranked[shown:]:
        other.update(sums[name])
    found = [_standing(*name, sums[name]) for name in ranked[:shown]]
    return (*found, _standing(*OTHER_NAME, other)) if other else tuple(found)


def _standing(name: str, namespace: str, sums: Counter[str]) -> Standing:
    judged, valid = Measure.SOURCE_JUDGED, Measure.SOURCE_VALID
    first = Share(sums[f"{valid} first"], sums[f"{judged} first"])
    # Calls begin in one time and may end in another: of a short time it is near the truth.
    missed = first.whole - first.part
    return Standing(name, namespace, first, Share(min(sums[valid] - first.part, missed), missed), sums[judged])


def _by_code(details: Counter[Detail]) -> tuple[Standing, ...]:
    """Tell of each code how many calls began with it, and how many of those were right in the end."""
    made, recovered, calls = Counter[str](), Counter[str](), 0
    for detail, amount in details.items():
        made[detail.head] += amount if detail.measure == Measure.CODE_FIRST else 0
        recovered[detail.head] += amount if detail.measure == Measure.CODE_RECOVERED else 0
        calls += amount if (detail.measure, detail.head) == (Measure.SOURCE_JUDGED, "1") else 0
    # A call may begin before the time that is shown: of a short time it is near the truth.
    found = [
        Standing(code, "", Share(number, max(calls, number)), Share(min(recovered[code], number), number), number)
        for code, number in (+made).items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.attempts, one.name)))


def _first_seen(scope: CountScope, here: Counter[Detail], before: Counter[Detail]) -> dict[str, datetime]:
    """Tell when each model was first seen that the period before did not know, while others were there before it."""
    known = {detail.source.model for detail in before if detail.measure == Measure.SOURCE_JUDGED}
    if OTHER in known:  # then nobody can tell which are new
        return {}
    seen: dict[str, datetime] = {}
    for detail in here:
        if detail.measure == Measure.SOURCE_JUDGED and detail.source.model != OTHER:
            seen[detail.source.model] = min(detail.at, seen.get(detail.source.model, detail.at))
    begin = min((at for name, at in seen.items() if name), default=scope.start)
    # Where the period before knew no names at all, its agents named no models: the first names are no new models then.
    return {name: at for name, at in seen.items() if name and name not in known and (known - {""} or at > begin)}


def _markers(scope: CountScope, here: Counter[Detail], before: Counter[Detail]) -> tuple[Marker, ...]:
    """List what began: the newest, each with the failed attempts before it and since, within the period."""
    began: list[tuple[datetime, str, str, ToolName | None]] = []
    versions = ToolVersion.objects.filter(created_at__gte=scope.start, created_at__lt=scope.end, number__gt=1)
    hints = StandingHint.objects.filter(created_at__gte=scope.start, created_at__lt=scope.end)
    if scope.tool_name is not None:
        versions = versions.filter(tool__name=scope.tool_name, tool__namespace=scope.namespace)
        hints = hints.filter(tool_name=scope.tool_name, namespace=scope.namespace or "")
    began += [
        (version.created_at, "version", f"{version.number}", (version.tool.namespace, version.tool.name))
        for version in versions.select_related("tool").order_by("-created_at")[:MOST_MARKERS]
    ]
    began += [
        (hint.created_at, "hint", hint.text, (hint.namespace, hint.tool_name))
        for hint in hints.order_by("-created_at")[:MOST_MARKERS]
    ]
    began += [(at, "model", name, None) for name, at in _first_seen(scope, here, before).items()]
    newest = sorted(began, key=lambda one: (one[0], one[1], one[2]), reverse=True)[:MOST_MARKERS]
    markers = []
    for at, kind, name, tool in reversed(newest):
        sums: Counter[tuple[bool, str]] = Counter()  # before it, and from it on
        for detail, amount in here.items():
            if tool in (None, (detail.namespace, detail.tool_name)):
                sums[detail.at >= scope.span.beginning(at), detail.measure] += amount
        was, since = (
            Share(
                sums[side, Measure.SOURCE_JUDGED] - sums[side, Measure.SOURCE_VALID], sums[side, Measure.SOURCE_JUDGED]
            )
            for side in (False, True)
        )
        markers.append(Marker(at, kind, name, *(tool or ("", "")), was, since))
    return tuple(markers)


def _setbacks(scope: CountScope, here: Counter[Detail], before: Counter[Detail]) -> tuple[Setback, ...]:
    """Find new models that are valid at the first try less often than others with the same tools, not by chance."""
    first: dict[tuple[str, ToolName], Counter[str]] = defaultdict(Counter)
    for detail, amount in (here + before).items():
        if detail.head == "1" and detail.measure in (Measure.SOURCE_JUDGED, Measure.SOURCE_VALID):
            first[detail.source.model, (detail.namespace, detail.tool_name)][detail.measure] += amount
    new, found = _first_seen(scope, here, before), []
    for model, at in new.items():
        tools = {tool for name, tool in first if name == model}
        sums: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
        for (name, tool), amounts in first.items():
            if tool in tools and (name == model or name not in new):
                sums[name == model].update(amounts)
        now, others = (
            Share(sums[side][Measure.SOURCE_VALID], sums[side][Measure.SOURCE_JUDGED]) for side in (True, False)
        )
        if now.whole >= ALL_FAILED and now.is_below(others):
            found.append(Setback(model, at, now, others))
    return tuple(sorted(found, key=lambda one: one.now.rate))


def _insights(details: Counter[Detail]) -> Insights:
    """Say of some sources what is known by source: attempts and failures."""
    codes: Counter[tuple[datetime, str]] = Counter()
    tools: Counter[tuple[datetime, str, str]] = Counter()
    numbers: dict[str, Counter[str]] = defaultdict(Counter)
    for detail, amount in details.items():
        if detail.measure == Measure.PLACE:
            codes[detail.at, detail.head.partition(" ")[0]] += amount
        elif detail.measure in (Measure.SOURCE_JUDGED, Measure.SOURCE_VALID):
            numbers[detail.head][detail.measure] += amount
            sign = 1 if detail.measure == Measure.SOURCE_JUDGED else -1
            tools[detail.at, detail.namespace, detail.tool_name] += sign * amount
    ordered = sorted(numbers, key=lambda name: (not name.isdecimal(), len(name), name))
    return Insights(
        failures=tuple(FailurePoint(*key, amount) for key, amount in sorted(codes.items())),
        tool_failures=tuple(ToolFailurePoint(*key, amount) for key, amount in sorted((+tools).items())),
        attempts=tuple(
            AttemptRate(name, numbers[name][Measure.SOURCE_JUDGED], numbers[name][Measure.SOURCE_VALID])
            for name in ordered
        ),
        answer_times=AnswerTimes((), 0), decisions=(), costs=(), escalations=0, outcomes={}, api_errors={},
    )  # fmt: skip
