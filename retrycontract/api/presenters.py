"""Turn what is stored into what the API gives."""

from __future__ import annotations

from typing import Any, TypeVar
from urllib.parse import urlencode

from django.db.models import Model
from django.http import HttpResponse
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from retrycontract.api import schemas
from retrycontract.contract.decisions import Decision
from retrycontract.contract.feedback.guidance import render_expiry
from retrycontract.contract.feedback.tool_result import Provider, ToolResult, first_errors, stored_metadata
from retrycontract.contract.lifecycle import CallState, Status
from retrycontract.contract.outputs import Kind
from retrycontract.store.models import Attempt, Call, Guidance
from retrycontract.store.sizes import first_within
from retrycontract.usecases.answers.deliver_answer import told_text
from retrycontract.usecases.calls.repeat_request import safe_query

PREFIX = "/api/v1"
MOST_ATTEMPTS = 1_000  # of a call in one answer
Form = TypeVar("Form", bound=BaseModel)


def next_page(path: str, query: BaseModel, cursor: str) -> str | None:
    """Write the address of the page that begins behind a cursor; None without one, on the last page."""
    asked = safe_query(query.model_dump(mode="json", exclude_none=True)) | {"cursor": cursor}
    return f"{PREFIX}{path}?{urlencode(asked)}" if cursor else None


def links(call: Call) -> schemas.Links:
    base = f"{PREFIX}/calls/{call.public_id}"
    return schemas.Links(self=base, wait=f"{base}/wait?for=guidance", guidance=f"{base}/guidance")


def verdict(attempt: Attempt, render: Provider | None = None, provider_id: str | None = None) -> schemas.VerdictOut:
    """Give the verdict of an attempt, or its place in the queue while it has none.

    `provider_id` is the id that the attempt came with; what is kept of it may be redacted.
    """
    call = attempt.call
    result = tool_result(attempt, provider_id)
    listed, left_out = first_errors(attempt.errors_json, beside=provider_id or "")
    return schemas.VerdictOut(
        call_id=call.public_id,
        tool=call.tool_name,
        state=call.state,
        status=Status(attempt.status) if attempt.status else None,
        # Stored with the verdict, for a grant changes what is allowed. Until then they are as the call stands.
        attempt=attempt.shown_attempt or min(attempt.number, call.attempts_allowed),
        max_attempts=attempt.shown_max or call.attempts_allowed,
        attempt_number=attempt.number,
        errors=[_error(data) for data in listed if data["severity"] == "error"],
        warnings=[_error(data) for data in listed if data["severity"] != "error"],
        errors_left_out=left_out,
        tool_result=schemas.ToolResultOut(**result.to_json()) if result else None,
        rendered=result.render(render) if result and render else None,
        traceparent=attempt.traceparent,
        links=links(call),
    )


def tool_result(attempt: Attempt, provider_id: str | None = None) -> ToolResult | None:
    """Rebuild the ToolResult of a judged attempt; None when there is nothing to tell the model."""
    if attempt.status in ("", Status.VALID) or attempt.api_error is not None:
        return None
    twin = stored_metadata(
        attempt.errors_json, attempt=attempt.shown_attempt, max_attempts=attempt.shown_max, status=attempt.status,
        beside=provider_id or "",
    )  # fmt: skip
    twin |= {"call_id": attempt.call.public_id}
    if attempt.status == Status.BLOCKED:
        twin |= {"wait": links(attempt.call).wait}
    return ToolResult(provider_id or attempt.tool_call_id, attempt.feedback, metadata=twin, name=attempt.call.tool_name)


def written(answer: BaseModel) -> HttpResponse | BaseModel:
    """Write what may have megabytes in one step: made plain first and then written, it takes ten times as long.

    All that time nobody else is served. Half a character, which that step does not write, takes the usual way.
    """
    try:
        return HttpResponse(answer.model_dump_json(), content_type="application/json; charset=utf-8")
    except PydanticSerializationError:
        return answer


def summary(found: Call) -> schemas.CallSummary:
    """Give a call without its history."""
    return _of(
        schemas.CallSummary,
        found,
        call_id=found.public_id,
        tool=found.tool_name,
        state=CallState(found.state),
        links=links(found),
    )


def call(found: Call, after: int = 0) -> schemas.CallOut:
    """Give a call with its history behind an attempt, as much of it as one answer holds."""
    rest = found.attempts.filter(number__gt=after).order_by("number")
    keys, more = first_within(rest, MOST_ATTEMPTS)
    attempts = list(rest.filter(pk__in=keys))
    return schemas.CallOut(
        **dict(summary(found)),
        version=found.version.number if found.version else None,
        schema_hash=found.version.schema_hash if found.version else None,
        context=found.context,
        attempts=[_of(schemas.AttemptOut, attempt, errors=attempt.errors_json) for attempt in attempts],
        next=f"{PREFIX}/calls/{found.public_id}?after={attempts[-1].number}" if more else None,
        escalations=[
            _of(schemas.EscalationOut, escalation, id=escalation.public_id)
            for escalation in found.escalations.order_by("round")
        ],
    )


def waiting(found: Call, given: Guidance | None) -> schemas.WaitOut:
    """Give where a call stands for an agent that waits."""
    return schemas.WaitOut(
        call_id=found.public_id,
        state=found.state,
        guidance=guidance(given) if given else None,
        expiry=expiry(found),
        links=links(found),
    )


def expiry(found: Call) -> str | None:
    """Write what the model reads when nobody answered in time; None for every other call."""
    then = found.expired_into
    if then is None or found.blocked_at is None or found.expires_at is None:
        return None
    return render_expiry(Kind(found.kind), found.tool_name, found.expires_at - found.blocked_at, then)


def guidance(given: Guidance) -> schemas.GuidanceOut:
    """Give an operator's answer as the agent takes it."""
    base = given.base
    return _of(
        schemas.GuidanceOut,
        given,
        decision=Decision(given.decision),
        text=told_text(given),
        operator_text=given.text,
        base=schemas.BaseOut(attempt=base.number, hash=base.output_hash) if base else None,
        next_attempt=given.call.attempts_made + 1,
        max_attempts=given.call.attempts_allowed,
        acknowledged=given.acknowledged_at is not None,
    )


def is_waiting_for_guidance(found: Call) -> bool:
    """Tell whether only a person can move the call on."""
    return found.state == CallState.BLOCKED


def _of(form: type[Form], row: Model, **others: Any) -> Form:
    """Give what a row holds under the same names, and others."""
    return form(**{name: getattr(row, name) for name in form.model_fields if name not in others}, **others)


def _error(data: dict[str, Any]) -> schemas.ErrorOut:
    return schemas.ErrorOut(**data)
