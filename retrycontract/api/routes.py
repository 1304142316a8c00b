"""The agents' API: each route translates, calls one use case or reads through one queryset, and answers."""

from __future__ import annotations

import json
import logging
from dataclasses import fields
from functools import cache
from time import perf_counter
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Header, Router, Status
from ninja.params.functions import Query
from pydantic import BaseModel

from retrycontract.api import agent_responses, event_stream, presenters, problems, schemas, tools
from retrycontract.api.event_stream import EventFilters, EventOut
from retrycontract.api.openapi import EVENT_ID, written_once
from retrycontract.api.preconditions import IdempotencyKey, agent_of, once, request_key
from retrycontract.api.problems import OF_BODIES, OF_KEYED_POSTS, OF_WORK, refusals
from retrycontract.api.requests import (
    ANY_KEY,
    EVERY_SCOPE,
    READ,
    READ_WORK,
    SUBMIT,
    SUBMIT_WORK,
    StrictAPI,
    StrictParser,
)
from retrycontract.config.logs import ANSWERED, follow
from retrycontract.contract.events import read_traceparent
from retrycontract.contract.feedback.feedback_forms import PLAIN
from retrycontract.contract.feedback.tool_result import Provider, first_errors
from retrycontract.contract.outputs import Generation, Kind
from retrycontract.front.request_ids import HEADER as REQUEST_ID
from retrycontract.front.request_ids import usable_request_id
from retrycontract.front.wsgi import Response
from retrycontract.store.models import Attempt, Call, Guidance
from retrycontract.store.models.attempts import NEWEST, NUMBERED
from retrycontract.store.models.calls import CALL_OF_AGENT
from retrycontract.usecases.answers.deliver_answer import acknowledge_guidance, mark_delivered
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.calls.continue_call import NewAttempt
from retrycontract.usecases.calls.read_agent_responses import UnknownCursorError
from retrycontract.usecases.calls.repeat_request import opened_identifier, sealed_identifier
from retrycontract.usecases.calls.submit_attempt import submit_attempt
from retrycontract.usecases.counts.keep_count import charged_reading
from retrycontract.usecases.notify.doorbell import agent_bell, opened_verdict
from retrycontract.usecases.notify.follow_events import follow_events
from retrycontract.usecases.tools.try_schema import dry_run

# Read by the waiting room and never seen outside: the bell that announces the answer, and where to ask again.
PENDING_HEADER = "Retrycontract-Pending"
# Where no header can stand. The answer goes out without its body: nothing is handed over, and nobody waits.
HEAD_ONLY = "retrycontract.head"
LastEventId = Annotated[
    str | None,
    Header(
        None, alias="Last-Event-ID", pattern=EVENT_ID,
        description="The newest id that was seen; 0 begins with the first event of all. Without it: from now on.",
    ),
]  # fmt: skip
# What the answer does not have that it is pending for.
OF_PENDING = (PENDING_HEADER.lower().encode(), b"location", b"retry-after", b"content-length")
RETRY_AFTER = "1"  # seconds, for agents that do not use `Prefer: wait`

# What a submission says of itself in values of its own; by the reason of its end it is judged as well.
READ_APART = {
    "arguments", "raw", "render", "kind", "callback_error", "feedback", *(each.name for each in fields(Generation)),
} - {"finish_reason"}  # fmt: skip

LONGEST_TOLD = 16_384  # characters of a provider's id that an answer bears as it came: an answer stays small
LONGEST_SEALED = 4_000  # of a `Location`: proxies refuse answers with longer headers; what is held here asks with all

logger = logging.getLogger("retrycontract.requests")

api = StrictAPI(
    title="retrycontract",
    docs_decorator=written_once,
    version="1",
    description="Check outputs against their contracts, count attempts, and get a person's guidance when stuck.",
    auth=EVERY_SCOPE,
    parser=StrictParser(),
    urls_namespace="api",
    docs_url=None,  # its pages need scripts that the Content-Security-Policy forbids
    openapi_extra={"info": {"license": {"name": "MIT"}}},
)

FOUND_PROBLEMS = refusals("not-found", "invalid-request")
SUBMIT_PROBLEMS = refusals(
    *OF_BODIES, *OF_KEYED_POSTS, *OF_WORK, "call-not-found", "version-not-found", "ambiguous-call", "call-ended",
    "other-kind", "other-tool",
)  # fmt: skip


