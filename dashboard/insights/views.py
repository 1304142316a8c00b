"""The insights: how agents and tools fare over time, and what people's answers are good for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Self

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.template.defaultfilters import pluralize
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from dashboard.insights.plots import Bar, Series, draw_bars, draw_columns, percent
from dashboard.shared.choices import MAX_OPTIONS
from dashboard.shared.responses import TYPES, export
from dashboard.templatetags.desk import since
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.redaction.sanitizer import visible
from retrycontract.store.models import Rollup, SummarySpan, Tool, hour_of
from retrycontract.usecases.counts.read_counts import FINE, CountScope, steps_of
from retrycontract.usecases.counts.read_insights import Insights, read_insights

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
RANGES: Final = {"24h": ("24 hours", DAY), "7d": ("7 days", 7 * DAY), "30d": ("30 days", 30 * DAY),
                 "90d": ("90 days", 90 * DAY)}  # fmt: skip
USUAL: Final = "7d"


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Hold a time until now: whole hours of a day, or whole days, in UTC, the one under way with them."""

    name: str
    start: datetime
    end: datetime

    @classmethod
    def of(cls, name: str, now: datetime) -> Self:
        """Read an address; what nobody offers is the usual time."""
        name = name if name in RANGES else USUAL
        length, end = RANGES[name][1], hour_of(now) + HOUR
        start = end - length if length <= FINE else SummarySpan.DAY.beginning(now) - length + DAY
        return cls(name, start, end)

    @property
    def words(self) -> str:
        """Say how long it is."""
        return RANGES[self.name][0]

    @property
    def choices(self) -> list[tuple[str, str]]:
        """List what may be chosen."""
        return [(name, words) for name, (words, _) in RANGES.items()]

    def scope(self, tool: Tool | None = None) -> CountScope:
        """Say what is to be counted."""
        return CountScope(self.start, self.end, tool.namespace, tool.name) if tool else CountScope(self.start, self.end)

    @property
    def labels(self) -> dict[datetime, str]:
        """Name each step: days by their date, hours as whoever looks has them."""
        return {at: self._label(at) for at in steps_of(self.scope())}

    def _label(self, at: datetime) -> str:
        return f"{at.day} {at:%b}" if self.name != "24h" else timezone.localtime(at).strftime("%H:%M")


