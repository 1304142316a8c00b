"""Ask again: which requests, after what pause, and when to stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count

from retrycontract.client.exchange import Conversation, Lost, Reply, Request

FIRST_PAUSE = 0.5  # seconds; a restart of the service takes a few
LONGEST_PAUSE = 8.0
TURNED_AWAY = frozenset({429, 503})  # the service says itself that it has not taken the request in
LOST_BY_A_PROXY = frozenset({502, 504})  # a proxy got no answer: nobody knows how far the request came


def is_uncertain(result: Reply | Lost) -> bool:
    """Tell whether the service may have done what it was asked although its answer is not here."""
    return result.was_sent if isinstance(result, Lost) else result.status in LOST_BY_A_PROXY


@dataclass(frozen=True, slots=True)
class Patience:
    """Repeat requests for at most `seconds` after the first one failed.

    `clock` gives monotonic seconds, `random` a number from 0 to 1.
    """

    seconds: float
    clock: Callable[[], float]
    random: Callable[[], float]

    def until_answered(self, request: Request) -> Conversation[Reply | Lost]:
        """Send a request, again where that helps and can do no harm, and give what came of it in the end."""
        give_up: float | None = None
        for failures in count():
            result = yield request
            if not _helps_to_repeat(result) or (is_uncertain(result) and not request.is_repeatable):
                break
            now = self.clock()
            give_up = now + self.seconds if give_up is None else give_up
            pause = self.pause(failures, result)
            if now + pause > give_up:
                break
            request = replace(request, after=pause)
        return result

    def pause(self, failures: int, result: Reply | Lost) -> float:
        """Back off, jittered on top of what the service asks for, so that a crowd does not come back at once."""
        backoff = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(failures, 10))
        asked = result.retry_after if isinstance(result, Reply) else 0.0
        return asked + backoff * (0.5 + 0.5 * self.random())


def _helps_to_repeat(result: Reply | Lost) -> bool:
    return isinstance(result, Lost) or result.status in TURNED_AWAY | LOST_BY_A_PROXY
