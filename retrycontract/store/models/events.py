"""The audit trail: who did what, when and through which door; append-only."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any, NoReturn, Self

from django.db import models

from retrycontract.store.fields import JSONText
from retrycontract.store.models.calls import Call


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
        return models.QuerySet.delete(self.filter(call__in=calls))[0]

    def update(self, **_: Any) -> NoReturn:
        """Refuse."""
        raise AppendOnlyError("events are never changed")

    def delete(self) -> NoReturn:
        """Refuse."""
        raise AppendOnlyError("events are never deleted")


class Event(models.Model):
    """Something that happened to a call or a tool."""

    call = models.ForeignKey(Call, null=True, on_delete=models.PROTECT, related_name="events")
    name = models.CharField(max_length=40)
    actor = models.CharField(max_length=200)
    door = models.CharField(max_length=10, choices=Door.choices)
    from_state = models.CharField(max_length=10, blank=True, default="")
    to_state = models.CharField(max_length=10, blank=True, default="")
    data = JSONText(default=dict)
    at = models.DateTimeField()

    objects = EventQuerySet.as_manager()

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return f"{self.name} by {self.actor}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Insert; raises AppendOnlyError for an event that is stored already."""
        if self.pk is not None:
            raise AppendOnlyError("events are never changed")
        super().save(*args, **kwargs)

    def delete(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse."""
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
        """Append one event; `data` holds no values of the agent's, only names and numbers."""
        return cls.objects.create(
            call=call,
            name=name,
            actor=actor[:200],
            door=door,
            from_state=from_state,
            to_state=call.state if call else "",
            data=data,
            at=at,
        )
