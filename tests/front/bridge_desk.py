"""A bridge with an application behind it that echoes, at the ASGI door or behind a real uvicorn."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from wsgiref.validate import validator

import pytest

from retrycontract.front.bridge import WsgiBridge
from retrycontract.front.wsgi import Message
from tests.serving.threads import Sent, http_scope, serving

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

LIMIT = 1_000


class Desk:
    """Stand in for Django: echo what arrived, and misbehave on request."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.threads: set[str] = set()
        self.entered = threading.Event()
        self.release = threading.Event()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Do what the path says, and echo."""
        self.seen.append(environ["PATH_INFO"])
        self.threads.add(threading.current_thread().name)
        match environ["PATH_INFO"].removeprefix("/api"):
            case "/raises":
                raise RuntimeError("the secret is hunter2")
            case "/slow":
                self.entered.set()
                self.release.wait(10)
            case "/nap":
                time.sleep(0.05)
            case "/big":
                start_response("200 OK", [("Content-Type", "application/octet-stream")])
                return (b"x" * 65_536 for _ in range(320))
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        echo = {key: value for key, value in environ.items() if isinstance(value, str)}
        text = json.dumps(echo | {"body": body.decode("latin-1")})
        start_response(
            "200 OK",
            [("Content-Type", "application/json"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")],
        )
        return [text.encode()]


@contextmanager
def bridged(app: WSGIApplication, *, check: bool = True, **options: Any) -> Iterator[int]:
    """Serve an application behind a bridge while the block runs; gives the port."""
    bridge = WsgiBridge(validator(app) if check else app, max_body_bytes=LIMIT, **options)
    try:
        with serving(bridge) as port:
            yield port
    finally:
        bridge.close()


@pytest.fixture
def desk() -> Iterator[Desk]:
    """Give a desk that lets go of its slow requests when the test has ended."""
    desk = Desk()
    yield desk
    desk.release.set()


@pytest.fixture
def port(desk: Desk) -> Iterator[int]:
    """Give the port behind which the desk is served."""
    with bridged(desk) as port:
        yield port


async def exchange(
    app: WSGIApplication,
    path: str,
    method: str,
    messages: list[Message],
    sent: Sent,
    headers: tuple[tuple[bytes, bytes], ...] = (),
) -> None:
    """Take one request, which arrives as these messages, through the ASGI door alone."""

    async def receive() -> Message:
        return messages.pop(0)

    bridge = WsgiBridge(app, max_body_bytes=LIMIT)
    try:
        await bridge(http_scope(path, method=method, headers=headers), receive, sent)
    finally:
        bridge.close()
