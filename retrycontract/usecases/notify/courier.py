"""The courier and the doorbell: dotted paths in the settings that carry messages out and tell of news."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Protocol

from django.conf import settings
from django.db import transaction
from django.utils.module_loading import import_string

from retrycontract.store.models import OutboxMessage
from retrycontract.store.models.outbox import MAX_ERROR
from retrycontract.usecases.tools.contracts import sanitizer

if TYPE_CHECKING:
    from retrycontract.store.models import Call


logger = logging.getLogger("retrycontract")


class UndeliveredError(Exception):
    """Raised by a courier when a message was not taken; `reason` is for people and holds no secret of the settings.

    `status` and `retry_after` are what the receiver answered, if it did.
    """

    def __init__(self, reason: str, *, status: int | None = None, retry_after: str = "") -> None:
        self.reason, self.status, self.retry_after = reason, status, retry_after
        super().__init__(reason)


class MessageCourier(Protocol):
    """What RETRYCONTRACT_COURIER names."""

    def deliver(self, message: OutboxMessage) -> int | None:
        """Hand a message to its receiver, within seconds; raises UndeliveredError.

        Returns the status of the answer where there is one. `message.last_tried_at` is the time of this try.
        """


@dataclass(frozen=True, slots=True)
class SendResult:
    """Say how a try ended; without a problem the message was taken."""

    problem: str = ""
    status: int | None = None
    retry_after: str = ""


def carry_out(message: OutboxMessage) -> SendResult:
    """Hand a message to the courier, outside of any transaction; whatever goes wrong is an outcome."""
    try:
        return SendResult(status=courier().deliver(message))
    except UndeliveredError as error:
        reason = sanitizer().preview_text(error.reason, MAX_ERROR)
        return SendResult(reason or "it was not taken", error.status, error.retry_after)
    except Exception as error:
        logger.exception("The courier failed")
        return SendResult(f"the courier failed ({type(error).__name__})")


def courier() -> MessageCourier:
    """Give the courier of the settings."""
    return _courier(settings.RETRYCONTRACT.courier)


@lru_cache(maxsize=4)
def _courier(path: str) -> MessageCourier:
    made: MessageCourier = import_string(path)()
    return made


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
