"""What every answer tells a browser, whatever kind of page it is; and what Django itself thinks of the settings."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request

import pytest

from tests.serving.desk import Desk
from tests.serving.forked import forked
from tests.serving.service import ROOT, Service

EVERYWHERE = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
HSTS = """
import django; django.setup()
from django.http import HttpResponse
from django.middleware.security import SecurityMiddleware
from django.test import RequestFactory
asked = RequestFactory().get("/", HTTP_HOST="localhost", secure=True, HTTP_X_FORWARDED_PROTO="https")
print(SecurityMiddleware(lambda _: HttpResponse())(asked).headers.get("Strict-Transport-Security"))
"""
# Kind -> method, path, who asks, status, how long a browser may keep it.
ANSWERS: dict[str, tuple[str, str, str, int, str]] = {
    "the inbox": ("GET", "/", "ada", 200, "no-store"),
    "the log of responses": ("GET", "/agent-responses/", "ada", 200, "no-store"),
    "the settings": ("GET", "/settings/", "ada", 200, "no-store"),
    "news": ("GET", "/live/", "nobody", 204, "no-store"),
    "a page that asks for a login": ("GET", "/login/", "nobody", 200, "no-store"),
    "a page that is none": ("GET", "/nothing", "ada", 404, "no-store"),
    "a call that is none": ("GET", "/calls/call_x/", "ada", 404, "no-store"),
    "a method that is none": ("GET", "/logout/", "ada", 405, "no-store"),
    "a form without its token": ("POST", "/settings/", "ada", 403, "no-store"),
    "the admin": ("GET", "/admin/", "ada", 200, "no-store"),
    "a list of the admin": ("GET", "/admin/retrycontract/apikey/", "ada", 200, "no-store"),
    "a form of the admin": ("GET", "/admin/auth/user/add/", "ada", 200, "no-store"),
    "a static file": ("GET", "/static/dashboard/favicon.svg", "nobody", 200, "max-age"),
    "the API's description": ("GET", "/api/v1/openapi.json", "nobody", 200, "no-store"),
    "pages that Django Ninja would have": ("GET", "/api/v1/docs", "nobody", 401, "no-store"),
    "a list of the API": ("GET", "/api/v1/calls", "agent", 200, "no-store"),
    "a route of the API that is none": ("GET", "/api/v1/nothing", "agent", 404, "no-store"),
    "a method of the API that is none": ("DELETE", "/api/v1/calls", "agent", 405, "no-store"),
    "a request without a key": ("GET", "/api/v1/calls", "nobody", 401, "no-store"),
    "a request that is wrong": ("POST", "/api/v1/calls", "agent", 422, "no-store"),
    "another host": ("GET", "/", "another host", 400, "no-store"),
    "the API by another host": ("GET", "/api/v1/calls", "another host", 400, "no-store"),
}
BEFORE_DJANGO = {"alive": "/livez", "ready": "/readyz", "metrics": "/metrics"}


@pytest.fixture(scope="module")
def asking(service: Service) -> dict[str, tuple[Desk, dict[str, str]]]:
    """Everybody who asks: with what session and which headers."""
    desk, nobody = Desk(service), Desk(service)
    desk.log_in("ada", service.new_operator("ada", "admin"))
    return {
        "ada": (desk, {}),
        "nobody": (nobody, {}),
        "agent": (nobody, {"Authorization": f"Bearer {service.new_key('headers')}"}),
        "another host": (nobody, {"Host": "elsewhere.example"}),
    }


def ask(desk: Desk, method: str, path: str, headers: dict[str, str]) -> tuple[int, dict[str, str]]:
    body = b"" if method == "POST" else None
    request = Request(desk.service.url + path, body, headers, method=method)
    try:
        with desk.opener.open(request, timeout=30) as answer:
            return answer.status, {name.lower(): value for name, value in answer.headers.items()}
    except HTTPError as error:
        return error.code, {name.lower(): value for name, value in error.headers.items()}


@pytest.mark.parametrize("kind", ANSWERS)
def test_every_answer_is_closed_to_other_sites(asking: dict[str, tuple[Desk, dict[str, str]]], kind: str) -> None:
    method, path, who, status, kept = ANSWERS[kind]
    desk, sent = asking[who]
    answered, headers = ask(desk, method, path, sent)
    assert answered == status
    assert {name: headers.get(name) for name in EVERYWHERE} == EVERYWHERE
    policy = {words[0]: words[1:] for words in map(str.split, headers["content-security-policy"].split(";"))}
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == ["'none'"]
    assert policy["script-src"] == policy["style-src"] == ["'self'"]
    assert "unsafe" not in headers["content-security-policy"]
    assert "camera=()" in headers["permissions-policy"]
    assert kept in headers.get("cache-control", "")
    assert not {"server", "x-powered-by", "access-control-allow-origin"} & headers.keys()


@pytest.mark.parametrize("path", BEFORE_DJANGO.values(), ids=list(BEFORE_DJANGO))
def test_what_is_answered_before_django_is_no_page_and_never_kept(service: Service, path: str) -> None:
    headers = service.send("GET", path).headers
    assert (headers["cache-control"], headers["x-content-type-options"]) == ("no-store", "nosniff")
    assert "html" not in headers["content-type"]


def deployed(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Ask Django what it thinks of the settings, as they are without a word from us but `variables`."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("RETRYCONTRACT", "DJANGO"))}
    environ |= {f"RETRYCONTRACT_{name}": value for name, value in variables.items()}
    (folder / "config.yml").touch()
    environ |= {"RETRYCONTRACT_DATA_DIR": str(folder), "RETRYCONTRACT_CONFIG_FILE": str(folder / "config.yml")}
    command = forked(str(ROOT / "manage.py"), "check", "--deploy", "--fail-level", "WARNING")
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=120)


def test_django_has_nothing_to_say_of_the_settings_behind_https(tmp_path: Path) -> None:
    done = deployed(tmp_path, HTTPS="1", ALLOWED_HOSTS="desk.example")
    assert (done.returncode, "no issues" in done.stdout) == (0, True), done.stderr


@pytest.mark.parametrize(("variable", "warning"), [("DEBUG", "security.W018"), ("", "security.W010")])
def test_django_would_say_so(tmp_path: Path, variable: str, warning: str) -> None:
    """Debugging is off and must be asked for; cookies that travel without https are warned of."""
    done = deployed(tmp_path, **({variable: "1", "HTTPS": "1"} if variable else {}))
    assert done.returncode == 1
    assert warning in done.stderr


@pytest.mark.parametrize(
    ("asked", "header"),
    [
        ({}, "max-age=31536000"),
        ({"HSTS_SECONDS": "0"}, None),
        ({"HSTS_SECONDS": "300", "HSTS_INCLUDE_SUBDOMAINS": "true"}, "max-age=300; includeSubDomains"),
        (
            {"HSTS_INCLUDE_SUBDOMAINS": "true", "HSTS_PRELOAD": "true"},
            "max-age=31536000; includeSubDomains; preload",
        ),
    ],
)
def test_subdomains_are_bound_to_https_only_when_somebody_says_so(
    tmp_path: Path, asked: dict[str, str], header: str | None
) -> None:
    given = {"HTTPS": "true", "DATA_DIR": str(tmp_path), **asked}
    done = subprocess.run(
        forked("-c", HSTS), cwd=ROOT, capture_output=True, text=True, check=True,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "retrycontract.settings"}
        | {f"RETRYCONTRACT_{name}": value for name, value in given.items()},
    )  # fmt: skip
    assert done.stdout.strip() == str(header)
