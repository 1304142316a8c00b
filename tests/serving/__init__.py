"""The one way to start a service for a test: `with running(Service(folder, environment)) as service:`.

`Service` is `manage.py up`, `scaled(request, folder)` makes one of many processes on PostgreSQL and Redis, and the
fixtures `service` and `judged_service` are shared by all who change nothing that others see. What stands before Django
alone is served in a thread (`threads.py`). Whatever a run starts ends with it (`reaper.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.serving.scaled import ScaledService
from tests.serving.service import Service

AnyService = TypeVar("AnyService", bound=Service)


@contextmanager
def running(service: AnyService) -> Iterator[AnyService]:
    """Start a service, and stop it when the block ends; a test may kill it and start it again in between."""
    service.start()
    try:
        yield service
    finally:
        service.stop()


def scaled(request: pytest.FixtureRequest, data_dir: Path, **options: Any) -> ScaledService:
    """Make a service on PostgreSQL and Redis; it is not started yet."""
    postgresql, redis = request.getfixturevalue("postgresql"), request.getfixturevalue("redis")
    environment = {
        "RETRYCONTRACT_DATABASE_URL": postgresql.new_database(),
        "RETRYCONTRACT_REDIS_URL": redis.new_database(),
        "RETRYCONTRACT_JUDGE": "worker",
    }
    return ScaledService(data_dir, environment | options.pop("environment", {}), **options)
