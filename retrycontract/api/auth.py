"""Bearer keys: who is asking, and how many requests a key may make."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from math import ceil
from typing import Final

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from ninja.security import HttpBearer

from retrycontract.api.problems import Problem
from retrycontract.config.logs import follow
from retrycontract.store.models import Agent, ApiKey, Scope
from retrycontract.usecases.counts.keep_count import refuse_overdrawn

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
            raise Problem(401, "no-key", "Send your API key as 'Authorization: Bearer rc_…'.")
        return self.authenticate(request, presented.strip())

    def authenticate(self, request: HttpRequest, token: str) -> Agent:  # noqa: ARG002 - ninja's signature
        """Look the key up."""
        now = timezone.now()
        key = ApiKey.objects.authenticate(token, now)
        if key is None:
            raise Problem(401, "unknown-key", "The API key is unknown, revoked or expired. Make a new one.")
        per_minute = settings.RETRYCONTRACT.requests_per_minute
        if per_minute and (wait := limiter.take(key.digest, per_minute)):
            detail = f"This key has made its {per_minute} requests of a minute; wait as long as Retry-After says."
            raise Problem(429, "too-many-requests", detail, headers={"Retry-After": str(wait)})
        key.touch(now)
        self._refuse_what_is_beyond(key)
        if self.causes_work:  # what only asks or ends something stays open to whoever has used up its work
            refuse_overdrawn(key.agent, now=now)
        follow(agent=key.agent.name)
        return key.agent

    def _refuse_what_is_beyond(self, key: ApiKey) -> None:
        for scope in self.needed:
            if scope not in key.granted:
                detail = f"This key has not the scope '{scope}'. Use one that has; create_agent --scopes makes it."
                raise Problem(403, "missing-scope", detail)


ANY_KEY = ApiKeyAuth()
# A route that declares nothing is open to keys alone that may do everything.
EVERY_SCOPE = ApiKeyAuth(*Scope)
SUBMIT, READ, TOOLS = ApiKeyAuth(Scope.SUBMIT), ApiKeyAuth(Scope.READ), ApiKeyAuth(Scope.TOOLS)
# Of routes that check outputs or schemas.
SUBMIT_WORK, TOOLS_WORK = ApiKeyAuth(Scope.SUBMIT, causes_work=True), ApiKeyAuth(Scope.TOOLS, causes_work=True)
