"""The agents' API: each route translates, calls one use case or reads through one queryset, and answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Body, Header, Schema, Status
from ninja.params.functions import Query
from pydantic import JsonValue

from retrycontract.api import agent_responses, event_stream, presenters, problems, schemas, tools
from retrycontract.api.auth import ANY_KEY, EVERY_SCOPE, READ, SUBMIT, TOOLS
from retrycontract.api.bodies import StrictParser
from retrycontract.api.event_schemas import EventFilters, EventOut
from retrycontract.contract.kinds import Kind
from retrycontract.contract.tool_lists import read_tool_list
from retrycontract.contract.tool_result import Provider
from retrycontract.logs import follow
from retrycontract.store.models import Agent, Attempt, Call, Guidance
from retrycontract.usecases.cancel_call import cancel_call
from retrycontract.usecases.doorbell import agent_bell
from retrycontract.usecases.dry_run import dry_run
from retrycontract.usecases.follow_events import follow_events
from retrycontract.usecases.give_guidance import acknowledge_guidance, mark_delivered
from retrycontract.usecases.identifiers import opened_identifier, sealed_identifier
from retrycontract.usecases.register_tool import Registration, ToolSettings, import_tools, register_tool
from retrycontract.usecases.repeat_request import RequestKey, answer_once
from retrycontract.usecases.submit_attempt import NewAttempt, submit_attempt

# Read by the waiting room and never seen outside: the bell that announces the answer, and where to ask again.
PENDING_HEADER = "Retrycontract-Pending"
IdempotencyKey = Annotated[
    str | None,
    Header(
        None, alias="Idempotency-Key", min_length=1, max_length=255,
        description="Sent again with the same key, a request is answered as it was before and does nothing.",
    ),
]  # fmt: skip
LastEventId = Annotated[
    str | None,
    Header(
        None, alias="Last-Event-ID", pattern=r"^[0-9]{1,18}$",
        description="The newest id that was seen; 0 begins with the first event of all. Without it: from now on.",
    ),
]  # fmt: skip
RETRY_AFTER = "1"  # seconds, for agents that do not use `Prefer: wait`

api = problems.ProblemAPI(
    title="retrycontract",
    version="1",
    description="Check outputs against their contracts, count attempts, and get a person's guidance when stuck.",
    auth=EVERY_SCOPE,
    parser=StrictParser(),
    urls_namespace="api",
    openapi_extra={"info": {"license": {"name": "MIT"}}},
)

PROBLEMS: dict[Any, Any] = dict.fromkeys((400, 401, 403, 404, 409, 413, 415, 422, 429, 500, 503), schemas.ProblemOut)
READ_PROBLEMS: dict[Any, Any] = dict.fromkeys((401, 403, 404, 422, 429, 500, 503), schemas.ProblemOut)


@api.post("/tools/import", auth=TOOLS, response={200: schemas.ImportOut, **PROBLEMS}, tags=["tools"])
def post_tool_import(request: HttpRequest, body: Body[JsonValue], key: IdempotencyKey = None) -> Any:
    """Register a tool list as OpenAI, Anthropic or MCP write it; what cannot be registered is named with its fault."""
    return _once(request, key, lambda: _imported(_agent(request), body))


def _imported(agent: Agent, body: Any) -> schemas.ImportOut:
    result = import_tools(agent, read_tool_list(body), now=timezone.now())
    return schemas.ImportOut(
        registered=[_tool(done) for done in result.registered],
        refused=[schemas.RefusedTool(name=name, **problems.shown_fault(fault)) for name, fault in result.refused],
    )


api.get("/tools", auth=READ, response={200: tools.ToolPage, **READ_PROBLEMS}, tags=["tools"])(tools.get_tools)
api.get("/tools/import", auth=READ, include_in_schema=False)(tools.get_tool_named_import)
api.get("/tools/{path:name}", auth=READ, response={200: tools.ToolDetail, **READ_PROBLEMS}, tags=["tools"])(
    tools.get_tool
)


@api.put(
    "/tools/import",
    auth=TOOLS,
    include_in_schema=False,
    response={200: schemas.ToolOut, 201: schemas.ToolOut, **PROBLEMS},
)
def put_tool_named_import(request: HttpRequest, body: schemas.ToolIn) -> Status[schemas.ToolOut]:
    """Register a tool of that very name, whose address is the list's."""
    return put_tool(request, "import", body)


