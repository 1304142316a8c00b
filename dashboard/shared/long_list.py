"""One page of a list that never ends: by keys, newest first, and within a bound of the rows that are looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from django.db.models import Count, Min, Model, Q, QuerySet

Row = TypeVar("Row", bound=Model)

PAGE: Final = 50
MOST_LOOKED_AT: Final = 5_000  # of what one index gives, for what none knows
CHUNK: Final = 1_000  # rows that are read at once for a file
MOST_EXPORTED: Final = 20_000  # rows of one file, some 5 MB: the front of house holds an answer as a whole


@dataclass(frozen=True, slots=True)
class Search(Generic[Row]):
    """Say what is looked for: `rows`, which one index gives by their keys, and among them what fits `sieve`."""

    rows: QuerySet[Row]
    sieve: Q


@dataclass(frozen=True, slots=True)
class ListPage(Generic[Row]):
    """Hold some rows and where the next page begins, empty on the last one.

    `is_cut` where it ends because enough was looked at: more may follow, and the page may be empty.
    """

    rows: tuple[Row, ...]
    following: str
    is_cut: bool = False


def read_page(search: Search[Row], after: str, *, size: int = PAGE, look_at: int = MOST_LOOKED_AT) -> ListPage[Row]:
    """Read one page; `after` is the `following` of the page before, or the key of its last row."""
    rows = search.rows.order_by("-pk")
    if after.isascii() and after.isdecimal() and len(after) < 18:
        rows = rows.filter(pk__lt=int(after))
    floor = None
    if search.sieve:
        seen = rows.values("pk")[:look_at].aggregate(number=Count("pk"), lowest=Min("pk"))
        floor = seen["lowest"] if seen["number"] == look_at else None
        rows = rows.filter(search.sieve, pk__gte=seen["lowest"] or 0)
    found = tuple(rows[: size + 1])
    if len(found) > size:
        return ListPage(found[:size], str(found[size - 1].pk))
    return ListPage(found, str(floor or ""), is_cut=floor is not None)


def read_all(search: Search[Row], after: str, *, most: int = MOST_EXPORTED, chunk: int = CHUNK) -> Iterator[Row]:
    """Read what follows a place, as much as one file takes, chunk by chunk."""
    while most:
        page = read_page(search, after, size=min(most, chunk))
        yield from page.rows
        most, after = most - len(page.rows), page.following
        if not after:
            return
