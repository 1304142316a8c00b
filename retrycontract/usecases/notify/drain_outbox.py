"""Tell people what the outbox holds: one message at a time on each channel, at least once, tried again over days."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings

from retrycontract.store.models import Channel, ChannelTurn, Door, Event, Notice, OutboxMessage
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.notify.courier import carry_out
from retrycontract.usecases.notify.write_message import channels, write_message

logger = logging.getLogger("retrycontract")

LEASE = timedelta(minutes=1)  # a courier is done in a quarter of it; a dead sender is replaced after it
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
    if not (has_work and not ChannelTurn.objects.is_pausing(channel, now)):
        return False
    with write_transaction():
        turn = ChannelTurn.objects.claim(channel, now=now, until=now + LEASE)
        if turn is None:
            return False
        message = _next_message(channel, now)
        if message is None:
            # As it was found: nothing was tried, so nothing is to be paused for.
            turn.release(free_at=turn.free_at, failures=turn.failures)
            return False
        message.begin_try(now)
    problem = carry_out(message).problem
    if problem:
        _failed(message, turn, problem, clock(), chance)
    else:
        _delivered(message, turn, clock())
    return not problem


def _next_message(channel: Channel, now: datetime) -> OutboxMessage | None:
    """Take the least tried message; a new one is made when there is none, or when trying it gets long."""
    message = OutboxMessage.objects.unfinished(channel).first()
    if message is None or message.tries >= PATIENCE:
        return write_message(channel, now=now) or message
    return message


def _delivered(message: OutboxMessage, turn: ChannelTurn, now: datetime) -> None:
    with write_transaction():
        message.deliver(now)
        turn.release(free_at=now + timedelta(seconds=settings.RETRYCONTRACT.notify_pause_seconds), failures=0)


def _failed(
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
