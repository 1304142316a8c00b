"""What the tests of the use cases share."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from retrycontract.store.models import Agent, Attempt, Call
from retrycontract.usecases.calls.sweep import judge_waiting
from tests.factories import WRONG, make_agent, make_tool, submit
from tests.file_database import file_database as file_database
from tests.file_database import shared_database as shared_database

Send = Callable[..., Attempt]
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.fixture(params=["auto", "worker"], ids=["at the door", "by the worker"])
def send(request: pytest.FixtureRequest, settings: Settings) -> Send:
    """Submit an attempt and have it judged, in both ways; gives the attempt as it is stored."""
    configure(settings, judge=request.param)
    return send_and_judge


def send_and_judge(agent: Agent, output: Any, **fields: Any) -> Attempt:
    """Submit, let a worker do what is left, and read the attempt again."""
    attempt = submit(agent, output, **fields)
    judge_all(now=fields.get("at"))
    return Attempt.objects.select_related("call__agent", "call__tool", "call__version").get(pk=attempt.pk)


def judge_all(*, now: datetime | None = None) -> int:
    """Do what a worker finds to do now."""
    return judge_waiting(clock=lambda: now or timezone.now())


def configure(settings: Settings, **changes: Any) -> None:
    """Change settings of the service for one test."""
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update=changes)


def fail(send: Send, times: int, **fields: Any) -> Call:
    """Make a call that failed a number of times."""
    agent = make_agent()
    make_tool(agent)
    call = None
    for _ in range(times):
        call = send(agent, WRONG, call=call, **fields).call
    assert call is not None
    return call
