"""Tell a model call that may succeed later from one that never will, whatever raised it: by shape, without imports."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retrycontract.loops.asking import ExtractionMetrics
    from retrycontract.loops.engine import Trial

# The request met a limit or a conflict that passes.
PASSING = frozenset({408, 409, 425, 429})
# How errors are called that mean that no answer came: openai, anthropic and httpx; aiohttp; botocore; urllib's protocol
# errors and urllib3's; Google's retries that gave up; a command that runs a model and took too long. requests raises
# OSErrors.
BROKEN_CONNECTION = frozenset(
    {
        "APIConnectionError", "TransportError", "ClientConnectionError", "ClientPayloadError", "HTTPClientError",
        "EndpointConnectionError", "HTTPException", "RetryError", "TimeoutExpired",
        "PoolError", "ProtocolError", "TimeoutError",
    }
)  # fmt: skip
# How botocore and gRPC name what passes; some of it comes with a status that would not.
PASSING_CODES = frozenset(
    {
        "ThrottlingException", "Throttling", "TooManyRequestsException", "RequestLimitExceeded", "SlowDown",
        "ServiceUnavailable", "ServiceUnavailableException", "InternalServerException", "ModelNotReadyException",
        "ModelTimeoutException", "RequestTimeout", "RequestTimeoutException", "UNAVAILABLE", "DEADLINE_EXCEEDED",
        "RESOURCE_EXHAUSTED", "ABORTED", "INTERNAL",
    }
)  # fmt: skip
# Files and folders that a model of the caller's own reads are no network.
OF_FILES = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError)
FOR_EVER = 1e9  # seconds; whoever asks for more is waited for no longer than for this
_DIGITS = re.compile(r"[1-5][0-9]{2}", re.ASCII)
# OpenAI says 429 also when the account is empty: no waiting helps.
EMPTY_ACCOUNT = "insufficient_quota"
ADVICE = {
    400: "the provider refuses the request as it is",
    401: "check the API key",
    402: "the account has no credit",
    403: "the API key has no right to this model",
    404: "check the model's name and the address of the provider",
    413: "the conversation is too long",
    422: "the provider refuses the request as it is",
    429: "the account has no credit",
}


class ModelApiError(Exception):
    """Raise this in a model of your own for a call that may succeed later; `retry_after` is in seconds."""

    def __init__(self, *said: object, retry_after: float | None = None) -> None:
        if not isinstance(retry_after, int | float | None):
            raise TypeError(f"retry_after is {retry_after!r:.80}: give seconds, or None")
        self.retry_after = retry_after
        super().__init__(*said)


class ModelUnusableError(Exception):
    """Raised for a model call that can never succeed; `status` is the HTTP status where there is one.

    `history` holds the attempts before it and `metrics` what they cost. The provider's own error is its cause; its text
    may quote the key and stays out of ours.
    """

    def __init__(self, reason: str, status: int | None = None) -> None:
        self.reason, self.status = reason, status
        self.history: tuple[Trial, ...] = ()
        self.metrics: ExtractionMetrics | None = None
        super().__init__(f"the model cannot be called: {reason}")


@dataclass(frozen=True, slots=True)
class ApiFailure:
    """Say in a few words, without the provider's, why a model call failed; `retry_after` is in seconds."""

    reason: str
    status: int | None = None
    is_final: bool = False
    retry_after: float = field(default=0.0, compare=False)


