"""Slow down guessing: count a login before its password is looked at, and make those wait who failed too often."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.contrib.auth.models import User

from retrycontract.store.models import Door, Event, FailedLogins
from retrycontract.store.sealing import keyed_hash
from retrycontract.store.transactions import write_transaction

# A person mistypes a few times. A name from anywhere has more room: else anybody could lock anybody out.
FREE_FROM_ONE_ADDRESS: Final = 5
FREE_FROM_ANYWHERE: Final = 50
FIRST_PAUSE: Final = timedelta(minutes=1)
LONGEST_PAUSE: Final = timedelta(minutes=15)
LONGEST_NAME: Final = 150


@dataclass(frozen=True, slots=True)
class LoginTry:
    """Hold who wants in, from where; neither is stored as it is."""

    name: str
    address: str

    @property
    def keys(self) -> list[tuple[str, int]]:
        """Give each hash under which the login is counted, with the failures that cost nothing."""
        name = self.name.strip().casefold()[:LONGEST_NAME]
        return [
            (keyed_hash(f"login\n{name}\n{self.address}"), FREE_FROM_ONE_ADDRESS),
            (keyed_hash(f"login\n{name}"), FREE_FROM_ANYWHERE),
        ]


def begin_login(login: LoginTry, *, now: datetime) -> timedelta | None:
    """Count a login as failed until it succeeds; give how long to wait instead when there were too many.

    It is counted first, so that many guesses at once are no more than as many one after the other.
    """
    with write_transaction():
        FailedLogins.objects.forgettable(now).delete()
        counted = list(_counted(login, now))
        until = [row.locked_until for row, _ in counted if row.locked_until is not None and row.locked_until > now]
        if until:
            return max(until) - now
        for row, free in counted:
            _count(row, free, now)
    return None


def note_failure(login: LoginTry, *, now: datetime, door: Door) -> None:
    """Write it down when a failure makes somebody wait; a name that nobody has is not written anywhere."""
    with write_transaction():
        held = FailedLogins.objects.locked(now).filter(key_hash__in=[key for key, _ in login.keys])
        for row in held.select_related("operator"):
            Event.record(
                "operator.locked_out", actor="login", door=door, at=now, failures=row.failures,
                operator=row.operator.get_username() if row.operator else None,
            )  # fmt: skip


def finish_login(login: LoginTry, operator: User, *, now: datetime, door: Door) -> None:
    """Forget the failures of who is in now, and write down that they are."""
    with write_transaction():
        FailedLogins.objects.filter(key_hash__in=[key for key, _ in login.keys]).delete()
        name = operator.get_username()
        Event.record("operator.logged_in", actor=name, door=door, at=now, operator=name)


def free_operator(operator: User, *, now: datetime, actor: str, door: Door) -> bool:
    """Let an operator try again at once; False when nothing was held against them."""
    with write_transaction():
        if not FailedLogins.objects.filter(operator=operator).delete()[0]:
            return False
        Event.record("operator.freed", actor=actor, door=door, at=now, operator=operator.get_username())
    return True


def _counted(login: LoginTry, now: datetime) -> Iterator[tuple[FailedLogins, int]]:
    operator = User.objects.filter(username=login.name.strip()[:LONGEST_NAME]).first()
    for key, free in login.keys:
        FailedLogins.objects.get_or_create(key_hash=key, defaults={"operator": operator, "last_at": now})
        yield FailedLogins.objects.select_for_update(of=("self",)).select_related("operator").get(key_hash=key), free


def _count(row: FailedLogins, free: int, now: datetime) -> None:
    row.failures += 1
    row.last_at = now
    if row.failures >= free:
        row.locked_until = now + min(FIRST_PAUSE * 2 ** min(row.failures - free, 10), LONGEST_PAUSE)
    row.save(update_fields=["failures", "last_at", "locked_until"])
