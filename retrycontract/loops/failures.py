"""Tell a model call that may succeed later from one that never will."""

from __future__ import annotations

import json
from dataclasses import dataclass

# The request met a limit or a conflict that passes.
PASSING = frozenset({408, 409, 425, 429})
# How openai, anthropic and httpx name what broke on the way; requests, urllib and aiohttp raise OSErrors.
BROKEN_CONNECTION = frozenset({"APIConnectionError", "TransportError"})
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
    """Raise this in a model of your own for a call that may succeed later: it costs an attempt."""


class ModelUnusableError(Exception):
    """Raised for a model call that can never succeed; `status` is the HTTP status where there is one.

    The provider's own error is its cause; its text may quote the key and stays out of ours.
    """

    def __init__(self, reason: str, status: int | None = None) -> None:
        self.reason, self.status = reason, status
        super().__init__(f"the model cannot be called: {reason}")


@dataclass(frozen=True, slots=True)
class ApiFailure:
    """Say in a few words, without the provider's, why a model call failed."""

    reason: str
    status: int | None = None
    is_final: bool = False


def failure_of(error: Exception) -> ApiFailure | None:
    """Judge what a model call raised; None for what is no failure of the call, but a bug of the caller's."""
    name = type(error).__name__
    if isinstance(error, ModelApiError):
        return ApiFailure(str(error) or name)
    status = _status(error)
    if status is not None:
        return _refusal(error, status)
    broken = not BROKEN_CONNECTION.isdisjoint(kind.__name__ for kind in type(error).__mro__)
    if broken or isinstance(error, OSError | EOFError | json.JSONDecodeError):
        return ApiFailure(f"no answer ({name})")
    return None


def _refusal(error: Exception, status: int) -> ApiFailure:
    passes = (status in PASSING or status >= 500 or status < 400) and getattr(error, "code", None) != EMPTY_ACCOUNT
    said = f"HTTP {status} ({type(error).__name__})"
    if passes:
        return ApiFailure(said, status)
    return ApiFailure(f"{said}: {ADVICE.get(status, ADVICE[400])}", status, is_final=True)


def _status(error: Exception) -> int | None:
    """Find the HTTP status: on the error, on its response, or as urllib's code."""
    response = getattr(error, "response", None)
    found = (getattr(error, "status_code", None), getattr(response, "status_code", None), getattr(error, "code", None))
    return next((status for status in found if type(status) is int and 100 <= status < 600), None)
