"""One conversation of an agent, and the turns that it has taken."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, repeat
from typing import TYPE_CHECKING, Any, Self, Unpack

from retrycontract.client.guarding import CONVERSATIONS
from retrycontract.client.operations import WAIT, Details
from retrycontract.client.results import Outcome, Settlement
from retrycontract.contract.errors import WrongInputError
from retrycontract.contract.matching import ID_OF_ITS_OWN, is_unfilled

if TYPE_CHECKING:
    from retrycontract.client.clients import AsyncClient, Client


@dataclass(frozen=True, slots=True)
class Place:
    """Say where attempts belong: to a session, and each to the next turn.

    Iterators of itertools give each thread a number of its own.
    """

    session_id: str
    turns: Iterator[int] = field(repr=False)
    _continued: dict[str, None] = field(default_factory=dict, repr=False, compare=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    @classmethod
    def of(cls, name: str | None) -> Self:
        """Begin a conversation that nobody else has, or take part in a named one."""
        if name is None:
            return cls(uuid.uuid4().hex, count(1))
        if not isinstance(name, str):
            raise WrongInputError(f"a session's name is a text, or None for one of its own, not {name!r:.80}")
        if is_unfilled(name):
            raise WrongInputError(f"the session {name!r:.80}: {ID_OF_ITS_OWN}, or None for a random one")
        # Whoever takes a named one up again, after a restart too, must count on: a clock does.
        return cls(name, count(time.time_ns() // 1_000_000))

    def one_turn(self) -> Place:
        """Give the next turn as a place: all that is submitted there are parallel calls."""
        return Place(self.session_id, repeat(next(self.turns)))

    def continuing(self, candidates: Sequence[str]) -> str:
        """Choose among the calls that could be meant the one that was gone on with longest ago.

        Models answer in the order in which they were told.
        """
        with self._lock:  # parallel calls may come from threads
            order = list(self._continued)
            found = min(candidates, key=lambda each: order.index(each) if each in order else -1)
            self._continued.pop(found, None)
            self._continued[found] = None
        return found

    def details(self, details: Details) -> Details:
        """Add the place to what else is said of an attempt; raises TypeError for a session beside the session."""
        if "session_id" in details:
            raise TypeError("a session's attempts are its own: submit those of another session there")
        turn = Details() if "turn" in details else Details(turn=next(self.turns))
        return Details(session_id=self.session_id) | turn | details


@dataclass(frozen=True, slots=True)
class Session:
    """Submit what the model of one conversation wrote; a session is one conversation, and no other shares it.

    Inside `with session:` the functions that its client guards submit to it.

    Each submission is a turn of its own: without `call_id` it continues the open call of its tool, if there is one.
    Where a model makes several calls in one answer, submit them to `turn()`: they are never taken for one another.
    """

    client: Client
    place: Place

    @property
    def session_id(self) -> str:
        """Give the id that its calls bear."""
        return self.place.session_id

    def turn(self) -> Session:
        """Begin the next turn: the calls of one answer of the model, side by side."""
        return Session(self.client, self.place.one_turn())

    def __enter__(self) -> Self:
        # A new tuple: tasks copy the context and not what lies in it, so that a list would be shared by all of them.
        CONVERSATIONS.set((*CONVERSATIONS.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        _leave(self)

    def submit(
        self, tool: str, tool_call_id: str, arguments: Any, *, wait: float = WAIT, **details: Unpack[Details]
    ) -> Outcome:
        """Submit an attempt of this conversation; see `Client.submit`."""
        return self.client.submit(tool, tool_call_id, arguments, wait=wait, **self.place.details(details))

    def settle(
        self, tool: str, tool_call_id: str, arguments: Any, *, timeout: float | None = None, wait: float = WAIT,
        **details: Unpack[Details],
    ) -> Settlement[Any]:  # fmt: skip
        """Submit an attempt of this conversation, and wait for a person where needed; see `Client.settle`."""
        placed = self.place.details(details)
        return self.client.settle(tool, tool_call_id, arguments, timeout=timeout, wait=wait, **placed)


@dataclass(frozen=True, slots=True)
class AsyncSession:
    """Do what `Session` does in an event loop."""

    client: AsyncClient
    place: Place

    @property
    def session_id(self) -> str:
        """Give the id that its calls bear."""
        return self.place.session_id

    def turn(self) -> AsyncSession:
        """Begin the next turn: the calls of one answer of the model, side by side."""
        return AsyncSession(self.client, self.place.one_turn())

    def __enter__(self) -> Self:
        CONVERSATIONS.set((*CONVERSATIONS.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        _leave(self)

    async def submit(
        self, tool: str, tool_call_id: str, arguments: Any, *, wait: float = WAIT, **details: Unpack[Details]
    ) -> Outcome:
        """Submit an attempt of this conversation; see `Client.submit`."""
        return await self.client.submit(tool, tool_call_id, arguments, wait=wait, **self.place.details(details))

    async def settle(
        self, tool: str, tool_call_id: str, arguments: Any, *, timeout: float | None = None, wait: float = WAIT,
        **details: Unpack[Details],
    ) -> Settlement[Any]:  # fmt: skip
        """Submit an attempt of this conversation, and wait for a person where needed; see `Client.settle`."""
        placed = self.place.details(details)
        return await self.client.settle(tool, tool_call_id, arguments, timeout=timeout, wait=wait, **placed)


def _leave(session: Session | AsyncSession) -> None:
    """End what began last with this very session: others may have begun since, and go on."""
    begun = CONVERSATIONS.get()
    at = max((number for number, each in enumerate(begun) if each is session), default=len(begun))
    CONVERSATIONS.set(begun[:at] + begun[at + 1 :])
