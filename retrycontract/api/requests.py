"""What a request must bring: a bearer key within its limits, and a body that is read as strictly as outputs are."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from itertools import islice
from math import ceil
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja.errors import ValidationError, ValidationErrorContext
from ninja.operation import Operation
from ninja.parser import Parser
from ninja.router import BoundRouter
from ninja.security import HttpBearer

from retrycontract.api.preconditions import IDEMPOTENCY_KEY
from retrycontract.api.presenters import PREFIX
from retrycontract.api.problems import MAX_FAULTS, TOLD, Problem, ProblemAPI, place_of, shown
from retrycontract.config.logs import follow
from retrycontract.contract.outputs.json_text import (
    FaultKind,
    JsonFault,
    members_of,
    parse_json,
    with_whole_characters,
)
from retrycontract.contract.schemas.document import MAX_DATA, MAX_NODES, too_many_values
from retrycontract.contract.schemas.tool_lists import InvalidToolListError
from retrycontract.front.wsgi import LEFT_OUT
from retrycontract.store.models import Agent, ApiKey, Scope
from retrycontract.usecases.counts.keep_count import refuse_overdrawn
from retrycontract.usecases.tools.contracts import sanitizer

MAX_BUCKETS: Final = 10_000  # keys that are remembered; of more, the longest unseen begin anew


class RateLimiter:
    """Count the requests of each key in this process; `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: str, per_minute: int) -> int:
        """Take one request from a key's bucket; returns the seconds to wait when it is empty, else 0."""
        with self._lock:
            now = self._clock()
            # Taken out and put back below, so that the order is that of the last use.
            left, seen = self._buckets.pop(key, (per_minute, now))
            left = min(left + (now - seen) * per_minute / 60, per_minute)
            taken = left >= 1
            self._buckets[key] = (left - taken, now)
            if len(self._buckets) > MAX_BUCKETS:
                self._buckets.popitem(last=False)
        return 0 if taken else max(1, ceil((1 - left) * 60 / per_minute))


limiter = RateLimiter()


class AgentRequest(HttpRequest):
    """A request whose key was accepted; `auth` is its agent."""

    auth: Agent


class ApiKeyAuth(HttpBearer):
    """Accept `Authorization: Bearer rc_…`, if the key has the scopes that a route needs."""

    openapi_description = "An agent's API key, made by `retrycontract agent create`."

    def __init__(self, *needed: Scope, causes_work: bool = False) -> None:
        super().__init__()
        self.needed, self.causes_work = needed, causes_work

    def __call__(self, request: HttpRequest) -> Agent:
        """Return the agent, or answer 401 or 403."""
        scheme, _, presented = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not presented.strip():
            raise Problem("no-key", "Send your API key as 'Authorization: Bearer rc_…'.")
        return self.authenticate(request, presented.strip())

    def authenticate(self, request: HttpRequest, token: str) -> Agent:  # noqa: ARG002 - ninja's signature
        """Look the key up."""
        now = timezone.now()
        key = ApiKey.objects.authenticate(token, now)
        if key is None:
            raise Problem("unknown-key", "The API key is unknown, revoked or expired. Make a new one.")
        per_minute = settings.RETRYCONTRACT.requests_per_minute
        if per_minute and (wait := limiter.take(key.digest, per_minute)):
            detail = f"This key has made its {per_minute} requests of a minute; wait as long as Retry-After says."
            raise Problem("too-many-requests", detail, headers={"Retry-After": str(wait)})
        key.touch(now)
        for scope in self.needed:
            if scope not in key.granted:
                making = "'retrycontract agent create --scopes'"
                detail = f"This key has not the scope '{scope}'. Use one that has; {making} makes it."
                raise Problem("missing-scope", detail)
        if self.causes_work:  # what only asks or ends something stays open to whoever has used up its work
            refuse_overdrawn(key.agent, now=now)
        follow(agent=key.agent.name)
        return key.agent


ANY_KEY = ApiKeyAuth()
# A route that declares nothing is open to keys alone that may do everything.
EVERY_SCOPE = ApiKeyAuth(*Scope)
SUBMIT, READ, TOOLS = ApiKeyAuth(Scope.SUBMIT), ApiKeyAuth(Scope.READ), ApiKeyAuth(Scope.TOOLS)
# Of routes that check outputs or schemas, and of those that read what may be large.
READ_WORK = ApiKeyAuth(Scope.READ, causes_work=True)
SUBMIT_WORK, TOOLS_WORK = ApiKeyAuth(Scope.SUBMIT, causes_work=True), ApiKeyAuth(Scope.TOOLS, causes_work=True)


MAX_REASON = 200  # characters; a reason may name a key
HALVES: Final = (FaultKind.SURROGATE, FaultKind.ENCODING)  # what a text has that was cut inside a character
AS_WRITTEN: Final = frozenset(("raw", "tool", "tool_call_id"))  # by a model or its provider: half a character stays
# Models' and people's words, often cut: nothing of them is judged, so that what is half a character is only replaced.
WORDS: Final = frozenset(("said", "prompt", "callback_error", "context", "api_error"))


MOST_OF_SCHEMA: Final = MAX_NODES + MAX_DATA + 100  # values of a body with one schema, which has few others
MOST_OF_LIST: Final = 200_000  # of a list of tools: a hundred for each of as many as it may have
_COMMA: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|,', re.DOTALL)  # and strings, in which they part nothing


def _refuse_many_values(path: str, body: bytes) -> None:
    """Raise for schemas that hold more values than any that is taken, before these are made.

    To make, copy and let go of 600,000 keeps the interpreter from all others for a tenth of a second each time.
    """
    if not path.startswith(f"{PREFIX}/tools/"):
        return
    is_list = path == f"{PREFIX}/tools/import"
    most = MOST_OF_LIST if is_list else MOST_OF_SCHEMA
    if body.count(b",") > most:
        commas = (match for match in _COMMA.finditer(body) if match[0] == b",")
        if next(islice(commas, most, None), None):
            fault = (
                InvalidToolListError("", "send so many values in several lists") if is_list else too_many_values(None)
            )
            raise TOLD[type(fault)](fault)


class StrictParser(Parser):
    """Parse JSON bodies; what is wrong inside `arguments` alone is the model's mistake, and becomes its verdict."""

    def parse_body(self, request: HttpRequest) -> Any:
        """Return the parsed body; raises Problem 400 or 415."""
        if request.content_type != "application/json":
            raise Problem("not-json", "Send the body as application/json.")
        # Bodies are bounded as they come in: unpacked, a small one could be of any size.
        if request.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
            raise Problem("encoded-body", "Send the body as it is, without a Content-Encoding.")
        _refuse_many_values(request.path_info, request.body)
        value, fault = parse_json(request.body)
        if fault is None:
            return value
        try:
            members = members_of(request.body.decode("utf-8", "surrogateescape"))
            arguments = members.pop("arguments", None)
            rest = {name: _read(name, text) for name, text in members.items()}
        except (ValueError, RecursionError):
            # What cannot be taken apart is the client's mistake, whatever else is wrong in it.
            arguments, rest = None, {"": (None, fault)}
        is_fine_else = all(wrong is None for _, wrong in rest.values())
        if not is_fine_else or ("raw" in rest if arguments is not None else fault.kind not in HALVES):
            reason = sanitizer().preview_text(fault.reason, MAX_REASON)
            raise Problem("bad-json", f"The body is not JSON: {reason}.")
        read = {name: value for name, (value, _) in rest.items()}
        return read if arguments is None else read | {"raw": arguments}


def _read(name: str, text: str) -> tuple[Any, JsonFault | None]:
    value, fault = parse_json(text)
    if fault is None or fault.kind not in HALVES:
        return value, fault
    if name in AS_WRITTEN and text.startswith('"'):
        return json.loads(text), None
    return parse_json(with_whole_characters(text)) if name in WORDS else (value, fault)


# As it is spelt elsewhere, and as fingers spell it: nothing else begins so.
LIKE_IDEMPOTENCY_KEY: Final = re.compile(r"(?:x[-_]?)?idem", re.IGNORECASE)


def refuse_misspelt_key(request: HttpRequest) -> None:
    """Raise Problem for a header that is meant as Idempotency-Key: what is sent again would be counted twice."""
    if IDEMPOTENCY_KEY in request.headers:
        return
    for name in (*request.headers, *request.META.get(LEFT_OUT, ())):
        if LIKE_IDEMPOTENCY_KEY.match(name):
            fault = {
                "pointer": shown(place_of((sanitizer().redact_name(name),))),
                "code": "extra_forbidden",
                "detail": f"Nothing reads this header; did you mean {IDEMPOTENCY_KEY}?",
            }
            raise Problem("invalid-request", "Correct the header named in 'errors'.", errors=[fault])


def refuse_others(operation: Operation) -> None:
    """Make an operation refuse what has no effect: words of the query, unknown or given twice, and a misspelt key."""
    asked = [model for model in operation.models if model.__ninja_param_source__ == "query"]
    headers = [model for model in operation.models if model.__ninja_param_source__ == "header"]
    takes_key = any(IDEMPOTENCY_KEY in model.__ninja_flatten_map__ for model in headers)
    known = [name for model in asked for name in model.__ninja_flatten_map__]
    lists = [name for model in asked for name in model.__ninja_collection_fields__]
    told = f"known are {', '.join(known)}" if known else "this address takes none"
    answer = operation.view_func

    @wraps(answer)
    def answer_known(request: HttpRequest, **values: Any) -> Any:
        faults = [
            {"pointer": shown(place_of((sanitizer().redact_name(name),))), "code": code, "detail": detail}
            for name, given in sorted(request.GET.lists())
            for is_wrong, code, detail in (
                (name not in known, "extra_forbidden", told),
                (len(given) > 1 and name not in lists, "repeated", "give it once"),
            )
            if is_wrong
        ]  # fmt: skip
        if faults:
            detail = "Correct the words of the query named in 'errors'."
            raise Problem("invalid-request", detail, errors=faults[:MAX_FAULTS])
        if takes_key:
            refuse_misspelt_key(request)
        return answer(request, **values)

    operation.view_func = answer_known


class StrictAPI(ProblemAPI):
    """Refuse what has no effect, at every address, and keep nothing of what was refused.

    An exception and the frames that it came through hold each other, and with them the whole body.
    """

    def on_exception(self, request: HttpRequest, exc: Any) -> HttpResponse:
        """Answer an exception."""
        response = super().on_exception(request, exc)
        exc.__traceback__ = None
        return response

    def validation_error_from_error_contexts(
        self, error_contexts: list[ValidationErrorContext[Any]]
    ) -> ValidationError:
        """Tell what is wrong with a body."""
        error = super().validation_error_from_error_contexts(error_contexts)
        for context in error_contexts:
            context.pydantic_validation_error.__traceback__ = None
        return error

    def _get_bound_routers(self) -> list[BoundRouter]:
        is_first = self._bound_routers_cache is None
        routers = super()._get_bound_routers()
        for router in routers if is_first else ():
            for view in router.path_operations.values():
                for operation in view.operations:
                    refuse_others(operation)
        return routers
