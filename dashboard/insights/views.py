"""The insights: how agents and tools fare over time, and what people's answers are good for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.template.defaultfilters import pluralize
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.insights.board import (
    RANKINGS,
    BoardPage,
    CutChoice,
    KnownTools,
    calls_at,
)
from dashboard.insights.plots import Bar, Series, TimeRange, draw_bars, draw_columns, percent
from dashboard.navigation import is_staff
from dashboard.shared.choices import MAX_OPTIONS, unread
from dashboard.shared.mistakes import code_title
from dashboard.shared.responses import TYPES, export, refused
from dashboard.templatetags.desk import since
from retrycontract.contract.lifecycle import CallState
from retrycontract.store.models import Rollup, Tool
from retrycontract.usecases.counts.answer_times import answer_seconds, count_open_waits, quantile
from retrycontract.usecases.counts.keep_count import LONGEST
from retrycontract.usecases.counts.read_board import FEW, Share, read_board
from retrycontract.usecases.counts.read_insights import Insights, read_insights

Row = Sequence[Any]
Choice = tuple[int, str, str]  # a tool's key, name and namespace
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
OF_SOURCES: Final = {"failures", "tools", "attempts"}  # what is also counted by agent, version and model


@dataclass(frozen=True, slots=True)
class Headline:
    """Show one number: what it is, how much, and what it says in parts, each with where its calls are, if anywhere."""

    title: str
    number: str
    says: tuple[tuple[str, str], ...]
    link: str


@dataclass(frozen=True, slots=True)
class Entry:
    """Say what a colour of a plot stands for, and where the calls are that it counts."""

    series: Series
    name: str
    title: str = ""
    link: str = ""


@require_safe
@never_cache
def insights(request: HttpRequest) -> HttpResponse:
    span, tool = _asked(request)
    choice, by = CutChoice.of(request.GET, tool), request.GET.get("by", "")
    strange = _unread(request, choice)
    by = by if by in RANKINGS else "failed"
    board, of_sources = read_board(span.scope(tool, choice.cut), by=by)
    found = of_sources if choice.is_any else read_insights(span.scope(tool), is_by_tool=False)
    tools = list(Tool.objects.order_by("name", "namespace").values_list("pk", "name", "namespace")[:MAX_OPTIONS])
    context: dict[str, Any] = {"span": span, "tool": tool, "tools": tools, "query": request.GET.urlencode(),
                               "cut": choice, "by": by, "rankings": RANKINGS.items(), "unread": strange}  # fmt: skip
    if not found.judged and not found.answer_times.answers:
        context |= {
            "is_first_look": not Rollup.objects.exists(),
            "address": request.build_absolute_uri("/").rstrip("/"),
            "api_errors": found.api_errors,
            "unasked": calls_at(span, choice, course="unasked", tool=tool.name if tool else ""),
        }
        return render(request, "insights/insights.html", context)
    page = BoardPage(request, board, span, choice, KnownTools.read(), tool)
    context |= {"found": found, "rows": page.rows(), "may_edit": is_staff(request.user)} | _plots(page, found)
    return render(request, "insights/insights.html", context)


@require_safe
@never_cache
def export_insights(request: HttpRequest, table: str, kind: str) -> HttpResponseBase:
    if table not in TABLES or kind not in TYPES:
        raise Http404
    span, tool = _asked(request)
    choice = CutChoice.of(request.GET, tool)
    strange = _unread(request, choice)
    if choice.is_any and table not in OF_SOURCES:
        strange += [name for name, is_read in choice.read.items() if is_read]
    if strange:
        return refused(strange)
    found = read_board(span.scope(tool, choice.cut))[1] if choice.is_any else read_insights(span.scope(tool))
    columns, rows_of = TABLES[table]
    return export(f"{table}-{span.name}", kind, columns, rows_of(found))


def _unread(request: HttpRequest, choice: CutChoice) -> list[str]:
    ranked, time = request.GET.get("by", "") in RANKINGS, TimeRange.is_one(request.GET.get("range", ""))
    return unread(request.GET, choice.read | {"range": time, "by": ranked, "tool": True})


def _asked(request: HttpRequest) -> tuple[TimeRange, Tool | None]:
    key = request.GET.get("tool", "")
    tool = Tool.objects.filter(pk=int(key)).first() if key.isdecimal() and len(key) < 18 else None
    if key and tool is None:
        raise Http404
    return TimeRange.of(request.GET.get("range", ""), timezone.now()), tool


def _plots(page: BoardPage, found: Insights) -> dict[str, Any]:
    span, steps, board = page.span, page.span.labels, page.board
    waits = count_open_waits(span.scope(page.tool), timezone.now())
    is_counted = bool(found.answer_times.each)  # which stays as it is when the calls are forgotten
    each = None if is_counted else answer_seconds(span.scope(page.tool), found.answer_times.answers)
    codes = draw_columns({(point.at, point.code): point.amount for point in found.failures}, steps)
    outcomes = sorted(found.outcomes.items(), key=lambda item: (-item[1], item[0]))  # the largest first
    tokens = {(point.at, "tokens"): point.tokens for point in found.costs if point.tokens}
    right, answers = sum(rate.valid for rate in found.attempts), found.answer_times.answers
    within = [(limit, amount) for limit, amount in found.answer_times.buckets if amount]
    success = [(_attempt(one.number), one.valid, percent(one.valid / right if right else 0)) for one in found.attempts]
    times = [
        (f"within {since(timedelta(seconds=limit))}" if limit else "longer", amount, percent(amount / answers))
        for limit, amount in within
    ]

    def calls(course: str = "", **more: str) -> str:
        return page.calls(**page.of_tool, course=course, **more)

    return {
        "headlines": _headlines(found, waits, each, calls),
        "board": board,
        "markers": page.markers(),
        "models": page.models(),
        "by_tool": page.tools(),
        "by_code": page.codes(),
        "setbacks": [
            (one, calls("first", model=model), calls("checked-1", model=model))
            for one in board.setbacks
            for model in [page.choice.full.get(one.model, one.model)]
        ],
        "codes": codes,
        "code_legend": [
            Entry(one, one.key, code_title(one.key), calls("failing", code=one.key) if one.key else "")
            for one in codes.series
        ],
        "tool_bars": page.tool_bars(),
        "tokens": draw_columns(tokens, steps),
        "success": [
            replace(bar, link=calls(f"valid-{one.number}"))
            for bar, one in zip(draw_bars(success, of=right), found.attempts, strict=True)
        ],
        "recovery": _recovery(found, calls),
        "times": [
            replace(bar, link=calls(f"within-{limit or LONGEST}"))
            for bar, (limit, _) in zip(draw_bars(times), within, strict=True)
        ],
        "decisions": _decisions(found, calls),
        "failing": calls("failing"), "cost": calls("cost"), "unasked": calls("unasked"),
        "outcomes": [
            replace(bar, link=calls(f"ended-{bar.label}"))
            for bar in draw_bars((state, amount, "") for state, amount in outcomes)
        ],
    }  # fmt: skip


def _headlines(found: Insights, waits: list[int], each: list[int] | None, calls: Callable[..., str]) -> list[Headline]:
    first, times = found.first_try, found.answer_times
    median, most = (quantile(times, waits, part, each=each) for part in (0.5, 0.9))
    failed, answers = first.judged - first.valid, f"{times.answers:,} answer{pluralize(times.answers)}"
    low, high = Share(first.valid, first.judged).interval
    few = f"; few: {percent(low)} to {percent(high)}" if 0 < first.judged < FEW else ""
    known = [
        Headline("Valid at first try", percent(first.rate), (
            (f"{first.valid:,}", calls("first")), (" of ", ""),
            (f"{first.judged:,} call{pluralize(first.judged)}", calls("checked-1")), (few, ""),
        ), calls("first")),
        Headline("Recovered", percent(found.recovery_rate) if failed else "–", (
            (f"{found.recovered:,}", calls("recovered")), (" of the ", ""),
            (f"{failed:,} that failed at first", calls("failed")),
        ), calls("recovered")),
    ]  # fmt: skip
    by_agents = f"; agents counted {_short(found.counted_tokens)} of them, the rest" if found.counted_tokens else ","
    if not found.decisions:  # of some sources, which answers and costs are not counted by
        return known
    quick = "nobody was asked" if most is None else f"median; 90% within {since(timedelta(seconds=most))}"
    # Who waits was asked at any time, also before the one that is looked at.
    waiting = calls(state=CallState.BLOCKED.value, counted_since="")
    still = ((f"{len(waits):,} still wait{pluralize(waits, 's,')}", waiting),) if waits else ()
    oldest = f", the oldest {since(timedelta(seconds=max(waits)))}" if waits else ""
    return [
        *known,
        Headline("Escalated", f"{found.escalations:,}", (
            (answers, calls("answered") if times.answers else ""), (" given", ""),
        ), calls("escalated")),
        Headline("Time to guidance", "–" if median is None else since(timedelta(seconds=median)), (
            (f"{quick}; " if waits else quick, ""), *still, (oldest, ""),
        ), calls("waited")),
        Headline("Spent on retries", f"~{_short(found.tokens)}", (
            (f"tokens{by_agents} at four characters each", ""),
        ), calls("cost")),
    ]  # fmt: skip


def _recovery(found: Insights, calls: Callable[..., str]) -> list[Bar]:
    """Make bars of the attempts by their number: how many were checked, and which share of them was valid."""
    bars = []
    for one in found.attempts:
        low, high = Share(one.valid, one.judged).interval
        few = f"few: {percent(low)} to {percent(high)}" if one.judged < FEW else ""
        link, of_note = calls(f"checked-{one.number}"), calls(f"valid-{one.number}")
        width = f"{one.rate * 100:.1f}"
        bars.append(Bar(_attempt(one.number), one.judged, width, percent(one.rate), few, link, of_note))
    return bars


def _decisions(found: Insights, calls: Callable[..., str]) -> list[tuple[Bar, list[tuple[int, str]]]]:
    """Make rows of the kinds of answers: how often each worked, and how often it was given and tried."""
    rows = []
    for rate in found.decisions:
        worked = percent(rate.worked / rate.tried) if rate.tried else ""
        (bar,) = draw_bars([(rate.decision.capitalize(), rate.worked, worked)], of=rate.tried or 1)
        given, tried, link = (calls(f"{what}-{rate.decision}") for what in ("given", "tried", "worked"))
        rows.append((replace(bar, link=link), [(rate.given, given), (rate.tried, tried)]))
    return rows


def _attempt(number: str) -> str:
    return f"Attempt {number}" if number.isdecimal() else "Later ones"


def _short(number: int) -> str:
    """Write a number in three digits or so."""
    for size, letter in ((10**9, "B"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.3g} {letter}"
    return str(number)
