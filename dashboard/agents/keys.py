"""What the pages of agents show and take: who was seen when, the keys and whether they still open the door."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django import forms
from django.db.models import Count, Max, Q

from retrycontract.store.models import Agent, ApiKey, KeyState, Scope

MOST_AGENTS: Final = 500  # of a list; the search finds the rest
MOST_KEYS: Final = 100  # of one agent, the newest
MAX_NAME: Final = 200
SCOPES: Final = {
    Scope.SUBMIT: "send outputs, wait, take answers, give up, try",
    Scope.READ: "look at its calls, events, responses and tools",
    Scope.TOOLS: "register tools",
}
LASTS: Final = [("", "never"), ("1", "in a day"), ("7", "in 7 days"), ("30", "in 30 days"), ("90", "in 90 days"),
                ("365", "in a year")]  # fmt: skip


@dataclass(frozen=True, slots=True)
class AgentLine:
    """Show an agent in the list."""

    agent: Agent
    last_seen: datetime | None
    active_keys: int


@dataclass(frozen=True, slots=True)
class KeyLine:
    """Show a key; its text is known to nobody."""

    key: ApiKey
    state: KeyState

    @property
    def scopes(self) -> str:
        """Name what it may be used for."""
        granted = self.key.granted
        return "all" if granted == frozenset(Scope) else ", ".join(scope for scope in Scope if scope in granted)

    @property
    def pill(self) -> str:
        """Give the state of a call whose colour and shape fit."""
        return {KeyState.ACTIVE: "valid", KeyState.EXPIRED: "expired", KeyState.REVOKED: "cancelled"}[self.state]


def list_agents(*, now: datetime, search: str = "") -> list[AgentLine]:
    """List agents by name; without a search as many as a page can hold."""
    is_active = Q(keys__revoked_at=None) & (Q(keys__expires_at=None) | Q(keys__expires_at__gt=now))
    matching = Q(name__icontains=search) | Q(namespace__icontains=search) if search else Q()
    found: Any = Agent.objects.filter(matching)
    counted = found.annotate(last_seen=Max("keys__last_used_at"), active_keys=Count("keys", filter=is_active))
    return [AgentLine(agent, agent.last_seen, agent.active_keys) for agent in counted.order_by("name")[:MOST_AGENTS]]


def list_keys(agent: Agent, *, now: datetime) -> list[KeyLine]:
    """List the keys of an agent, the newest first."""
    return [KeyLine(key, key.state_at(now)) for key in agent.keys.order_by("-pk")[:MOST_KEYS]]


class KeyForm(forms.Form):
    """Ask what a key is for, and for how long."""

    scopes = forms.TypedMultipleChoiceField(
        coerce=Scope, choices=[(scope.value, what) for scope, what in SCOPES.items()], initial=list(Scope),
        error_messages={"required": "Choose at least one: a key that opens nothing is none."},
    )  # fmt: skip
    lasts = forms.ChoiceField(choices=LASTS, required=False, initial="90")

    def wanted(self, now: datetime) -> dict[str, Any]:
        """Give the key as the use case takes it."""
        days = self.cleaned_data["lasts"]
        return {
            "scopes": self.cleaned_data["scopes"],
            "expires_at": now + timedelta(days=int(days)) if days else None,
        }


class AgentForm(forms.Form):
    """Ask for the name and the namespace of an agent; whether they can be had is the use case's to say."""

    name = forms.CharField(max_length=MAX_NAME)
    namespace = forms.CharField(max_length=MAX_NAME, required=False)
