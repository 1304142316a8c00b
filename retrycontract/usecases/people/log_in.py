"""Slow down guessing at logins, and ask operators for more than a password."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

import pyotp
from django.contrib.auth.models import User
from django.db.models import F

from retrycontract.front.addresses import counted_as
from retrycontract.store.models import Door, Event, FailedLogins, SecondFactor
from retrycontract.store.sealing import UnreadableError, keyed_hash
from retrycontract.store.transactions import write_transaction

# A person mistypes a few times. A name from anywhere has more room: else anybody could lock anybody out.
FREE_FROM_ONE_ADDRESS: Final = 5
FREE_FROM_ANYWHERE: Final = 50
# One password tried on many names is a guess, too. A team behind one address mistypes less than this in a day.
FREE_OF_ONE_ADDRESS: Final = 20
# Nobody's password takes longer to be looked at; what is undecided then was cut off, by a crash perhaps.
DECIDED_WITHIN: Final = timedelta(seconds=10)
FIRST_PAUSE: Final = timedelta(minutes=1)
LONGEST_PAUSE: Final = timedelta(minutes=15)
LONGEST_NAME: Final = 150


class LoginCount(NamedTuple):
    """Name what is counted: under which hash, how many failures cost nothing, and whether it is of one name."""

    key: str
    free: int
    is_of_name: bool


@dataclass(frozen=True, slots=True)
class LoginTry:
    """Hold who wants in, from where; neither is stored as it is."""

    name: str
    address: str

    @property
    def counts(self) -> list[LoginCount]:
        name, address = self.name.strip().casefold()[:LONGEST_NAME], counted_as(self.address)
        return [
            LoginCount(keyed_hash(f"login\n{name}\n{address}"), FREE_FROM_ONE_ADDRESS, True),
            LoginCount(keyed_hash(f"login\n{name}"), FREE_FROM_ANYWHERE, True),
            LoginCount(keyed_hash(f"login from\n{address}"), FREE_OF_ONE_ADDRESS, False),
        ]


def begin_login(login: LoginTry, *, now: datetime) -> timedelta | None:
    """Note that a password will be looked at; give how long to wait instead when there were too many.

    It is noted first, so that many guesses at once are no more than as many one after the other. Only what was
    looked at counts as failed: who was cut off by a crash has made no mistake.
    """
    # What counts no more goes in a transaction of its own: none of it is held while others are waited for.
    old = FailedLogins.objects.forgettable(now)
    if old.exists():
        with write_transaction():
            # Locked in one order: of two logins that delete the same rows, neither holds what the other waits for.
            keys = list(old.select_for_update().order_by("key_hash").values_list("key_hash", flat=True))
            FailedLogins.objects.forgettable(now).filter(key_hash__in=keys).delete()
    with write_transaction():
        rows = list(_rows(login, now))
        longest = timedelta()
        for row, free in rows:
            begun = _begun(row, now)
            # Until a pause ends. One that is longer than any was begun by a clock that was set back since.
            if row.locked_until is not None and now < row.locked_until <= now + LONGEST_PAUSE:
                longest = max(longest, row.locked_until - now)
            elif begun > 0 and row.failures + begun >= free and row.begun_at:  # until it is decided what is looked at
                longest = max(longest, DECIDED_WITHIN - (now - row.begun_at))
        if longest:
            return longest
        for row, _ in rows:
            row.begun, row.begun_at, row.last_at = _begun(row, now) + 1, now, now
            row.save(update_fields=["begun", "begun_at", "last_at"])
    return None


def note_failure(login: LoginTry, *, now: datetime, door: Door) -> None:
    """Count a login as failed, and write it down when that makes somebody wait; an unknown name is written nowhere."""
    with write_transaction():
        for row, free in _rows(login, now):
            row.begun = max(_begun(row, now) - 1, 0)
            row.failures += 1
            row.last_at = now
            if row.failures >= free:
                # The exponent is bounded, too: somebody may guess for weeks, and a timedelta does not hold every
                # product.
                row.locked_until = now + min(FIRST_PAUSE * 2 ** min(row.failures - free, 10), LONGEST_PAUSE)
                Event.record(
                    "operator.locked_out", actor="login", door=door, at=now, failures=row.failures,
                    operator=row.operator.get_username() if row.operator else None,
                )  # fmt: skip
            row.save(update_fields=["begun", "failures", "last_at", "locked_until"])


def finish_login(login: LoginTry, operator: User, *, now: datetime, door: Door) -> None:
    """Forget the failures of who is in now, and write down that they are.

    Those of the address stay: else whoever has a password of their own could go on guessing those of others.
    """
    with write_transaction():
        _forget(login)
        name = operator.get_username()
        Event.record("operator.logged_in", actor=name, door=door, at=now, operator=name)


def note_success(login: LoginTry) -> None:
    """Forget the failures of who is in, and typed their password once more."""
    with write_transaction():
        _forget(login)


def _forget(login: LoginTry) -> None:
    of_names = [count.key for count in login.counts if count.is_of_name]
    FailedLogins.objects.filter(key_hash__in=of_names).delete()
    of_address = [count.key for count in login.counts if not count.is_of_name]
    FailedLogins.objects.filter(key_hash__in=of_address, begun__gt=0).update(begun=F("begun") - 1)


def free_operator(operator: User, *, now: datetime, actor: str, door: Door) -> bool:
    """Let an operator try again at once; False when nothing was held against them."""
    with write_transaction():
        if not FailedLogins.objects.filter(operator=operator).delete()[0]:
            return False
        Event.record("operator.freed", actor=actor, door=door, at=now, operator=operator.get_username())
    return True


def _rows(login: LoginTry, now: datetime) -> Iterator[tuple[FailedLogins, int]]:
    operator = User.objects.filter(username=login.name.strip()[:LONGEST_NAME]).first()
    # In the same order for every login, names before addresses: nobody waits in a circle.
    for count in login.counts:
        known = {"operator": operator if count.is_of_name else None, "last_at": now}
        FailedLogins.objects.get_or_create(key_hash=count.key, defaults=known)
        # A second read, since `get_or_create` locks nothing that was there before.
        locked = FailedLogins.objects.select_for_update(of=("self",)).select_related("operator")
        yield locked.get(key_hash=count.key), count.free


def _begun(row: FailedLogins, now: datetime) -> int:
    """Tell how many are being looked at."""
    # In both directions: clocks differ a little, and one may have been set back since.
    return row.begun if row.begun_at is not None and abs(now - row.begun_at) < DECIDED_WITHIN else 0


ISSUER: Final = "retrycontract"


class AlreadyConfirmedError(RuntimeError):
    """Raised when somebody sets up what is set up: only an administrator takes it away."""


def begin_factor(operator: User, *, now: datetime) -> SecondFactor:
    """Make a secret for an operator, which is asked for only once a code of it was typed."""
    with write_transaction():
        if factor_of(operator, is_confirmed=True):
            raise AlreadyConfirmedError
        return SecondFactor.make(operator, pyotp.random_base32(), now)


def confirm_factor(operator: User, code: str, *, now: datetime) -> bool:
    """Ask for codes from now on, when this one is right."""
    with write_transaction():
        factor = factor_of(operator, is_confirmed=False)
        if factor is None or not _is_right(factor, code, now):
            return False
        name = operator.get_username()
        Event.record("operator.second_factor_on", actor=name, door=Door.DASHBOARD, at=now, operator=name)
    return True


def check_factor(operator: User, code: str, *, now: datetime) -> bool:
    """Tell whether an operator may come in: has no second factor, or has typed its code, the first time."""
    with write_transaction():
        factor = factor_of(operator, is_confirmed=True)
        return factor is None or _is_right(factor, code, now)


def take_factor_away(operator: User, *, now: datetime, actor: str, door: Door) -> bool:
    """Let an operator in with the password alone, as who lost their telephone; False when there was nothing."""
    with write_transaction():
        if not SecondFactor.objects.filter(operator=operator).delete()[0]:
            return False
        name = operator.get_username()
        Event.record("operator.second_factor_off", actor=actor, door=door, at=now, operator=name)
    return True


def is_in_use() -> bool:
    """Tell whether anybody's codes are asked for."""
    return SecondFactor.objects.filter(confirmed_at__isnull=False).exists()


def matching_step(secret: str, typed: str, *, now: datetime, after: int) -> int | None:
    """Find the half minute whose code was typed: this one or a neighbour, for clocks differ, and none twice."""
    codes, code = pyotp.TOTP(secret), "".join(typed.split())
    if not code.isascii():  # what compares codes in constant time takes nothing else
        return None
    for step in (codes.timecode(now) + drift for drift in (0, -1, 1)):
        if step > after and pyotp.utils.strings_equal(codes.generate_otp(step), code):
            return step
    return None


def address_for_apps(secret: str, name: str) -> str:
    """Give the address that sets up an app on the device that opens it."""
    return pyotp.TOTP(secret, name=name, issuer=ISSUER).provisioning_uri()


def factor_of(operator: User, *, is_confirmed: bool) -> SecondFactor | None:
    """Give an operator's second factor: the one that is asked for, or the one that is being set up."""
    return SecondFactor.objects.filter(operator=operator, confirmed_at__isnull=not is_confirmed).first()


def _is_right(factor: SecondFactor, code: str, now: datetime) -> bool:
    try:
        step = matching_step(factor.secret, code, now=now, after=factor.last_step)
    except UnreadableError:  # the key is lost: nobody can say what is right
        return False
    return step is not None and factor.use(step, now)
