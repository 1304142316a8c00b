"""Let an answer stand: calls that make the same mistake are told it with their first feedback, without a person."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from retrycontract.contract.feedback.guidance import MAX_STANDING
from retrycontract.store.models import Door, Event, Guidance, LostRaceError, Mistake, StandingHint
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.tools.contracts import sanitizer

LASTS: Final = timedelta(days=30)  # unless somebody says otherwise: what nobody looks at again goes wrong unseen
LONGEST: Final = timedelta(days=365)


class UnusableHintError(ValueError):
    """Raised for a hint that cannot stand; says why."""


def set_hint(
    mistake: Mistake,
    text: str,
    owner: User,
    *,
    now: datetime,
    expires_at: datetime | None = None,
    source: Guidance | None = None,
    door: Door = Door.DASHBOARD,
) -> StandingHint:
    """Tell agents this from now on, in the place of what they were told; raises UnusableHintError, LostRaceError."""
    expires_at = expires_at or now + LASTS
    if not now < expires_at <= now + LONGEST:
        raise UnusableHintError(f"Let it expire at a time to come, at most {LONGEST.days} days from now.")
    if not mistake.fingerprint:
        raise UnusableHintError("There is no mistake that it could be for.")
    text = _text(text)
    with write_transaction():
        StandingHint.objects.on().about(mistake).update(off_at=now)
        hint = StandingHint(
            namespace=mistake.namespace, tool_name=mistake.tool_name, fingerprint=mistake.fingerprint, text=text,
            owner=owner, source=source, created_at=now, expires_at=expires_at,
        )  # fmt: skip
        try:
            with transaction.atomic():
                hint.save()
        except IntegrityError:
            raise LostRaceError("somebody else has set a hint for the same mistake this moment; look at it") from None
        _record("hint.set", hint, owner, now, door)
    return hint


def set_hint_from(
    guidance: Guidance, owner: User, *, now: datetime, text: str = "", expires_at: datetime | None = None
) -> StandingHint:
    """Let an answer stand, in its own words unless others are given; raises UnusableHintError, LostRaceError."""
    fingerprint = guidance.base.fingerprint if guidance.base is not None else ""
    mistake = Mistake.of(guidance.call, fingerprint)
    return set_hint(mistake, text or guidance.text, owner, now=now, expires_at=expires_at, source=guidance)


def switch_off_hint(hint: StandingHint, operator: User, *, now: datetime, door: Door = Door.DASHBOARD) -> bool:
    """Tell agents no longer; False when it was off."""
    with write_transaction():
        if not StandingHint.objects.on().filter(pk=hint.pk).update(off_at=now):
            return False
        _record("hint.switched_off", hint, operator, now, door)
    return True


def _text(text: str) -> str:
    text = sanitizer().redact_text(text.strip())
    if not 0 < len(text) <= MAX_STANDING:
        raise UnusableHintError(f"Write what agents should read, in at most {MAX_STANDING} characters.")
    return text


def _record(name: str, hint: StandingHint, operator: User, now: datetime, door: Door) -> None:
    Event.record(
        name, actor=operator.get_username(), door=door, at=now, hint=hint.pk, namespace=hint.namespace,
        tool=hint.tool_name, fingerprint=hint.fingerprint, expires_at=hint.expires_at.isoformat(),
    )  # fmt: skip
