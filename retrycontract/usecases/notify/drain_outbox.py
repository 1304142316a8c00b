"""Tell people and systems what the outbox holds, at least once, one message at a time on each channel and endpoint."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Protocol

from django.conf import settings
from django.utils.module_loading import import_string

from retrycontract.config.telemetry import Attributes, note_error, span
from retrycontract.contract.webhooks import asked_pause, pause_of_message, rest_of_receiver
from retrycontract.store.models import (
    Channel,
    ChannelTurn,
    Door,
    Event,
    Notice,
    OutboxMessage,
    WebhookDelivery,
    WebhookEndpoint,
)
from retrycontract.store.models.outbox import MAX_ERROR
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.notify.write_message import channels, write_message
from retrycontract.usecases.tools.contracts import sanitizer

logger = logging.getLogger("retrycontract")


class UndeliveredError(Exception):
    """Raised by a courier when a message was not taken; `reason` is for people and holds no secret of the settings.

    `status` and `retry_after` are what the receiver answered, if it did.
    """

    def __init__(self, reason: str, *, status: int | None = None, retry_after: str = "") -> None:
        self.reason, self.status, self.retry_after = reason, status, retry_after
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class PartDelivery:
    """Say that some recipients have a message, and of the others who was `refused` and why."""

    refused: str


class MessageCourier(Protocol):
    """What RETRYCONTRACT_COURIER names."""

    def deliver(self, message: OutboxMessage) -> int | PartDelivery | None:
        """Hand a message to its receiver, within seconds; raises UndeliveredError.

        Returns the status of the answer where there is one, or who does not have it. `message.last_tried_at` is the
        time of this try.
        """


@dataclass(frozen=True, slots=True)
class SendResult:
    """Say how a try ended; without a problem the message was taken, though by all but those `refused`."""

    problem: str = ""
    refused: str = ""
    status: int | None = None
    retry_after: str = ""


def carry_out(message: OutboxMessage) -> SendResult:
    """Hand a message to the courier, outside of any transaction; whatever goes wrong is an outcome."""
    named: Attributes = {"retrycontract.channel": str(message.channel), "messaging.message.id": message.public_id}
    with span(f"deliver {message.channel}", named, kind="CLIENT") as step:
        try:
            answer = courier().deliver(message)
            if isinstance(answer, PartDelivery):
                result = SendResult(refused=sanitizer().preview_text(answer.refused, MAX_ERROR))
            else:
                result = SendResult(status=answer)
        except UndeliveredError as error:
            reason = sanitizer().preview_text(error.reason, MAX_ERROR)
            result = SendResult(reason or "it was not taken", status=error.status, retry_after=error.retry_after)
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


logger = logging.getLogger("retrycontract")

# A courier is done in a quarter of it, and the slowest receiver that the settings allow in half; a dead sender is
# replaced after it.
LEASE = timedelta(minutes=1)
FIRST_PAUSE = timedelta(seconds=15)  # after the first failure; doubled after each further one
LONGEST_PAUSE = timedelta(hours=1)
PATIENCE = 5  # tries of a message before newer escalations no longer wait for it

_chance = random.SystemRandom().random


def drain_outbox(*, now: datetime, clock: Callable[[], datetime], chance: Callable[[], float] = _chance) -> int:
    """Send the message that is due on each channel to people, if any; returns how many were taken.

    `now` says what is due, `clock` when a try ended, `chance` (0 to 1) spreads the tries of several services.
    """
    return sum(_drain(channel, now, clock, chance) for channel in channels())


def _drain(channel: Channel, now: datetime, clock: Callable[[], datetime], chance: Callable[[], float]) -> bool:
    # Reads before the claim, which writes: on most sweeps there is nothing to send, and looking costs no lock.
    has_work = OutboxMessage.objects.unfinished(channel).exists() or Notice.objects.waiting(channel).exists()
    pause = timedelta(seconds=settings.RETRYCONTRACT.notify_pause_seconds)
    if not has_work or ChannelTurn.objects.pausing(now, pause).filter(channel=channel).exists():
        return False
    with write_transaction():
        turn = ChannelTurn.objects.claim(channel, now=now, until=now + LEASE, pause=pause)
        if turn is None:
            return False
        message = OutboxMessage.objects.unfinished(channel).first()
        # A new one is made when there is none, or when trying this one gets long.
        if message is None or message.tries >= PATIENCE:
            message = write_message(channel, now=now) or message
        if message is None:
            # As it was found: nothing was tried, so nothing is to be paused for.
            turn.release(free_at=turn.free_at, failures=turn.failures)
            return False
        message.begin_try(now)
    outcome = carry_out(message)
    if outcome.problem:
        _failed_on_channel(message, turn, outcome.problem, clock(), chance)
        return False
    ended = clock()
    with write_transaction():
        message.deliver(ended, refused=outcome.refused)
        turn.release(free_at=ended + pause, failures=0)
    if outcome.refused:  # all others have it, and would get it once more
        fields = {"message_id": message.public_id, "channel": message.channel, "reason": outcome.refused}
        logger.warning("A notification did not reach all of its recipients", extra=fields)
    return True


def _failed_on_channel(
    message: OutboxMessage, turn: ChannelTurn, problem: str, now: datetime, chance: Callable[[], float]
) -> None:
    patience = timedelta(days=settings.RETRYCONTRACT.notify_gives_up_after_days)
    is_over = now - message.created_at >= patience
    with write_transaction():
        if not message.fail(problem, given_up_at=now if is_over else None):
            is_over = False  # another sender was luckier
        # The exponent is bounded, too: after weeks of failures the product would exceed what a timedelta can hold.
        longest: timedelta = min(FIRST_PAUSE * 2 ** min(turn.failures, 20), LONGEST_PAUSE)
        # Between half and the whole of the pause: services that failed together do not come back together.
        turn.release(free_at=now + longest * (1 + chance()) / 2, failures=turn.failures + 1)
        if is_over:
            Event.record(
                "notification.given_up", actor="sweep", door=Door.WORKER, at=now, channel=message.channel,
                message=message.public_id, tries=message.tries, escalations=message.notices.count(),
            )  # fmt: skip
    fields = {"message_id": message.public_id, "channel": message.channel, "tries": message.tries, "reason": problem}
    if is_over:
        logger.error("A notification was given up: by its channel nobody was told", extra=fields)
    else:
        logger.warning("A notification was not taken; it is tried again", extra=fields)


def send_again(message: OutboxMessage, *, now: datetime, actor: str, door: Door) -> bool:
    """Have a message tried again that was delivered or given up; False when it is to be tried anyway."""
    with write_transaction():
        if not message.reopen(now):
            return False
        Event.record(
            "message.sent_again", actor=actor, door=door, at=now, message=message.public_id, channel=message.channel
        )
    return True


GONE = 410  # by which a receiver says that it wants no more
BATCH = 20  # messages that are forgotten with each try; many more than become outdated meanwhile


@dataclass(frozen=True, slots=True)
class _Try:
    """Hold a message in hand, and the turn that lets nobody else send to its endpoint meanwhile."""

    endpoint: WebhookEndpoint
    turn: ChannelTurn
    message: OutboxMessage
    began: datetime


def drain_endpoints(
    *, now: datetime, clock: Callable[[], datetime], chance: Callable[[], float] = _chance, quick: bool = False
) -> bool:
    """Try one message that is due, of the endpoint whose turn it is; False when there was nothing to do.

    `now` says what is due, `clock` when the try ended, `chance` (0 to 1) spreads the tries. With `quick` none is tried
    whose receiver took long the last time.
    """
    endpoint = OutboxMessage.objects.next_endpoint(now, now + LEASE, quick=quick)
    begun = _begin(endpoint, now) if endpoint else None
    if begun is None:
        return False
    # Between two transactions: a receiver that hangs holds no lock, and the try is counted even if the process dies of
    # it.
    outcome = carry_out(begun.message)
    ended = clock()
    took_ms = max((ended - begun.began) // timedelta(milliseconds=1), 0)
    with write_transaction():
        WebhookDelivery.objects.create(
            message=begun.message,
            tried_at=begun.began,
            status=outcome.status,
            reason=outcome.problem,
            duration_ms=took_ms,
        )
        if outcome.problem:
            _failed_at_endpoint(begun, outcome, ended, took_ms, chance())
        else:
            begun.message.deliver(ended)
            begun.turn.release(free_at=ended, failures=0, took_ms=took_ms)
        outdated = OutboxMessage.objects.outdated(begun.endpoint, ended).values_list("pk", flat=True)[:BATCH]
        OutboxMessage.objects.filter(pk__in=list(outdated)).delete()
    return True


def _begin(endpoint: WebhookEndpoint, now: datetime) -> _Try | None:
    with write_transaction():
        turn = ChannelTurn.objects.claim(Channel.ENDPOINT, endpoint=endpoint, now=now, until=now + LEASE)
        if turn is None:
            return None
        # Looked for once more under the turn: another sender may have sent what made the endpoint due.
        message = OutboxMessage.objects.select_related("endpoint").next_of(endpoint, now)
        if message is None:
            # As it was found: nothing was tried, so nothing is to be paused for.
            turn.release(free_at=turn.free_at, failures=turn.failures)
            return None
        message.begin_try(now)
    return _Try(endpoint, turn, message, now)


def _failed_at_endpoint(begun: _Try, outcome: SendResult, now: datetime, took_ms: int, chance: float) -> None:
    """Say when the message is tried again and when its receiver is, or that it is over."""
    message, turn = begun.message, begun.turn
    asked = asked_pause(outcome.retry_after, now)
    is_gone = outcome.status == GONE
    is_over = is_gone or now - message.created_at >= timedelta(days=settings.RETRYCONTRACT.notify_gives_up_after_days)
    due_at = now + max(pause_of_message(message.tries, chance), asked)
    # Not ours when the lease ran out and another sender has delivered the message since.
    is_ours = message.fail(outcome.problem, given_up_at=now if is_over else None, due_at=due_at)
    free_at = now + max(rest_of_receiver(turn.failures + 1), asked)
    turn.release(free_at=free_at, failures=turn.failures + 1, took_ms=took_ms)
    if is_gone:
        endpoint = begun.endpoint
        if endpoint.give_up(now):
            Event.record("endpoint.gone", actor="sweep", door=Door.WORKER, at=now, endpoint=endpoint.public_id)
            logger.error(
                "A webhook endpoint was switched off: its receiver is gone", extra={"endpoint": endpoint.public_id}
            )
    if is_over and is_ours:
        Event.record(
            "notification.given_up", actor="sweep", door=Door.WORKER, at=now, channel=message.channel,
            message=message.public_id, tries=message.tries, endpoint=begun.endpoint.public_id,
        )  # fmt: skip
        logger.error("A webhook was given up", extra=_fields(begun, outcome))
    else:
        logger.warning("A webhook was not taken; it is tried again", extra=_fields(begun, outcome))


def _fields(begun: _Try, outcome: SendResult) -> dict[str, object]:
    return {
        "message_id": begun.message.public_id, "endpoint": begun.endpoint.public_id, "tries": begun.message.tries,
        "reason": outcome.problem,
    }  # fmt: skip
