"""Errors as problem documents (RFC 9457): which an address may answer with, what went wrong and what to do."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.db import DatabaseError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError
from ninja.errors import ValidationError as BodyError
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation
from pydantic import BaseModel, Field

from retrycontract.api import openapi
from retrycontract.api.known_fields import NO_FIELD
from retrycontract.api.openapi import IN_WORDS
from retrycontract.api.preconditions import entity_tag
from retrycontract.children.pool import ChildUnavailableError
from retrycontract.children.turns import TooManyWaitingError
from retrycontract.contract import pointers
from retrycontract.contract.advice.names import did_you_mean
from retrycontract.contract.matching import AmbiguousCallError
from retrycontract.contract.outputs.source_code import Language, UnknownLanguageError
from retrycontract.contract.redaction.sanitizer import elide_middle
from retrycontract.contract.schemas.admission import InvalidSchema, SchemaWarning
from retrycontract.contract.schemas.tool_lists import InvalidToolListError
from retrycontract.languages import MissingGrammarError
from retrycontract.store.models import LostRaceError
from retrycontract.store.outages import outage, reason_of
from retrycontract.usecases.calls.continue_call import (
    CallEndedError,
    CallNotFoundError,
    CallOfOtherToolError,
    OtherKindError,
    UnknownVersionError,
)
from retrycontract.usecases.calls.read_agent_responses import UnknownCursorError
from retrycontract.usecases.calls.repeat_request import IdempotencyConflictError
from retrycontract.usecases.counts.keep_count import WorkUsedUpError
from retrycontract.usecases.tools.contracts import sanitizer
from retrycontract.usecases.tools.register_tool import ListTakesLongError, ToolChangedError

STATUS: Final = {
    "bad-json": 400,
    "http-error": 400,  # what else the framework refuses
    "unknown-host": 400,
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


class ProblemItem(BaseModel):
    """One fault of a request."""

    pointer: str
    code: str
    detail: str


class ProblemOut(BaseModel):
    """A problem document (RFC 9457)."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    errors: list[ProblemItem] | None = None
    call_id: str | None = Field(None, description="The call that the problem is about.")
    state: str | None = Field(None, description="Where that call stands.")
    candidates: list[str] | None = Field(None, description="Open calls that could be meant: send the call_id of one.")


# Whatever is asked. A body is refused by its size before anything else is looked at, also where none is read.
ALWAYS: Final = (
    "http-error", "unknown-host", "no-key", "unknown-key", "missing-scope", "body-too-large", "too-many-requests",
    "internal", "busy", "database-unavailable",
)  # fmt: skip
OF_BODIES: Final = ("bad-json", "encoded-body", "not-json", "invalid-request")
OF_WORK: Final = ("too-much-work",)  # where outputs or schemas are checked, or much is read
OF_KEYED_POSTS: Final = ("invalid-request", "idempotency-key-reused")


def refusals(*codes: str) -> dict[Any, Any]:
    """Declare the problems that a route may answer with, besides those that every route may."""
    by_status: dict[int, list[str]] = {}
    for code in sorted({*ALWAYS, *codes}):
        by_status.setdefault(STATUS[code], []).append(code)
    declared: dict[int, Any] = {}
    for status, found in sorted(by_status.items()):
        types = [f"urn:retrycontract:problem:{code}" for code in found]
        narrowed: Any = {"properties": {"code": {"enum": found}, "type": {"enum": types}}}
        declared[status] = Annotated[ProblemOut, Field(json_schema_extra=narrowed)]
    return declared


logger = logging.getLogger("retrycontract")

CONTENT_TYPE = "application/problem+json"
MAX_FAULTS = 20  # of one request that are named; a client that mends these is told of the next ones
MAX_POINTER = 500  # characters; names of fields are the client's, and as long as it likes
MAX_NAME = 100  # characters of a field's name that a sentence repeats
EITHER = "callback_error"  # the one field that takes text or a list; pydantic names which of them it tried
TITLES = {
    400: "Bad request",
    401: "Not authenticated",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    412: "Precondition failed",
    413: "Too large",
    415: "Unsupported media type",
    422: "Not processable",
    429: "Too many requests",
    500: "Internal error",
    503: "Try again",
}


class Problem(Exception):  # noqa: N818 - the RFC's word for it
    """Raise an answer: a stable code, which has its status, a sentence, and pointers to the faults."""

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        errors: list[dict[str, str]] | None = None,
        headers: Mapping[str, str] | None = None,
        **extra: Any,
    ) -> None:
        self.status, self.code, self.detail, self.extra = STATUS[code], code, detail, {"errors": errors, **extra}
        self.headers = headers or {}
        super().__init__(detail)


