"""One request given to a WSGI application as ASGI tells it, and its whole response."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, replace
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote_to_bytes

if TYPE_CHECKING:
    from types import TracebackType
    from wsgiref.types import WSGIApplication, WSGIEnvironment

    ExcInfo = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Header = tuple[bytes, bytes]

# Responses that never have a body; a length on them would describe another response.
BODILESS: Final = frozenset({204, 304})
# What the bridge itself has undone (chunks) or counted (length) is not the application's to read again.
TRANSPORT_HEADERS: Final = frozenset({b"transfer-encoding", b"content-length"})
LEFT_OUT: Final = "retrycontract.left_out"  # names of headers that the application is not given: with an underscore


@dataclass(frozen=True, slots=True)
class Response:
    """Hold one whole HTTP response; header names are lower case."""

    status: int
    headers: tuple[Header, ...]
    body: bytes

    def header(self, name: bytes) -> bytes | None:
        """Give the first value of a header, or None."""
        return next((value for key, value in self.headers if key == name), None)

    def without(self, name: bytes) -> Response:
        """Drop a header, however often it is there."""
        return replace(self, headers=tuple(pair for pair in self.headers if pair[0] != name))

    def plus(self, name: bytes, value: bytes) -> Response:
        """Append a header."""
        return replace(self, headers=(*self.headers, (name, value)))


def call(app: WSGIApplication, environ: WSGIEnvironment, *, head: bool) -> Response:
    started: list[tuple[str, list[tuple[str, str]]]] = []
    chunks: list[bytes] = []

    def start_response(
        status: str, headers: list[tuple[str, str]], exc_info: ExcInfo | None = None
    ) -> Callable[[bytes], object]:
        if started and exc_info is None:
            raise RuntimeError("start_response was called twice; the second call must pass exc_info.")
        # Nothing has left yet, so what exc_info announces can still replace the whole response.
        started[:] = [(status, headers)]
        return chunks.append

    iterable = app(environ, start_response)
    try:
        chunks.extend(iterable)
    finally:
        # WSGI demands it, and Django ends a request here: without it connections to the database would never be looked
        # after.
        close = getattr(iterable, "close", None)
        if close is not None:
            close()
    if not started:
        raise RuntimeError("The application answered without calling start_response.")
    line, headers = started[0]
    status, body = int(line[:3]), b"".join(chunks)
    encoded = tuple((name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers)
    if head or status in BODILESS:
        return Response(status, encoded, b"")
    length = str(len(body)).encode()
    return Response(status, encoded, body).without(b"content-length").plus(b"content-length", length)


def environ_of(scope: Scope, body: bytes) -> WSGIEnvironment:
    host, port = scope.get("server") or ("localhost", None)
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": scope["method"],
        # Bytes as latin-1 text, whatever they encode: that is how PEP 3333 carries them.
        "SCRIPT_NAME": scope.get("root_path", "").encode().decode("latin-1"),
        "PATH_INFO": path_of(scope).decode("latin-1"),
        "QUERY_STRING": scope.get("query_string", b"").decode("latin-1"),
        "SERVER_NAME": host,
        # A socket file has none, and WSGI wants one.
        "SERVER_PORT": str(port or 80),
        "SERVER_PROTOCOL": f"HTTP/{scope.get('http_version', '1.1')}",
        "REMOTE_ADDR": (scope.get("client") or ("", 0))[0],
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.get("scheme", "http"),
        "wsgi.input": BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    variables: dict[str, str] = {}
    for name, value in scope["headers"]:
        # `X_Forwarded_For` would arrive as X-Forwarded-For does, past the proxy that guards the real one.
        if b"_" in name or name in TRANSPORT_HEADERS:
            continue
        key = name.decode("latin-1").upper().replace("-", "_")
        key = key if key == "CONTENT_TYPE" else f"HTTP_{key}"
        text = value.decode("latin-1")
        # HTTP/2 may split cookies over several fields, which are joined so (RFC 9113, 8.2.3).
        separator = "; " if name == b"cookie" else ","
        variables[key] = f"{variables[key]}{separator}{text}" if key in variables else text
    left_out = tuple(name.decode("latin-1") for name, _ in scope["headers"] if b"_" in name)
    return environ | variables | {LEFT_OUT: left_out}


def path_of(scope: Scope) -> bytes:
    # The server's own decoding puts U+FFFD for what is not UTF-8; WSGI wants the bytes themselves.
    raw = scope.get("raw_path")
    path = scope["path"].encode() if raw is None else unquote_to_bytes(raw)
    root: bytes = scope.get("root_path", "").encode()
    return path.removeprefix(root)
