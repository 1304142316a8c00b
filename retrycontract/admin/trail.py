"""Which events of the audit trail are of a row of the admin, through whichever door, and what an event is of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, Final

from django.apps import apps
from django.contrib.auth.models import User
from django.db.models import F, Model, Q, QuerySet, TextField, Value
from django.db.models.functions import StrIndex

from retrycontract.contract.json_types import STORED, write_json
from retrycontract.store.models import (
    Agent,
    ApiKey,
    Call,
    ChannelTurn,
    Event,
    FailedLogins,
    OutboxMessage,
    Preferences,
    ProviderIdentity,
    SavedReply,
    SecondFactor,
    StandingHint,
    Tool,
    ToolVersion,
    WebhookDelivery,
    WebhookEndpoint,
)

Facts = Mapping[str, str | int]

# Kinds of events that name what they are of in their details; an index finds them among the millions that name a call.
OF_OPERATORS: Final = tuple(
    f"operator.{done}"
    for done in (
        "admitted", "changed", "freed", "identity_linked", "locked_out", "logged_in", "logged_out", "role_given",
        "role_taken", "second_factor_off", "second_factor_on",
    )
)  # fmt: skip
OF_KEYS: Final = ("key.issued", "key.revoked")
OF_AGENTS: Final = ("agent.admitted", "agent.renamed", *OF_KEYS, "endpoint.added")
OF_VERSIONS: Final = ("tool.registered", "version.quarantined", "version.released")
OF_TOOLS: Final = (*OF_VERSIONS, "tool.changed", "hint.set", "hint.switched_off")
OF_MESSAGES: Final = ("message.sent_again", "notification.given_up")
OF_ENDPOINTS: Final = (
    "endpoint.added", "endpoint.changed", "endpoint.gone", "endpoint.secret_rotated", "notification.given_up",
)  # fmt: skip
OF_REPLIES: Final = ("reply.added", "reply.changed", "reply.deleted")
# Details that say what an event is of, in the order in which they are shown.
NAMING: Final = (
    "operator", "agent", "to", "key", "endpoint", "message", "reply", "title", "hint", "tool", "version", "namespace",
)  # fmt: skip
OF_ROW: Final = "of"  # the word of an address whose value names a row
LONGEST_KEY: Final = 18  # digits of a row's key
# Where a row's call is: its events name it.
WAYS_TO_CALL: Final = ("call", "escalation.call", "guidance.call", "attempt.call")


@dataclass(frozen=True, slots=True)
class RowTrail:
    """Say which events are of a row: those of these kinds whose details hold all of one of these facts."""

    title: str
    kinds: tuple[str, ...]
    facts: tuple[Facts, ...]

    def keep(self, events: QuerySet[Any]) -> QuerySet[Any]:
        """Keep the row's own."""
        kept = events.filter(name__in=self.kinds)
        pieces = sorted({piece for facts in self.facts for each in facts.items() for piece in _pieces(*each)})
        # Not `contains`, which takes capitals for small letters on SQLite, and so one operator for another.
        found = {piece: f"holds_{number}" for number, piece in enumerate(pieces)}
        for piece, name in found.items():
            kept = kept.alias(**{name: StrIndex(F("data"), Value(piece, TextField()))})
        either = Q()
        for facts in self.facts:
            is_held = Q()
            for each in facts.items():
                is_held &= reduce(or_, (Q(**{f"{found[piece]}__gt": 0}) for piece in _pieces(*each)))
            either |= is_held
        return kept.filter(either)


def _pieces(name: str, value: str | int) -> tuple[str, ...]:
    """Give the texts that stored JSON holds one of where it has this member.

    None can stand within a string, where each quotation mark follows a backslash.
    """
    member = f'"{name}":{write_json(value, **STORED)}'
    return (member,) if isinstance(value, str) else (f"{member},", f"{member}}}")


def subject_of(row: Model) -> Model:
    """Give what the events of a row name: the call of an attempt, the operator of a second factor, or the row."""
    for way in WAYS_TO_CALL:
        found: Any = row
        for step in way.split("."):
            found = getattr(found, step, None)
        if isinstance(found, Call):
            return found
    match row:
        case SecondFactor() | Preferences() | ProviderIdentity() | FailedLogins():
            return row.operator or row
        case WebhookDelivery():
            return row.message
        case ChannelTurn():
            return row.endpoint or row
    return row


def trail_of(row: Model) -> RowTrail:
    """Say which events are of a row; of what no event names there are none."""
    match row:
        case User():
            name = row.get_username()
            return RowTrail(f"operator {name}", OF_OPERATORS, ({"operator": name},))
        case Agent():
            return RowTrail(f"agent {row.name}", OF_AGENTS, ({"agent": row.name}, {"to": row.name}))
        case ApiKey():
            return RowTrail(f"key {row.prefix}", OF_KEYS, ({"key": row.prefix},))
        case Tool():
            return RowTrail(f"tool {row.name} of {row.namespace}", OF_TOOLS, (_named(row),))
        case ToolVersion():
            title = f"version {row.number} of the tool {row.tool.name} of {row.tool.namespace}"
            return RowTrail(title, OF_VERSIONS, ({**_named(row.tool), "version": row.number},))
        case WebhookEndpoint():
            return RowTrail(f"endpoint {row.public_id}", OF_ENDPOINTS, ({"endpoint": row.public_id},))
        case OutboxMessage():
            return RowTrail(f"message {row.public_id}", OF_MESSAGES, ({"message": row.public_id},))
        case StandingHint():
            return RowTrail(f"standing hint {row.pk}", ("hint.set", "hint.switched_off"), ({"hint": row.pk},))
        case SavedReply():
            return RowTrail(f"saved reply {row.title}", OF_REPLIES, ({"reply": row.pk},))
    return RowTrail(f"{row._meta.verbose_name} {row.pk}, which no event names", (), ())


def _named(tool: Tool) -> dict[str, str | int]:
    return {"tool": tool.name, "namespace": tool.namespace}


def address_of(row: Model) -> str:
    """Name a row in an address, as in "auth.user.2"."""
    return f"{row._meta.label_lower}.{row.pk}"


def trail_at(address: str) -> RowTrail:
    """Read what `address_of` wrote; of what there is not there are no events."""
    label, _, key = address.rpartition(".")
    try:
        model = apps.get_model(label)
    except (LookupError, ValueError):
        model = None
    if model is not None and key.isascii() and key.isdigit() and len(key) <= LONGEST_KEY:
        row = model._default_manager.filter(pk=key).first()
        if row is not None:
            return trail_of(row)
    return RowTrail("what is not there", (), ())


def named_by(event: Event) -> str:
    """Say what an event without a call is of, as in "tool deploy · namespace deployer"."""
    told = [] if event.call_id else [(name, event.data.get(name)) for name in NAMING]
    return " · ".join(f"{name} {value}" for name, value in told if value is not None)
