"""What operators may do: viewers read, operators answer, administrators do both and use the admin."""

from __future__ import annotations

from enum import StrEnum

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, Group, User


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


def may_answer(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Tell whether a user may answer a Blocked call."""
    if not isinstance(user, User):
        return False
    return user.is_superuser or user.groups.filter(name__in=[Role.OPERATOR, Role.ADMIN]).exists()
