"""The board of what to fix first, as rows that lead on: to the calls of each number, to the schema of each mistake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from django.http import HttpRequest, QueryDict
from django.template.defaultfilters import pluralize
from django.urls import reverse

from dashboard.calls.courses import ROOT
from dashboard.insights.plots import STEP, Bar, TimeRange, draw_bars, percent
from dashboard.shared.choices import MAX_OPTIONS, clean, plain
from dashboard.shared.mistakes import TITLES, code_title
from dashboard.templatetags.desk import since
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.redaction.sanitizer import visible
from retrycontract.store.models import OTHER, Agent, Call, Tool, ToolVersion
from retrycontract.store.statements import different
from retrycontract.usecases.counts.keep_count import counted_model
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
    full: Mapping[str, str]  # the whole name of each model, by the one that it is counted under

    @classmethod
    def of(cls, query: QueryDict, tool: Tool | None) -> CutChoice:
        """Read an address; an agent or a version that nobody offers is no choice."""
        agents = [
            (str(pk), name) for pk, name in Agent.objects.order_by("name").values_list("pk", "name")[:MAX_OPTIONS]
        ]
        numbers = ToolVersion.objects.filter(tool=tool).order_by("-number") if tool else ToolVersion.objects.none()
        versions = [(str(pk), number) for pk, number in numbers.values_list("pk", "number")[:MAX_OPTIONS]]
        agent, version = query.get("agent", ""), query.get("version", "")
        names = different(Call, "model", most=MAX_OPTIONS)
        full, model = {counted_model(name): name for name in names}, clean(query.get("model", ""))
        return cls(
            agent if agent in dict(agents) else "",
            version if version in dict(versions) else "",
            full.get(model, model),
            [(pk, visible(name)) for pk, name in agents],
            versions,
            plain(names),
            full,
        )

    @property
    def read(self) -> dict[str, bool]:
        """Tell which of its names in an address could be read."""
        return {"agent": bool(self.agent), "version": bool(self.version), "model": bool(self.model)}

    @property
    def cut(self) -> SourceCut:
        return SourceCut(self.agent, self.version, self.model and counted_model(self.model))

    @property
    def is_any(self) -> bool:
        """Tell whether some sources are left out."""
        return bool(self.agent or self.version or self.model)

    @property
    def words(self) -> str:
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
    answered: str  # and those of them that people answered
    tool: str  # where the tool is; empty where nobody registered it
    schema: str  # where the place of the schema is edited
    spark: str
    rate: str
    trend: str
    tone: str  # of the trend: good, bad or nothing
    namespace: str  # where the tool's name alone does not say which is meant

    @property
    def label(self) -> str:
        """Say what the number of failed attempts leads to."""
        return f"{self.problem.failed:,} failed attempt{pluralize(self.problem.failed)}: their calls"

    @property
    def work(self) -> str:
        """Say what people gave."""
        answers = self.problem.answers
        if not answers:
            return "–"
        told = f"{answers:,} answer{pluralize(answers)}"
        return f"{told}, {since(timedelta(seconds=self.problem.seconds))}" if self.problem.seconds else told


@dataclass(frozen=True, slots=True)
class StandingRow:
    """Show one row of a leaderboard."""

    standing: Standing
    number: int  # of calls
    link: str  # where it is looked at alone; empty where nobody named it
    calls: str  # those that the number counts
    namespace: str = ""  # of a tool, where its name alone does not say which is meant

    @property
    def is_rest(self) -> bool:
        """Tell whether it is what the rows above leave out."""
        return self.standing.name == OTHER


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
        tools = Tool.objects.values_list("pk", "name", "namespace")
        keys = {(namespace, name): str(pk) for pk, name, namespace in tools}
        times = Counter(name for _, name in keys)
        return cls(keys, frozenset(name for name, number in times.items() if number > 1))

    def namespace(self, namespace: str, name: str) -> str:
        """Give the namespace of a tool whose name others have, too, or that nobody registered; of any other nothing."""
        return namespace if name in self.shared or (namespace, name) not in self.keys else ""

    def choice(self, namespace: str, name: str) -> dict[str, str]:
        """Choose the calls of a tool among all, or of those that nobody registered."""
        of_name = {"tool": name} if name else {"nameless": "tool"}
        return of_name | {"namespace": self.namespace(namespace, name)}


@dataclass(frozen=True, slots=True)
class BoardPage:
    """Lay a board out: its rows, each with where it leads."""

    request: HttpRequest
    board: Board
    span: TimeRange
    choice: CutChoice
    known: KnownTools
    tool: Tool | None

    @property
    def of_tool(self) -> dict[str, str]:
        """Choose the calls of the tool that is looked at alone, if one is."""
        return self.known.choice(self.tool.namespace, self.tool.name) if self.tool else {}

    def calls(self, **chosen: str) -> str:
        """Write the address of what was chosen of the calls that are looked at."""
        return calls_at(self.span, self.choice, **chosen)

    def rows(self) -> list[BoardRow]:
        rows, back = [], {"back": self.request.GET.urlencode() or f"range={self.span.name}"}
        for rank, problem in enumerate(self.board.problems, 1):
            pk = self.known.keys.get((problem.namespace, problem.tool_name))
            of_tool = self.known.choice(problem.namespace, problem.tool_name)
            place = {"field": problem.place} if problem.place else {}
            counted = of_tool | {"code": problem.code, "field": problem.place or ROOT}
            trend, tone = _trend(problem.rate, problem.before)
            rows.append(
                BoardRow(
                    problem,
                    rank,
                    TITLES["tool"] if not pk and problem.code == NOTHING_FITS else code_title(problem.code),
                    self.calls(**counted, course="failing"),
                    self.calls(**counted, course="answered"),
                    reverse("dashboard:tool", args=[pk]) if pk else "",
                    f"{reverse('dashboard:edit_schema', args=[pk])}?{urlencode(place | back)}" if pk else "",
                    _spark(problem.series),
                    _share(problem.rate),
                    trend,
                    tone,
                    of_tool["namespace"],
                )
            )
        return rows

    def markers(self) -> list[MarkerRow]:
        """Place what began in the plots."""
        steps = list(self.span.labels)
        rows = []
        for marker in self.board.markers:
            at = self.span.scope().span.beginning(marker.at)
            index = max((number for number, step in enumerate(steps) if step <= at), default=0)
            is_worse, is_better = marker.before.is_below(marker.since), marker.since.is_below(marker.before)
            of_tool = self.known.choice(marker.namespace, marker.tool_name) if marker.tool_name else {}
            rows.append(
                MarkerRow(
                    marker,
                    KINDS[marker.kind],
                    marker.name,
                    of_tool.get("namespace", ""),
                    self.span.labels[steps[index]],
                    f"{index * STEP:g}",
                    _share(marker.before),
                    _share(marker.since),
                    "bad" if is_worse else "good" if is_better else "",
                    self._begun(marker),
                    self.calls(**of_tool, course="checked", counted_until=_moment(at)),
                    self.calls(**of_tool, course="checked", counted_since=_moment(at)),
                )
            )
        return rows

    def tool_bars(self) -> list[tuple[Bar, str, str]]:
        """Rank the tools: a bar as long as the tool's failed attempts, where it is looked at alone, its namespace."""
        bars = draw_bars(
            (
                (visible(tool[1]) or "not registered", share.part,
                 percent(share.part / self.board.tools_total) if self.board.tools_total else "")
                for tool, share in self.board.tools
            )
        )  # fmt: skip
        return [
            (
                replace(bar, link=self.calls(**self.known.choice(*tool), course="failing")),
                self._narrowed(tool=self.known.keys.get(tool, "")),
                self.known.namespace(*tool),
            )
            for bar, (tool, _) in zip(bars, self.board.tools, strict=True)
        ]

    def models(self) -> list[StandingRow]:
        rows = []
        for one in self.board.models:
            if one.name == OTHER:
                rows.append(StandingRow(one, one.first.whole, "", ""))
                continue
            name = self.choice.full.get(one.name, one.name)
            of_model = {"model": name} if name else {"nameless": "model"}
            # Of one tool that nobody registered no page is asked for: only one of both can be left without a name.
            calls = self.calls(**{**self.of_tool, **of_model}, course="checked-1")
            rows.append(StandingRow(one, one.first.whole, self._narrowed(model=name), calls))
        return rows

    def tools(self) -> list[StandingRow]:
        rows = []
        for one in self.board.by_tool:
            if one.name == OTHER:
                rows.append(StandingRow(one, one.first.whole, "", ""))
                continue
            key = self.known.keys.get((one.namespace, one.name), "")
            calls = self.calls(**self.known.choice(one.namespace, one.name), course="checked-1")
            namespace = self.known.namespace(one.namespace, one.name)
            rows.append(StandingRow(one, one.first.whole, self._narrowed(tool=key), calls, namespace))
        return rows

    def codes(self) -> list[StandingRow]:
        found = [(one, self.calls(**self.of_tool, course="failed", code=one.name)) for one in self.board.codes]
        return [StandingRow(one, one.first.part, calls, calls) for one, calls in found]

    def _begun(self, marker: Marker) -> str:
        """Write the address of what began."""
        if marker.kind == "model":
            return self._narrowed(model=marker.name)
        if marker.kind == "hint":
            return reverse("dashboard:hints")
        return reverse("dashboard:tool", args=[self.known.keys[marker.namespace, marker.tool_name]])

    def _narrowed(self, **chosen: str) -> str:
        query = self.request.GET.copy()
        for name, value in chosen.items():
            query[name] = value
        return f"?{query.urlencode()}" if all(chosen.values()) else ""


def calls_at(span: TimeRange, choice: CutChoice, **more: str) -> str:
    """Write the address of the calls that a number counts: by the same rows of their history, of the same time."""
    agent = dict(choice.agents).get(choice.agent, "")
    asked = {"counted_since": _moment(span.start), "agent": agent, "version": choice.version,
             "model": choice.model, **more}  # fmt: skip
    return f"{reverse('dashboard:calls')}?{urlencode({name: value for name, value in asked.items() if value})}"


def _moment(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


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
