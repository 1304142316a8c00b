"""What the pages of tools show: how each fares, what it became, and where its calls fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nsmallest
from itertools import pairwise
from typing import Any, Final

from dashboard.call.diagnosis import Change, compare
from dashboard.insights.plots import TimeRange, percent
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.configuration import shown_duration
from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.contract.lifecycle import CallState
from retrycontract.store.models import Attempt, Tool, ToolVersion
from retrycontract.usecases.counts.read_insights import Heat, ToolRate, read_heat_map, read_insights, read_tool_rates
from retrycontract.usecases.tools.contracts import attempts_allowed, expires_after, mode_of, on_expiry, schema_to_show
from retrycontract.usecases.tools.try_schema import last_failed

MOST_TOOLS: Final = 500  # of a list; the search finds the rest
MOST_VERSIONS: Final = 20
MOST_CHANGES: Final = 50  # between two versions
MOST_FIELDS: Final = 20  # of a heat map
SAMPLES: Final = 8
HOTTEST: Final = 5  # steps of colour in a heat map


@dataclass(frozen=True, slots=True)
class ToolLine:
    """Show a tool in the list."""

    tool: Tool
    rate: ToolRate

    @property
    def mode(self) -> str:
        return mode_of(self.tool, self.tool.name)

    @property
    def is_quarantined(self) -> bool:
        """Tell whether its present version is kept away from the door."""
        return bool(self.tool.current_version and self.tool.current_version.quarantined_at)

    @property
    def first_try(self) -> str:
        """Write how many of its calls are right at first."""
        return percent(self.rate.first_try_rate) if self.rate.first_tries else "–"

    @property
    def first_try_width(self) -> str:
        """Give the length of its bar, of 100."""
        return f"{self.rate.first_try_rate * 100:.1f}"

    @property
    def failure_rate(self) -> str:
        """Write how many of its attempts fail."""
        return percent(self.rate.failure_rate) if self.rate.judged else "–"


@dataclass(frozen=True, slots=True)
class VersionEntry:
    """Show a version: its schema, and what it changed."""

    version: ToolVersion
    schema: Any
    changes: tuple[Change, ...]
    hidden: int
    is_first: bool
    is_current: bool


@dataclass(frozen=True, slots=True)
class HeatCell:
    """Show how often a field failed with a code; `degree` is its colour, 0 for never."""

    amount: int
    degree: int


@dataclass(frozen=True, slots=True)
class HeatRow:
    """Show one field of a heat map."""

    place: str
    cells: tuple[HeatCell, ...]
    total: int


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Show where a tool's calls fail: fields by codes."""

    codes: tuple[ErrorCode, ...]
    rows: tuple[HeatRow, ...]
    hidden: int


@dataclass(frozen=True, slots=True)
class FailedSample:
    """Show one failed attempt of a tool."""

    attempt: Attempt

    @property
    def errors(self) -> tuple[ValidationError, ...]:
        return tuple(error for error in self.attempt.errors if error.severity is ErrorSeverity.ERROR)

    @property
    def was_observed(self) -> bool:
        """Tell whether the call went on all the same."""
        return self.attempt.call.state == CallState.OBSERVED


@dataclass(frozen=True, slots=True)
class ToolStory:
    """Hold all that the page of a tool shows."""

    line: ToolLine
    escalations: int
    heat: HeatMap
    versions: tuple[VersionEntry, ...]
    samples: tuple[FailedSample, ...]
    settings: tuple[tuple[str, str, str], ...]


def list_tools(span: TimeRange, *, search: str = "") -> list[ToolLine]:
    """List tools, those with the most failures first; without a search as many as a page can hold."""
    rates = {(rate.namespace, rate.tool_name): rate for rate in read_tool_rates(span.scope())}
    tools = Tool.objects.select_related("current_version")
    found = tools.filter(name__icontains=search) if search else tools
    failures = {names: rate.judged - rate.valid for names, rate in rates.items()}
    named = found.values_list("namespace", "name", "pk")
    # All of them by name alone: a list that was cut first could lack the very tools that it should begin with.
    worst = nsmallest(MOST_TOOLS, named, key=lambda row: (-failures.get(row[:2], 0), *row[1:]))
    # Schemas can be large, and the list shows none.
    listed = found.defer("current_version__schema", "current_version__sealed").in_bulk([pk for *_, pk in worst])
    return [
        ToolLine(listed[pk], rates.get((namespace, name), ToolRate(namespace, name, 0, 0, 0, 0)))
        for namespace, name, pk in worst
        if pk in listed
    ]


def read_tool(tool: Tool, span: TimeRange) -> ToolStory:
    scope = span.scope(tool)
    found, listed = read_insights(scope, is_by_tool=False), list(tool.versions.order_by("-number")[: MOST_VERSIONS + 1])
    first = found.first_try
    rate = ToolRate(
        tool.namespace, tool.name, found.judged, sum(one.valid for one in found.attempts), first.judged, first.valid
    )
    schemas = [shown_schema(version) for version in listed]
    entries = []
    for (version, schema), (before, earlier) in pairwise([*zip(listed, schemas, strict=True), (None, None)]):
        changes = compare(earlier, schema) if before else ()
        is_current = version is not None and version.pk == tool.current_version_id
        if version is not None:
            shown, hidden = changes[:MOST_CHANGES], max(len(changes) - MOST_CHANGES, 0)
            entries.append(VersionEntry(version, schema, shown, hidden, version.number == 1, is_current))
    own, general = "set for this tool", "as configured"
    # How it is judged: what, how, and where that comes from.
    judged = (
        ("Mode", mode_of(tool, tool.name), own if tool.mode else general),
        ("Fields that the schema does not name", "refused" if tool.strict else "as the schema says", own),
        ("Valid calls", "held for a person" if tool.hold else "go on at once", own),
        ("Attempts", str(attempts_allowed(tool, tool.name)), own if tool.max_attempts else general),
        ("A Blocked call waits", shown_duration(expires_after(tool, tool.name)),
         own if tool.expires_after else general),
        ("Then it", "is rejected" if on_expiry(tool, tool.name) == "reject" else "expires",
         own if tool.on_expiry else general),
    )  # fmt: skip
    return ToolStory(
        ToolLine(tool, rate), found.escalations, draw_heat(read_heat_map(scope)), tuple(entries[:MOST_VERSIONS]),
        tuple(map(FailedSample, last_failed(tool, SAMPLES))), judged,
    )  # fmt: skip


def shown_schema(version: ToolVersion) -> Any:
    return schema_to_show(version.schema)


def draw_heat(heats: Iterable[Heat]) -> HeatMap:
    """Lay counts out as fields by codes, the hottest field first."""
    listed = list(heats)
    fields, amounts = Counter[str](), Counter[tuple[str, str]]()
    for heat in listed:
        fields[heat.place] += heat.amount
        amounts[heat.place, heat.code] += heat.amount
    known = [code for code in ErrorCode if any(heat.code == code for heat in listed)]
    hottest = max(amounts.values(), default=1)
    ranked = fields.most_common()
    rows = []
    for place, total in ranked[:MOST_FIELDS]:
        counts = [amounts[place, code] for code in known]
        # Rounded up: what failed at all is never as pale as what did not.
        rows.append(HeatRow(place, tuple(HeatCell(count, -(-count * HOTTEST // hottest)) for count in counts), total))
    return HeatMap(tuple(known), tuple(rows), max(len(ranked) - MOST_FIELDS, 0))