@api.put(
    "/tools/{path:name}", auth=TOOLS, response={200: schemas.ToolOut, 201: schemas.ToolOut, **PROBLEMS}, tags=["tools"]
)
def put_tool(request: HttpRequest, name: str, body: schemas.ToolIn) -> Status[schemas.ToolOut]:
    """Register a tool, or a new version of it when its schema changed."""
    if not name or len(name) > 300 or not name.isprintable():
        raise problems.Problem(422, "invalid-name", "A tool's name has 1 to 300 printable characters.")
    settings = ToolSettings(**body.model_dump(exclude={"input_schema"}))
    done = register_tool(_agent(request), name, body.input_schema, now=timezone.now(), settings=settings)
    return Status(201 if done.is_new_tool else 200, _tool(done))


@api.post(
    "/calls", auth=SUBMIT, response={200: schemas.VerdictOut, 202: schemas.VerdictOut, **PROBLEMS}, tags=["calls"]
)
def post_call(
    request: HttpRequest, response: HttpResponse, body: schemas.CallIn, key: IdempotencyKey = None
) -> Status[schemas.VerdictOut]:
    """Submit an attempt. 200 with the verdict, or 202 when it is not judged within `Prefer: wait=N` (10 s)."""
    given = body.model_dump(exclude={"arguments", "raw", "render", "kind"})
    new = NewAttempt(**given, kind=Kind(body.kind), output=body.output, key=_request_key(request, key))
    attempt = submit_attempt(_agent(request), new, now=timezone.now())
    return _verdict(response, attempt, body.render, body.tool_call_id)


@api.get("/calls", auth=READ, response={200: schemas.CallPage, **READ_PROBLEMS}, tags=["calls"])
def get_calls(request: HttpRequest, filters: Annotated[schemas.CallFilters, Query()]) -> schemas.CallPage:
    """List your calls, the newest first, a page at a time."""
    problems.refuse_others(request, schemas.CallFilters)
    calls = Call.objects.of(_agent(request))
    try:
        found = calls.filter(**filters.of_call).page(after=filters.cursor, size=filters.limit + 1)
    except Call.DoesNotExist:
        raise problems.Problem(
            422, "unknown-cursor", "No page begins there; follow 'next' of the page before."
        ) from None
    shown = found[: filters.limit]
    asked = filters.model_dump(mode="json", exclude_none=True) | {"cursor": shown[-1].public_id if shown else ""}
    more = len(found) > len(shown)
    return schemas.CallPage(
        calls=[presenters.summary(call) for call in shown],
        next=f"{presenters.PREFIX}/calls?{urlencode(asked)}" if more else None,
    )


@api.get("/calls/{call_id}", auth=READ, response={200: schemas.CallOut, **READ_PROBLEMS}, tags=["calls"])
def get_call(request: HttpRequest, call_id: str) -> schemas.CallOut:
    """Read a call with its history; outputs are redacted."""
    return presenters.call(_call(request, call_id))


