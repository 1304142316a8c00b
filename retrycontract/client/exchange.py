"""What is asked and what comes back, without saying how: what corrections apply to, and when to ask again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, TypeAlias, TypeVar

from retrycontract.contract.errors import WrongInputError
from retrycontract.contract.forking import renew_in_children
from retrycontract.contract.outputs.json_text import JsonFault, parse_json

T = TypeVar("T")

API = "/api/v1"
ANSWER_SECONDS = 30.0  # for a request that the service does not hold: its database may be busy for twenty


@dataclass(frozen=True, slots=True)
class Request:
    """Ask the service for something; `path` stands below /api/v1.

    `wait` is how many seconds the service may hold the answer back, `within` how many it may take beyond that, `after`
    how many to sleep before sending. It may be
    sent again: what must not be done twice carries an idempotency key.
    """

    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: int = 0
    after: float = 0.0
    within: float = ANSWER_SECONDS


@dataclass(frozen=True, slots=True)
class Reply:
    """Hold an answer; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def retry_after(self) -> float:
        """Give how many seconds the answer asks to wait, 0 when it does not; a date counts from the answer's own."""
        asked = self.headers.get("retry-after", "").strip()
        # `isdigit` alone takes superscripts and the digits of other scripts.
        if asked.isascii() and asked.isdigit():
            return float(asked)
        from email.utils import parsedate_to_datetime  # seldom needed, and not quick to load

        try:
            # From the answer's own date: this machine's clock may be wrong, or the service's.
            until, now = parsedate_to_datetime(asked), parsedate_to_datetime(self.headers.get("date", ""))
            return max(0.0, (until - now).total_seconds())
        except (TypeError, ValueError):  # no dates, or one of them without a time zone
            return 0.0


@dataclass(frozen=True, slots=True)
class Lost:
    """Say that no answer came; the request may have reached the service."""

    reason: str


# An operation yields requests, is sent what came of each, and returns its result: written once, driven by threads or
# by an event loop.
Conversation: TypeAlias = Generator[Request, Reply | Lost, T]


MAX_CALLS = 1_000  # the oldest are forgotten: an agent has few calls open at once
MAX_ATTEMPTS = 20  # kept of each call: what is tried while Blocked has no limit


class Submissions:
    """Remember each attempt's text and id by call and number; thread-safe. It holds secrets: nothing prints it."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str, dict[int, tuple[str, str]]] = OrderedDict()
        self._renew_locks()
        renew_in_children(self, Submissions._renew_locks)

    def _renew_locks(self) -> None:
        """Begin with a lock that nobody holds."""
        self._lock = threading.Lock()

    def keep(self, call_id: str, number: int, text: str, tool_call_id: str = "") -> None:
        """Remember an attempt."""
        with self._lock:
            attempts = self._calls.setdefault(call_id, {})
            # So that the call that was silent longest gives way, and not the one that began first.
            self._calls.move_to_end(call_id)
            attempts[number] = text, tool_call_id
            if len(attempts) > MAX_ATTEMPTS:
                del attempts[min(attempts)]
            if len(self._calls) > MAX_CALLS:
                self._calls.popitem(last=False)

    def text_of(self, call_id: str, number: int | None) -> str | None:
        """Give the text of an attempt, or None when it is not known."""
        found = self._find(call_id, number)
        return found and found[0]

    def id_of(self, call_id: str, number: int) -> str:
        """Give the provider's id of an attempt, of which the service may keep less; nothing when it is not known."""
        return (self._find(call_id, number) or ("", ""))[1]

    def forget(self, call_id: str) -> None:
        """Drop a call that has ended."""
        with self._lock:
            self._calls.pop(call_id, None)

    def _find(self, call_id: str, number: int | None) -> tuple[str, str] | None:
        with self._lock:
            return self._calls.get(call_id, {}).get(number or 0)


def advance(conversation: Conversation[Any], answered: Reply | Lost | None) -> Request | StopIteration:
    """Read an answer, None at the beginning, and write the next request; the end of a conversation has its result."""
    try:
        return next(conversation) if answered is None else conversation.send(answered)
    except StopIteration as done:
        return done


async def advanced(conversation: Conversation[Any], answered: Reply | Lost | None) -> Request | StopIteration:
    """Advance in the event loop, as suits what is small."""
    return advance(conversation, answered)


def value_of(text: str) -> tuple[Any, JsonFault | None]:
    """Parse what was sent; a response's value may stand in a fence or between words, as the service forgives it."""
    from retrycontract.contract.checks.reading import unwrapped  # with the checks it would double the client's import

    value, fault = parse_json(text)
    within = unwrapped(text) if fault else None
    return parse_json(within[0]) if within else (value, fault)


def content_of(text: str) -> Any:
    """Give what was sent to be run with: the parsed value, or the text itself of a file that is no JSON."""
    value, fault = value_of(text)
    return value if fault is None else text


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
