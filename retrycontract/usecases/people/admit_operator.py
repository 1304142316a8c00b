"""Let people in and change what is known of them; each change leaves an event."""

from __future__ import annotations

from datetime import datetime

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from retrycontract.store.models import Door, Event
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.people.give_role import Role, give_role, role_of
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
