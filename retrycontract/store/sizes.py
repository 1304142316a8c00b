"""Rows that may hold megabytes each: how many of them fit into one answer."""

from __future__ import annotations

from typing import Any, Final

from django.db.models import QuerySet
from django.db.models.functions import Coalesce, Length

# Characters of outputs and errors in one answer. Written as JSON it holds up others for some hundredths of a second.
MOST_TOGETHER: Final = 4_000_000


def first_within(attempts: QuerySet[Any], rows: int) -> tuple[list[int], bool]:
    """Give the keys of the first attempts, at least one, that fit into one answer; say if there are more."""
    held = Coalesce(Length("output"), 0) + Length("errors_json")
    sizes = list(attempts.annotate(held=held).values_list("pk", "held")[: rows + 1])
    keys, left = list[int](), MOST_TOGETHER
    for key, size in sizes[:rows]:
        left -= size
        if keys and left < 0:
            break
        keys.append(key)
    return keys, len(keys) < len(sizes)
