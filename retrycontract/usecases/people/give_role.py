"""Give operators their role: viewers read, operators answer, administrators do both and use the admin."""

from __future__ import annotations

from enum import StrEnum

from django.contrib.auth.models import Group, User


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
