"""The board of what to fix first, as rows that lead on: to the calls of each number, to the schema of each mistake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from django.http import HttpRequest, QueryDict
from django.template.defaultfilters import pluralize
from django.urls import reverse

from dashboard.insights.plots import STEP, Bar, TimeRange, draw_bars, percent
from dashboard.shared.choices import MAX_OPTIONS, clean, plain
from dashboard.shared.mistakes import TITLES, code_title
from dashboard.templatetags.desk import since
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.redaction.sanitizer import visible
from retrycontract.store.models import Agent, Call, Tool, ToolVersion
from retrycontract.store.statements import different
from retrycontract.usecases.counts.read_board import RANKED, Board, CostlyMistake, Marker, Share, Standing, ToolName
from retrycontract.usecases.counts.read_counts import SourceCut

NOTHING_FITS: Final = ErrorCode.OBJECT_SCHEMA_VIOLATION  # of what nobody registered: there was no tool to fit
SPARK_WIDTH, SPARK_HEIGHT = 72, 20
KINDS: Final = {"version": "Version", "hint": "Standing hint", "model": "Model"}
RANKINGS: Final = {"failed": "Failed attempts", "minutes": "People’s minutes", "tokens": "Tokens lost"}
assert RANKINGS.keys() == RANKED.keys()


@dataclass(frozen=True, slots=True)
class CutChoice:
    """Hold which sources the address asks for, and what there is to choose from."""

    agent: str
    version: str
    model: str
    agents: list[tuple[str, str]]
    versions: list[tuple[str, int]]
    models: list[str]

    @classmethod
    def of(cls, query: QueryDict, tool: Tool | None) -> CutChoice:
        """Read an address; an agent or a version that nobody offers is no choice."""
        agents = [
            (str(pk), name) for pk, name in Agent.objects.order_by("name").values_list("pk", "name")[:MAX_OPTIONS]
        ]
        numbers = ToolVersion.objects.filter(tool=tool).order_by("-number") if tool else ToolVersion.objects.none()
        versions = [(str(pk), number) for pk, number in numbers.values_list("pk", "number")[:MAX_OPTIONS]]
        agent, version = query.get("agent", ""), query.get("version", "")
        return cls(
            agent if agent in dict(agents) else "",
            version if version in dict(versions) else "",
            clean(query.get("model", "")),
            [(pk, visible(name)) for pk, name in agents],
            versions,
            plain(different(Call, "model", most=MAX_OPTIONS)),
        )

    @property
    def read(self) -> dict[str, bool]:
        """Tell which of its names in an address could be read."""
        return {"agent": bool(self.agent), "version": bool(self.version), "model": bool(self.model)}

    @property
    def cut(self) -> SourceCut:
        """Say which sources are looked at."""
        return SourceCut(self.agent, self.version, self.model)

    @property
    def is_any(self) -> bool:
        """Tell whether some sources are left out."""
        return bool(self.agent or self.version or self.model)

    @property
    def words(self) -> str:
        """Say what was chosen."""
        number = dict(self.versions).get(self.version)
        chosen = (dict(self.agents).get(self.agent), number and f"version {number}", self.model)
        return ", ".join(str(one) for one in chosen if one)


@dataclass(frozen=True, slots=True)
class BoardRow:
    """Show one problem."""

    problem: CostlyMistake
    rank: int
    title: str
    calls: str  # where its calls are
    tool: str  # where the tool is; empty where nobody registered it
    schema: str  # where the place of the schema is edited
    spark: str
    rate: str
    trend: str
    tone: str  # of the trend: good, bad or nothing
    namespace: str  # where the tool's name alone does not say which is meant

    @property
    def work(self) -> str:
        """Say what people gave."""
        answers = self.problem.answers
        if not answers:
            return "–"
        told = f"{answers:,} answer{pluralize(answers)}"
        return f"{told}, {since(timedelta(seconds=self.problem.seconds))}" if self.problem.seconds else told


@dataclass(frozen=True, slots=True)
class MarkerRow:
    """Show what began: where it stands in the plots, and what it changed."""

    marker: Marker
    kind: str
    name: str
    namespace: str  # of the tool, where its name alone does not say which is meant
    label: str
    x: str
    before: str
    now: str
    tone: str
    place: str  # where what began is shown
    calls_before: str
    calls_since: str


@dataclass(frozen=True, slots=True)
class KnownTools:
    """Hold the registered tools: the key of each, and the names that several namespaces have."""

    keys: Mapping[ToolName, str]
    shared: frozenset[str]

    @classmethod
    def read(cls) -> KnownTools:
        """Read all of them."""
        tools = Tool.objects.values_list("pk", "name", "namespace")
        keys = {(namespace, name): str(pk) for pk, name, namespace in tools}
        times = Counter(name for _, name in keys)
        return cls(keys, frozenset(name for name, number in times.items() if number > 1))

    def namespace(self, namespace: str, name: str) -> str:
        """Give the namespace of a tool whose name others have, too, or that nobody registered; of any other nothing."""
        return namespace if name in self.shared or (namespace, name) not in self.keys else ""

    def choice(self, namespace: str, name: str) -> dict[str, str]:
        """Choose the calls of a tool among all; of none all of them."""
        return {"tool": name, "namespace": self.namespace(namespace, name)} if name else {}


def rows_of(
    board: Board, span: TimeRange, choice: CutChoice, known: KnownTools, request: HttpRequest
) -> list[BoardRow]:
    """Make the rows."""
    rows, back = [], {"back": request.GET.urlencode() or f"range={span.name}"}
    for rank, problem in enumerate(board.problems, 1):
        pk = known.keys.get((problem.namespace, problem.tool_name))
        namespace = known.namespace(problem.namespace, problem.tool_name)
        place = {"field": problem.place} if problem.place else {}
        trend, tone = _trend(problem.rate, problem.before)
        rows.append(
            BoardRow(
                problem,
                rank,
                TITLES["tool"] if not pk and problem.code == NOTHING_FITS else code_title(problem.code),
                calls_at(span, choice, tool=problem.tool_name, namespace=namespace, code=problem.code, **place),
                reverse("dashboard:tool", args=[pk]) if pk else "",
                f"{reverse('dashboard:edit_schema', args=[pk])}?{urlencode(place | back)}" if pk else "",
                _spark(problem.series),
                _share(problem.rate),
                trend,
                tone,
                namespace,
            )
        )
    return rows


def markers_of(
    board: Board, span: TimeRange, choice: CutChoice, known: KnownTools, request: HttpRequest
) -> list[MarkerRow]:
    """Place what began in the plots."""
    steps = list(span.labels)
    rows = []
    for marker in board.markers:
        at = span.scope().span.beginning(marker.at)
        index = max((number for number, step in enumerate(steps) if step <= at), default=0)
        is_worse, is_better = marker.before.is_below(marker.since), marker.since.is_below(marker.before)
        of_tool = known.choice(marker.namespace, marker.tool_name)
        rows.append(
            MarkerRow(
                marker,
                KINDS[marker.kind],
                marker.name,
                of_tool.get("namespace", ""),
                span.labels[steps[index]],
                f"{index * STEP:g}",
                _share(marker.before),
                _share(marker.since),
                "bad" if is_worse else "good" if is_better else "",
                _begun(marker, known, request),
                calls_at(span, choice, **of_tool, until=_moment(at)),
                calls_at(span, choice, **of_tool, since=_moment(at)),
            )
        )
    return rows


def calls_at(span: TimeRange, choice: CutChoice, **more: str) -> str:
    """Write the address of the calls that a number counts."""
    agent = dict(choice.agents).get(choice.agent, "")
    asked = {"since": _moment(span.start), "agent": agent, "version": choice.version,
             "model": choice.model, **more}  # fmt: skip
    return f"{reverse('dashboard:calls')}?{urlencode({name: value for name, value in asked.items() if value})}"


def _begun(marker: Marker, known: KnownTools, request: HttpRequest) -> str:
    """Write the address of what began."""
    if marker.kind == "model":
        return _narrowed(request, model=marker.name)
    if marker.kind == "hint":
        return reverse("dashboard:hints")
    return reverse("dashboard:tool", args=[known.keys[marker.namespace, marker.tool_name]])


def _moment(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def tools_of(board: Board, known: KnownTools, request: HttpRequest) -> list[tuple[Bar, str, str]]:
    """Rank the tools: a bar as long as the tool's failed attempts, where it is looked at alone, its namespace."""
    bars = draw_bars(
        (
            (visible(tool[1]) or "not registered", share.part,
             percent(share.part / board.tools_total) if board.tools_total else "")
            for tool, share in board.tools
        )
    )  # fmt: skip
    return [
        (bar, _narrowed(request, tool=known.keys.get(tool, "")), known.namespace(*tool))
        for bar, (tool, _) in zip(bars, board.tools, strict=True)
    ]


