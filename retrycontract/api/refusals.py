"""Which refusals an address may answer with; the OpenAPI document names them, and tests hold the answers to it."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field

from retrycontract.api.schemas import ProblemOut

STATUS: Final = {
    "bad-json": 400,
    "http-error": 400,  # what the framework refuses: a host that is not ours
    "no-key": 401,
    "unknown-key": 401,
    "missing-scope": 403,
    "not-found": 404,
    "call-not-found": 404,
    "no-guidance": 404,
    "version-not-found": 404,
    "ambiguous-call": 409,
    "call-ended": 409,
    "other-kind": 409,
    "other-tool": 409,
    "precondition-failed": 412,
    "body-too-large": 413,
    "encoded-body": 415,
    "not-json": 415,
    "idempotency-key-reused": 422,
    "invalid-name": 422,
    "invalid-request": 422,
    "invalid-schema": 422,
    "invalid-tool-list": 422,
    "unknown-cursor": 422,
    "unknown-language": 422,
    "too-many-requests": 429,
    "too-much-work": 429,
    "internal": 500,
    "busy": 503,
    "database-unavailable": 503,
}
# Whatever is asked. A body is refused by its size before anything else is looked at, also where none is read.
ALWAYS: Final = (
    "http-error", "no-key", "unknown-key", "missing-scope", "body-too-large", "too-many-requests", "internal", "busy",
    "database-unavailable",
)  # fmt: skip
OF_BODIES: Final = ("bad-json", "encoded-body", "not-json", "invalid-request")
OF_WORK: Final = ("too-much-work",)  # where outputs or schemas are checked
OF_KEYED_POSTS: Final = ("invalid-request", "idempotency-key-reused")


def refusals(*codes: str) -> dict[Any, Any]:
    """Declare the problems that a route may answer with, besides those that every route may."""
    by_status: dict[int, list[str]] = {}
    for code in sorted({*ALWAYS, *codes}):
        by_status.setdefault(STATUS[code], []).append(code)
    return {status: _problem_with(found) for status, found in sorted(by_status.items())}


def _problem_with(codes: list[str]) -> Any:
    types = [f"urn:retrycontract:problem:{code}" for code in codes]
    narrowed: Any = {"properties": {"code": {"enum": codes}, "type": {"enum": types}}}
    return Annotated[ProblemOut, Field(json_schema_extra=narrowed)]
