"""The doorbell: tells workers and waiting agents that the database has news; losing a ring costs only time."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Protocol

from django.conf import settings
from django.db import transaction
from django.utils.module_loading import import_string

if TYPE_CHECKING:  # Celery loads this before there are models
    from retrycontract.store.models import Call

logger = logging.getLogger("retrycontract")

AGENT_BELL: Final = "agent:"


DESK_BELL: Final = "desk"  # rings with every call, for the pages of operators


def agent_bell(agent_id: int) -> str:
    """Name the bell of all calls of an agent; a call's own bell is its id."""
    return f"{AGENT_BELL}{agent_id}"


class Doorbell(Protocol):
    """What RETRYCONTRACT_DOORBELL names."""

    def attempt_queued(self, attempt_id: int) -> None:
        """Wake a worker."""

    def call_changed(self, call_id: str, agent_id: int) -> None:
        """Wake whoever waits for the call, and the streams of its agent."""

    def is_heard(self) -> bool:
        """Tell whether a ring for a worker arrives."""


class SilentDoorbell:
    """Ring nobody; the sweep finds what waits."""

    def attempt_queued(self, attempt_id: int) -> None:
        """Do nothing."""

    def call_changed(self, call_id: str, agent_id: int) -> None:
        """Do nothing."""

    def is_heard(self) -> bool:
        """Say yes: that it is silent was somebody's choice."""
        return True


def ring_after_commit(*, attempt_id: int | None = None, call: Call | None = None) -> None:
    """Ring once the transaction is committed, or at once outside of one; a broken bell is logged and forgotten."""

    def ring() -> None:
        try:
            bell = _bell(settings.RETRYCONTRACT.doorbell_class)
            if attempt_id is not None:
                bell.attempt_queued(attempt_id)
            if call is not None:
                bell.call_changed(call.public_id, call.agent_id)
        except Exception:
            logger.warning("The doorbell could not be rung; the sweep will find the work", exc_info=True)

    # Not before the commit: whoever is woken earlier reads the state from before it, and waits again.
    transaction.on_commit(ring, robust=True)


def is_heard() -> bool:
    """Tell whether a ring for a worker arrives."""
    try:
        return _bell(settings.RETRYCONTRACT.doorbell_class).is_heard()
    except Exception:
        logger.warning("The doorbell could not be asked", exc_info=True)
        return False


@lru_cache(maxsize=4)
def _bell(path: str) -> Doorbell:
    bell: Doorbell = import_string(path)()
    return bell
