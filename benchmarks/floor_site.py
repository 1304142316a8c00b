"""The least that a service can do: authenticate, insert one row, and for jobs have a worker update it.

What the floor does stays as it was at first: when the product's own key lookup got quicker, the floor kept the old one,
so that ratios of different days compare.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from celery import Celery
from django.conf import settings
from django.db import models
from django.http import HttpRequest
from django.urls import path
from django.utils import timezone
from ninja import Body, NinjaAPI, Schema
from ninja.security import HttpBearer
from pydantic import JsonValue
from redis import Redis

from retrycontract.config.logs import follow
from retrycontract.store.models import Agent, ApiKey
from retrycontract.store.models.agents import KeyState
from retrycontract.store.transactions import write_transaction
from retrycontract.urls import urlpatterns as service_urlpatterns
from worker.celery_doorbell import QUEUE

JOB = "floor.judge"
PATIENCE = 10  # seconds for one job


class KeyByQueryset(HttpBearer):
    """Look the key up as Django's own queryset does it."""

    def authenticate(self, request: HttpRequest, token: str) -> Agent | None:  # noqa: ARG002 - ninja's signature
        """Give the agent whose key was presented."""
        now = timezone.now()
        found = ApiKey.objects.filter(digest=ApiKey.digest_of(token)).select_related("agent").order_by("pk").first()
        if found is None or found.state_at(now) is not KeyState.ACTIVE:
            return None
        found.touch(now)
        follow(agent=found.agent.name)
        return found.agent


api = NinjaAPI(auth=KeyByQueryset(), urls_namespace="floor", docs_url=None, openapi_url=None)


class Row(models.Model):
    """Hold what was sent."""

    agent_id = models.BigIntegerField()
    body = models.JSONField()
    is_done = models.BooleanField(default=False)

    class Meta:
        app_label = "floor"

    def __str__(self) -> str:
        return f"row {self.pk}"


class Made(Schema):
    """Answer with the row's number."""

    id: int


@api.post("/rows", response=Made)
def post_row(request: HttpRequest, body: Body[JsonValue]) -> Any:
    """Insert one row, durable like ours."""
    return _inserted(request, body)


@api.post("/jobs", response=Made)
def post_job(request: HttpRequest, body: Body[JsonValue]) -> Any:
    """Insert a row, ring a worker and wait until it has updated the row."""
    row = _inserted(request, body)
    _ringer().send_task(JOB, [row.pk], queue=QUEUE)
    _redis().blpop([answer_key(row.pk)], timeout=PATIENCE)
    return row


def _inserted(request: Any, body: Any) -> Row:
    with write_transaction():
        return Row.objects.create(agent_id=request.auth.pk, body=body)


def answer_key(row: int) -> str:
    """Name the list in which a job's answer comes."""
    return f"floor:{row}"


@cache
def _redis() -> Redis:
    # Without a limit of its own the client gives up before a wait of that length is over.
    return Redis.from_url(settings.RETRYCONTRACT.redis_url, socket_timeout=2 * PATIENCE)


@cache
def _ringer() -> Celery:
    return Celery("floor", broker=settings.RETRYCONTRACT.redis_url, set_as_current=False, fixups=[])


urlpatterns = [path("api/floor/", api.urls), *service_urlpatterns]
