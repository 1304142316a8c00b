"""Events as they happen: one stream that is taken up again where it broke, and each event once."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

import httpx2

from retrycontract.client.connection import CONNECT_SECONDS, Owned, from_httpx, lost
from retrycontract.client.errors import UnexpectedAnswerError, UnreachableError, refusal
from retrycontract.client.exchange import Lost, Patience, Reply
from retrycontract.contract.errors import WrongInputError
from retrycontract.contract.lifecycle import CallState

MAX_SEEN: Final = 50_000  # ids that are remembered; a break repeats what happened in a minute and a half
SILENT_SECONDS: Final = 45.0  # three heartbeats of the service: the connection died in silence
COME_BACK_SECONDS: Final = 1.0  # after an end of which the service said nothing
LONGEST_COME_BACK: Final = 60.0
STREAM: Final = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Event:
    """Say what happened to a call: `type` is one of `AgentEvent`'s words, `data` has everything that was told.

    `state` is where the call stood then. Keep `id` to go on from here with another client.
    """

    id: int
    type: str
    at: datetime
    call_id: str
    state: CallState
    data: Mapping[str, Any] = field(repr=False)


class Feed:
    """Read lines into events, drop what came before, and say how to go on after a break; sends nothing itself."""

    def __init__(
        self, url: str, patience: Patience, *, types: Sequence[str], call_id: str | None, after: int | None
    ) -> None:
        if isinstance(types, str):
            raise WrongInputError(f"types is a list of event types, even of one: [{types!r:.80}]")
        self._url = url
        self._patience = patience
        asked = {"types": ",".join(types), "call_id": call_id or ""}
        query = urlencode({name: value for name, value in asked.items() if value})
        self.path = f"/events?{query}" if query else "/events"
        self._last_id = "" if after is None else str(after)
        self._seen: OrderedDict[int, None] = OrderedDict()
        self._come_back = COME_BACK_SECONDS
        self._failures = 0
        self._give_up: float | None = None
        self._fields: dict[str, str] = {}

    @property
    def request(self) -> dict[str, Any]:
        """Give the arguments of httpx2's `stream`."""
        headers = {"Accept": STREAM} | ({"Last-Event-ID": self._last_id} if self._last_id else {})
        timeout = httpx2.Timeout(SILENT_SECONDS, connect=CONNECT_SECONDS)
        return {"method": "GET", "url": self.path, "headers": headers, "timeout": timeout}

    def opened(self, response: httpx2.Response) -> None:
        """Take note of a stream that has begun; raises UnexpectedAnswerError for anything else."""
        media_type = response.headers.get("content-type", "").partition(";")[0]
        if media_type != STREAM:
            raise UnexpectedAnswerError(self._url, response.status_code, f"no events ({media_type[:80]})")
        self._fields = {}  # a frame that was cut off is sent again
        # Patience is for one break, and a stream that opens has ended it.
        self._failures, self._give_up = 0, None

    def take(self, line: str) -> Event | None:
        """Read one line; gives the event that it ends, unless it came before."""
        if line:
            # The service's heartbeats are comments: lines with an empty name, which nobody looks up.
            name, _, value = line.partition(":")
            self._fields[name] = value.removeprefix(" ")
            return None
        fields, self._fields = self._fields, {}
        if fields.get("retry", "").isdecimal():
            # Nine digits are eleven days, far beyond the bound; Python refuses to read integers of thousands.
            self._come_back = min(int(fields["retry"][:9]) / 1000, LONGEST_COME_BACK)
        event = None
        if "data" in fields:
            try:
                told = json.loads(fields["data"])
                data = told["data"]
                moment = datetime.fromisoformat(told["timestamp"])
                number, kind, call_id = int(fields["id"]), str(told["type"]), str(data["call_id"])
                event = Event(number, kind, moment, call_id, CallState(data["state"]), data)
            except (KeyError, TypeError, ValueError, RecursionError):
                raise UnexpectedAnswerError(self._url, 200, "an event that cannot be read") from None
        self._last_id = fields.get("id", self._last_id)
        if event is None or event.id in self._seen:
            return None
        self._seen[event.id] = None
        if len(self._seen) > MAX_SEEN:
            self._seen.popitem(last=False)
        return event

    def pause_after(self, failure: Reply | Lost | None) -> float:
        """Say how long to wait before the next try; None is an end in order.

        Raises what the service said no with, and UnreachableError or UnavailableError when patience ends.
        """
        if failure is None:
            return self._come_back
        if isinstance(failure, Reply) and failure.status < 500 and failure.status != 429:
            raise refusal(failure)
        now = self._patience.clock()
        self._give_up = now + self._patience.seconds if self._give_up is None else self._give_up
        pause = self._patience.pause(self._failures, failure)
        self._failures += 1
        if now + pause > self._give_up:
            raise UnreachableError(self._url, failure.reason) if isinstance(failure, Lost) else refusal(failure)
        return pause


def follow(http: Owned[httpx2.Client], feed: Feed, sleep: Callable[[float], None]) -> Iterator[Event]:
    """Give events in the caller's thread, without end."""
    while True:
        failure: Reply | Lost | None = None
        try:
            with http.get().stream(**feed.request) as response:
                if response.status_code == 200:
                    feed.opened(response)
                    for line in response.iter_lines():
                        if event := feed.take(line):
                            yield event
                else:
                    response.read()
                    failure = from_httpx(response, response.content)
        except httpx2.RequestError as error:
            failure = lost(error)
        # Behind the `with`: the connection goes back before the pause begins.
        sleep(feed.pause_after(failure))


async def follow_in_loop(
    http: Owned[httpx2.AsyncClient], feed: Feed, sleep: Callable[[float], Awaitable[None]]
) -> AsyncIterator[Event]:
    """Give events in an event loop, without end."""
    while True:
        failure: Reply | Lost | None = None
        try:
            async with http.get().stream(**feed.request) as response:
                if response.status_code == 200:
                    feed.opened(response)
                    async for line in response.aiter_lines():
                        if event := feed.take(line):
                            yield event
                else:
                    await response.aread()
                    failure = from_httpx(response, response.content)
        except httpx2.RequestError as error:
            failure = lost(error)
        await sleep(feed.pause_after(failure))
