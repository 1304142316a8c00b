"""The service's Celery application, which does the floor's jobs as well: `celery -A benchmarks.floor_worker worker`."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.conf import settings
from redis import Redis

from worker.celery import app


def judge(number: int) -> None:
    """Read the row, update it and tell whoever waits."""
    from benchmarks.floor_site import Row, answer_key

    row: Any = Row.objects.get(pk=number)
    Row.objects.filter(pk=row.pk).update(is_done=True)
    _redis().lpush(answer_key(number), "done")


@cache
def _redis() -> Redis:
    return Redis.from_url(settings.RETRYCONTRACT.redis_url)


app.task(name="floor.judge")(judge)
