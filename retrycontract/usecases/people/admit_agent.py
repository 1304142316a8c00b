"""Let agents in, give them keys and take keys away; each leaves an event."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from django.db import IntegrityError

from retrycontract.store.models import Agent, ApiKey, Door, Event, Scope
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.tools.contracts import sanitizer


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
    if not re.fullmatch(r"[\w.@/ -]{1,200}", name) or sanitizer().redact_identifier(name) != name:
        raise UnusableNameError
