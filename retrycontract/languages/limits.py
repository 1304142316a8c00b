"""The bounds of what compiling one file may take."""

from __future__ import annotations

from dataclasses import dataclass

MEGABYTE = 1_048_576


@dataclass(frozen=True, slots=True)
class Limits:
    """Bound one compilation: `seconds` on the clock, `cpu_seconds` of work, `memory` in bytes of address space.

    A process is replaced after `files` of them, and once it has grown beyond `tidy` bytes: it gives nothing back.
    """

    seconds: float = 10.0
    cpu_seconds: int = 5
    memory: int = 1_024 * MEGABYTE  # a generated file of 2 MB needs a third of it
    tidy: int = 256 * MEGABYTE
    files: int = 1_000
    processes: int = 2  # at work at the same time; more callers wait
