"""Choices with a time: what a form says in its own zone, and what stands in an address, where it means one moment."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any, Self
from zoneinfo import ZoneInfo

from django.db.models import QuerySet
from django.http import QueryDict
from django.utils import timezone

from dashboard.shared.choices import Choices
from retrycontract.store.models.moments import within
from retrycontract.usecases.people.keep_preferences import is_time_zone

YEARS = range(1970, 9999)  # at the ends of the calendar there is no other zone, and no minute before or after
IN_FIELD = "%Y-%m-%dT%H:%M"  # as a field for date and time has it


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedChoices(Choices):
    """Hold what was chosen with a time: from `since`, up to `until` but without it, both written in UTC."""

    since: str = ""
    until: str = ""

    @classmethod
    def of(cls, query: QueryDict) -> Self:
        """Read an address; `zone` is that of the form whose times have none."""
        told, zone = query.copy(), query.get("zone", "")
        for name in ("since", "until"):
            told[name] = _in_utc(query.get(name, ""), ZoneInfo(zone) if is_time_zone(zone) else UTC)
        return super(TimedChoices, cls).of(told)

    @property
    def since_field(self) -> str:
        """Write the beginning for a field."""
        return _local(self.since, IN_FIELD)

    @property
    def until_field(self) -> str:
        """Write the end for a field."""
        return _local(self.until, IN_FIELD)

    @property
    def time_words(self) -> dict[str, str]:
        """Say the time in words, in the zone of whoever looks."""
        shown = "%Y-%m-%d %H:%M %Z"
        return {"since": f"Since {_local(self.since, shown)}", "until": f"Until {_local(self.until, shown)}"}

    def in_time(self, rows: QuerySet[Any], field: str) -> QuerySet[Any]:
        """Keep the rows of the time."""
        return within(rows, field, since=_moment(self.since), until=_moment(self.until))


def _moment(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _local(text: str, form: str) -> str:
    at = _moment(text)
    return timezone.localtime(at).strftime(form) if at else ""


def _in_utc(text: str, zone: tzinfo) -> str:
    """Write a moment for an address; what is none is no choice."""
    try:
        at = datetime.fromisoformat(text.strip())
        moment = (at if at.tzinfo else at.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        return ""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment.year in YEARS else ""
