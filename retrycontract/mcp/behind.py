"""What stands behind the gateway: a command, an address, or several of them from a file.

Imports little: a command's process starts before the rest is loaded.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from retrycontract.contract.errors import WrongInputError
from retrycontract.contract.outputs.json_text import parse_json

if TYPE_CHECKING:
    from retrycontract.mcp.connection import Headers, ServerConnection

LEAVE_SECONDS = 2.0  # to end by itself when its input closes, and again at SIGTERM


class UpstreamProcess:
    """Run a server whose stdin and stdout are the protocol; its stderr is ours. Starts at once."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], folder: str | None) -> None:
        self._command, self._environment, self._folder = command, environment, folder
        self.start()

    def start(self) -> None:
        """Start it, or start it again."""
        self._process = subprocess.Popen(  # noqa: S603 - what the user has asked for
            # Unbuffered, as both pipes are used by their descriptors.
            self._command, env=dict(self._environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
            cwd=self._folder,
            start_new_session=True,  # so that its children, as npx has them, end with it
        )  # fmt: skip

    def __enter__(self) -> UpstreamProcess:
        """See to it that it ends, also when nothing else comes of it."""
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def descriptors(self) -> tuple[int, int]:
        """Give what it says, to be read, and what it hears, to be written."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdout.fileno(), self._process.stdin.fileno()

    def wait(self) -> int:
        """Wait for its end and give its exit status as a shell would."""
        status = self._process.wait()
        return status if status >= 0 else 128 - status

    def stop(self) -> None:
        """Let it end by itself, else end it with all that it has started."""
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
        for number in (None, signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
            if number is not None:
                with suppress(ProcessLookupError, PermissionError):
                    if sys.platform == "win32":
                        self._process.terminate()
                    else:
                        os.killpg(self._process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(LEAVE_SECONDS)
                return


API_KEY: Final = "RETRYCONTRACT_API_KEY"
TOKEN: Final = "RETRYCONTRACT_GATEWAY_TOKEN"
# It begins the names of tools, which are 64 characters at most; the first __ behind it is where they come apart again.
NAME = re.compile(r"(?!.*__)[A-Za-z0-9_-]{0,31}[A-Za-z0-9-]")
VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
KEYS: Final = frozenset(("command", "args", "env", "cwd", "url", "headers", "type", "disabled", "enabled"))
IN_FULL: Final = {"environment": "env", "arguments": "args"}  # what people write for keys that are no whole words
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
        from retrycontract.client.connection import split_address

        if split_address(url) is None:
            raise WrongInputError("a server's address is http:// or https:// and a host, without a user name")
        for name, value in headers.items():
            if not HEADER_NAME.fullmatch(name) or not value or not value.isascii() or not value.isprintable():
                raise WrongInputError(f"the header {name!r} cannot be sent")
        return cls(url, [(name.lower().encode(), value.encode()) for name, value in headers.items()], passes_headers)


Server = CommandServer | HttpServer


class ServerBehind:
    """Connect clients, each anew, with one server or with several that have names."""

    def __init__(self, servers: Mapping[str, Server] | Server, *, restart: bool) -> None:
        self._servers, self._restart = servers, restart
        self._started: list[UpstreamProcess] = []
        self._processes: WeakSet[UpstreamProcess] = WeakSet()

    def __enter__(self) -> ServerBehind:
        """See to it that no process stays behind."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop what still runs."""
        for process in list(self._processes):
            process.stop()

    def start(self) -> None:
        """Start a command ahead of its first client; raises OSError."""
        if isinstance(self._servers, CommandServer):
            self._started.append(self._start(self._servers))

    def connect(self) -> ServerConnection:
        """Connect one more client; raises OSError for a command that cannot be started."""
        if not isinstance(self._servers, Mapping):
            return self._connection(self._servers)
        from retrycontract.mcp.group import ServerGroup

        return ServerGroup({name: partial(self._connection, server) for name, server in self._servers.items()})

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

        # An answer takes as long as the tool does.
        self._http = getattr(self, "_http", None) or http_client()
        return HttpConnection(server, self._http)


def read_servers(path: Path, environment: Mapping[str, str]) -> dict[str, Server]:
    """Read a file in the shape of MCP clients' configuration; raises OSError and WrongInputError."""
    value, fault = parse_json(path.read_bytes())
    if fault is not None:
        from retrycontract.contract.schemas.document import MAX_REASON, excerpt  # as above: seldom needed

        raise WrongInputError(f"{path} is not JSON: {excerpt(fault.reason, MAX_REASON)}")
    entries = value.get("mcpServers") if isinstance(value, dict) else None
    if not isinstance(entries, dict) or not entries:
        raise WrongInputError(
            f'{path}: no server is named; it looks like {{"mcpServers": {{"files": {{"command": …}}}}}}'
        )
    servers: dict[str, Server] = {}
    for name, entry in entries.items():
        try:
            servers |= {name: _server(name, entry, environment)} if not _is_disabled(entry) else {}
        except WrongInputError as wrong:
            raise WrongInputError(f"{path}: {name!r}: {wrong}") from None
    return servers


def _is_disabled(entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    # A key that is nearly one of ours is misspelt; clients have keys of their own, which are unlike.
    for key in entry.keys() - KEYS:
        from retrycontract.contract.advice.names import slips_between  # seldom needed, and not quick to load

        for known in sorted(KEYS | IN_FULL.keys()):
            if slips_between(key.lower(), known) is not None:
                raise WrongInputError(f"{key!r} is unknown; did you mean {IN_FULL.get(known, known)!r}?")
    for name in ("disabled", "enabled"):
        if not isinstance(entry.get(name, False), bool):
            raise WrongInputError(f"{name} is not true or false")
    return entry.get("disabled", False) or not entry.get("enabled", True)


def _server(name: str, entry: Any, environment: Mapping[str, str]) -> Server:
    if not NAME.fullmatch(name):
        raise WrongInputError("a name is at most 32 letters, digits, _ and -, without two _ in a row or one at its end")
    if not isinstance(entry, dict) or ("command" in entry) == ("url" in entry):
        raise WrongInputError("a server has a command or a url")
    if entry.get("type") == "sse":
        raise WrongInputError(
            "it speaks the older sse transport, which the gateway does not: streamable HTTP or a command"
        )

    def text(value: Any, what: str) -> str:
        if not isinstance(value, str):
            raise WrongInputError(f"{what} is not a text")

        def meant(found: re.Match[str]) -> str:
            if (known := environment.get(found[1], found[2])) is None:
                raise WrongInputError(f"{what} names the variable {found[1]}, which is not set")
            return known

        return VARIABLE.sub(meant, value)

    def texts(what: str) -> dict[str, str]:
        given = entry.get(what, {})
        if not isinstance(given, dict):
            raise WrongInputError(f"{what} is not an object")
        return {key: text(value, f"{what}.{key}") for key, value in given.items()}

    if "url" in entry:
        return HttpServer.at(text(entry["url"], "url"), texts("headers"), passes_headers=False)
    arguments = entry.get("args", [])
    if not isinstance(arguments, list):
        raise WrongInputError("args is not a list")
    command = (text(entry["command"], "command"), *(text(value, "args") for value in arguments))
    folder = None if entry.get("cwd") is None else text(entry["cwd"], "cwd")
    return CommandServer(command, texts("env"), folder)
