"""The audit trail, as it is looked for: who did what, when, to which call, and through which door."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any, ClassVar, Final

from django.db.models import Q

from dashboard.shared.choices import MAX_OPTIONS, TimedChoices, plain
from dashboard.shared.long_list import Search
from retrycontract.store.models import Call, Door, Event
from retrycontract.store.statements import different

MOST_TOLD: Final = 4  # details that stand in one line
DOORS: Final = {
    Door.API: ("the API", "agents"),
    Door.DASHBOARD: ("the desk", "person"),
    Door.ADMIN: ("the admin", "admin"),
    Door.WORKER: ("the worker", "clock"),
    Door.COMMAND: ("a command", "keys"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EventChoices(TimedChoices):
    """Hold which events are looked for."""

    unsaid: ClassVar[frozenset[str]] = frozenset({"call"})

    actor: str = ""
    event: str = ""
    door: str = ""
    call: str = ""

    @classmethod
    def offers(cls, name: str, value: str) -> bool:
        """Tell whether something may be chosen."""
        return name != "door" or value in DOORS

    @property
    def words(self) -> dict[str, str]:
        """Say each choice in words, by its name."""
        return self.time_words | {
            "actor": f"By {self.actor}",
            "event": event_word(self.event),
            "door": self.door and f"Through {DOORS[Door(self.door)][0]}",
        }

    @property
    def search(self) -> Search[Event]:
        """Say how to find them: by the choice that leaves the fewest, and what else must fit."""
        rows = self.in_time(Event.objects.select_related("call"), "at")
        indexed, others = list(self._indexed()), [Q(door=Door.API)] if self.door == Door.API else []
        if indexed:
            rows = rows.filter(indexed.pop(0))
        return Search(rows, reduce(and_, indexed + others, Q()))

    def _indexed(self) -> Iterator[Q]:
        """List what an index knows; what keeps few events stands first."""
        if self.call:
            yield Q(call=Call.objects.filter(public_id=self.call).values("pk")[:1])
        if self.actor:
            yield Q(actor=self.actor)
        if self.event:
            yield Q(name=self.event)
        if self.door and self.door != Door.API:
            yield ~Q(door=Door.API.value) & Q(door=self.door)


@dataclass(frozen=True, slots=True)
class AuditLine:
    """Show one event."""

    event: Event

    @property
    def word(self) -> str:
        """Say what happened."""
        return event_word(self.event.name)

    @property
    def door(self) -> str:
        """Say through which door."""
        return DOORS[Door(self.event.door)][0]

    @property
    def icon(self) -> str:
        """Name the icon of the door."""
        return DOORS[Door(self.event.door)][1]

    @property
    def has_moved(self) -> bool:
        """Tell whether the call came into another state by it."""
        return bool(self.event.from_state) and self.event.from_state != self.event.to_state

    @property
    def gist(self) -> str:
        """Say its first details in a line, those that are single words and numbers."""
        told = [f"{name.replace('_', ' ')} {_said(value)}" for name, value in self.event.data.items() if _is_one(value)]
        return " · ".join(told[:MOST_TOLD])


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """Hold what the filters offer: what the trail has."""

    actors: list[str]
    events: list[tuple[str, str]]
    doors: list[tuple[str, str]]


def read_options() -> AuditOptions:
    """Read what there is to choose from."""
    names = different(Event, "name", most=MAX_OPTIONS)
    actors = different(Event, "actor", most=MAX_OPTIONS)
    doors = [(door.value, f"Through {words}") for door, (words, _) in DOORS.items()]
    return AuditOptions(plain(actors), [(name, event_word(name)) for name in names], doors)


def event_word(name: str) -> str:
    """Say in words what a name of an event says: Guidance given, Key revoked."""
    return name.replace(".", " ").replace("_", " ").capitalize()


def _is_one(value: Any) -> bool:
    return isinstance(value, str | int | float) or (
        isinstance(value, list) and all(isinstance(one, str) for one in value)
    )


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) or "none" if isinstance(value, list) else str(value)
