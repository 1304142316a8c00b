"""The sections of the desk, in the order of the day: to work, to understand, to look after the service."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.urls import reverse

from retrycontract.usecases.people.admit import Role, give_role

Visitor = AbstractBaseUser | AnonymousUser


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Name one entry of the navigation; `covers` are the views that lie in it."""

    title: str
    route: str
    icon: str
    covers: tuple[str, ...] = ()
    may_enter: Callable[[Visitor], bool] = lambda _: True

    @property
    def address(self) -> str:
        return reverse(self.route)

    def holds(self, view: str) -> bool:
        """Tell whether a view lies in it."""
        return view == self.route or view in self.covers


def is_staff(visitor: Visitor) -> bool:
    """Tell whether somebody looks after the service."""
    return isinstance(visitor, User) and visitor.is_staff


def has_password(visitor: Visitor) -> bool:
    """Tell whether somebody comes in by a password of the desk, and not through a provider alone."""
    return settings.RETRYCONTRACT.password_login and isinstance(visitor, User) and visitor.has_usable_password()


# A group for each line of the navigation; a page that does not exist yet has no entry.
GROUPS: tuple[tuple[Section, ...], ...] = (
    (
        Section(
            title="Inbox",
            route="dashboard:inbox",
            icon="inbox",
            covers=(
                "dashboard:call",
                "dashboard:preview",
                "dashboard:keep_reply",
                "dashboard:claim",
                "dashboard:snooze",
                "dashboard:group",
            ),
        ),
        Section(title="Standing hints", route="dashboard:hints", icon="hint"),
    ),
    (
        Section(title="Calls", route="dashboard:calls", icon="calls"),
        Section(title="Agent responses", route="dashboard:agent_responses", icon="responses"),
        Section(
            title="Tools",
            route="dashboard:tools",
            icon="tools",
            covers=("dashboard:tool", "dashboard:new_tool", "dashboard:edit_schema"),
        ),
        Section(title="Insights", route="dashboard:insights", icon="insights"),
        Section(title="Playground", route="dashboard:playground", icon="playground"),
    ),
    (
        Section(
            title="Agents",
            route="dashboard:agents",
            icon="agents",
            covers=("dashboard:new_agent", "dashboard:agent", "dashboard:issue_key"),
        ),
        Section(
            title="Settings",
            route="dashboard:settings",
            icon="settings",
            covers=(
                "dashboard:replies",
                "dashboard:reply",
                "dashboard:password",
                "dashboard:second_factor",
                "dashboard:webhooks",
                "dashboard:new_webhook",
                "dashboard:webhook",
                "dashboard:rotate_webhook",
            ),
        ),
        Section(title="Audit", route="dashboard:audit", icon="audit", may_enter=is_staff),
        Section(title="Admin", route="admin:index", icon="admin", may_enter=is_staff),
    ),
)


# What stands in no menu, but is searched for.
BEHIND: tuple[Section, ...] = (
    Section(title="Saved replies", route="dashboard:replies", icon="reply"),
    Section(title="Password", route="dashboard:password", icon="lock", may_enter=has_password),
    Section(title="Second factor", route="dashboard:second_factor", icon="lock"),
    Section(title="Webhooks", route="dashboard:webhooks", icon="responses", may_enter=is_staff),
    Section(title="Add an agent", route="dashboard:new_agent", icon="agents", may_enter=is_staff),
    Section(title="Register a tool", route="dashboard:new_tool", icon="tools", may_enter=is_staff),
)


def pages_for(visitor: Visitor) -> list[Section]:
    """List the pages that somebody may open, those of no menu last."""
    pages = [section for group in sections_for(visitor) for section in group]
    return pages + [page for page in BEHIND if page.may_enter(visitor)]


def sections_for(visitor: Visitor) -> list[list[Section]]:
    """List the sections that somebody may enter, by group."""
    groups = [[section for section in group if section.may_enter(visitor)] for group in GROUPS]
    return [group for group in groups if group]


__all__ = ["Role", "give_role", "may_answer"]


def may_answer(user: AbstractBaseUser | AnonymousUser) -> bool:
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
