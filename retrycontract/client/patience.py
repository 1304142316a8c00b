"""Ask again: after what, after what pause, and when to stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count

from retrycontract.client.exchange import ANSWER_SECONDS, Conversation, Lost, Reply, Request
from retrycontract.contract.errors import WrongInputError

PATIENCE = 30.0  # seconds of asking again; a restart of the service takes a few
FIRST_PAUSE = 0.5  # seconds
LONGEST_PAUSE = 8.0
SHORTEST_ANSWER = 5.0  # seconds that a request may take however little patience there is
# Too many requests, and what the service or a proxy says when it is away for the moment.
PASSING = frozenset({429, 502, 503, 504})


def a_time(name: str, given: float | None, *, or_none: bool = False) -> None:
    """Refuse, with WrongInputError, what is no number of seconds: it would fail, or wait for ever, much later."""
    if (given is None and or_none) or (isinstance(given, int | float) and given == given):  # NaN equals nothing
        return
    raise WrongInputError(f"{name} is a number of seconds{' or None' if or_none else ''}, not {given!r:.80}")


@dataclass(frozen=True, slots=True)
class Patience:
    """Repeat requests for at most `seconds` after the first one failed; none does anything twice.

    A service that takes requests and never answers is waited for no longer: beyond what a request lets it hold the
    answer back, all of its tries together have `seconds`, or the shortest time that an answer needs.

    `clock` gives monotonic seconds, `random` a number from 0 to 1.
    """

    seconds: float
    clock: Callable[[], float]
    random: Callable[[], float]

    def __post_init__(self) -> None:
        a_time("patience", self.seconds)
        if self.seconds < 0:
            raise WrongInputError(f"patience is a number of seconds, and none is {self.seconds:g}")

    def until_answered(self, request: Request) -> Conversation[Reply | Lost]:
        """Send a request, again where that helps, and give what came of it in the end."""
        # How long the service may hold an answer back is asked for, and uses up no patience.
        give_up = self.clock() + request.wait + max(self.seconds, SHORTEST_ANSWER)
        for failures in count():
            left = max(give_up - self.clock() - request.wait, SHORTEST_ANSWER)
            result = yield replace(request, within=min(left, ANSWER_SECONDS))
            if isinstance(result, Reply) and result.status not in PASSING:
                break
            now = self.clock()
            # From the first failure on: a long wait that went well until then has cost nothing.
            give_up = min(give_up, now + self.seconds) if failures == 0 else give_up
            pause = self.pause(failures, result)
            if now + pause > give_up:
                break
            request = replace(request, after=pause)
        return result

    def pause(self, failures: int, result: Reply | Lost) -> float:
        """Back off, jittered on top of what the service asks for, so that a crowd does not come back at once."""
        # Bounded before the power is taken: beyond 2**1023 there is no float.
        backoff = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(failures, 10))
        asked = result.retry_after if isinstance(result, Reply) else 0.0
        # Half of it is certain, so that chance never makes anybody ask again at once.
        return asked + backoff * (0.5 + 0.5 * self.random())
