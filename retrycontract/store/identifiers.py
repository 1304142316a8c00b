"""Public ids: a prefix that says what it is, then time and randomness, so that they sort by age."""

from __future__ import annotations

import secrets
import time

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no letter that reads as a digit
LENGTH = 26


def new_id(prefix: str) -> str:
    """Make an id such as `call_01jd…`: 48 bits of milliseconds and 80 random bits."""
    number = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    return f"{prefix}_{''.join(ALPHABET[number >> shift & 31] for shift in range(5 * (LENGTH - 1), -1, -5))}"


def new_call_id() -> str:
    """Make the public id of a call."""
    return new_id("call")


def new_escalation_id() -> str:
    """Make the public id of an escalation."""
    return new_id("esc")


def new_message_id() -> str:
    """Make the public id of a message that is sent to people or systems."""
    return new_id("msg")


def new_endpoint_id() -> str:
    """Make the public id of a webhook endpoint."""
    return new_id("ep")
