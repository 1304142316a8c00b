"""Tell systems what the outbox holds: each endpoint in its turn, each message by its own schedule, at least once."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings

from retrycontract.contract.redelivery import asked_pause, pause_of_message, rest_of_receiver
from retrycontract.store.models import (
    Channel,
    ChannelTurn,
    Door,
    Event,
    OutboxMessage,
    WebhookDelivery,
    WebhookEndpoint,
)
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.courier import Outcome, carry_out

logger = logging.getLogger("retrycontract")

LEASE = timedelta(minutes=1)  # the slowest receiver that the settings allow has half of it
GONE = 410  # by which a receiver says that it wants no more
BATCH = 20  # messages that are forgotten with each try; many more than become outdated meanwhile

_chance = random.SystemRandom().random


def drain_endpoints(*, now: datetime, clock: Callable[[], datetime], chance: Callable[[], float] = _chance) -> bool:
    """Try one message that is due, of the endpoint whose turn it is; False when there was nothing to do.

    `now` says what is due, `clock` when the try ended, `chance` (0 to 1) spreads the tries.
    """
    endpoint = OutboxMessage.objects.next_endpoint(now)
    if endpoint is None:
        return False
    with write_transaction():
        turn = ChannelTurn.objects.claim(Channel.ENDPOINT, endpoint=endpoint, now=now, until=now + LEASE)
        if turn is None:
            return False
        message = OutboxMessage.objects.due(endpoint, now).select_related("endpoint").first()
        if message is None:
            turn.release(free_at=turn.free_at, failures=turn.failures)
            return False
        message.begin_try(now)
    outcome = carry_out(message)
    _conclude(message, endpoint, turn, outcome, began=now, now=clock(), chance=chance())
    return True


def _conclude(
    message: OutboxMessage,
    endpoint: WebhookEndpoint,
    turn: ChannelTurn,
    outcome: Outcome,
    *,
    began: datetime,
    now: datetime,
    chance: float,
) -> None:
    with write_transaction():
        WebhookDelivery.objects.create(
            message=message,
            tried_at=began,
            status=outcome.status,
            reason=outcome.problem,
            duration_ms=max((now - began) // timedelta(milliseconds=1), 0),
        )
        if outcome.problem:
            _failed(message, endpoint, turn, outcome, now, chance)
        else:
            message.deliver(now)
            turn.release(free_at=now, failures=0)
        _forget(endpoint, now)


def _failed(
    message: OutboxMessage,
    endpoint: WebhookEndpoint,
    turn: ChannelTurn,
    outcome: Outcome,
    now: datetime,
    chance: float,
) -> None:
    asked = asked_pause(outcome.retry_after, now)
    is_over = outcome.status == GONE or now - message.created_at >= _patience()
    due_at = now + max(pause_of_message(message.tries, chance), asked)
    is_ours = message.fail(outcome.problem, given_up_at=now if is_over else None, due_at=due_at)
    turn.release(free_at=now + max(rest_of_receiver(turn.failures + 1), asked), failures=turn.failures + 1)
    if outcome.status == GONE and endpoint.give_up(now):
        Event.record("endpoint.gone", actor="sweep", door=Door.WORKER, at=now, endpoint=endpoint.public_id)
        logger.error("A webhook endpoint was switched off: its receiver is gone", extra=_fields(message, outcome))
    if is_over and is_ours:
        Event.record(
            "notification.given_up", actor="sweep", door=Door.WORKER, at=now, channel=message.channel,
            message=message.public_id, tries=message.tries, endpoint=endpoint.public_id,
        )  # fmt: skip
        logger.error("A webhook was given up", extra=_fields(message, outcome))
    else:
        logger.warning("A webhook was not taken; it is tried again", extra=_fields(message, outcome))


def _fields(message: OutboxMessage, outcome: Outcome) -> dict[str, object]:
    endpoint = message.endpoint.public_id if message.endpoint else None
    return {
        "message_id": message.public_id, "endpoint": endpoint, "tries": message.tries, "reason": outcome.problem,
    }  # fmt: skip


def _patience() -> timedelta:
    return timedelta(days=settings.RETRYCONTRACT.notify_gives_up_after_days)


def _forget(endpoint: WebhookEndpoint, now: datetime) -> None:
    """Forget what the endpoint was sent long ago, so that its log stays as long as a month."""
    outdated = OutboxMessage.objects.outdated(endpoint, now).values_list("pk", flat=True)[:BATCH]
    OutboxMessage.objects.filter(pk__in=list(outdated)).delete()
