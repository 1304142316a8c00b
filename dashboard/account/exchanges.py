"""What asking the identity provider may cost: so long in all, so many at a time, so many bytes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import Final, TypeVar

from retrycontract.usecases.deadlines import within

# Of a log-in, whatever it asks: less than the ten seconds that requests in hand have when the service ends.
EXCHANGE_SECONDS: Final = 8.0
# Each holds a thread, and with it a connection to the database; an ordinary one is over in half a second.
EXCHANGES_AT_ONCE: Final = 4
MOST_BYTES: Final = 2_097_152  # of an answer; five thousand groups of 200 letters are a half of it
RETRY_SECONDS: Final = 5  # how long one that failed is remembered, and when somebody who was refused may try again

Result = TypeVar("Result")


class ProviderError(Exception):
    """Raised when a provider's answer cannot be used; says why, without anything that the provider wrote."""


class AwayError(ProviderError):
    """Raised when a provider does not answer as it should, and may in a while."""


class NoPlaceError(AwayError):
    """Raised when the provider is not even asked: too many wait for it."""


_places = threading.BoundedSemaphore(EXCHANGES_AT_ONCE)
_deadline: ContextVar[float | None] = ContextVar("deadline", default=None)
_closing = threading.Event()
_underway: set[Callable[[], None]] = set()


@contextmanager
def exchange() -> Iterator[None]:
    """Hold one of the places while the provider is asked; raises NoPlaceError at once where none is free."""
    if _closing.is_set() or not _places.acquire(blocking=False):
        raise NoPlaceError("the service ends" if _closing.is_set() else "all who may ask it at a time wait for it")
    token = _deadline.set(monotonic() + EXCHANGE_SECONDS)
    try:
        yield
    finally:
        _deadline.reset(token)
        _places.release()


def seconds_left() -> float:
    """Give what is left of the exchange's time; outside of one, as at `doctor`, each question has all of it."""
    deadline = _deadline.get()
    return EXCHANGE_SECONDS if deadline is None else max(deadline - monotonic(), 0.0)


def ask(work: Callable[[], Result], *, abort: Callable[[], None]) -> Result:
    """Run what asks the provider, in the time that is left; raises TimeoutError, and what the work does."""
    _underway.add(abort)
    try:
        if _closing.is_set():
            raise NoPlaceError("the service ends")
        return within(seconds_left(), work, abort=abort)
    finally:
        _underway.discard(abort)


def hang_up() -> None:
    """End what is under way, and begin nothing new: the service ends."""
    _closing.set()
    for abort in tuple(_underway):
        abort()
