"""Requests of agents go past what only pages need, and past nothing else."""

from __future__ import annotations

import json

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.module_loading import import_string

from retrycontract.front.middleware import PagesOnly
from retrycontract.store.models import ApiKey
from tests.factories import make_agent

pytestmark = pytest.mark.django_db
HOOKS = ("process_exception", "process_template_response")


@pytest.fixture
def key() -> str:
    return ApiKey.create_for(make_agent(), timezone.now())[1]


def test_a_session_means_nothing_to_the_api(client: Client, key: str) -> None:
    client.force_login(User.objects.create_superuser("ada", password="x"))
    assert client.get("/api/v1/calls").status_code == 401
    with CaptureQueriesContext(connection) as queries:
        answer = client.get("/api/v1/calls", headers={"Authorization": f"Bearer {key}"})
    assert answer.status_code == 200
    assert not [query["sql"] for query in queries if "session" in query["sql"] and "django" in query["sql"]]
    assert not answer.cookies


def test_the_api_answers_no_other_host(client: Client, key: str) -> None:
    answer = client.get("/api/v1/calls", headers={"Authorization": f"Bearer {key}", "Host": "elsewhere.example"})
    assert (answer.status_code, answer.headers["Content-Type"]) == (400, "application/problem+json")


@pytest.mark.parametrize("path", ["/api/v1/calls", "/api/v1/nothing", "/api/v1/openapi.json", "/api/v2/calls", "/"])
def test_every_answer_carries_the_headers_that_close_it(client: Client, path: str) -> None:
    headers = client.get(path).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Cache-Control"] == "no-store"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Request-ID"]


@pytest.mark.parametrize("path", ["/settings/", "//api/v1/../settings/", "/API/v1/settings/", "/admin/"])
def test_no_other_spelling_leads_past_the_forms_token(path: str) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.create_superuser("ada", password="x"))
    assert strict.post(path, {}).status_code in (403, 404)


def test_without_a_login_pages_lead_there_and_the_api_asks_for_a_key(client: Client) -> None:
    assert client.get("/settings/").status_code == 302
    answer = client.get("/api/v1/calls")
    assert (answer.status_code, json.loads(answer.content)["code"]) == (401, "no-key")


def test_the_middleware_of_pages_has_no_hook_that_would_be_passed_over() -> None:
    for path in settings.PAGE_MIDDLEWARE:
        assert not [hook for hook in HOOKS if hasattr(import_string(path), hook)], path
    assert [path for path in settings.MIDDLEWARE if import_string(path) is PagesOnly]
