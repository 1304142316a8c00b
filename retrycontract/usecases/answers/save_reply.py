"""Keep replies at hand, and let an answer stand for calls that make the same mistake."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Q

from retrycontract.contract.feedback.guidance import MAX_STANDING, MAX_TEXT
from retrycontract.store.models import Door, Event, Guidance, LostRaceError, Mistake, SavedReply, StandingHint
from retrycontract.store.models.answers import FIRST, LAST
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.people.admit import Role, role_of
from retrycontract.usecases.tools.contracts import sanitizer

MAX_TITLE: Final = 80
MOST: Final = 100  # replies of one shelf: more than anybody finds anything in


class NotAllowedError(PermissionError):
    """Raised for somebody whose role doesn't allow it."""


class UnusableReplyError(ValueError):
    """Raised for a reply that cannot be kept; says why."""


def save_reply(
    operator: User,
    title: str,
    text: str,
    *,
    now: datetime,
    shared: bool = False,
    position: int | None = None,
    reply: SavedReply | None = None,
    door: Door = Door.DASHBOARD,
) -> SavedReply:
    """Keep a new reply, or change `reply`; raises NotAllowedError and UnusableReplyError.

    A reply has a shelf for good: one's own, or the one that all share. `position` is a key from 1 to 9.
    """
    reply = reply or SavedReply(operator=None if shared else operator)
    _check_role(operator, reply)
    is_new = reply.pk is None
    if position is not None and not FIRST <= position <= LAST:
        raise UnusableReplyError(f"Keys go from {FIRST} to {LAST}.")
    reply.title, reply.text, reply.position, reply.updated_at = _title(title), _text(text), position, now
    shelf = SavedReply.objects.filter(operator=reply.operator)
    with write_transaction():
        if is_new and shelf.count() >= MOST:
            raise UnusableReplyError(f"There are {MOST} replies already: delete one that nobody uses.")
        try:
            # A savepoint: on PostgreSQL an insert that fails would end the whole transaction.
            with transaction.atomic():
                reply.save()
        except IntegrityError:
            raise UnusableReplyError(f"Another reply has the key {position}.") from None
        _record("reply.added" if is_new else "reply.changed", reply, operator, now, door)
    return reply


def delete_reply(reply: SavedReply, operator: User, *, now: datetime, door: Door = Door.DASHBOARD) -> bool:
    """Delete a reply; False when it was gone already. Raises NotAllowedError."""
    _check_role(operator, reply)
    with write_transaction():
        deleted, _ = SavedReply.objects.filter(pk=reply.pk).delete()
        if deleted:
            _record("reply.deleted", reply, operator, now, door)
    return bool(deleted)


def replies_of(operator: User) -> list[SavedReply]:
    """List what an operator has at hand: by key, own before shared of the same key, then those without one."""
    found = SavedReply.objects.filter(Q(operator=operator) | Q(operator=None))
    return sorted(found, key=lambda reply: (reply.position or LAST + 1, reply.is_shared, reply.title, reply.pk))


def _check_role(operator: User, reply: SavedReply) -> None:
    role = Role.ADMIN if operator.is_superuser else role_of(operator)
    if role not in (Role.OPERATOR, Role.ADMIN):
        raise NotAllowedError("Only operators and administrators keep replies.")
    if reply.is_shared and role is not Role.ADMIN:
        raise NotAllowedError("Only administrators change what all share.")
    if not reply.is_shared and reply.operator_id != operator.pk:
        raise NotAllowedError("The reply is somebody else's.")


def _title(title: str) -> str:
    title = sanitizer().redact_text(" ".join(title.split()))
    if not 0 < len(title) <= MAX_TITLE:
        raise UnusableReplyError(f"Give it a title of at most {MAX_TITLE} characters.")
    return title


def _text(text: str) -> str:
    """Sanitise the text as an answer is: it will be one."""
    text = sanitizer().redact_text(text.strip())
    if not 0 < len(text) <= MAX_TEXT:
        raise UnusableReplyError(f"Write what the agent should read, in at most {MAX_TEXT} characters.")
    return text


def _record(name: str, reply: SavedReply, operator: User, now: datetime, door: Door) -> None:
    Event.record(
        name, actor=operator.get_username(), door=door, at=now, title=reply.title, shared=reply.is_shared,
        position=reply.position,
    )  # fmt: skip


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
    text = _hint_text(text)
    with write_transaction():
        # The one before goes first: a constraint lets one hint of a mistake be on.
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
        _record_hint("hint.set", hint, owner, now, door)
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
        _record_hint("hint.switched_off", hint, operator, now, door)
    return True


def _hint_text(text: str) -> str:
    text = sanitizer().redact_text(text.strip())
    if not 0 < len(text) <= MAX_STANDING:
        raise UnusableHintError(f"Write what agents should read, in at most {MAX_STANDING} characters.")
    return text


def _record_hint(name: str, hint: StandingHint, operator: User, now: datetime, door: Door) -> None:
    Event.record(
        name, actor=operator.get_username(), door=door, at=now, hint=hint.pk, namespace=hint.namespace,
        tool=hint.tool_name, fingerprint=hint.fingerprint, expires_at=hint.expires_at.isoformat(),
    )  # fmt: skip
