"""What stands behind the gateway: a command or an address."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from weakref import WeakSet

from retrycontract.contract.errors import WrongInputError
from retrycontract.mcp.upstream import UpstreamProcess

if TYPE_CHECKING:
    from types import TracebackType

    from retrycontract.mcp.connection import Headers, ServerConnection

API_KEY: Final = "RETRYCONTRACT_API_KEY"
TOKEN: Final = "RETRYCONTRACT_GATEWAY_TOKEN"
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@dataclass(frozen=True, slots=True)
class CommandServer:
    """Say what starts a server; `environment` comes on top of ours."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    folder: str | None = None

    def start(self) -> UpstreamProcess:
        """Start it; raises OSError."""
        found = shutil.which(self.command[0])
        if found is None:
            raise FileNotFoundError(2, "there is no such command", self.command[0])
        # It gets our environment, since clients configure it through us, but not our keys.
        ours = {name: value for name, value in os.environ.items() if name not in (API_KEY, TOKEN)}
        return UpstreamProcess([found, *self.command[1:]], {**ours, **self.environment}, self.folder)


@dataclass(frozen=True, slots=True)
class HttpServer:
    """Say where a server is, and what each request to it carries; `passes_headers` sends the client's own along."""

    url: str
    headers: Headers = field(default_factory=list, repr=False)
    passes_headers: bool = True

    @classmethod
    def at(cls, url: str, headers: Mapping[str, str], *, passes_headers: bool) -> HttpServer:
        """Check an address and headers; raises ValueError."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise WrongInputError(f"{url!r}: a server's address is http:// or https:// and a host, without a user name")
        for name, value in headers.items():
            if not HEADER_NAME.fullmatch(name) or not value.isascii() or not value.isprintable():
                raise WrongInputError(f"the header {name!r} cannot be sent")
        return cls(url, [(name.lower().encode(), value.encode()) for name, value in headers.items()], passes_headers)


Server = CommandServer | HttpServer


class ServerBehind:
    """Connect clients, each anew, with one server."""

    def __init__(self, server: Server, *, restart: bool) -> None:
        self._server, self._restart = server, restart
        self._started: list[UpstreamProcess] = []
        self._processes: WeakSet[UpstreamProcess] = WeakSet()

    def __enter__(self) -> ServerBehind:
        """See to it that no process stays behind."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop what still runs."""
        for process in list(self._processes):
            process.stop()

    def start(self) -> None:
        """Start a command ahead of its first client; raises OSError."""
        if isinstance(self._server, CommandServer):
            self._started.append(self._start(self._server))

    def connect(self) -> ServerConnection:
        """Connect one more client; raises OSError for a command that cannot be started."""
        return self._connection(self._server)

    def _start(self, server: CommandServer) -> UpstreamProcess:
        process = server.start()
        self._processes.add(process)
        return process

    def _connection(self, server: Server) -> ServerConnection:
        if isinstance(server, CommandServer):
            from retrycontract.mcp.stdio import ProcessConnection

            return ProcessConnection(
                self._started.pop() if self._started else self._start(server), restart=self._restart
            )
        from retrycontract.mcp.streamable import HttpConnection, http_client

        self._http = getattr(self, "_http", None) or http_client()
        return HttpConnection(server, self._http)
