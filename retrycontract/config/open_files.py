"""How many files, and so connections, this process may have open."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

# The database, its log, the receivers of webhooks and the service's own files need descriptors too: without some kept
# back, twenty thousand idle sockets of strangers once left the database unable to open its file.
KEPT_BACK: Final = 256
# Each agent that waits holds a descriptor; shells and systemd begin with 1,024.
OPEN_FILES: Final = 65_536


def allow_many_connections() -> int:
    """Let this process hold as many descriptors as the system allows it; gives how many may be connections, 0: any."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        if now == resource.RLIM_INFINITY:
            return 0
        wanted = OPEN_FILES if most == resource.RLIM_INFINITY else min(OPEN_FILES, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(now, wanted), most))
        return max(max(now, wanted) - KEPT_BACK, 1)
    return 0