@api.post(
    "/calls",
    auth=SUBMIT_WORK,
    response={200: schemas.VerdictOut, 202: schemas.VerdictOut, **SUBMIT_PROBLEMS},
    tags=["calls"],
)
def post_call(
    request: HttpRequest, response: HttpResponse, body: schemas.CallIn, key: IdempotencyKey = None
) -> Status[schemas.VerdictOut]:
    """Submit an attempt. 200 with the verdict, or 202 when it is not judged within `Prefer: wait=N` (10 s)."""
    given = body.model_dump(exclude=READ_APART)
    new = NewAttempt(
        **given,
        callback_error=body.rejection,
        generation=body.generation,
        feedback=body.feedback.options if body.feedback else PLAIN,
        kind=Kind(body.kind),
        output=body.output,
        traceparent=read_traceparent(request.headers.get("traceparent")),
        request_id=usable_request_id(request.headers.get(REQUEST_ID)),
        key=request_key(request, key),
    )
    attempt = submit_attempt(agent_of(request), new, now=timezone.now(), is_bounded=True)
    return _verdict(response, attempt, body.render, body.tool_call_id)


@api.get(
    "/calls",
    auth=READ,
    response={200: schemas.CallPage, **refusals("invalid-request", "unknown-cursor")},
    tags=["calls"],
)
def get_calls(request: HttpRequest, filters: Annotated[schemas.CallFilters, Query()]) -> schemas.CallPage:
    """List your calls, the newest first, a page at a time."""
    calls = Call.objects.of(agent_of(request))
    if filters.state is not None:
        calls = calls.in_states(filters.state)
    try:
        found = calls.filter(**filters.of_call).page(
            after=filters.cursor, size=filters.limit + 1, is_of_tool=filters.tool is not None
        )
    except Call.DoesNotExist:
        raise UnknownCursorError(filters.cursor) from None
    shown = found[: filters.limit]
    return schemas.CallPage(
        calls=[presenters.summary(call) for call in shown],
        next=presenters.next_page("/calls", filters, shown[-1].public_id if len(found) > len(shown) else ""),
    )


@api.get(
    "/calls/{call_id}",
    auth=READ_WORK,
    response={200: schemas.CallOut, **refusals("not-found", "invalid-request", *OF_WORK)},
    tags=["calls"],
)
def get_call(request: HttpRequest, call_id: str, after: int = Query(0, ge=0, le=2**31 - 1)) -> HttpResponse | BaseModel:
    """Read a call with its history behind an attempt, up to 4 MB of it; outputs are redacted, and `next` leads on."""
    with charged_reading(agent_of(request).pk):
        return presenters.written(presenters.call(_call(request, call_id), after))


@api.get(
    "/calls/{call_id}/wait",
    auth=SUBMIT,
    response={200: schemas.VerdictOut | schemas.WaitOut, 202: schemas.VerdictOut | schemas.WaitOut, **FOUND_PROBLEMS},
    tags=["calls"],
)
def get_wait(
    request: HttpRequest,
    response: HttpResponse,
    call_id: str,
    for_: Literal["verdict", "guidance"] = Query("guidance", alias="for"),
    attempt: int | None = Query(None, ge=1, le=2**31),
    render: Provider | None = None,
    provider_id: str | None = Query(None, include_in_schema=False),
) -> Status[Any]:
    """Wait for a verdict or for guidance, at most `Prefer: wait=N` (10 s, up to 60); 202 when there is none yet."""
    found = _call(request, call_id)
    if for_ == "verdict":
        of = found.pk
        wanted = NEWEST.first(call_id=of) if attempt is None else NUMBERED.first(call_id=of, number=attempt)
        if wanted is None:
            raise Http404
        wanted.call = found
        return _verdict(response, wanted, render, provider_id and opened_identifier(provider_id))
    given = _newest_guidance(request, found)
    if presenters.is_waiting_for_guidance(found):
        if HEAD_ONLY not in request.META:
            found.note_wait(timezone.now())
        _is_pending(response, found, *[presenters.links(found).wait] * 2)
        return Status(202, presenters.waiting(found, None))
    return Status(200, presenters.waiting(found, given))


