"""Look at a running or a stopped service, and say what is wrong and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """Say how bad it is; only FAIL keeps the service from its work."""

    OK = "ok"
    WARN = "warn"
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True)
class Finding:
    """Say what was looked at, how it is, and what to do; no value that is secret."""

    level: Level
    name: str
    text: str

    def __str__(self) -> str:
        return f"{self.level.value:<5} {self.name:<12} {self.text}"


def ok(name: str, text: str) -> Finding:
    return Finding(Level.OK, name, text)


def warn(name: str, text: str) -> Finding:
    """Find what will hurt some day."""
    return Finding(Level.WARN, name, text)


def fail(name: str, text: str) -> Finding:
    """Find what hurts now."""
    return Finding(Level.FAIL, name, text)
