"""The audit trail: who did what, when and through which door; append-only."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, Final, NoReturn, Self, TypeVar

from django.db import connection, models
from django.db.models import Model, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, Now
from django.db.models.lookups import GreaterThanOrEqual, LessThanOrEqual

from retrycontract.store.fields import MILESTONE, Block, JSONText
from retrycontract.store.models.agents import Agent
from retrycontract.store.models.calls import Call
from retrycontract.store.statements import Given, insert
from retrycontract.store.transactions import EventRow, Position

Rows = TypeVar("Rows", bound=Model)

# Keys follow the clock but for this: how long a transaction takes, and how far the clocks of several machines differ.
SLACK: Final = timedelta(minutes=10)
LAST: Final = models.Value(models.BigIntegerField.MAX_BIGINT, models.BigIntegerField())  # greater than any key


def within(rows: QuerySet[Rows], field: str, *, since: datetime | None, until: datetime | None) -> QuerySet[Rows]:
    """Keep the rows whose time, in a field whose milestones are indexed, is not before `since` and before `until`."""
    # The key is bounded, too, and its block: lists go by these, and rows outside of the time would be read one by one.
    milestones = rows.model._default_manager.filter(MILESTONE).order_by(field).values("pk")
    if since is not None:
        last_before = milestones.filter(**{f"{field}__lt": since - SLACK}).reverse()[:1]
        first = Coalesce(Subquery(last_before), 0)
        rows = rows.filter(GreaterThanOrEqual(Block("pk"), Block(first)), pk__gte=first, **{f"{field}__gte": since})
    if until is not None:
        first_after = milestones.filter(**{f"{field}__gte": until + SLACK})[:1]
        last = Coalesce(Subquery(first_after), LAST)
        rows = rows.filter(LessThanOrEqual(Block("pk"), Block(last)), pk__lte=last, **{f"{field}__lt": until})
    return rows


# How long after its insert an event may become visible: 30 seconds until its transaction is rolled back for taking too
# long (`store.transactions`), 30 until the database ends one that idles, 15 for the commit, and a margin. SQLite has
# one writer, whose ids appear in order.
APPEARS_WITHIN: Final = timedelta(seconds=90)


class Door(models.TextChoices):
    """Name the ways in."""

    API = "api"
    DASHBOARD = "dashboard"
    ADMIN = "admin"
    WORKER = "worker"
    COMMAND = "command"


class AppendOnlyError(RuntimeError):
    """Raised when somebody tries to change or delete history."""


class EventQuerySet(models.QuerySet["Event"]):
    """Read events; they cannot be changed through it, and only retention deletes them."""

    def forget(self, calls: Collection[int]) -> int:
        """Delete the events of calls that are deleted themselves; returns how many."""
        # Calls the base class, since this class's own `delete` refuses.
        return models.QuerySet.delete(self.filter(call__in=calls))[0]

    def of(self, agent: Agent) -> EventQuerySet:
        """Keep what happened to an agent's calls, in the order of the ids."""
        return self.filter(agent=agent).order_by("pk")

    def newest_id(self) -> int:
        """Give the id of the newest event, 0 before the first."""
        return self.order_by("-pk").values_list("pk", flat=True).first() or 0

    def newest_ids(self, agent_ids: Collection[int]) -> dict[int, int | None]:
        """Give the id of the newest event of each agent, one look into the index for each."""
        newest = self.filter(agent=models.OuterRef("pk")).order_by("-pk").values("pk")[:1]
        found = Agent.objects.filter(pk__in=agent_ids).order_by().annotate(newest=models.Subquery(newest))
        return dict(found.values_list("pk", "newest"))

    def position_behind(self, event_id: int) -> Position:
        """Give where to go on for a reader whose last event was this: what may have been invisible then comes again."""
        last = self.filter(pk__lte=event_id).order_by("-pk").first()
        if last is None or _appear_in_order():
            return Position(last.pk if last else 0)
        settled = self.filter(pk__lt=last.pk, stored_at__lt=last.stored_at - APPEARS_WITHIN).order_by("-pk")
        return Position(settled.values_list("pk", flat=True).first() or 0)

    def position_now(self) -> Position:
        """Give where a reader begins who wants only what is to come."""
        newest = self.order_by("-pk").values_list("pk", flat=True).first()
        begin = self.position_behind(newest or 0)
        return Position(begin.settled, frozenset(self.filter(pk__gt=begin.settled).values_list("pk", flat=True)))

    def rows_behind(self, position: Position, size: int) -> list[EventRow]:
        """List enough rows to find the next `size` unread ones."""
        in_order = _appear_in_order()
        found = self.filter(pk__gt=position.settled).order_by("pk").values_list("pk", "stored_at", Now())
        rows = found[: position.rows_to_look_at(size)]
        return [EventRow(pk, in_order or stored_at < now - APPEARS_WITHIN) for pk, stored_at, now in rows]

    def update(self, **_: Any) -> NoReturn:
        raise AppendOnlyError("events are never changed")

    def delete(self) -> NoReturn:
        raise AppendOnlyError("events are never deleted")


