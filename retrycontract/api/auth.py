"""Bearer keys: who is asking."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from ninja.security import HttpBearer

from retrycontract.api.limits import limiter
from retrycontract.api.problems import Problem
from retrycontract.config.logs import follow
from retrycontract.store.models import Agent, ApiKey, Scope
from retrycontract.usecases.counts.charge_work import refuse_overdrawn


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
