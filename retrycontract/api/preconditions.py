"""Entity tags (RFC 9110): read a tool again only when it changed, and change it only when nobody else did."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Annotated, Any, Final

from django.http import HttpRequest
from django.utils import timezone
from ninja import Header
from pydantic import BaseModel

from retrycontract.store.models import Agent
from retrycontract.usecases.calls.repeat_request import RequestKey, answer_in_steps, answer_once

IfMatch = Annotated[
    str | None,
    Header(None, alias="If-Match", description="Change the tool only while it has one of these ETags; * for any."),
]
IfNoneMatch = Annotated[
    str | None,
    Header(None, alias="If-None-Match", description="Answer only when no ETag of these is current; * for any."),
]
_ENTITY_TAG = re.compile(r'(W/)?"([^"]*)"')


def entity_tag(revision: str) -> str:
    """Write a revision as a strong ETag."""
    return f'"{revision}"'


def tag_of(content: BaseModel) -> str:
    """Make the ETag of an answer that has no revision of its own: it names exactly these bytes."""
    return entity_tag(hashlib.sha256(content.model_dump_json().encode()).hexdigest()[:32])


def is_known(if_none_match: str | None, tag: str) -> bool:
    """Tell whether the client has the current answer already."""
    return if_none_match is not None and _names(if_none_match, tag, weakly=True)


def may_replace(if_match: str | None, if_none_match: str | None) -> Callable[[str | None], bool] | None:
    """Say by the revision that is there, None for none, whether to go on; None when the client asked for nothing."""
    if if_match is None and if_none_match is None:
        return None

    def holds(revision: str | None) -> bool:
        tag = entity_tag(revision) if revision else None
        # RFC 9110 compares If-Match strongly (13.1.1) and If-None-Match weakly (13.1.2).
        is_as_known = if_match is None or _names(if_match, tag)
        is_other = if_none_match is None or not _names(if_none_match, tag, weakly=True)
        return is_as_known and is_other

    return holds


def _names(header: str, tag: str | None, *, weakly: bool = False) -> bool:
    """Tell whether a list of tags names one; a list that cannot be read names none."""
    # Before the asterisk, which stands for whatever is there: nothing is.
    if tag is None:
        return False
    if header.strip() == "*":
        return True
    return any(tag == f'"{opaque}"' and (weakly or not weak) for weak, opaque in _ENTITY_TAG.findall(header))


IDEMPOTENCY_KEY: Final = "Idempotency-Key"
IdempotencyKey = Annotated[
    str | None,
    Header(
        None, alias=IDEMPOTENCY_KEY, min_length=1, max_length=255,
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


def once(
    request: HttpRequest, key: str | None, answer: Callable[[], BaseModel], before: Callable[[], object] = lambda: None
) -> Any:
    """Answer a request; one that comes again with its key is not done again, and answered the same.

    `before` does what takes long and writes nothing, ahead of the transaction that `answer` writes in.
    """
    known, now = request_key(request, key), timezone.now()
    return answer_once(agent_of(request), known, lambda: answer().model_dump(mode="json"), now=now, before=before)


def once_in_steps(request: HttpRequest, key: str | None, answer: Callable[[], BaseModel]) -> Any:
    """Answer a request that is done in several transactions, and may be done again; with its key as `once` does."""
    known, now = request_key(request, key), timezone.now()
    return answer_in_steps(agent_of(request), known, lambda: answer().model_dump(mode="json"), now=now)
