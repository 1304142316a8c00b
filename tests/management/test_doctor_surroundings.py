"""What the doctor finds around the service: versions with known holes, certificates, the broker and its workers."""

from __future__ import annotations

import re
import socket
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from retrycontract.contract.webhooks import WebhookEvent
from retrycontract.management.doctor import Level
from retrycontract.management.doctor.surroundings import IMAGE, patches
from retrycontract.store.models import Door, WorkerBeat
from retrycontract.usecases.notify.tend_endpoint import add_endpoint
from tests.delivery.test_webhook import certificate, serve_once
from tests.file_database import file_database as file_database
from tests.management.test_doctor import Setup, found
from tests.management.test_doctor import service as service


@pytest.mark.parametrize(
    ("program", "version", "told"),
    [
        ("redis", (7, 4, 5), "redis 7.4.5 is old: CVE-2025-49844, .*Take redis 7.4.6 or newer"),
        ("redis", (7, 4, 6), ""),
        ("redis", (8, 9, 0), ""),
        ("postgres", (17, 9, 0), "postgres 17.9 is old: CVE-2026-6473.* Take postgres 17.10 or newer"),
        ("redis", (8, 6, 2), "redis 8.6.2 is old: CVE-2026-23479"),
        ("postgres", (17, 10, 0), ""),
        ("python", (3, 11, 7), "python 3.11.7 is old"),
        ("python", (3, 14, 0), ""),
    ],
)
def test_a_version_with_a_known_hole_is_named(program: str, version: tuple[int, int, int], told: str) -> None:
    findings = list(patches(program, *version))
    assert len(findings) == bool(told)
    assert all(re.search(told, finding.text) for finding in findings)


@pytest.mark.parametrize("is_ours", [True, False])
def test_the_python_of_our_image_is_looked_at(service: Setup, monkeypatch: pytest.MonkeyPatch, is_ours: bool) -> None:
    service.settings.BASE_DIR = IMAGE if is_ours else IMAGE / "elsewhere"
    monkeypatch.setattr(sys, "version_info", (3, 11, 13, "final", 0))
    assert [finding.level for finding in found("versions")] == ([Level.WARN] if is_ours else [])


@pytest.mark.parametrize(
    ("days", "is_trusted", "told"),
    [
        (90, True, "ok    certificates That of the notifications' webhook holds until "),
        (3, True, "warn  certificates That of the notifications' webhook ends on .*renew it"),
        (90, False, "warn  certificates the notifications' webhook cannot be reached safely .*self-signed"),
    ],
)
def test_the_certificates_of_whom_we_tell_are_looked_at(
    service: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int, is_trusted: bool, told: str
) -> None:
    context = certificate(tmp_path, "127.0.0.1", days=days)
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve_once, args=(server, context, []), daemon=True).start()
        if is_trusted:
            monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        port = server.getsockname()[1]
        service.set(notify_webhook_url=f"https://127.0.0.1:{port}/canary", allow_private_webhooks=True)
        (finding,) = found("certificates")
    assert re.match(told, str(finding))
    assert "canary" not in finding.text


def test_an_endpoint_is_named_as_the_desk_names_it(service: Setup) -> None:
    service.set(allow_private_webhooks=True)
    by: dict[str, Any] = {"now": timezone.now(), "actor": "ada", "door": Door.ADMIN}
    endpoint, _ = add_endpoint("https://127.0.0.1:1/canary", [WebhookEvent.CALL_BLOCKED], **by)
    (finding,) = found("certificates")
    assert finding.text.startswith(f"endpoint {endpoint.public_id} cannot be reached safely")
    assert "canary" not in finding.text


def test_a_broker_that_does_not_answer_is_named_without_its_password(service: Setup) -> None:
    service.set(redis_url="redis://:a-secret-word@127.0.0.1:1/0")
    (finding,) = found("broker")
    assert finding.level is Level.FAIL
    assert "127.0.0.1 does not answer" in finding.text
    assert "a-secret-word" not in finding.text


def test_workers_of_their_own_are_looked_for_where_there_is_a_broker(service: Setup) -> None:
    assert found("workers") == []
    service.set(redis_url="redis://127.0.0.1:1/0")
    assert [finding.level for finding in found("workers")] == [Level.FAIL]
    WorkerBeat.objects.beat("worker-1", timezone.now())
    assert [finding.text for finding in found("workers")] == ["1 gave a sign of life lately."]


@pytest.mark.parametrize(("host", "count"), [("redis.example", 1), ("127.0.0.1", 0), ("localhost", 0)])
def test_a_broker_of_another_machine_is_to_have_a_password(service: Setup, host: str, count: int) -> None:
    service.set(redis_url=f"redis://{host}:1/0")
    assert [finding.level for finding in found("passwords")] == [Level.WARN] * count


@pytest.mark.services
@pytest.mark.parametrize("password", [":a-secret-word@", ""], ids=["wrong", "none"])
def test_a_broker_that_refuses_the_password_is_told_as_that(service: Setup, redis: Any, password: str) -> None:
    service.set(redis_url=f"redis://{password}127.0.0.1:{redis.port}/0")
    (finding,) = found("broker")
    assert finding.level is Level.FAIL
    assert "refuses the password" in finding.text
    assert "a-secret-word" not in finding.text


@pytest.mark.services
def test_a_broker_that_answers_is_found_well_when_it_keeps_its_rings(service: Setup, redis: Any) -> None:
    service.set(redis_url=redis.url)
    client = import_module("redis").Redis.from_url(redis.url)
    before = client.config_get("appendonly")["appendonly"], client.config_get("maxmemory-policy")["maxmemory-policy"]
    try:
        seen = []
        for log, policy in (("yes", "noeviction"), ("no", "noeviction"), ("yes", "allkeys-lru")):
            client.config_set("appendonly", log)
            client.config_set("maxmemory-policy", policy)
            seen += [(finding.level, finding.text) for finding in found("broker")]
    finally:
        client.config_set("appendonly", before[0])
        client.config_set("maxmemory-policy", before[1])
    assert [level for level, _ in seen] == [Level.OK, Level.WARN, Level.WARN]
    assert seen[1][1].endswith("appendonly yes.")
    assert seen[2][1].endswith("set maxmemory-policy noeviction.")
