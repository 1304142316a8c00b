"""The id of a request: given by the client or made here, answered with, and written beside every log line."""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from retrycontract.front.wsgi import Message, Receive, Scope, Send

HEADER: Final = "X-Request-ID"
_NAME: Final = HEADER.lower().encode()
# What proxies and tracers make. It stands in logs, so nothing in it can be taken for something else.
_USABLE: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")
# Enough to tell the requests of years apart, and too short for the sanitiser to take it for a token.
_MADE_BYTES: Final = 8


def usable_request_id(presented: str | None) -> str:
    """Give the id that came with a request, or a new one where there is none that can be used."""
    return presented if presented and _USABLE.fullmatch(presented) else secrets.token_hex(_MADE_BYTES)


class RequestIds:
    """Give every HTTP request an id before anything asks on its behalf, and every response the id of its request."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request; everything else passes as it is."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # Of several ones none is chosen: together they hold a comma, which no usable id has.
        presented = b",".join(value for name, value in scope["headers"] if name == _NAME).decode("latin-1")
        named = (_NAME, usable_request_id(presented).encode())
        others = [pair for pair in scope["headers"] if pair[0] != _NAME]

        async def send_named(message: Message) -> None:
            if message["type"] != "http.response.start":
                with_id = message
            else:
                headers = [pair for pair in message.get("headers", ()) if pair[0] != _NAME]
                with_id = {**message, "headers": [*headers, named]}
            await send(with_id)

        await self._app({**scope, "headers": [*others, named]}, receive, send_named)
