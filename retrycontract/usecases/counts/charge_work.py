"""Charge agents for the processor time that their outputs take, and refuse more work while an account is overdrawn."""

from __future__ import annotations

import threading
from collections import defaultdict
from datetime import datetime
from math import ceil
from typing import Final

from django.conf import settings

from retrycontract.store.models import Agent

NOTED: Final = 0.1  # seconds of quick checks that are kept in mind, since a write would cost more than each of them


class WorkUsedUpError(Exception):
    """Raised when an agent has caused more work than it may for now; `wait` is in whole seconds."""

    def __init__(self, wait: int) -> None:
        self.wait = wait
        super().__init__(f"the agent's outputs took more processor time than it may have; wait {wait} s")


def charge(agent_id: int, seconds: float, *, now: datetime) -> None:
    """Charge an agent at once, as what takes long is."""
    Agent.objects.charge(agent_id, seconds, per_second=settings.RETRYCONTRACT.work_seconds_per_minute / 60, now=now)


def note_work(agent_id: int, seconds: float, *, now: datetime) -> None:
    """Charge an agent for a quick check, in sums that are worth a write."""
    with _noting:
        _noted[agent_id] += seconds
        due = _noted.pop(agent_id) if _noted[agent_id] >= NOTED else 0
    if due:
        charge(agent_id, due, now=now)


def refuse_overdrawn(agent: Agent, *, now: datetime) -> None:
    """Raise WorkUsedUpError while the account of an agent, as it was just read, is overdrawn."""
    service = settings.RETRYCONTRACT
    if not service.work_seconds_per_minute:
        return
    room = service.work_burst_seconds / (service.work_seconds_per_minute / 60)
    wait = agent.work_until - now.timestamp() - room
    if wait > 0:
        raise WorkUsedUpError(ceil(wait))


_noted: defaultdict[int, float] = defaultdict(float)
_noting = threading.Lock()
