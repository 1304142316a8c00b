"""What the tests of the worker share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings
from redis import Redis as Client

from retrycontract.usecases.notify import doorbell
from tests.conftest import require
from tests.file_database import file_database as file_database
from tests.file_database import shared_database as shared_database
from tests.serving.servers import NO_REDIS, Redis, redis_server, running_redis
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


def queue(redis: Redis) -> list[Any]:
    """Read the messages that wait for a worker."""
    with Client.from_url(redis.url) as client:
        return [json.loads(message) for message in client.lrange(QUEUE, 0, -1)]  # type: ignore[union-attr]