def problem_response(status: int, code: str, detail: str, **extra: Any) -> HttpResponse:
    body = {
        "type": f"urn:retrycontract:problem:{code}",
        "title": TITLES.get(status, "Error"),
        "status": status,
        "code": code,
        "detail": detail,
        **{key: value for key, value in extra.items() if value is not None},
    }
    response = HttpResponse(json.dumps(body), status=status, content_type=CONTENT_TYPE)
    if status == 401:
        # RFC 9110 asks for it with every 401.
        response["WWW-Authenticate"] = 'Bearer realm="retrycontract"'
    if status == 503:
        response["Retry-After"] = "1"
        response._has_been_logged = True  # type: ignore[attr-defined] # noqa: SLF001 - else Django does, with the path
    return response


def unknown_host() -> HttpResponse:
    """Answer a request under a name that is not the service's; the name is not repeated."""
    detail = "This service is not asked by that host: use its own name, or add this one to RETRYCONTRACT_ALLOWED_HOSTS."
    return problem_response(400, "unknown-host", detail)


class ProblemAPI(NinjaAPI):
    """Answer every exception with a problem document, and say so in the OpenAPI document."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for exception, handler in HANDLERS.items():
            self.add_exception_handler(exception, handler)

    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        """Write the document, headers and problems included."""
        document = super().get_openapi_schema(**options)
        openapi.complete(document, of_problems=CONTENT_TYPE)
        return document

    def get_openapi_operation_id(self, operation: Operation) -> str:
        """Name an operation as its function; clients are generated by these names."""
        return operation.view_func.__name__


def _problem(_: HttpRequest, error: Problem) -> HttpResponse:
    response = problem_response(error.status, error.code, error.detail, **error.extra)
    for name, value in error.headers.items():
        response[name] = value
    return response


def _body(_: HttpRequest, error: BodyError) -> HttpResponse:
    """Name the fields that are wrong; what they held is not repeated."""
    # What may be one thing or another is refused once for each, all at the same place: the first one speaks for it.
    by_place = {place_of(fault["loc"]): fault for fault in reversed(error.errors)}
    errors = [
        {
            "pointer": (told := shown(sanitizer().redact_pointer(place))),
            "code": fault["type"],
            "detail": _said(told, fault),
        }
        for place, fault in list(reversed(by_place.items()))[:MAX_FAULTS]
    ]
    detail = "Correct the fields named in 'errors' and send it again."
    return problem_response(422, "invalid-request", detail, errors=errors)


def _said(place: str, fault: Mapping[str, Any]) -> str:
    """Give Pydantic's words, or ours where they name what only Python knows."""
    if fault["type"] in ("model_type", "model_attributes_type", "dict_type"):
        return "A JSON object is expected here."
    if not place and fault["type"] == "missing":
        return "The body is missing: it is a JSON object."
    if fault["type"] == NO_FIELD and (known := fault.get("ctx", {}).get("known")):
        name = place.rpartition("/")[2]
        nearest = did_you_mean(name, known)
        meant = f'did you mean "{nearest}"? ' if nearest else ""
        return f'"{elide_middle(name, MAX_NAME)}" is no field; {meant}Known are {", ".join(known)}.'
    if fault["type"] == "string_pattern_mismatch":
        return IN_WORDS.get(str(fault.get("ctx", {}).get("pattern")), str(fault["msg"]))
    if fault["type"] in ("too_short", "string_too_short") and fault.get("ctx", {}).get("min_length") == 1:
        return "This must not be empty."
    return str(fault["msg"])


def shown(pointer: str) -> str:
    return elide_middle(pointer, MAX_POINTER)


def place_of(location: tuple[Any, ...]) -> str:
    """Turn ninja's ('body', 'data', 'turn') into '/turn'."""
    parts = [str(part) for part in location]
    if parts[:1] in (["body"], ["query"], ["path"], ["header"]):
        parts = parts[2:] if parts[0] == "body" and len(parts) > 1 else parts[1:]
    if location[:1] == ("query",) and len(parts) > 1:  # of the filters that ninja gathers, the word that was sent
        parts = parts[1:2]
    if parts[:1] == [EITHER]:
        del parts[1:2]
    return pointers.from_tokens(parts)


def _http(request: HttpRequest, error: HttpError) -> HttpResponse:
    if isinstance(error.__cause__, Problem):  # ninja wraps whatever the parser raises
        return _problem(request, error.__cause__)
    code = "bad-json" if error.status_code == 400 else "http-error"
    return problem_response(error.status_code, code, error.message)


def shown_fault(fault: InvalidSchema) -> dict[str, str]:
    """Say what keeps a schema out, without the secrets that it may hold there."""
    return {
        "pointer": sanitizer().redact_pointer(fault.pointer),
        "code": fault.code,
        "detail": sanitizer().redact_identifier(fault.reason),
    }


def shown_warning(warning: SchemaWarning) -> dict[str, str]:
    """Say what a schema's author should know, without the secrets that it may hold there."""
    found = sanitizer()
    return {"pointer": found.redact_pointer(warning.pointer), "detail": found.redact_identifier(warning.reason)}


