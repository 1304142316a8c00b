"""Bearer keys: who is asking."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from ninja.security import HttpBearer

from retrycontract.api.limits import limiter
from retrycontract.api.problems import Problem
from retrycontract.logs import follow
from retrycontract.store.models import Agent, ApiKey


class AgentRequest(HttpRequest):
    """A request whose key was accepted; `auth` is its agent."""

    auth: Agent


class ApiKeyAuth(HttpBearer):
    """Accept `Authorization: Bearer rc_…`."""

    openapi_description = "An agent's API key, made by `manage.py create_agent`."

    def __call__(self, request: HttpRequest) -> Agent:
        """Return the agent, or answer 401."""
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
        follow(agent=key.agent.name)
        return key.agent
