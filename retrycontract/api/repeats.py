"""Who asks, and answering a request once however often it is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Header
from pydantic import BaseModel

from retrycontract.store.models import Agent
from retrycontract.usecases.calls.repeat_request import RequestKey, answer_once

IdempotencyKey = Annotated[
    str | None,
    Header(
        None, alias="Idempotency-Key", min_length=1, max_length=255,
        description="Sent again with the same key, a request is answered as it was before and does nothing.",
    ),
]  # fmt: skip


def agent_of(request: HttpRequest) -> Agent:
    """Give the agent whose key came with a request."""
    agent: Agent = request.auth  # type: ignore[attr-defined]  # ninja puts what ApiKeyAuth returns here
    return agent


def request_key(request: HttpRequest, key: str | None) -> RequestKey | None:
    """Give the key that a request came with, bound to all that it asks; None without one."""
    if key is None:
        return None
    return RequestKey.of(key, str(request.method), request.get_full_path(), request.body.decode("utf-8", "replace"))


def once(request: HttpRequest, key: str | None, answer: Callable[[], BaseModel]) -> Any:
    """Answer a request; one that comes again with its key is not done again, and answered the same."""
    known = request_key(request, key)
    return answer_once(agent_of(request), known, lambda: answer().model_dump(mode="json"), now=timezone.now())