@api.get(
    "/calls/{call_id}/wait",
    auth=SUBMIT,
    response={200: schemas.VerdictOut | schemas.WaitOut, 202: schemas.VerdictOut | schemas.WaitOut, **READ_PROBLEMS},
    tags=["calls"],
)
def get_wait(
    request: HttpRequest,
    response: HttpResponse,
    call_id: str,
    for_: Literal["verdict", "guidance"] = Query("guidance", alias="for"),
    attempt: int | None = Query(None, ge=1, le=2**31),
    render: Provider | None = None,
    provider_id: str | None = Query(None, include_in_schema=False, max_length=4_000),
) -> Status[Any]:
    """Wait for a verdict or for guidance, at most `Prefer: wait=N` (10 s, up to 60); 202 when there is none yet."""
    found = _call(request, call_id)
    if for_ == "verdict":
        attempts = found.attempts.order_by("-number")
        wanted = attempts.first() if attempt is None else attempts.filter(number=attempt).first()
        if wanted is None:
            raise Http404
        wanted.call = found
        return _verdict(response, wanted, render, provider_id and opened_identifier(provider_id))
    return _guidance(response, found)


@api.get(
    "/calls/{call_id}/guidance", auth=SUBMIT, response={200: schemas.GuidanceOut, **READ_PROBLEMS}, tags=["guidance"]
)
def get_guidance(request: HttpRequest, call_id: str) -> schemas.GuidanceOut:
    """Read the newest guidance of a call; 404 while there is none."""
    given = _newest_guidance(_call(request, call_id))
    if given is None:
        raise problems.Problem(404, "no-guidance", "Nobody has answered yet; wait at /wait?for=guidance.")
    return presenters.guidance(given)


@api.post(
    "/calls/{call_id}/guidance/ack", auth=SUBMIT, response={200: schemas.AckOut, **READ_PROBLEMS}, tags=["guidance"]
)
def post_guidance_ack(request: HttpRequest, call_id: str, key: IdempotencyKey = None) -> Any:
    """Say that the guidance was taken over; saying it again is harmless."""
    return _once(request, key, lambda: _acknowledged(_call(request, call_id)))


def _acknowledged(found: Call) -> schemas.AckOut:
    given = _newest_guidance(found)
    if given is None:
        raise problems.Problem(404, "no-guidance", "There is no guidance to acknowledge yet.")
    return schemas.AckOut(acknowledged=acknowledge_guidance(given, now=timezone.now()))


@api.post("/calls/{call_id}/cancel", auth=SUBMIT, response={200: schemas.WaitOut, **READ_PROBLEMS},
          tags=["calls"])  # fmt: skip
def post_cancel(request: HttpRequest, call_id: str, key: IdempotencyKey = None) -> Any:
    """Give a call up: its waiting attempts are discarded and nobody is asked any more."""
    return _once(request, key, lambda: _cancelled(_call(request, call_id)))


def _cancelled(found: Call) -> schemas.WaitOut:
    cancel_call(found, now=timezone.now())
    return presenters.waiting(found, None)


@api.post("/check", auth=SUBMIT, response={200: schemas.CheckOut, **PROBLEMS}, tags=["playground"])
def post_check(request: HttpRequest, body: schemas.CheckIn, key: IdempotencyKey = None) -> Any:
    """Try an output against a schema: the verdict and the text that a model would read. Nothing is stored."""
    return _once(request, key, lambda: _checked(body))


