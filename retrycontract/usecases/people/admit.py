"""Let agents and people in, give and take keys and roles; each change leaves an event."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any, Final, cast
from zoneinfo import available_timezones

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.db.models import Field, Q, QuerySet

from retrycontract.config.outside_settings import LoginSettings
from retrycontract.config.variables import PREFIX
from retrycontract.contract.schemas.document import excerpt
from retrycontract.store.models import Agent, ApiKey, Door, Event, Preferences, ProviderIdentity, Scope
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.tools.contracts import sanitizer

logger = logging.getLogger("retrycontract.logins")


def with_a_way_in(*, by_password: bool = True, issuer: str | None = None) -> QuerySet[User]:
    """Give the operators with a password or an account at a provider, or at the one of `issuer`; some may be off.

    Seeded ones have neither.
    """
    without = Q(password="") | Q(password__startswith=UNUSABLE_PASSWORD_PREFIX)
    at_provider = ProviderIdentity.objects.all() if issuer is None else ProviderIdentity.objects.filter(issuer=issuer)
    known = Q(pk__in=at_provider.values("operator"))
    return User.objects.filter(~without | known if by_password else known)


class UnusableNameError(ValueError):
    """Raised for an agent's name that cannot be shown in a line of its own, or that holds a secret."""

    def __init__(self) -> None:
        super().__init__("An agent's name has 1 to 200 letters, digits, spaces and . _ - @ /, and is no secret")


class OtherNamespaceError(ValueError):
    """Raised when an agent that is known is named with a namespace that it does not have."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        super().__init__(f"The agent {agent.name} has the namespace {agent.namespace}")


class TakenNameError(ValueError):
    """Raised when an agent is to have the name of another."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Another agent is called {name}")


def admit_agent(name: str, namespace: str | None = None, *, now: datetime, actor: str, door: Door) -> Agent:
    """Get the agent of that name, or make it; raises UnusableNameError and OtherNamespaceError."""
    check_name(name)
    check_name(namespace or name)
    with write_transaction():
        defaults = {"namespace": namespace or name, "created_at": now}
        agent, is_new = Agent.objects.get_or_create(name=name, defaults=defaults)
        if namespace and agent.namespace != namespace:
            raise OtherNamespaceError(agent)
        if is_new:
            Event.record("agent.admitted", actor=actor, door=door, at=now, agent=name, namespace=agent.namespace)
    return agent


def rename_agent(agent: Agent, name: str, *, now: datetime, actor: str, door: Door) -> None:
    """Give an agent another name; its namespace, and with it its tools, stay.

    Raises UnusableNameError and TakenNameError.
    """
    check_name(name)
    try:
        with write_transaction():
            before = Agent.objects.get(pk=agent.pk).name
            if name == before:
                return
            Agent.objects.filter(pk=agent.pk).update(name=name)
            Event.record("agent.renamed", actor=actor, door=door, at=now, agent=before, to=name)
    except IntegrityError:
        raise TakenNameError(name) from None


def issue_key(
    agent: Agent,
    *,
    now: datetime,
    actor: str,
    door: Door,
    expires_at: datetime | None = None,
    scopes: Iterable[Scope] = (),
) -> tuple[ApiKey, str]:
    """Make a key and return it with its text, which is shown this once; without scopes it may do everything."""
    with write_transaction():
        key, text = ApiKey.create_for(agent, now, expires_at=expires_at, scopes=scopes)
        may = sorted(key.granted)
        Event.record("key.issued", actor=actor, door=door, at=now, agent=agent.name, key=key.prefix, scopes=may)
    return key, text


def revoke_key(key: ApiKey, *, now: datetime, actor: str, door: Door) -> bool:
    """Take a key away for good; False when it was revoked before."""
    with write_transaction():
        if not ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=now):
            return False
        Event.record("key.revoked", actor=actor, door=door, at=now, agent=key.agent.name, key=key.prefix)
    return True


def check_name(name: str) -> None:
    """Raise UnusableNameError for a name that no agent and no namespace may have: both are shown as they are."""
    if not re.fullmatch(r"(?=.*\S)[\w.@/ -]{1,200}", name) or sanitizer().redact_identifier(name) != name:
        raise UnusableNameError


MAX_PASSWORD: Final = 1_000  # characters; what is longer is compared with one's names for a second
SHOWN = ("username", "first_name", "last_name", "email")  # as they are, to everybody


