"""Tell by the exit status whether a worker of this machine lives: `python -m worker.alive`."""

from __future__ import annotations

import os
import socket
import sys

import django


def main() -> bool:
    """Look for a sign of life of the last minute."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "retrycontract.settings")
    django.setup()
    from retrycontract.store.clock import shared_now
    from retrycontract.store.models import WorkerBeat

    # By the machine: the check is a process beside the worker, and cannot know its number.
    return WorkerBeat.objects.alive(shared_now()).filter(name__startswith=f"{socket.gethostname()}:").exists()


if __name__ == "__main__":
    sys.exit(not main())