Row = Sequence[Any]
Choice = tuple[int, str, str]  # a tool's key, name and namespace
UNREGISTERED: Final = "not registered"
# Table -> its columns, and its rows; each is a plot of the page, and a file.
TABLES: Final[dict[str, tuple[tuple[str, ...], Callable[[Insights], Iterable[Row]]]]] = {
    "failures": (
        ("from", "code", "failed_attempts"),
        lambda found: ((point.at, point.code, point.amount) for point in found.failures),
    ),
    "tools": (
        ("from", "namespace", "tool", "failed_attempts"),
        lambda found: ((point.at, point.namespace, point.tool_name, point.amount) for point in found.tool_failures),
    ),
    "attempts": (
        ("attempt", "judged", "valid", "rate"),
        lambda found: ((rate.number, rate.judged, rate.valid, round(rate.rate, 4)) for rate in found.attempts),
    ),
    "guidance-time": (
        ("within_seconds", "answers"),
        lambda found: found.answer_times.buckets,
    ),
    "guidance": (
        ("decision", "given", "tried", "worked"),
        lambda found: ((rate.decision.value, rate.given, rate.tried, rate.worked) for rate in found.decisions),
    ),
    "outcomes": (("state", "calls"), lambda found: found.outcomes.items()),
    "tokens": (
        ("from", "characters", "tokens_counted", "tokens"),
        lambda found: ((point.at, point.characters, point.counted, point.tokens) for point in found.costs),
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Headline:
    """Show one number: what it is, how much, and what it says."""

    title: str
    number: str
    says: str


@dataclass(frozen=True, slots=True)
class Entry:
    """Say what a colour of a plot stands for; `link` is the key of a tool."""

    series: Series
    name: str
    title: str = ""
    link: str = ""


@require_GET
@never_cache
def insights(request: HttpRequest) -> HttpResponse:
    """Show the plots."""
    span, tool = _asked(request)
    found = read_insights(span.scope(tool), is_by_tool=tool is None)
    tools = list(Tool.objects.order_by("name", "namespace").values_list("pk", "name", "namespace")[:MAX_OPTIONS])
    context: dict[str, Any] = {"span": span, "tool": tool, "tools": tools, "query": request.GET.urlencode()}
    if not found.judged and not found.answer_times.answers:
        address = request.build_absolute_uri("/").rstrip("/")
        context |= {"is_first_look": not Rollup.objects.exists(), "address": address}
        return render(request, "insights/insights.html", context)
    return render(request, "insights/insights.html", context | {"found": found} | _plots(found, span, tools))


@require_GET
@never_cache
def export_insights(request: HttpRequest, table: str, kind: str) -> HttpResponseBase:
    """Give one table as a file."""
    if table not in TABLES or kind not in TYPES:
        raise Http404
    span, tool = _asked(request)
    columns, rows_of = TABLES[table]
    return export(f"{table}-{span.name}", kind, columns, rows_of(read_insights(span.scope(tool))))


def _asked(request: HttpRequest) -> tuple[TimeRange, Tool | None]:
    """Read the time and the tool that the address names."""
    key = request.GET.get("tool", "")
    tool = Tool.objects.filter(pk=int(key)).first() if key.isdecimal() and len(key) < 18 else None
    if key and tool is None:
        raise Http404
    return TimeRange.of(request.GET.get("range", ""), timezone.now()), tool


def _plots(found: Insights, span: TimeRange, tools: list[Choice]) -> dict[str, Any]:
    steps = span.labels
    codes = draw_columns({(point.at, point.code): point.amount for point in found.failures}, steps)
    keys = {(namespace, name): str(pk) for pk, name, namespace in tools}
    amounts: Counter[tuple[datetime, str]] = Counter()
    for point in found.tool_failures:
        amounts[point.at, keys.get((point.namespace, point.tool_name), UNREGISTERED)] += point.amount
    by_tool = draw_columns(amounts, steps)
    tokens = {(point.at, "tokens"): point.tokens for point in found.costs if point.tokens}
    names = {str(pk): visible(name) for pk, name, _ in tools}
    largest = sorted(found.outcomes.items(), key=lambda item: (-item[1], item[0]))
    recovery = tuple(
        Bar(_attempt(rate.number), rate.judged, f"{rate.rate * 100:.1f}", percent(rate.rate)) for rate in found.attempts
    )
    whole = sum(rate.valid for rate in found.attempts)
    successes = [
        (_attempt(rate.number), rate.valid, percent(rate.valid / whole if whole else 0)) for rate in found.attempts
    ]
    return {
        "headlines": _headlines(found),
        "codes": codes,
        "code_legend": [Entry(one, one.key, _title(one.key)) for one in codes.series],
        "by_tool": by_tool,
        "tool_legend": [Entry(one, names.get(one.key, one.key), link=one.key if one.key in names else "")
                        for one in by_tool.series],
        "tokens": draw_columns(tokens, steps),
        "success": draw_bars(successes, of=whole),
        "recovery": recovery,
        "times": _times(found),
        "decisions": _decisions(found),
        "outcomes": draw_bars((state, amount, "") for state, amount in largest),
    }  # fmt: skip


def _title(code: str) -> str:
    return ErrorCode(code).title if code in list(ErrorCode) else ""


def _headlines(found: Insights) -> list[Headline]:
    first, times = found.first_try, found.answer_times
    failed, answers = first.judged - first.valid, f"{times.answers:,} answer{pluralize(times.answers)} given"
    if not found.counted_tokens:
        counted = "tokens, at four characters each"
    else:
        counted = f"tokens; agents counted {_short(found.counted_tokens)} of them, the rest at four characters each"
    return [
        Headline("Valid at first try", percent(first.rate), f"{first.valid:,} of {first.judged:,} calls"),
        Headline("Recovered", percent(found.recovery_rate) if failed else "–",
                 f"{found.recovered:,} of the {failed:,} that failed at first"),
        Headline("Escalated", f"{found.escalations:,}", answers),
        Headline("Time to guidance", since(times.mean) if times.answers else "–", "on average"),
        Headline("Spent on retries", f"~{_short(found.tokens)}", counted),
    ]  # fmt: skip


def _times(found: Insights) -> tuple[Bar, ...]:
    answers = found.answer_times.answers
    return draw_bars(
        (_within(limit), amount, percent(amount / answers) if amount else "")
        for limit, amount in found.answer_times.buckets
    )


def _decisions(found: Insights) -> list[tuple[str, int, int, Bar]]:
    rows = []
    for rate in found.decisions:
        worked = percent(rate.worked / rate.tried) if rate.tried else ""
        (bar,) = draw_bars([(rate.decision.capitalize(), rate.worked, worked)], of=rate.tried or 1)
        rows.append((rate.decision.capitalize(), rate.given, rate.tried, bar))
    return rows


def _attempt(number: str) -> str:
    return f"Attempt {number}" if number.isdecimal() else "Later ones"


def _within(limit: int | None) -> str:
    return f"within {since(timedelta(seconds=limit))}" if limit else "longer"


def _short(number: int) -> str:
    """Write a number in three digits or so."""
    for size, letter in ((10**9, "B"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.3g} {letter}"
    return str(number)