def standings_of(
    found: Iterable[Standing], request: HttpRequest, key: str, known: KnownTools | None = None
) -> list[tuple[Standing, str, str]]:
    """Make rows of a leaderboard: who, the address that looks at them alone, and a tool's namespace."""
    rows = []
    for one in found:
        value = one.name if known is None else known.keys.get((one.namespace, one.name), "")
        address = _narrowed(request, **{key: value}) if value else ""
        rows.append((one, address, known.namespace(one.namespace, one.name) if known else ""))
    return rows


def codes_of(
    board: Board, span: TimeRange, choice: CutChoice, of_tool: Mapping[str, str]
) -> list[tuple[Standing, str, str]]:
    """Make rows of the mistakes' leaderboard: each code, and where the calls are that made it."""
    return [(one, calls_at(span, choice, code=one.name, **of_tool), "") for one in board.codes]


def _narrowed(request: HttpRequest, **chosen: str) -> str:
    query = request.GET.copy()
    for name, value in chosen.items():
        query[name] = value
    return f"?{query.urlencode()}" if all(chosen.values()) else ""


def _share(share: Share) -> str:
    """Write a rate; one that stands on little with the interval that the truth lies in."""
    if not share.whole:
        return "–"
    low, high = share.interval
    few = f" ({percent(low)} to {percent(high)})" if share.is_few else ""
    return percent(share.rate) + few


def _trend(now: Share, before: Share) -> tuple[str, str]:
    if not before.whole:
        return "no attempts before", ""
    few = f" of {before.whole}" if before.is_few else ""
    was = f"{percent(before.rate)}{few} before"
    if now.is_below(before):
        return was, "good"
    return was, "bad" if before.is_below(now) else ""


def _spark(series: tuple[int, ...]) -> str:
    """Draw a line; the highest of the series is the top."""
    top, last = max(series, default=0) or 1, max(len(series) - 1, 1)
    points = [
        f"{number * SPARK_WIDTH / last:.1f} {SPARK_HEIGHT - 1 - (SPARK_HEIGHT - 2) * amount / top:.1f}"
        for number, amount in enumerate(series)
    ]
    return f"M{'L'.join(points)}"