def _checked(body: schemas.CheckIn) -> schemas.CheckOut:
    result = dry_run(
        body.input_schema, body.output, tool_name=body.tool, strict=body.strict, attempt=body.attempt,
        max_attempts=body.max_attempts, kind=Kind(body.kind),
    )  # fmt: skip
    return schemas.CheckOut(
        valid=result.is_valid,
        errors=[schemas.ErrorOut(**error.to_json()) for error in result.errors],
        feedback=result.feedback,
        characters=len(result.feedback),
        tokens_estimate=-(-len(result.feedback) // 4),
    )


@api.get("/events", auth=READ, response={200: EventOut, **READ_PROBLEMS}, openapi_extra=event_stream.DECLARED,
         tags=["events"])  # fmt: skip
def get_events(
    request: HttpRequest, filters: Annotated[EventFilters, Query()], last_event_id: LastEventId = None
) -> HttpResponse:
    """Follow what happens to your calls: server-sent events, each at least once; drop what comes again by its id."""
    problems.refuse_others(request, EventFilters)
    agent = _agent(request)
    call = _call(request, filters.call_id) if filters.call_id else None
    begin = event_stream.begin(agent, filters.cursor, last_event_id)
    page = follow_events(agent, begin.position, types=filters.types, call=call)
    response = HttpResponse(begin.opening + event_stream.frames(page), content_type=event_stream.MEDIA_TYPE)
    bell = "" if page.has_more else agent_bell(agent.pk)
    response[PENDING_HEADER] = f"{bell}; {presenters.PREFIX}/events?{urlencode(filters.going_on_at(page.next))}"
    return response


api.get("/agent-responses", auth=READ, response={200: agent_responses.ResponsePageOut, **READ_PROBLEMS}, tags=["logs"])(
    agent_responses.get_agent_responses
)


@api.get("/{path:rest}", auth=ANY_KEY, include_in_schema=False)
def get_nothing(request: HttpRequest, rest: str) -> None:  # noqa: ARG001
    """Answer every other address with a problem document."""
    raise Http404


def _agent(request: HttpRequest) -> Agent:
    agent: Agent = request.auth  # type: ignore[attr-defined]  # ninja puts what ApiKeyAuth returns here
    return agent


def _request_key(request: HttpRequest, key: str | None) -> RequestKey | None:
    if key is None:
        return None
    return RequestKey.of(key, str(request.method), request.get_full_path(), request.body.decode("utf-8", "replace"))


def _once(request: HttpRequest, key: str | None, answer: Callable[[], Schema]) -> Any:
    """Answer a request that may run twice without harm; with a key, each time the same."""
    known = _request_key(request, key)
    return answer_once(_agent(request), known, lambda: answer().model_dump(mode="json"), now=timezone.now())


def _call(request: HttpRequest, call_id: str) -> Call:
    found = Call.objects.of(_agent(request)).select_related("agent", "tool", "version").filter(public_id=call_id)
    call = found.first()
    if call is None:
        raise Http404
    follow(call_id=call.public_id, correlation_id=call.correlation_id)
    return call


def _tool(done: Registration) -> schemas.ToolOut:
    return schemas.ToolOut(
        name=done.tool.name,
        namespace=done.tool.namespace,
        version=done.version.number,
        schema_hash=done.version.schema_hash,
        created=done.is_new_tool,
        changed=done.is_new_version,
    )


def _verdict(
    response: HttpResponse, attempt: Attempt, render: Any, provider_id: str | None
) -> Status[schemas.VerdictOut]:
    """Answer with the verdict, or with 202 and the bell that will announce it.

    The ToolResult bears the provider's id as it came. One that held a secret is not kept: the address to ask again
    at carries it, sealed.
    """
    answer = presenters.verdict(attempt, render, provider_id)
    if not attempt.is_waiting:
        return Status(200, answer)
    query = {"for": "verdict", "attempt": attempt.number} | ({"render": render} if render else {})
    if provider_id is not None and provider_id != attempt.tool_call_id:
        query |= {"provider_id": sealed_identifier(provider_id)}
    _is_pending(response, attempt.call, f"{answer.links.self}/wait?{urlencode(query)}")
    return Status(202, answer)


def _guidance(response: HttpResponse, found: Call) -> Status[schemas.WaitOut]:
    given = _newest_guidance(found)
    if presenters.is_waiting_for_guidance(found):
        _is_pending(response, found, presenters.links(found).wait)
        return Status(202, presenters.waiting(found, None))
    return Status(200, presenters.waiting(found, given))


def _newest_guidance(found: Call) -> Guidance | None:
    given = found.guidance.select_related("base").order_by("-pk").first()
    if given is None or found.is_unanswered:  # what was given before is about an earlier round
        return None
    given.call = found
    mark_delivered(given, now=timezone.now())
    return given


def _is_pending(response: HttpResponse, found: Call, ask_again: str) -> None:
    response["Location"] = ask_again
    response["Retry-After"] = RETRY_AFTER
    response[PENDING_HEADER] = f"{found.public_id}; {ask_again}"
