"""Hear what this process opens or connects to, by an audit hook: none can ever be taken off again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from retrycontract.children.pool import START

WATCHED: Final = frozenset(
    {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "subprocess.Popen", "os.system"}
)
_listening: list[list[str]] = []
_hooks: list[Any] = []


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    is_child_that_judges = event == "subprocess.Popen" and START in arguments[1]
    if event in WATCHED and not is_child_that_judges:
        for heard in _listening:
            heard.append(f"{event} {arguments!r}")


@contextmanager
def outbound() -> Iterator[list[str]]:
    """Collect what goes out while the block runs."""
    if not _hooks:
        _hooks.append(_hear)
        sys.addaudithook(_hear)
    heard: list[str] = []
    _listening.append(heard)
    try:
        yield heard
    finally:
        _listening.remove(heard)
