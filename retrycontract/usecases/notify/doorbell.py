"""The doorbell: tells workers and waiting agents that the database has news; losing a ring costs only time."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol

from django.conf import settings
from django.db import transaction
from django.utils.module_loading import import_string

from retrycontract.store.sealing import UnreadableError, seal, unseal

if TYPE_CHECKING:  # Celery loads this before there are models
    from retrycontract.store.models import Attempt, Call

logger = logging.getLogger("retrycontract")

AGENT_BELL: Final = "agent:"


DESK_BELL: Final = "desk"  # rings with every call, for the pages of operators

VERDICT: Final = "verdict"  # what was sealed for another purpose is none
LONGEST_VERDICT: Final = 16_384  # bytes, sealed: every web process is sent each; a longer one is read again
MOST_ERRORS: Final = LONGEST_VERDICT // 100  # more never fit: the names of an error's fields alone take as much
TOLD_OF_CALL: Final = ("public_id", "tool_name", "state", "attempts_allowed", "correlation_id")
TOLD_OF_ATTEMPT: Final = (
    "number", "state", "status", "tool_call_id", "errors_json", "feedback", "api_error", "shown_attempt", "shown_max",
    "traceparent",
)  # fmt: skip


def agent_bell(agent_id: int) -> str:
    """Name the bell of all calls of an agent; a call's own bell is its id."""
    return f"{AGENT_BELL}{agent_id}"


class Doorbell(Protocol):
    """What RETRYCONTRACT_DOORBELL names."""

    def attempt_queued(self, attempt_id: int, *, is_dear: bool = False) -> None:
        """Wake a worker; a dear attempt waits for a child process, which may take seconds."""

    def call_changed(self, call_id: str, agent_id: int, verdict: bytes | None = None) -> None:
        """Wake whoever waits for the call, with its sealed verdict if there is one, and the streams of its agent."""

    def is_heard(self) -> bool:
        """Tell whether a ring for a worker arrives."""


class SilentDoorbell:
    """Ring nobody; the sweep finds what waits."""

    def attempt_queued(self, attempt_id: int, *, is_dear: bool = False) -> None:
        """Do nothing."""

    def call_changed(self, call_id: str, agent_id: int, verdict: bytes | None = None) -> None:
        """Do nothing."""

    def is_heard(self) -> bool:
        """Say yes: that it is silent was somebody's choice."""
        return True


def ring_after_commit(
    *, attempt_id: int | None = None, is_dear: bool = False, call: Call | None = None, judged: Attempt | None = None
) -> None:
    """Ring once the transaction is committed, or at once outside of one; a broken bell is logged and forgotten.

    `is_dear` is said of the attempt. The verdict of `judged` goes with the ring of its call, so that whoever waits need
    not read it.
    """

    def ring() -> None:
        try:
            bell = _bell(settings.RETRYCONTRACT.doorbell_class)
            if attempt_id is not None:
                bell.attempt_queued(attempt_id, is_dear=is_dear)
            if call is not None:
                bell.call_changed(call.public_id, call.agent_id, sealed_verdict(judged) if judged else None)
        except Exception:
            logger.warning("The doorbell could not be rung; the sweep will find the work", exc_info=True)

    # Not before the commit: whoever is woken earlier reads the state from before it, and waits again.
    transaction.on_commit(ring, robust=True)


def sealed_verdict(attempt: Attempt) -> bytes | None:
    """Seal what the API tells of a judged attempt, and nothing else; None for what is too long to go with a ring."""
    # Rings come right after a commit, when the next writer of SQLite still waits.
    if len(attempt.errors_json) > MOST_ERRORS:
        return None
    told = {"call": {name: getattr(attempt.call, name) for name in TOLD_OF_CALL},
            "attempt": {name: getattr(attempt, name) for name in TOLD_OF_ATTEMPT}}  # fmt: skip
    sealed = seal({VERDICT: told})
    return sealed if len(sealed) <= LONGEST_VERDICT else None


def opened_verdict(sealed: bytes, call_id: str, number: int) -> dict[str, dict[str, Any]] | None:
    """Open the verdict of this attempt of a call, as values of the call and of the attempt; None for anything else.

    Whoever can write to Redis can ring, but has no key to seal with; what they repeat is another attempt's.
    """
    try:
        told: dict[str, dict[str, Any]] = unseal(sealed).get(VERDICT, {}) if len(sealed) <= LONGEST_VERDICT else {}
    except UnreadableError:
        return None
    call, attempt = told.get("call", {}), told.get("attempt", {})
    # A worker of another release may tell of other fields.
    is_complete = call.keys() == set(TOLD_OF_CALL) and attempt.keys() == set(TOLD_OF_ATTEMPT)
    return told if is_complete and (call["public_id"], attempt["number"]) == (call_id, number) else None


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
