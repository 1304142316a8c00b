"""Attempts that wait in the queue, and a worker whose clock the tests hold."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from pytest_django import Settings

from retrycontract.store.models import Attempt, Call
from tests.factories import WRONG, make_agent, make_tool, submit
from tests.usecases.conftest import NOON, configure, judge_all

LEASE = timedelta(seconds=30)


@pytest.fixture(autouse=True)
def by_a_worker(settings: Settings) -> None:
    """Have every attempt judged by a worker, which holds it for a lease and may die on it twice."""
    configure(settings, judge="worker", lease_seconds=LEASE.total_seconds(), max_deliveries=3)


def queued(*outputs: Any, **fields: Any) -> list[Attempt]:
    """Queue attempts of one call."""
    agent = make_agent()
    make_tool(agent)
    call: Call | None = None
    attempts = []
    for output in outputs:
        attempts.append(submit(agent, output, call=call, at=NOON, **fields))
        call = attempts[0].call
    return attempts


def claim(attempt: Attempt, *, at: datetime = NOON, token: str = "worker") -> Attempt | None:
    """Lease an attempt as a worker does; gives nothing where it is not to be had."""
    return Attempt.claim(attempt.pk, token=token, now=at, until=at + LEASE)


def fresh(attempt: Attempt) -> Attempt:
    """Read an attempt again."""
    return Attempt.objects.select_related("call").get(pk=attempt.pk)


def at(moment: datetime) -> Callable[[], datetime]:
    """Make a clock that stands still."""
    return lambda: moment


def make_blocked_by_worker() -> Call:
    """Make a call that a worker has Blocked."""
    attempts = queued(WRONG, WRONG, WRONG)
    judge_all(now=NOON)
    return fresh(attempts[0]).call