def _no_database(request: HttpRequest, error: DatabaseError | InterfaceError) -> HttpResponse:
    if not outage.failed(error):
        if not isinstance(error, OperationalError | InterfaceError):
            return _crash(request, error)
        # The class alone: a driver's words may quote what was to be stored.
        logger.error("The database did not do what it was asked", extra={"reason": type(error.__cause__).__name__})
    reason = reason_of(error)
    said = f"The database takes no writes, since {reason}" if reason else "The database does not answer, or not in time"
    return problem_response(503, "database-unavailable", f"{said}; send the request again.")


def _crash(_: HttpRequest, error: Exception) -> HttpResponse:
    logger.error("A request of the API failed", exc_info=error)
    return problem_response(
        500, "internal", "The service failed and changed nothing. Try again, and tell its operator."
    )


# What an exception of the use cases is told as.
TOLD: Final[dict[type[Exception], Callable[[Any], Problem]]] = {
    Http404: lambda _: Problem("not-found", "Nothing of yours has this address. Check the id and the API key."),
    CallNotFoundError: lambda _: Problem(
        "call-not-found", "You have no call with this call_id; leave it out to begin a new one."
    ),
    CallEndedError: lambda error: Problem(
        "call-ended",
        f"The call has ended ({error.call.state}); leave call_id out to begin a new one.",
        state=error.call.state,
        call_id=error.call.public_id,
    ),
    CallOfOtherToolError: lambda error: Problem(
        "other-tool",
        "The call belongs to another tool; leave call_id out to begin a new one.",
        call_id=error.call.public_id,
    ),
    OtherKindError: lambda error: Problem("other-kind", f"{str(error)[0].upper()}{str(error)[1:]}."),
    AmbiguousCallError: lambda error: Problem(
        "ambiguous-call",
        "Several open calls of this session and tool could be meant; send the call_id of one of 'candidates'.",
        candidates=[getattr(call, "public_id", "") for call in error.candidates],
    ),
    UnknownCursorError: lambda _: Problem("unknown-cursor", "No page begins there; follow 'next' of the page before."),
    IdempotencyConflictError: lambda _: Problem(
        "idempotency-key-reused",
        "This Idempotency-Key came with another request before; make a new one for each request.",
    ),
    UnknownVersionError: lambda _: Problem(
        "version-not-found", "The tool has no version with this hash; register it first."
    ),
    InvalidSchema: lambda fault: Problem(
        "invalid-schema", "The tool's schema cannot be registered; see 'errors'.", errors=[shown_fault(fault)]
    ),
    UnknownLanguageError: lambda _: Problem(
        "unknown-language",
        f"In which language are the files? Name one of {', '.join(Language)} as 'x-language' in the schema.",
    ),
    MissingGrammarError: lambda error: Problem(
        "unknown-language",
        f"This service cannot check {error.language.title}; its operator can install retrycontract[languages].",
    ),
    InvalidToolListError: lambda fault: Problem(
        "invalid-tool-list",
        "The tools cannot be read; see 'errors'.",
        errors=[{"pointer": sanitizer().redact_pointer(fault.pointer), "code": "tool-list", "detail": fault.reason}],
    ),
    ToolChangedError: lambda error: Problem(
        "precondition-failed",
        "The tool is not as If-Match or If-None-Match says. Read it, and change it as it is now.",
        headers={} if error.revision is None else {"ETag": entity_tag(error.revision)},
    ),
    RequestDataTooBig: lambda _: Problem(
        "body-too-large",
        f"The request body is over {settings.RETRYCONTRACT.max_body_bytes} bytes. Send less in one request.",
    ),
    TooManyFieldsSent: lambda _: Problem(
        "invalid-request",
        f"The address has over {settings.DATA_UPLOAD_MAX_NUMBER_FIELDS} query parameters; few are known.",
    ),
    WorkUsedUpError: lambda error: Problem(
        "too-much-work",
        "Checking this agent's outputs, or reading its history, took more processor time than it may have; wait as "
        "long as Retry-After says, and send smaller outputs, register fewer and simpler schemas at once, or read less.",
        headers={"Retry-After": str(error.wait)},
    ),
    TooManyWaitingError: lambda _: Problem(
        "too-much-work",
        "Other checks, of this agent or of several, are still running; wait for them, and send this again.",
        headers={"Retry-After": "1"},
    ),
    ListTakesLongError: lambda _: Problem(
        "too-much-work",
        "The list took longer than a request may, since other work is under way. What is registered stays: send the "
        "same list again, and it goes on from there.",
        headers={"Retry-After": "1"},
    ),
    ChildUnavailableError: lambda _: Problem("busy", "The machine has too much to do for this check; send it again."),
    LostRaceError: lambda _: Problem("busy", "The call changed at the same moment; send the request again."),
}

HANDLERS: dict[Any, Any] = {
    **{raised: lambda request, error, told=told: _problem(request, told(error)) for raised, told in TOLD.items()},
    Problem: _problem,
    BodyError: _body,
    HttpError: _http,
    DatabaseError: _no_database,
    InterfaceError: _no_database,
    Exception: _crash,
}
