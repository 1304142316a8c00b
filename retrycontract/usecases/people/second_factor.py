"""Ask operators for more than a password: set up a second factor, look at its codes, take it away."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import pyotp
from django.contrib.auth.models import User

from retrycontract.store.models import Door, Event, SecondFactor
from retrycontract.store.sealing import UnreadableError
from retrycontract.store.transactions import write_transaction

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
