"""Judge what waits, once, and end: `python -m worker.once`."""

from __future__ import annotations

import signal
from typing import Final

import django

# As long as a lease lasts by default: what takes longer would be taken over by somebody else anyway.
LONGEST_SECONDS: Final = 30


def main() -> None:
    """Judge every attempt that may be claimed now and needs no child process: the worker's own threads see to those."""
    # The default action ends the process wherever it computes, also where Python would not hear an exception.
    signal.alarm(LONGEST_SECONDS)
    django.setup()
    from django.utils import timezone

    from retrycontract.usecases.calls.sweep import judge_waiting

    judge_waiting(clock=timezone.now, dear=False)


if __name__ == "__main__":
    main()
