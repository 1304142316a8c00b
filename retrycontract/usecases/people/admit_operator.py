"""Let people in and change what is known of them; each change leaves an event."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from functools import cache
from zoneinfo import available_timezones

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError

from retrycontract.store.models import Door, Event, Preferences
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.tools.contracts import sanitizer

SHOWN = ("username", "first_name", "last_name", "email")  # as they are, to everybody


def admit_operator(user: User, role: Role, *, now: datetime, actor: str, door: Door) -> None:
    """Store a new user, whose password is set already, in a role; raises ValidationError for an unusable name."""
    user.full_clean(exclude=["password"])
    check_shown({name: getattr(user, name) for name in SHOWN})
    with write_transaction():
        user.save(force_insert=True)
        give_role(user, role)
        Event.record("operator.admitted", actor=actor, door=door, at=now, operator=user.get_username(), role=role.value)


def change_operator(
    user: User, changed: list[str], role: Role | None = None, *, now: datetime, actor: str, door: Door
) -> None:
    """Store the fields of a user that were changed, and give another role where one is named.

    Raises ValidationError for what may not be shown.
    """
    check_shown({name: getattr(user, name) for name in changed if name in SHOWN})
    with write_transaction():
        before = User.objects.get(pk=user.pk)
        if changed:
            user.save(update_fields=changed)
            # Under the name that others knew until now; what was typed stays out of the trail.
            name = before.get_username()
            Event.record("operator.changed", actor=actor, door=door, at=now, operator=name, changed=sorted(changed))
        if role is not None and role is not role_of(before):
            give_role(user, role)
            Event.record(
                "operator.role_given", actor=actor, door=door, at=now, operator=user.get_username(), role=role.value
            )


def check_shown(given: dict[str, str]) -> None:
    """Raise ValidationError for what is known of a user and holds a secret; an e-mail address is none."""
    words = {name: text.replace("@", " ") for name, text in given.items()}
    held = [name for name, text in words.items() if sanitizer().redact_identifier(text) != text]
    if held:
        raise ValidationError(
            dict.fromkeys(held, "This holds what looks like a secret, and would be shown to everybody.")
        )


def end_sessions(operator: User, *, now: datetime, actor: str, door: Door) -> int:
    """Log an operator out everywhere; returns how many sessions ended.

    Sessions say only inside whose they are, so each is read: there are as many as operators have browsers.
    """
    with write_transaction():
        mine = [
            session.pk
            for session in Session.objects.filter(expire_date__gt=now).iterator()
            if session.get_decoded().get(SESSION_KEY) == str(operator.pk)
        ]
        ended = Session.objects.filter(pk__in=mine).delete()[0]
        Event.record(
            "operator.logged_out", actor=actor, door=door, at=now, operator=operator.get_username(), sessions=ended
        )
    return ended


class Role(StrEnum):
    """Name the roles; each is a group of the same name."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


def give_role(user: User, role: Role) -> None:
    """Put a user into exactly one role."""
    group, _ = Group.objects.get_or_create(name=role.value)
    user.groups.set([group])
    user.is_staff = role is Role.ADMIN
    user.save(update_fields=["is_staff"])


def role_of(user: User) -> Role | None:
    """Tell a user's role; None for one who has none."""
    names = set(user.groups.values_list("name", flat=True))
    return next((role for role in reversed(Role) if role.value in names), None)


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
