"""The door for time: workers that judge, send and sweep, and the name that each signs with."""

from __future__ import annotations

import os
import socket


def worker_name() -> str:
    """Name this process among those of every machine."""
    return f"{socket.gethostname()}:{os.getpid()}"
