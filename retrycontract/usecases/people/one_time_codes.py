"""One-time codes as authenticator apps make them: TOTP (RFC 6238), six digits, half a minute, SHA-1."""

from __future__ import annotations

import base64
import hashlib
import hmac
from datetime import datetime
from typing import Final
from urllib.parse import quote

STEP: Final = 30  # seconds that a code is shown
DIGITS: Final = 6
SECRET_BYTES: Final = 20  # as long as the hash, as RFC 4226 asks for
ISSUER: Final = "retrycontract"


def write_secret(random: bytes) -> str:
    """Write a secret as apps take it."""
    return base64.b32encode(random).decode()


def step_of(now: datetime) -> int:
    """Number the half minutes."""
    return int(now.timestamp()) // STEP


def code_at(secret: str, step: int) -> str:
    """Give the code of a half minute."""
    digest = hmac.new(base64.b32decode(secret), step.to_bytes(8, "big"), hashlib.sha1).digest()
    offset = digest[-1] & 0x0F
    number = int.from_bytes(digest[offset : offset + 4], "big") & 0x7FFFFFFF
    return f"{number % 10**DIGITS:0{DIGITS}}"


def matching_step(secret: str, typed: str, *, now: datetime, after: int) -> int | None:
    """Find the half minute whose code was typed: this one or a neighbour, for clocks differ, and none twice."""
    code = "".join(typed.split()).encode()
    for step in (step_of(now) + drift for drift in (0, -1, 1)):
        if step > after and hmac.compare_digest(code_at(secret, step).encode(), code):
            return step
    return None


def address_for_apps(secret: str, name: str) -> str:
    """Give the address that sets up an app on the device that opens it."""
    return f"otpauth://totp/{ISSUER}:{quote(name, safe='')}?secret={secret}&issuer={ISSUER}"
