"""Read the service's answers into results."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from retrycontract.client.errors import UnexpectedAnswerError
from retrycontract.client.exchange import API, Reply, Submissions, content_of
from retrycontract.client.results import (
    CallSummary,
    DryRun,
    Guidance,
    ImportedTools,
    KnownTool,
    Listed,
    LoggedResponse,
    Outcome,
    RefusedTool,
    RegisteredTool,
)
from retrycontract.contract.decisions import Decision
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.feedback.tool_result import ToolResult
from retrycontract.contract.lifecycle import CallState, Status
from retrycontract.contract.schemas.document import SchemaWarning
from retrycontract.contract.webhooks import ResponseStatus

T = TypeVar("T")


def read(reply: Reply, url: str, reader: Callable[[Any], T]) -> T:
    """Turn an answer into a result; raises UnexpectedAnswerError for anything that the service would not send."""
    try:
        return reader(json.loads(reply.body))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        kind = reply.headers.get("content-type", "no content type").partition(";")[0]
        raise UnexpectedAnswerError(url, reply.status, f"something else than it should ({kind[:80]})") from None


def outcome(sent: Submissions, data: Any) -> Outcome:
    """Read a verdict; `sent` gives the arguments back once they are valid, and else the provider's id in full."""
    status = Status(data["status"]) if data["status"] else None
    text = sent.text_of(data["call_id"], data["attempt_number"]) if status is Status.VALID else None
    answer, own_id = data["tool_result"], sent.id_of(data["call_id"], data["attempt_number"])
    return Outcome(
        call_id=str(data["call_id"]),
        status=status,
        state=CallState(data["state"]),
        attempt=int(data["attempt"]),
        max_attempts=int(data["max_attempts"]),
        attempt_number=int(data["attempt_number"]),
        errors=_errors([*data["errors"], *data["warnings"]]),
        tool_result=ToolResult(**answer | ({"tool_call_id": own_id} if own_id else {})) if answer else None,
        arguments=content_of(text) if text is not None else None,
        tool=str(data.get("tool", "")),
        errors_left_out=int(data.get("errors_left_out", 0)),
    )


def place(data: Any) -> tuple[str, int]:
    """Read which call an attempt belongs to, and its number in it."""
    return str(data["call_id"]), int(data["attempt_number"])


def guidance(sent: Submissions, data: Any) -> Guidance:
    """Read where a waiting agent's call stands, and the answer where there is one."""
    call_id, state, given = str(data["call_id"]), CallState(data["state"]), data["guidance"]
    if given is None:
        return Guidance(call_id, state, text=data["expiry"] or "")
    base = given["base"]["attempt"] if given["base"] else None
    return Guidance(
        call_id,
        state,
        decision=Decision(given["decision"]),
        text=given["text"],
        operator_text=given["operator_text"],
        granted=given["granted"],
        max_attempts=given["max_attempts"],
        base_attempt=base,
        corrected=given["arguments"],
        patch=tuple(given["patch"]) if given["patch"] is not None else None,
        base=sent.text_of(call_id, base),
    )


def acknowledged(data: Any) -> bool:
    """Read whether an acknowledgement was the first."""
    return bool(data["acknowledged"])


def state(data: Any) -> CallState:
    return CallState(data["state"])


def call_page(data: Any) -> Listed[CallSummary]:
    """Read some of the agent's calls."""
    names = ("kind", "tool", "session_id", "task_id", "correlation_id", "model", "attempts_made", "attempts_allowed")
    calls = (
        CallSummary(
            call_id=str(each["call_id"]),
            state=CallState(each["state"]),
            created_at=datetime.fromisoformat(each["created_at"]),
            updated_at=datetime.fromisoformat(each["updated_at"]),
            expires_at=datetime.fromisoformat(each["expires_at"]) if each["expires_at"] else None,
            **{name: each[name] for name in names},
        )
        for each in data["calls"]
    )
    return Listed(tuple(calls), _following(data["next"], "/calls?"))


def response_page(data: Any) -> Listed[LoggedResponse]:
    """Read some lines of the agent-response log."""
    names = ("call_id", "tool", "task_id", "turn", "raw", "correction_attempt")
    responses = (
        LoggedResponse(
            status=ResponseStatus(each["status"]),
            violations=_errors(each["violations"]),
            at=datetime.fromisoformat(each["at"]),
            **{name: each[name] for name in names},
        )
        for each in data["responses"]
    )
    return Listed(tuple(responses), _following(data["next"], "/agent-responses?"))


def tool_page(data: Any) -> Listed[KnownTool]:
    return Listed(tuple(map(known_tool, data["tools"])), _following(data["next"], "/tools?"))


def known_tool(data: Any) -> KnownTool:
    names = ("name", "kind", "description", "strict", "version", "schema_hash")
    return KnownTool(**{name: data[name] for name in names}, input_schema=data.get("input_schema"))


def _following(address: str | None, beginning: str) -> str | None:
    """Read where the next page is, below the API's address."""
    if address is not None and not address.startswith(API + beginning):
        raise ValueError("the key goes to this service only")
    return address and address.removeprefix(API)


def registered_tool(data: Any) -> RegisteredTool:
    names = ("name", "version", "schema_hash", "created", "changed", "max_attempts")
    warnings = tuple(SchemaWarning(each["pointer"], each["detail"]) for each in data.get("warnings", ()))
    return RegisteredTool(**{name: data[name] for name in names}, warnings=warnings)


def imported_tools(data: Any) -> ImportedTools:
    refused = [RefusedTool(each["name"], each["pointer"], each["code"], each["detail"]) for each in data["refused"]]
    return ImportedTools(tuple(map(registered_tool, data["registered"])), tuple(refused))


def dry_run(data: Any) -> DryRun:
    """Read the verdict on an output that was only tried."""
    return DryRun(
        data["valid"], _errors(data["errors"]), data["feedback"], data["characters"], data["tokens_estimate"],
        errors_left_out=int(data.get("errors_left_out", 0)),
    )  # fmt: skip


def _errors(items: list[Any]) -> tuple[ValidationError, ...]:
    return tuple(ValidationError.from_json(item) for item in items)
