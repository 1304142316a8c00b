"""What the roles may do at the desk."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.core.exceptions import PermissionDenied

from retrycontract.usecases.people.give_role import Role, give_role

__all__ = ["Role", "give_role", "may_answer"]


def may_answer(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Tell whether a user may answer a Blocked call."""
    if not isinstance(user, User):
        return False
    return user.is_superuser or user.groups.filter(name__in=[Role.OPERATOR, Role.ADMIN]).exists()


def is_administrator(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Tell whether a user may change what all operators share."""
    if not isinstance(user, User):
        return False
    return user.is_superuser or user.groups.filter(name=Role.ADMIN).exists()


def administrators_only(user: AbstractBaseUser | AnonymousUser) -> None:
    """Raise PermissionDenied for whoever may not change what all share."""
    if not is_administrator(user):
        raise PermissionDenied