def admit_operator(user: User, role: Role, *, now: datetime, actor: str, door: Door) -> None:
    """Store a new user, whose password is set already, in a role; raises ValidationError for an unusable name."""
    user.full_clean(exclude=["password"])
    check_shown({name: getattr(user, name) for name in SHOWN})
    with write_transaction():
        user.save(force_insert=True)
        give_role(user, role)
        Event.record("operator.admitted", actor=actor, door=door, at=now, operator=user.get_username(), role=role.value)


class NotAdmittedError(Exception):
    """Raised for somebody whom the provider knows and the desk does not let in; says why to them."""


def admit_by_provider(
    claims: dict[str, Any], service: LoginSettings, known: User | None = None, *, now: datetime, door: Door
) -> User:
    """Find who a provider's checked claims name, or make them; their role is what their groups give them today.

    `known` is an operator who is logged in and wants to be known by these claims from now on. Nobody else is found by
    name or address: those of another person could be taken at the provider. Raises NotAdmittedError, and
    ValidationError for a name that may not be shown.
    """
    subject = str(claims["sub"])
    # 255 is the longest that the protocol allows; a shortened or mended one could be somebody else's.
    if len(subject) > 255 or not subject.isprintable():
        raise NotAdmittedError("The identity provider’s name for you is too long, or no text.")
    known_before = _identity(claims, service) is not None
    try:
        return _admitted(claims, service, known, now=now, door=door)
    except (IntegrityError, NotAdmittedError, ValidationError) as error:
        # The same person may have come twice at once: who was second finds the name taken, or the identity.
        is_second = not known_before and _identity(claims, service) is not None
        if not is_second and not isinstance(error, IntegrityError):
            raise
    return _admitted(claims, service, known, now=now, door=door)


def _identity(claims: dict[str, Any], service: LoginSettings) -> ProviderIdentity | None:
    return ProviderIdentity.objects.filter(issuer=service.oidc_issuer, subject=str(claims["sub"])).first()


def _admitted(claims: dict[str, Any], service: LoginSettings, known: User | None, *, now: datetime, door: Door) -> User:
    groups = claims.get(service.oidc_groups_claim)
    # A single group may come as a text, whose letters would be taken for groups; what names none is none.
    named = groups if isinstance(groups, list | dict) else [groups] if groups else []
    role = service.role_for({str(group) for group in named})
    if role is None:
        if found := _identity(claims, service):
            withdraw_role(found.operator, actor="provider", now=now, door=door)
        raise NotAdmittedError("None of your groups at the identity provider may use this desk.")
    with write_transaction():
        identity = _identity(claims, service)
        if identity is None:
            operator = known or _new_operator(claims, service, Role(role), now=now, door=door)
            if ProviderIdentity.objects.filter(operator=operator).exists():
                raise NotAdmittedError("Your desk is connected with another account already.")
            ProviderIdentity.objects.create(
                operator=operator, issuer=service.oidc_issuer, subject=str(claims["sub"]), linked_at=now
            )
            name = operator.get_username()
            Event.record("operator.identity_linked", actor=name, door=door, at=now, operator=name)
        elif known is not None and identity.operator_id != known.pk:
            raise NotAdmittedError("This account is connected with another operator already.")
        else:
            operator = identity.operator
        if not operator.is_active:
            raise NotAdmittedError("You have been switched off here; ask an administrator.")
        if not operator.is_superuser:  # who made the service keeps the way in, whatever the groups say
            change_operator(operator, [], Role(role), actor="provider", now=now, door=door)
        name = operator.get_username()
        Event.record("operator.logged_in", actor=name, door=door, at=now, operator=name, by="provider")
    return operator


def _new_operator(claims: dict[str, Any], service: LoginSettings, role: Role, *, now: datetime, door: Door) -> User:
    # Compared with True itself: a provider that writes texts would say "false", which counts as true.
    address = str(claims.get("email") or "") if claims.get("email_verified", True) is True else ""
    named = {service.oidc_name_claim: str(claims.get(service.oidc_name_claim) or ""), "email": address}
    rules = {claim: _broken_rule("username", text) for claim, text in named.items() if text}
    if not rules:
        raise NotAdmittedError(f"The identity provider does not say your name ({service.oidc_name_claim}).")
    name = next((User.normalize_username(named[claim]) for claim, rule in rules.items() if not rule), None)
    if name is None:
        broken = "; ".join(f"{claim} {rule}" for claim, rule in rules.items())
        raise NotAdmittedError(
            f"What the identity provider calls you cannot be an operator’s name here: {broken}. An administrator can"
            f" have another claim sent, and name it in {PREFIX}OIDC_NAME_CLAIM."
        )
    if User.objects.filter(username__iexact=name).exists():
        raise NotAdmittedError(
            f"An operator called {name} is here already. If it is you, log in by password and connect in the settings."
        )
    if address and (rule := _broken_rule("email", address)):
        logger.warning("A claim of the identity provider is left out", extra={"claim": "email", "reason": rule})
        address = ""
    user = User(username=name, email=address)
    user.set_unusable_password()
    admit_operator(user, role, now=now, actor="provider", door=door)
    return user


