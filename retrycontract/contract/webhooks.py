"""What agents and systems are told of calls: the events, how a webhook is signed, and when one is sent again."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

PREFIX: Final = "whsec_"
VERSION: Final = "v1"
TOLERANCE: Final = 300  # seconds that a message may be old, or ahead: what is replayed later is refused
SECRET_BYTES: Final = 24, 64  # the least and the most that the scheme allows
_TIMESTAMP: Final = re.compile(r"[0-9]{1,12}")


def secret_of(key: bytes) -> str:
    """Write random bytes as a secret, `whsec_…`; raises ValueError unless they are 24 to 64."""
    least, most = SECRET_BYTES
    if not least <= len(key) <= most:
        raise ValueError(f"a webhook's secret is made of {least} to {most} bytes, not of {len(key)}")
    return PREFIX + base64.b64encode(key).decode()


def sign(secrets: Iterable[str], message_id: str, timestamp: int, body: bytes) -> str:
    """Give the header `webhook-signature`: one signature for each secret; raises ValueError for what is no secret."""
    return " ".join(_signature(secret, message_id, str(timestamp), body) for secret in secrets)


def verify(
    secrets: Iterable[str], headers: Mapping[str, str], body: bytes, *, now: float, tolerance: float = TOLERANCE
) -> bool:
    """Tell whether a message was signed with one of the secrets, lately; never raises for what a sender sent.

    `body` is what came in, byte for byte; `now` and `tolerance` are seconds. Raises ValueError for what is no secret.
    """
    given = {name.lower(): value for name, value in headers.items()}
    message_id, timestamp = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
    # In bytes: `compare_digest` refuses text beyond ASCII, and a header may hold anything.
    signatures = [signature.encode("utf-8", "replace") for signature in given.get("webhook-signature", "").split(" ")]
    wanted = [_signature(secret, message_id, timestamp, body).encode() for secret in secrets]
    # All are compared, so that how long it takes says nothing of which one is near.
    matches = [hmac.compare_digest(one, signature) for one in wanted for signature in signatures]
    is_recent = _TIMESTAMP.fullmatch(timestamp) is not None and abs(now - int(timestamp)) <= tolerance
    return bool(message_id) and is_recent and any(matches)


def _signature(secret: str, message_id: str, timestamp: str, body: bytes) -> str:
    content = f"{message_id}.{timestamp}.".encode("utf-8", "replace") + body
    try:
        # Without `validate` foreign characters are passed over, so that a mistyped secret
        # would be taken for another one.
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise ValueError(f"a webhook's secret is written as '{PREFIX}' and base64")
    digest = hmac.new(key, content, hashlib.sha256).digest()
    return f"{VERSION},{base64.b64encode(digest).decode()}"


class WebhookEvent(StrEnum):
    """The types of webhook messages: what happens to a call while nobody looks at an answer of ours."""

    CALL_BLOCKED = "call.blocked"  # its attempts ran out: a person is asked
    CALL_RESOLVED = "call.resolved"  # its agent got it right while it was Blocked
    CALL_EXPIRED = "call.expired"  # nobody answered in time
    CALL_CANCELLED = "call.cancelled"
    GUIDANCE_GIVEN = "guidance.given"  # a person answered


# After each failed try; the last one again and again, until the message is given up.
SCHEDULE: Final = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
)
SPREAD: Final = 0.1  # the share of a pause that chance may add, so that not everything comes back at one moment
FIRST_REST: Final = timedelta(seconds=5)
LONGEST_REST: Final = timedelta(minutes=5)  # a receiver that is down costs one try in five minutes, however much waits
LONGEST_ASKED: Final = timedelta(days=1)  # a receiver cannot put a message off for longer
# With more digits `timedelta` may raise, and headers are a receiver's to choose.
MOST_DIGITS: Final = 9
# Of RFC 9110, 5.6.7: two are obsolete, and to be read all the same.
_HTTP_DATES: Final = ("%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %d %H:%M:%S %Y")


def pause_of_message(tries: int, chance: float) -> timedelta:
    """Give how long a message waits after its `tries`-th failed try; `chance` is 0 to 1."""
    pause = SCHEDULE[min(max(tries, 1), len(SCHEDULE)) - 1]
    return pause * (1 + SPREAD * chance)


def rest_of_receiver(failures: int) -> timedelta:
    """Give how long a receiver is left alone after so many failures in a row."""
    # Bounded before it is shifted: the pause has a limit, the number would have none.
    doublings = min(max(failures, 1) - 1, 20)
    return min(FIRST_REST * (1 << doublings), LONGEST_REST)


def asked_pause(retry_after: str, now: datetime) -> timedelta:
    """Read a Retry-After header, seconds or a date; none for what is neither, a day at most."""
    asked = timedelta()
    if retry_after.isascii() and retry_after.isdigit():
        digits = retry_after.lstrip("0")
        asked = timedelta(seconds=int(digits or 0)) if len(digits) <= MOST_DIGITS else LONGEST_ASKED
    for form in _HTTP_DATES:
        with suppress(ValueError):
            asked = datetime.strptime(retry_after, form).replace(tzinfo=UTC) - now
    return min(max(asked, timedelta()), LONGEST_ASKED)


class AgentEvent(StrEnum):
    """The types of streamed events: what systems are told by webhook, and every verdict."""

    ATTEMPT_JUDGED = "attempt.judged"  # or given up, or to be sent again: its status says which
    CALL_BLOCKED = WebhookEvent.CALL_BLOCKED.value
    CALL_RESOLVED = WebhookEvent.CALL_RESOLVED.value
    CALL_EXPIRED = WebhookEvent.CALL_EXPIRED.value
    CALL_CANCELLED = WebhookEvent.CALL_CANCELLED.value
    GUIDANCE_GIVEN = WebhookEvent.GUIDANCE_GIVEN.value


RECORDED_AS: dict[str, AgentEvent] = {
    "attempt.judged": AgentEvent.ATTEMPT_JUDGED,
    "attempt.dead": AgentEvent.ATTEMPT_JUDGED,
    "attempt.discarded": AgentEvent.ATTEMPT_JUDGED,
    "escalation.opened": AgentEvent.CALL_BLOCKED,
    "escalation.resolved": AgentEvent.CALL_RESOLVED,
    "call.expired": AgentEvent.CALL_EXPIRED,
    "call.cancelled": AgentEvent.CALL_CANCELLED,
    "guidance.given": AgentEvent.GUIDANCE_GIVEN,
}
# What is told beyond where the call stands; the audit trail knows more.
DETAILS: dict[AgentEvent, tuple[str, ...]] = {
    AgentEvent.ATTEMPT_JUDGED: ("attempt", "valid", "codes"),
    AgentEvent.CALL_BLOCKED: ("round", "event", "reason"),
    AgentEvent.CALL_EXPIRED: ("on_expiry",),
    AgentEvent.GUIDANCE_GIVEN: ("decision", "granted"),
}


class ResponseStatus(StrEnum):
    """Name how a reply is logged."""

    SUCCESS = "SUCCESS"
    MALFORMED = "MALFORMED"
    SCHEMA_VIOLATION = "SCHEMA_VIOLATION"


def response_status(*, is_valid: bool, is_parsed: bool) -> ResponseStatus:
    """Tell how a reply is logged: what is no JSON is malformed, whatever else is wrong with it."""
    if is_valid:
        return ResponseStatus.SUCCESS
    return ResponseStatus.SCHEMA_VIOLATION if is_parsed else ResponseStatus.MALFORMED