class NotBeforeLast(models.Expression):
    """Give the time of the call's latest event where it is later than its own: within the INSERT, at no query."""

    output_field = models.DateTimeField()
    given = (Given("call_id"), Given("read_at"), Given("read_at"))

    def as_sql(self, compiler: Any, connection: Any) -> Any:  # noqa: ARG002 - Django's signature
        """Look among the call's own events: they are few, and their index holds the call."""
        quote, meta = connection.ops.quote_name, Event._meta
        later = f"SELECT MAX({quote('at')}) FROM {quote(meta.db_table)} WHERE {quote('call_id')} = %s"  # noqa: S608
        return f"COALESCE(({later} AND {quote('at')} > %s), %s)", list(self.given)


class Event(models.Model):
    """Something that happened to a call or a tool."""

    call = models.ForeignKey(Call, null=True, on_delete=models.PROTECT, related_name="events")
    # The call's agent and how many attempts the call had then: what a stream asks for, without a join.
    agent = models.ForeignKey(Agent, null=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    attempts_made = models.PositiveIntegerField(null=True)
    name = models.CharField(max_length=40)
    actor = models.CharField(max_length=200)
    door = models.CharField(max_length=10, choices=Door.choices)
    from_state = models.CharField(max_length=12, blank=True, default="")
    to_state = models.CharField(max_length=12, blank=True, default="")
    data = JSONText(default=dict)
    at = models.DateTimeField()
    # By the database's clock, the one that all writers and readers share.
    stored_at = models.DateTimeField(db_default=Now())

    read_at: datetime  # by whoever recorded it; not stored

    objects = EventQuerySet.as_manager()

    class Meta:
        ordering = ("pk",)
        indexes = (
            # An agent's stream, and the second look for rings that were lost.
            models.Index(fields=("agent", "id"), name="event_by_agent"),
            # The audit trail at the desk: what somebody did, what happened, when, and through the rarer doors.
            models.Index(fields=("actor", "id"), name="event_by_actor"),
            models.Index(fields=("name", "id"), name="event_by_name"),
            models.Index(fields=("at",), name="event_by_time", condition=Q(MILESTONE)),
            models.Index(fields=("door", "id"), name="event_by_door", condition=~Q(door="api")),
        )

    def __str__(self) -> str:
        return f"{self.name} by {self.actor}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Insert; raises AppendOnlyError for an event that is stored already."""
        if self.pk is not None:
            raise AppendOnlyError("events are never changed")
        super().save(*args, **kwargs)

    def delete(self, *_: Any, **__: Any) -> NoReturn:
        raise AppendOnlyError("events are never deleted")

    @classmethod
    def record(
        cls,
        name: str,
        *,
        actor: str,
        door: Door,
        at: datetime,
        call: Call | None = None,
        from_state: str = "",
        **data: Any,
    ) -> Self:
        """Append one event; `data` holds no values of the agent's, only names and numbers.

        `at` was read before it was this one's turn: where an event of the call read the clock later, its time counts.
        """
        event = cls(
            call=call,
            agent_id=call.agent_id if call else None,
            attempts_made=call.attempts_made if call else None,
            name=name,
            actor=actor[:200],
            door=door,
            from_state=from_state,
            to_state=call.state if call else "",
            data=data,
            at=NotBeforeLast() if call else at,
        )
        event.read_at = at
        insert(event)
        return event


def _appear_in_order() -> bool:
    return connection.vendor == "sqlite"
