"""The rows of a time, found by a range of their keys: a list goes by keys, whatever else it is filtered by."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, TypeVar

from django.db.models import Model, QuerySet, Subquery

Rows = TypeVar("Rows", bound=Model)

# Keys follow the clock but for this: how long a transaction takes, and how far the clocks of several machines differ.
SLACK: Final = timedelta(minutes=10)


def within(rows: QuerySet[Rows], field: str, *, since: datetime | None, until: datetime | None) -> QuerySet[Rows]:
    """Keep the rows whose time, in an indexed field, is not before `since` and before `until`."""
    every = rows.model._default_manager.order_by(field).values("pk")
    if since is not None:
        first = every.filter(**{f"{field}__gte": since - SLACK})
        rows = rows.filter(pk__gte=Subquery(first[:1]), **{f"{field}__gte": since})
    if until is not None:
        last = every.filter(**{f"{field}__lt": until + SLACK}).reverse()
        rows = rows.filter(pk__lte=Subquery(last[:1]), **{f"{field}__lt": until})
    return rows