def failure_of(error: Exception, *, now: datetime | None = None) -> ApiFailure | None:
    """Judge what a model call raised; None for what is no failure of the call, but a bug of the caller's.

    `now` is what a date in Retry-After counts from where the answer bears none of its own.
    """
    name = type(error).__name__
    after = _retry_after(error, now)
    if isinstance(error, ModelApiError):
        return ApiFailure(str(error) or name, retry_after=after)
    code, status = _code(error), _status(error)
    # Before the status: botocore says some of what passes with a status of 400.
    if code in PASSING_CODES:
        return ApiFailure(f"{code} ({name})", status, retry_after=after)
    if status is not None:
        passes = (status in PASSING or status >= 500 or status < 400) and _read(error, "code") != EMPTY_ACCOUNT
        said = f"HTTP {status} ({type(error).__name__})"
        if passes:
            return ApiFailure(said, status, retry_after=after)
        return ApiFailure(f"{said}: {ADVICE.get(status, ADVICE[400])}", status, is_final=True)
    broken = not BROKEN_CONNECTION.isdisjoint(kind.__name__ for kind in type(error).__mro__)
    if broken or (isinstance(error, OSError | EOFError | json.JSONDecodeError) and not isinstance(error, OF_FILES)):
        return ApiFailure(f"no answer ({name})", retry_after=after)
    return None


def _status(error: Exception) -> int | None:
    """Find the HTTP status: on the error or its response, a number or one of Python's HTTPStatus, botocore's dict."""
    response = _read(error, "response")
    found = [_read(holder, name) for holder in (error, response) for name in ("status_code", "status", "code")]
    if isinstance(response, Mapping):
        found.append(_member(response, "ResponseMetadata", "HTTPStatusCode"))
    for each in found:
        # To Python a flag is an integer, too; and foreign classes use these names as they like: gRPC's `code` is a
        # method.
        is_number = isinstance(each, int) and not isinstance(each, bool)
        if (is_number and 100 <= each < 600) or (isinstance(each, str) and _DIGITS.fullmatch(each)):
            return int(each)
    return None


def _code(error: Exception) -> str | None:
    """Find the name that botocore gives an error, or gRPC its status."""
    response = _read(error, "response")
    if isinstance(response, Mapping):
        named = _member(response, "Error", "Code")
        return named if isinstance(named, str) else None
    code = _read(error, "code")
    with suppress(Exception):  # a method of foreign code, called with nothing
        code = code() if callable(code) else code
    name = _read(code, "name")
    return name if isinstance(name, str) else None


def _retry_after(error: Exception, now: datetime | None) -> float:
    """Read how long the provider asks to wait: seconds, milliseconds, or a date."""
    given = _read(error, "retry_after")
    seconds = given.total_seconds() if isinstance(given, timedelta) else given
    if isinstance(seconds, int | float) and seconds > 0:
        return float(min(seconds, FOR_EVER))
    response = _read(error, "response")
    within = _member(response, "ResponseMetadata", "HTTPHeaders") if isinstance(response, Mapping) else None
    holders: tuple[Any, ...] = (_read(response, "headers"), _read(error, "headers"), within)
    for found in holders:
        headers: dict[str, str] = {}
        with suppress(Exception):  # some are lists of pairs, and foreign ones may be anything
            pairs = found.items() if hasattr(found, "items") else found or ()
            headers = {_text(name).lower(): _text(value) for name, value in pairs}
        # The finer of the two, where a provider sends both.
        if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
            return milliseconds / 1000
        asked = headers.get("retry-after")
        if (seconds := _number(asked)) is not None:
            return seconds
        with suppress(TypeError, ValueError, OverflowError):  # no date
            # The answer's own date first: clocks of two machines differ.
            since = _date(headers["date"]) if "date" in headers else now
            if asked is not None and since is not None:
                return max(0.0, (_date(asked) - since).total_seconds())
    return 0.0


def _date(text: str) -> datetime:
    """Read a date of HTTP, whose oldest form has no time zone and means UTC."""
    read = parsedate_to_datetime(text)
    return read if read.tzinfo is not None else read.replace(tzinfo=UTC)


def _read(holder: Any, name: str) -> Any:
    """Read an attribute; foreign ones may be properties that raise, as httpx's are before they are set."""
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001 - foreign code
        return None


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _member(mapping: Mapping[str, Any], *names: str) -> Any:
    found: Any = mapping
    for name in names:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _number(text: str | None) -> float | None:
    digits = (text or "").strip()
    return float(digits) if digits.replace(".", "", 1).isdigit() and digits.isascii() else None
