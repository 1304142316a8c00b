"""How the provider is spoken to over HTTP: by authlib and requests, within the bounds of an exchange.

A module of its own, imported when used: to read both packages takes 0.2 s.
"""

from __future__ import annotations

import json
import logging
import socket
import threading
from contextlib import closing, suppress
from io import BytesIO
from typing import Any

from authlib.integrations.django_client import DjangoOAuth2App
from authlib.integrations.requests_client import OAuth2Session
from requests import PreparedRequest, RequestException, Response
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError

from dashboard.account.exchanges import MOST_BYTES, AwayError, ask, seconds_left

# An answer that is cut within its headers is told here in a line, and there with a traceback.
logging.getLogger("urllib3.connection").setLevel(logging.ERROR)


class Sockets:
    """Know the sockets of what is asked, so that another thread can end it: each word has a timeout, not the whole."""

    def __init__(self) -> None:
        self._open: list[socket.socket] = []
        self._is_cut = threading.Event()

    def noting(self, connection: Any) -> Any:
        """Give a class of connections like this one that note their socket here."""

        def connect(this: Any) -> None:
            connection.connect(this)
            self._open.append(this.sock)
            if self._is_cut.is_set():  # nobody waits any more: what was given up must not be sent after all
                raise TimeoutError

        return type("Noted", (connection,), {"connect": connect})

    def cut(self) -> None:
        """End whatever is under way; nothing is sent after this."""
        self._is_cut.set()
        for open_one in self._open:
            with suppress(OSError, TypeError):  # it has ended, or is a proxy's and no socket of the system
                # Not the method of the secure socket, which would pull its state from under a reader.
                socket.socket.shutdown(open_one, socket.SHUT_RDWR)


class BoundedAdapter(HTTPAdapter):
    """Ask the provider for a JSON object: in the time that is left, with so many bytes of answer, and no redirects."""

    def send(self, request: PreparedRequest, *_: Any, **options: Any) -> Response:
        """Give the whole answer; raises AwayError, which names the endpoint and the status."""
        kind, sockets = _kind(request), Sockets()
        options |= {"stream": True, "timeout": max(seconds_left(), 0.001)}  # none at all would be no limit
        asked = super().send

        def exchange() -> tuple[Response, bytes]:
            pool = self.get_connection_with_tls_context(
                request, options["verify"], proxies=options["proxies"], cert=options["cert"]
            )
            pool.ConnectionCls = sockets.noting(pool.ConnectionCls)
            answer = asked(request, **options)
            with closing(answer.raw) as body:
                return answer, body.read(MOST_BYTES + 1, decode_content=True)

        try:
            answer, body = ask(exchange, abort=sockets.cut)
        except (RequestException, HTTPError, OSError) as error:
            raise AwayError(f"its {kind} cannot be read ({type(error).__name__})") from None
        if why := _unusable(answer.status_code, body):
            raise AwayError(f"its {kind} answered {answer.status_code}, {why}")
        answer.raw = BytesIO(body)
        return answer


def _kind(request: PreparedRequest) -> str:
    """Name what is asked as an administrator knows it; its address may hold what is nobody's business."""
    if request.method == "POST":
        return "token endpoint"
    if "Authorization" in request.headers:
        return "userinfo endpoint"
    return "configuration" if str(request.url).endswith("/.well-known/openid-configuration") else "keys"


def _unusable(status: int, body: bytes) -> str:
    """Say why an answer is none; nothing when it is one, which an error of the protocol (RFC 6749, 5.2) is too."""
    if len(body) > MOST_BYTES:
        return f"with more than {MOST_BYTES} bytes"
    if 300 <= status < 400:
        return "and redirects are not followed"
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        return "with no JSON object"
    return "" if status < 300 or (status < 500 and "error" in told) else "which is a failure"


class BoundedSession(OAuth2Session):  # type: ignore[misc]  # authlib has no types
    """Speak OAuth within the bounds."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        for scheme in ("https://", "http://"):
            self.mount(scheme, BoundedAdapter())


class BoundedApp(DjangoOAuth2App):  # type: ignore[misc]  # nor here
    """Be authlib's client of a provider, within the bounds."""

    client_cls = BoundedSession
