"""Tell systems what the outbox holds: each endpoint in its turn, each message by its own schedule, at least once."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from retrycontract.contract.webhooks import asked_pause, pause_of_message, rest_of_receiver
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
from retrycontract.usecases.notify.courier import SendResult, carry_out

logger = logging.getLogger("retrycontract")

LEASE = timedelta(minutes=1)  # the slowest receiver that the settings allow has half of it
GONE = 410  # by which a receiver says that it wants no more
BATCH = 20  # messages that are forgotten with each try; many more than become outdated meanwhile

_chance = random.SystemRandom().random


@dataclass(frozen=True, slots=True)
class _Try:
    """Hold a message in hand, and the turn that lets nobody else send to its endpoint meanwhile."""

    endpoint: WebhookEndpoint
    turn: ChannelTurn
    message: OutboxMessage
    began: datetime


def drain_endpoints(*, now: datetime, clock: Callable[[], datetime], chance: Callable[[], float] = _chance) -> bool:
    """Try one message that is due, of the endpoint whose turn it is; False when there was nothing to do.

    `now` says what is due, `clock` when the try ended, `chance` (0 to 1) spreads the tries.
    """
    endpoint = OutboxMessage.objects.next_endpoint(now)
    begun = _begin(endpoint, now) if endpoint else None
    if begun is None:
        return False
    # Between two transactions: a receiver that hangs holds no lock, and the try is counted even if the process dies of
    # it.
    outcome = carry_out(begun.message)
    ended = clock()
    with write_transaction():
        WebhookDelivery.objects.create(
            message=begun.message,
            tried_at=begun.began,
            status=outcome.status,
            reason=outcome.problem,
            duration_ms=max((ended - begun.began) // timedelta(milliseconds=1), 0),
        )
        if outcome.problem:
            _failed(begun, outcome, ended, chance())
        else:
            begun.message.deliver(ended)
            begun.turn.release(free_at=ended, failures=0)
        outdated = OutboxMessage.objects.outdated(begun.endpoint, ended).values_list("pk", flat=True)[:BATCH]
        OutboxMessage.objects.filter(pk__in=list(outdated)).delete()
    return True


def _begin(endpoint: WebhookEndpoint, now: datetime) -> _Try | None:
    with write_transaction():
        turn = ChannelTurn.objects.claim(Channel.ENDPOINT, endpoint=endpoint, now=now, until=now + LEASE)
        if turn is None:
            return None
        # Looked for once more under the turn: another sender may have sent what made the endpoint due.
        message = OutboxMessage.objects.due(endpoint, now).select_related("endpoint").first()
        if message is None:
            # As it was found: nothing was tried, so nothing is to be paused for.
            turn.release(free_at=turn.free_at, failures=turn.failures)
            return None
        message.begin_try(now)
    return _Try(endpoint, turn, message, now)


def _failed(begun: _Try, outcome: SendResult, now: datetime, chance: float) -> None:
    """Say when the message is tried again and when its receiver is, or that it is over."""
    message, turn = begun.message, begun.turn
    asked = asked_pause(outcome.retry_after, now)
    is_gone = outcome.status == GONE
    is_over = is_gone or now - message.created_at >= timedelta(days=settings.RETRYCONTRACT.notify_gives_up_after_days)
    due_at = now + max(pause_of_message(message.tries, chance), asked)
    # Not ours when the lease ran out and another sender has delivered the message since.
    is_ours = message.fail(outcome.problem, given_up_at=now if is_over else None, due_at=due_at)
    turn.release(free_at=now + max(rest_of_receiver(turn.failures + 1), asked), failures=turn.failures + 1)
    if is_gone:
        endpoint = begun.endpoint
        if endpoint.give_up(now):
            Event.record("endpoint.gone", actor="sweep", door=Door.WORKER, at=now, endpoint=endpoint.public_id)
            logger.error(
                "A webhook endpoint was switched off: its receiver is gone", extra={"endpoint": endpoint.public_id}
            )
    if is_over and is_ours:
        _give_up(begun, outcome, now)
    else:
        logger.warning("A webhook was not taken; it is tried again", extra=_fields(begun, outcome))


def _give_up(begun: _Try, outcome: SendResult, now: datetime) -> None:
    message = begun.message
    Event.record(
        "notification.given_up", actor="sweep", door=Door.WORKER, at=now, channel=message.channel,
        message=message.public_id, tries=message.tries, endpoint=begun.endpoint.public_id,
    )  # fmt: skip
    logger.error("A webhook was given up", extra=_fields(begun, outcome))


def _fields(begun: _Try, outcome: SendResult) -> dict[str, object]:
    return {
        "message_id": begun.message.public_id, "endpoint": begun.endpoint.public_id, "tries": begun.message.tries,
        "reason": outcome.problem,
    }  # fmt: skip
