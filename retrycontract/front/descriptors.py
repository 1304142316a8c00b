"""How many connections a process may hold: each takes one of the files that the system lets it open."""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import cache
from typing import Final

from retrycontract.contract.errors import WrongInputError

logger = logging.getLogger(__name__)

# Each agent that waits holds a descriptor; shells and systemd begin with 1,024.
OPEN_FILES: Final = 65_536
# The database, its log, the receivers of webhooks and the service's own files need descriptors too: without some kept
# back, twenty thousand idle sockets of strangers once left the database unable to open its file.
KEPT_BACK: Final = 256
# Of few the half at most: all but one of 257 would leave one connection, and an open stream the service without any.
MOST_KEPT_BACK: Final = 0.5
# A service at work had 22 to 40 files open beside its connections, which is more than the half of fewer than this.
LEAST_FILES: Final = 128
RAISE_IT: Final = "raise the limit (ulimit -Hn 65536, LimitNOFILE= of systemd, --ulimit nofile= of Docker)"


class TooFewFilesError(WrongInputError):
    """Raised where a process may not open enough files to serve anybody."""

    def __init__(self, files: int) -> None:
        super().__init__(
            f"This process may open {files} files, and the service needs {LEAST_FILES} for its database and a few"
            f" connections: {RAISE_IT}."
        )


def may_open() -> int:
    """Give how many files this process may open once it has asked for them; 0 means any number."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        if now != resource.RLIM_INFINITY:
            return max(now, OPEN_FILES if most == resource.RLIM_INFINITY else min(OPEN_FILES, most))
    return 0


def connections_within(files: int) -> int:
    """Give how many of the files that a process may open may be connections; raises TooFewFilesError."""
    if files < LEAST_FILES:
        raise TooFewFilesError(files)
    return files - min(KEPT_BACK, int(files * MOST_KEPT_BACK))


def told_of_few(files: int) -> str:
    """Say how many connections a low limit leaves, and what to set; empty where it is not low."""
    if files * MOST_KEPT_BACK >= KEPT_BACK:
        return ""
    return (
        f"A process may open {files} files here, which leaves {connections_within(files)} connections (agents that wait"
        f" and open pages hold one each): {RAISE_IT}."
    )


@cache  # a limit that is low is told once
def allow_many_connections() -> int:
    """Let this process open as many files as the system allows it; gives how many may be connections, 0: any.

    Raises TooFewFilesError.
    """
    files = may_open()
    if not files:
        return 0
    connections = connections_within(files)
    if few := told_of_few(files):
        logger.warning(few)
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_NOFILE, (files, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        return connections
    return 0
