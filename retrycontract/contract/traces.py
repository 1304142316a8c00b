"""Read the traceparent header (W3C Trace Context): by it an attempt is found again in the agent's own traces."""

from __future__ import annotations

import re
from typing import Final

TRACEPARENT_LENGTH: Final = 55  # of version 00; a later version may be longer, and begins with these

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_SAMPLED: Final = 0x01  # the only flag that every version knows


def read_traceparent(header: str | None) -> str | None:
    """Give a traceparent in the form of version 00, or None when there is none, or none that can be read.

    Tabs and spaces around it do not count. What is malformed is left out and never an error, as the standard says.
    """
    found = _TRACEPARENT.fullmatch((header or "").strip(" \t"))
    if found is None:
        return None
    version, trace, parent, flags, rest = found.groups()
    if version == "ff" or (version == "00" and rest is not None) or not (int(trace, 16) and int(parent, 16)):
        return None
    known = flags if version == "00" else f"{int(flags, 16) & _SAMPLED:02x}"
    return f"00-{trace}-{parent}-{known}"
