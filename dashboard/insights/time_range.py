"""The time that a page looks at, chosen in its address."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Self

from django.utils import timezone

from retrycontract.store.models import SummarySpan, Tool, hour_of
from retrycontract.usecases.counts.read_counts import FINE, CountScope, Cut, steps_of

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

    def scope(self, tool: Tool | None = None, cut: Cut = Cut()) -> CountScope:  # noqa: B008 - a frozen value
        """Say what is to be counted."""
        names = {"namespace": tool.namespace, "tool_name": tool.name} if tool else {}
        return CountScope(self.start, self.end, **names, cut=cut)

    @property
    def labels(self) -> dict[datetime, str]:
        """Name each step: days by their date, hours as whoever looks has them."""
        return {at: self._label(at) for at in steps_of(self.scope())}

    def _label(self, at: datetime) -> str:
        return f"{at.day} {at:%b}" if self.name != "24h" else timezone.localtime(at).strftime("%H:%M")
