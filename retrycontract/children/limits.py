"""The bounds of one piece of work in a child process, and of the children themselves."""

from __future__ import annotations

from dataclasses import dataclass

MEGABYTE = 1_048_576


@dataclass(frozen=True, slots=True)
class Limits:
    """Bound a job: `cpu_seconds` of processor time, `seconds` on the clock, `memory` in bytes of address space.

    Processor time is what a job is judged by, since a busy machine must not refuse what an idle one takes; the clock
    ends what waits. A process is replaced after `jobs`, and once it has grown beyond `tidy` bytes: it gives nothing
    back to the system.
    """

    cpu_seconds: float = 5.0
    seconds: float = 10.0
    memory: int = 1_024 * MEGABYTE  # a generated file of 2 MB needs a third of it
    tidy: int = 256 * MEGABYTE
    jobs: int = 1_000
    processes: int = 2  # at work at the same time; more callers wait
