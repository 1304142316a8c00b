"""The audit trail: who did what, when, to which call, and through which door."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any, ClassVar, Final

from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from dashboard.navigation import is_staff
from dashboard.shared.choices import MAX_OPTIONS, MOST_EXPORTED, Search, TimedChoices, plain, read_all, read_page
from dashboard.shared.responses import TYPES, export, refused
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
EVENTS: Final = frozenset(
    f"{what}.{done}"
    for what, every in {
        "agent": "admitted renamed", "attempt": "dead discarded judged queued unasked", "claim": "expired",
        "call": "blocked cancelled claimed expired released resolved snoozed woken",
        "data": "backed_up imported restored", "endpoint": "added changed gone secret_rotated",
        "escalation": "opened resolved", "guidance": "acknowledged delivered given", "hint": "set switched_off",
        "history": "forgotten", "key": "issued revoked", "keys": "made noted resealed retired", "message": "sent_again",
        "metrics": "rebuilt", "notification": "given_up", "reply": "added changed deleted",
        "operator": "admitted changed freed identity_linked locked_out logged_in logged_out role_given role_taken "
        "second_factor_off second_factor_on", "tool": "changed registered", "version": "quarantined released",
    }.items()
    for done in every.split()
)  # fmt: skip


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
        if name == "event" and value not in EVENTS:  # what another version has written may be looked for, too
            return Event.objects.filter(name=value).exists()
        return name != "door" or value in DOORS

    @property
    def words(self) -> dict[str, str]:
        return self.time_words | {
            "actor": f"By {self.actor}",
            "event": event_word(self.event),
            "door": self.door and f"Through {DOORS[Door(self.door)][0]}",
        }

    @property
    def search(self) -> Search[Event]:
        """Say how to find them: by the choice that leaves the fewest, and what else must fit."""
        rows = self.in_time(Event.objects.select_related("call"), "at")
        indexed: list[Q] = []  # what an index knows; what keeps few events stands first
        if self.call:
            indexed.append(Q(call=Call.objects.filter(public_id=self.call).values("pk")[:1]))
        if self.actor:
            indexed.append(Q(actor=self.actor))
        if self.event:
            indexed.append(Q(name=self.event))
        if self.door and self.door != Door.API:
            # With the very condition of its partial index, which the planner does not take otherwise.
            indexed.append(~Q(door=Door.API.value) & Q(door=self.door))
        # Nearly every event comes through the API: no index leads to those.
        others = [Q(door=Door.API)] if self.door == Door.API else []
        if indexed:
            rows = rows.filter(indexed.pop(0))
        return Search(rows, reduce(and_, indexed + others, Q()))


@dataclass(frozen=True, slots=True)
class AuditLine:
    """Show one event."""

    event: Event

    @property
    def word(self) -> str:
        return event_word(self.event.name)

    @property
    def door(self) -> str:
        return DOORS[Door(self.event.door)][0]

    @property
    def icon(self) -> str:
        return DOORS[Door(self.event.door)][1]

    @property
    def has_moved(self) -> bool:
        """Tell whether the call came into another state by it."""
        return bool(self.event.from_state) and self.event.from_state != self.event.to_state

    @property
    def gist(self) -> str:
        """Say its first details in a line, those that are single words and numbers."""
        told = []
        for name, value in self.event.data.items():
            if name == "proof":  # what only the service's encryption keys open
                continue
            is_list = isinstance(value, list) and all(isinstance(one, str) for one in value)
            is_shown = (is_list or isinstance(value, str | int | float)) and value != self.event.actor
            if is_shown and (said := _said(name.replace("_", " "), value)):
                told.append(said)
        return " · ".join(told[:MOST_TOLD])


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """Hold what the filters offer: what the trail has."""

    actors: list[str]
    events: list[tuple[str, str]]
    doors: list[tuple[str, str]]


def read_options() -> AuditOptions:
    names = different(Event, "name", most=MAX_OPTIONS)
    actors = different(Event, "actor", most=MAX_OPTIONS)
    doors = [(door.value, f"Through {words}") for door, (words, _) in DOORS.items()]
    return AuditOptions(plain(actors), [(name, event_word(name)) for name in names], doors)


def event_word(name: str) -> str:
    """Say in words what a name of an event says: Guidance given, Key revoked."""
    return name.replace(".", " ").replace("_", " ").capitalize()


def _said(name: str, value: Any) -> str:
    """Say a detail, as in "not valid", "attempt 3", "VAL-001" or "tool: deploy"; nothing where it says nothing."""
    if isinstance(value, bool):
        return name if value else "not valid" if name == "valid" else ""
    if isinstance(value, list):
        return ", ".join(value) if name == "codes" or not value else f"{name}: {', '.join(value)}"
    return f"{name} {value}" if isinstance(value, int | float) else f"{name}: {value}" if value else ""


COLUMNS: Final = ("number", "at", "actor", "door", "event", "call_id", "from_state", "to_state", "details")


@require_safe
@never_cache
@gzip_page
def audit(request: HttpRequest) -> HttpResponse:
    if not is_staff(request.user):
        raise PermissionDenied
    choices, after = EventChoices.of(request.GET), request.GET.get("after", "")
    page = read_page(choices.search, after)
    context: dict[str, Any] = {
        "unread": EventChoices.unread(request.GET),
        "title": "Audit", "route": "dashboard:audit", "files": "dashboard:export_audit", "noun": "events",
        "choices": choices, "page": page, "lines": [AuditLine(event) for event in page.rows], "after": after,
        "now": timezone.now(), "options": read_options(), "most": MOST_EXPORTED,
    }  # fmt: skip
    return render(request, "audit/audit.html", context)


@require_safe
@never_cache
def export_audit(request: HttpRequest, kind: str) -> HttpResponseBase:
    """Give what was chosen as a file, from the page on that one looks at."""
    if not is_staff(request.user):
        raise PermissionDenied
    if kind not in TYPES:
        raise Http404
    if strange := EventChoices.unread(request.GET):
        return refused(strange)
    lines = (
        (
            event.pk, event.at, event.actor, event.door, event.name, event.call.public_id if event.call else "",
            event.from_state, event.to_state, event.data,
        )
        for event in read_all(EventChoices.of(request.GET).search, request.GET.get("after", ""))
    )  # fmt: skip
    return export("audit", kind, COLUMNS, lines)