@api.get(
    "/calls/{call_id}/guidance",
    auth=SUBMIT,
    response={200: schemas.GuidanceOut, **refusals("not-found", "invalid-request", "no-guidance")},
    tags=["guidance"],
)
def get_guidance(request: HttpRequest, call_id: str) -> schemas.GuidanceOut:
    """Read the newest guidance of a call; 404 while there is none."""
    given = _newest_guidance(request, _call(request, call_id))
    if given is None:
        raise problems.Problem("no-guidance", "Nobody has answered yet; wait at /wait?for=guidance.")
    return presenters.guidance(given)


@api.post(
    "/calls/{call_id}/guidance/ack",
    auth=SUBMIT,
    response={200: schemas.AckOut, **refusals(*OF_KEYED_POSTS, "not-found", "no-guidance")},
    tags=["guidance"],
)
def post_guidance_ack(request: HttpRequest, call_id: str, key: IdempotencyKey = None) -> Any:
    """Say that the guidance was taken over; saying it again is harmless."""

    def acknowledged() -> schemas.AckOut:
        given = _newest_guidance(request, _call(request, call_id))
        if given is None:
            raise problems.Problem("no-guidance", "There is no guidance to acknowledge yet.")
        return schemas.AckOut(acknowledged=acknowledge_guidance(given, now=timezone.now()))

    return once(request, key, acknowledged)


@api.post(
    "/calls/{call_id}/cancel",
    auth=SUBMIT,
    response={200: schemas.WaitOut, **refusals(*OF_KEYED_POSTS, "not-found")},
    tags=["calls"],
)
def post_cancel(request: HttpRequest, call_id: str, key: IdempotencyKey = None) -> Any:
    """Give a call up: its waiting attempts are discarded and nobody is asked any more."""

    def cancelled() -> schemas.WaitOut:
        found = _call(request, call_id)
        cancel_call(found, now=timezone.now())
        return presenters.waiting(found, None)

    return once(request, key, cancelled)


@api.post(
    "/check",
    auth=SUBMIT_WORK,
    response={
        200: schemas.CheckOut,
        **refusals(*OF_BODIES, *OF_KEYED_POSTS, *OF_WORK, "invalid-schema", "unknown-language"),
    },
    tags=["playground"],
)
def post_check(request: HttpRequest, body: schemas.CheckIn, key: IdempotencyKey = None) -> Any:
    """Try an output against a schema: the verdict and the text that a model would read. Nothing is stored."""

    @cache
    def checked() -> schemas.CheckOut:
        result = dry_run(
            body.input_schema, body.output, tool_name=body.tool, strict=body.strict, attempt=body.attempt,
            max_attempts=body.max_attempts, kind=Kind(body.kind), agent=agent_of(request),
        )  # fmt: skip
        listed, left_out = first_errors([error.to_json() for error in result.errors])
        return schemas.CheckOut(
            valid=result.is_valid,
            errors=[schemas.ErrorOut(**error) for error in listed],
            errors_left_out=left_out,
            feedback=result.feedback,
            characters=len(result.feedback),
            tokens_estimate=result.tokens_estimate,
        )

    # Not in the transaction that remembers it, since it may take its time.
    return once(request, key, checked, before=checked)


@api.get(
    "/events",
    auth=READ,
    response={200: EventOut, **refusals("not-found", "invalid-request", "unknown-cursor")},
    openapi_extra=event_stream.DECLARED,
    tags=["events"],
)
def get_events(
    request: HttpRequest, filters: Annotated[EventFilters, Query()], last_event_id: LastEventId = None
) -> HttpResponse:
    """Follow what happens to your calls: server-sent events, each at least once; drop what comes again by its id."""
    agent = agent_of(request)
    call = _call(request, filters.call_id) if filters.call_id else None
    begin = event_stream.begin(agent, filters.cursor, last_event_id)
    page = follow_events(agent, begin.position, types=filters.types, call=call)
    if filters.tells_of_answers and HEAD_ONLY not in request.META:
        # For one call, or for whichever is answered
        if call is None:
            agent.note_stream(timezone.now())
        elif presenters.is_waiting_for_guidance(call):
            call.note_wait(timezone.now())
    response = HttpResponse(begin.opening + event_stream.frames(page), content_type=event_stream.MEDIA_TYPE)
    bell = "" if page.has_more else agent_bell(agent.pk)
    response[PENDING_HEADER] = f"{bell}; {presenters.PREFIX}/events?{urlencode(filters.going_on_at(page.next))}"
    return response


