"""A waiting room with its bells and a desk behind it, alone or behind a real uvicorn."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from retrycontract.front.bridge import WsgiBridge
from retrycontract.front.waiting import Bells, FrontOfHouse
from retrycontract.front.wsgi import Message
from tests.serving.threads import Reply, eventually, fetch, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from wsgiref.types import StartResponse, WSGIEnvironment

LONG = 1_000.0  # longer than any test: what it governs must not happen


class Desk:
    """Stand in for Django: a job is pending until it has an answer."""

    def __init__(self, bells: Bells) -> None:
        self.bells = bells
        self.answers: dict[str, str] = {}
        self.asked: list[WSGIEnvironment] = []
        self.meanwhile: Callable[[str], object] = str  # does nothing

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer for the job at the end of the path, or say what it waits for."""
        self.asked.append(environ)
        key = environ["PATH_INFO"].rpartition("/")[2]
        answer = self.answers.get(key)
        self.meanwhile(key)
        if answer is not None:
            start_response("200 OK", [("Content-Type", "text/plain")])
            return [answer.encode()]
        again = f"call:{key}; /api/jobs/{key}?again=%2F1"
        start_response("202 Accepted", [("Retry-After", "1"), ("Retrycontract-Pending", again)])
        return [f"pending after {len(self.asked)}".encode()]

    def tell(self, key: str, answer: str) -> None:
        """Answer a job and ring its bell."""
        self.answers[key] = answer
        self.bells.ring(f"call:{key}")


class House:
    """Hold a room, its bells and its desk together."""

    def __init__(self, **options: Any) -> None:
        self.bells = Bells()
        self.desk = Desk(self.bells)
        self.bridge = WsgiBridge(self.desk, max_body_bytes=1_000)
        self.room = FrontOfHouse(self.bridge, self.bells, **({"recheck": LONG} | options))

    def is_empty(self) -> bool:
        """Tell whether nobody waits, in the room or at a bell."""
        return self.room.waiting == 0 and not self.bells._waiters


@contextmanager
def house_open(**options: Any) -> Iterator[tuple[House, int]]:
    """Serve a house while the block runs; gives it and its port. Afterwards nobody may wait."""
    house = House(**options)
    with serving(house.room, lifespan="on") as port:
        yield house, port
        eventually(house.is_empty)


@contextmanager
def polls(port: int, path: str, count: int = 1, **request: Any) -> Iterator[list[Reply]]:
    """Ask in the background; the replies are all there when the block has ended."""
    replies: list[Reply] = []
    threads = [threading.Thread(target=lambda: replies.append(fetch(port, path, **request))) for _ in range(count)]
    for thread in threads:
        thread.start()
    yield replies
    for thread in threads:
        thread.join(20)
    assert len(replies) == count


def prefer(value: str) -> dict[str, str]:
    """Build the header that says how long to wait."""
    return {"Prefer": value}


def enough_files(count: int) -> bool:
    """Have so many files open at a time, where the system allows it."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard >= count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count), hard))
        return True
    return False


async def never() -> Message:
    """Wait for a message that does not come."""
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


class Speaking:
    """Give messages as a server does, and then nothing more."""

    def __init__(self, *messages: Message) -> None:
        self._messages = list(messages)

    async def __call__(self) -> Message:
        """Give the next message."""
        return self._messages.pop(0) if self._messages else await never()
