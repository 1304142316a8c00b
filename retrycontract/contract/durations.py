"""Read and show lengths of time as people write them in configuration files: `30m`, `12h`, `7d`."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

SHORTEST = timedelta(seconds=1)
LONGEST = timedelta(days=365)  # who wants to wait longer has forgotten the call
GRAMMAR = "a whole number of seconds, or a number with s, m, h or d such as '30m', '12h' or '7d', from 1s to 365d"
_UNITS = {"": "seconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_DURATION = re.compile(r"([0-9]{1,9})([smhd]?)")


def parse_duration(value: Any) -> timedelta:
    """Read a duration: seconds as a number, or text with a unit; raises ValueError that says what is allowed."""
    text = str(value) if type(value) is int else value
    match = _DURATION.fullmatch(text) if isinstance(text, str) else None
    if match is not None:
        duration = timedelta(**{_UNITS[match[2]]: int(match[1])})
        if SHORTEST <= duration <= LONGEST:
            return duration
    raise ValueError(f"must be {GRAMMAR}")


def shown_duration(duration: timedelta) -> str:
    """Write a duration in words: '30 minutes', '1 day 12 hours'; the two largest units, seconds at least."""
    seconds = max(int(duration.total_seconds()), 0)
    parts = []
    for size, name in ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")):
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {name}{'' if count == 1 else 's'}")
    return " ".join(parts[:2]) or "0 seconds"