api.get(
    "/agent-responses",
    auth=READ_WORK,
    response={200: agent_responses.ResponsePageOut, **refusals("invalid-request", "unknown-cursor", *OF_WORK)},
    tags=["logs"],
)(agent_responses.get_agent_responses)

api.add_router("", tools.router)
elsewhere = Router()
api.add_router("", elsewhere)  # the last: it takes every address that is left


@elsewhere.api_operation(
    ["GET", "POST", "PUT", "PATCH", "DELETE"], "/{path:rest}", auth=ANY_KEY, include_in_schema=False
)
def get_nothing(request: HttpRequest, rest: str) -> None:  # noqa: ARG001
    """Answer every other address with a problem document."""
    raise Http404


def _call(request: HttpRequest, call_id: str) -> Call:
    if "\x00" in call_id:  # PostgreSQL refuses to look for it
        raise Http404
    call = CALL_OF_AGENT.first(agent_id=agent_of(request).pk, public_id=call_id)
    if call is None:
        raise Http404
    follow(call_id=call.public_id, correlation_id=call.correlation_id)
    return call


def _verdict(
    response: HttpResponse, attempt: Attempt, render: Any, provider_id: str | None
) -> Status[schemas.VerdictOut]:
    """Answer with the verdict, or with 202 and the bell that will announce it.

    The ToolResult bears the provider's id as it came. One that held a secret, or is long, is not kept: the address to
    ask again at carries it, sealed.
    """
    if provider_id is not None and len(provider_id) > LONGEST_TOLD:
        provider_id = None
    answer = presenters.verdict(attempt, render, provider_id)
    if not attempt.is_waiting:
        return Status(200, answer)
    query = {"for": "verdict", "attempt": attempt.number} | ({"render": render} if render else {})
    ask_again = shown = f"{answer.links.self}/wait?{urlencode(query)}"
    if provider_id is not None and provider_id != attempt.tool_call_id:
        sealed = sealed_identifier(provider_id)
        ask_again = f"{ask_again}&{urlencode({'provider_id': sealed})}"
        shown = ask_again if len(sealed) <= LONGEST_SEALED else shown
    _is_pending(response, attempt.call, ask_again, shown)
    return Status(202, answer)


def answer_of_news(pending: Response, target: str, news: bytes) -> Response | None:
    """Give what asking again at `target` would answer, from the verdict that came with the bell and no database.

    None where the news are no verdict of just that attempt: then it is to be asked.
    """
    started = perf_counter()
    path, _, query = target.partition("?")
    call_id, asked = path.removeprefix(f"{presenters.PREFIX}/calls/").removesuffix("/wait"), dict(parse_qsl(query))
    render: Any = asked.get("render")
    told = opened_verdict(news, call_id, int(asked.get("attempt", 0)))
    if told is None:
        return None
    attempt = Attempt(**told["attempt"], call=Call(**told["call"]))
    id_of_provider = asked.get("provider_id")
    answer = presenters.verdict(attempt, render, id_of_provider and opened_identifier(id_of_provider))
    body = json.dumps(answer.model_dump(mode="json")).encode()
    # The rest of the headers is the same for every answer to one request.
    headers = tuple(pair for pair in pending.headers if pair[0] not in OF_PENDING)
    fields_of_log = {
        "method": "GET", "route": "/api/v1/calls/<call_id>/wait", "status": 200, "call_id": call_id,
        "correlation_id": attempt.call.correlation_id,
        "duration_ms": round((perf_counter() - started) * 1000, 1),
        "request_id": (pending.header(REQUEST_ID.lower().encode()) or b"").decode("latin-1"),
    }  # fmt: skip
    logger.info(ANSWERED, extra=fields_of_log)
    return Response(200, headers, body).plus(b"content-length", b"%d" % len(body))


def _newest_guidance(request: HttpRequest, found: Call) -> Guidance | None:
    given = found.guidance.select_related("base").order_by("-pk").first()
    if given is None or found.is_unanswered:  # what was given before is about an earlier round
        return None
    given.call = found
    if HEAD_ONLY not in request.META:
        mark_delivered(given, now=timezone.now())
    return given


def _is_pending(response: HttpResponse, found: Call, ask_again: str, shown: str) -> None:
    response["Location"] = shown
    response["Retry-After"] = RETRY_AFTER
    response[PENDING_HEADER] = f"{found.public_id}; {ask_again}"