def _broken_rule(field: str, text: str) -> str:
    """Say why a text cannot be the `username` or `email` of an operator; nothing when it can."""
    try:
        cast("Field[Any, Any]", User._meta.get_field(field)).run_validators(text)
    except ValidationError as error:
        if any(found.code == "max_length" for found in error.error_list):
            return "is too long"
        return "holds more than letters, digits and @ . + - _" if field == "username" else "is no e-mail address"
    try:
        check_shown({field: text})
    except ValidationError:
        return "holds what looks like a secret"
    return ""


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


def withdraw_role(operator: User, *, now: datetime, actor: str, door: Door) -> None:
    """Take the role of who has one, but a superuser's, and log them out everywhere."""
    with write_transaction():
        role = role_of(operator)
        if role is None or operator.is_superuser:
            return
        operator.groups.clear()
        operator.is_staff = False
        operator.save(update_fields=["is_staff"])
        name = operator.get_username()
        Event.record("operator.role_taken", actor=actor, door=door, at=now, operator=name, role=role.value)
        end_sessions(operator, now=now, actor=actor, door=door)


def check_shown(given: dict[str, str]) -> None:
    """Raise ValidationError for what is known of a user and holds a secret; an e-mail address is none."""
    words = {name: text.replace("@", " ") for name, text in given.items()}
    held = [name for name, text in words.items() if sanitizer().redact_identifier(text) != text]
    if held:
        raise ValidationError(
            dict.fromkeys(held, "This holds what looks like a secret, and would be shown to everybody.")
        )


def end_sessions(operator: User, *, now: datetime, actor: str, door: Door) -> int:
    """Log an operator out everywhere; returns how many sessions ended.

    Sessions say only inside whose they are, so each is read: there are as many as operators have browsers.
    """
    with write_transaction():
        mine = [
            session.pk
            for session in Session.objects.filter(expire_date__gt=now).iterator()
            if session.get_decoded().get(SESSION_KEY) == str(operator.pk)
        ]
        ended = Session.objects.filter(pk__in=mine).delete()[0]
        Event.record(
            "operator.logged_out", actor=actor, door=door, at=now, operator=operator.get_username(), sessions=ended
        )
    return ended


class Role(StrEnum):
    """Name the roles; each is a group of the same name."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


def give_role(user: User, role: Role) -> None:
    """Put a user into exactly one role."""
    group, _ = Group.objects.get_or_create(name=role.value)
    user.groups.set([group])
    # Django's admin asks for `is_staff` before it looks at any permission.
    user.is_staff = role is Role.ADMIN
    user.save(update_fields=["is_staff"])


def role_of(user: User) -> Role | None:
    names = set(user.groups.values_list("name", flat=True))
    return next((role for role in reversed(Role) if role.value in names), None)


class UnknownTimeZoneError(ValueError):
    """Raised for a name that is no time zone."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no time zone '{excerpt(name)}'; choose one as Europe/Zurich, or none.")


def keep_preferences(operator: User, *, time_zone: str, has_shortcuts: bool) -> Preferences:
    """Store what an operator has chosen; raises UnknownTimeZoneError. An empty zone means the browser's."""
    if time_zone and not is_time_zone(time_zone):
        raise UnknownTimeZoneError(time_zone)
    chosen = {"time_zone": time_zone, "has_shortcuts": has_shortcuts}
    with write_transaction():
        kept, _ = Preferences.objects.update_or_create(operator=operator, defaults=chosen)
    return kept


def is_time_zone(name: str) -> bool:
    return name in time_zones()


@cache
def time_zones() -> tuple[str, ...]:
    """List the zones by name, those of places first."""
    return ("UTC", *sorted(name for name in available_timezones() if "/" in name and not name.startswith("Etc/")))
