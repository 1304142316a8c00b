"""The courier: carries messages out of the house; its class is a dotted path in the settings."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from django.conf import settings
from django.utils.module_loading import import_string

from retrycontract.config.telemetry import Attributes, note_error, span
from retrycontract.store.models import OutboxMessage
from retrycontract.store.models.outbox import MAX_ERROR
from retrycontract.usecases.tools.contracts import sanitizer

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
    named: Attributes = {"retrycontract.channel": str(message.channel), "messaging.message.id": message.public_id}
    with span(f"deliver {message.channel}", named, kind="CLIENT") as step:
        try:
            result = SendResult(status=courier().deliver(message))
        except UndeliveredError as error:
            reason = sanitizer().preview_text(error.reason, MAX_ERROR)
            result = SendResult(reason or "it was not taken", error.status, error.retry_after)
        except Exception as error:
            logger.exception("The courier failed")
            # The class alone is kept: foreign words may quote the address, which is as good as a password.
            result = SendResult(f"the courier failed ({type(error).__name__})")
        if step is not None and result.status is not None:
            step.set_attribute("http.response.status_code", result.status)
        if result.problem:
            note_error(step, str(result.status or "undelivered"))
    return result


def courier() -> MessageCourier:
    """Give the courier of the settings."""
    return _courier(settings.RETRYCONTRACT.courier)


@lru_cache(maxsize=4)
def _courier(path: str) -> MessageCourier:
    made: MessageCourier = import_string(path)()
    return made
