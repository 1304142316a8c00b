"""The courier: carries messages out of the house; its class is a dotted path in the settings."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

from django.conf import settings
from django.utils.module_loading import import_string

from retrycontract.store.models import OutboxMessage


class UndeliveredError(Exception):
    """Raised by a courier when a message was not taken; `reason` is for people and holds no secret of the settings."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class Courier(Protocol):
    """What RETRYCONTRACT_COURIER names."""

    def deliver(self, message: OutboxMessage) -> None:
        """Hand a message to its channel's receiver, within seconds; raises UndeliveredError."""


def courier() -> Courier:
    """Give the courier of the settings."""
    return _courier(settings.RETRYCONTRACT.courier)


@lru_cache(maxsize=4)
def _courier(path: str) -> Courier:
    made: Courier = import_string(path)()
    return made
