"""Keep how an operator wants their desk."""

from __future__ import annotations

from functools import cache
from zoneinfo import available_timezones

from django.contrib.auth.models import User

from retrycontract.store.models import Preferences
from retrycontract.store.transactions import write_transaction


class UnknownTimeZoneError(ValueError):
    """Raised for a name that is no time zone."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no time zone {name[:64]!r}; choose one as Europe/Zurich, or none.")


def keep_preferences(operator: User, *, time_zone: str, has_shortcuts: bool) -> Preferences:
    """Store what an operator has chosen; raises UnknownTimeZoneError. An empty zone means the browser's."""
    if time_zone and not is_time_zone(time_zone):
        raise UnknownTimeZoneError(time_zone)
    chosen = {"time_zone": time_zone, "has_shortcuts": has_shortcuts}
    with write_transaction():
        kept, _ = Preferences.objects.update_or_create(operator=operator, defaults=chosen)
    return kept


def is_time_zone(name: str) -> bool:
    """Tell whether a name is a time zone's."""
    return name in time_zones()


@cache
def time_zones() -> tuple[str, ...]:
    """List the zones by name, those of places first."""
    return ("UTC", *sorted(name for name in available_timezones() if "/" in name and not name.startswith("Etc/")))
