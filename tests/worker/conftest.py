"""What the tests of the worker share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings
from redis import Redis as Client

from retrycontract.store.models import Attempt
from retrycontract.usecases.notify import doorbell
from tests.bombs import known
from tests.conftest import require
from tests.factories import make_agent, make_tool, submit
from tests.file_database import file_database as file_database
from tests.file_database import shared_database as shared_database
from tests.serving.servers import NO_REDIS, Redis, redis_server, running_redis
from tests.serving.threads import eventually
from worker.celery_doorbell import QUEUE, CeleryDoorbell


@pytest.fixture
def own_redis() -> Iterator[Redis]:
    """A Redis that a test may stop."""
    require(redis_server(), NO_REDIS)
    with running_redis() as server:
        yield server


@pytest.fixture
def bell(settings: Settings, own_redis: Redis) -> Iterator[CeleryDoorbell]:
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(
        update={"redis_url": own_redis.url, "doorbell": "", "judge": "worker"}
    )
    # A process keeps its bell, which here would ring the Redis of an earlier test.
    doorbell._bell.cache_clear()
    yield CeleryDoorbell()
    doorbell._bell.cache_clear()


def assert_what_is_short_goes_past_what_is_long() -> None:
    """Submit two outputs that take ten seconds, one after the other, and one that takes a tenth of a second."""
    bomb, long = known()[0], []
    for name in ("a", "b"):
        agent = make_agent(name)
        make_tool(agent, schema=bomb.schema)
        long.append(submit(agent, bomb.value).pk)
    leased = Attempt.objects.filter(pk__in=long, state="leased")
    eventually(lambda: leased.count() == 1)
    neighbour = make_agent()
    make_tool(neighbour)
    short = submit(neighbour, {"count": 1, "rows": [{"n": number, "t": "some words"} for number in range(1_500)]})
    assert short.is_dear
    eventually(lambda: Attempt.objects.get(pk=short.pk).state == "judged")
    assert leased.count() == 1
    assert not Attempt.objects.filter(pk__in=long, state="judged").exists()


def queue(redis: Redis) -> list[Any]:
    """Read the messages that wait for a worker."""
    with Client.from_url(redis.url) as client:
        return [json.loads(message) for message in client.lrange(QUEUE, 0, -1)]  # type: ignore[union-attr]
