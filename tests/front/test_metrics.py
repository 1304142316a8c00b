"""Metrics are for whoever has the token."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest

from retrycontract.config import telemetry
from retrycontract.front.probes import Family, Metrics, Sample, export_metrics, metrics_data
from tests.serving import running
from tests.serving.service import AgentClient, Service
from tests.serving.threads import fetch, serving

FAMILIES = [Family("retrycontract_workers", "gauge", "Workers.", (Sample(2),))]
TOKEN = "s3cret-token"


async def behind(scope: Any, _: Any, send: Any) -> None:
    """Answer what is not for the metrics."""
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize(
    ("token", "given", "status"),
    [
        (TOKEN, f"Bearer {TOKEN}", 200),
        (TOKEN, f"bearer  {TOKEN}", 200),
        (TOKEN, "Bearer wrong", 401),
        (TOKEN, TOKEN, 401),
        (TOKEN, "", 401),
        ("", "Bearer ", 403),
        ("", "", 403),
    ],
)
def test_who_has_the_token_is_answered(token: str, given: str, status: int) -> None:
    with serving(Metrics(behind, lambda: FAMILIES, token=token)) as port:
        reply = fetch(port, "/metrics", headers={"Authorization": given} if given else {})
    assert reply.status == status
    assert (b"retrycontract_workers 2" in reply.body) is (status == 200)
    assert reply.header("www-authenticate") == ("Bearer" if status == 401 else None)
    if status == 200:
        assert reply.header("content-type") == "text/plain; version=0.0.4; charset=utf-8"


def test_everything_else_is_handed_on_and_a_missing_database_is_said() -> None:
    with serving(Metrics(behind, lambda: None, token=TOKEN)) as port:
        assert fetch(port, "/metrics/more").status == 204
        assert fetch(port, "/metrics", method="POST").status == 405
        assert fetch(port, "/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).status == 503


def test_the_running_service_counts_what_its_agents_do(tmp_path: Any) -> None:
    with running(Service(tmp_path / "data", {"RETRYCONTRACT_METRICS_TOKEN": TOKEN})) as service:
        agent = AgentClient(service, service.new_key("deployer"))
        agent.register("deploy", {"type": "object", "required": ["service"]})
        agent.submit("deploy", "toolu_1", {})
        metrics = service.send("GET", "/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
        closed = service.send("GET", "/metrics", key=agent.key)
    assert metrics.status == 200
    assert 'retrycontract_failures_total{namespace="deployer",tool="deploy",code="VAL-001"} 1' in metrics.text
    assert closed.status == 401


def test_a_histogram_is_sent_without_a_least_and_a_largest_value_that_nobody_kept() -> None:
    encoder = pytest.importorskip("opentelemetry.exporter.otlp.proto.common.metrics_encoder")
    samples = [Sample(1, (("le", "60"),), "_bucket"), Sample(1, (("le", "+Inf"),), "_bucket"), Sample(42, (), "_sum")]
    sent = encoder.encode_metrics(metrics_data([Family("seconds", "histogram", "Waits.", tuple(samples))], 1, 2))
    (point,) = sent.resource_metrics[0].scope_metrics[0].metrics[0].histogram.data_points
    assert (point.sum, point.count, point.HasField("min"), point.HasField("max")) == (42, 1, False, False)


def test_metrics_that_could_not_be_read_once_are_sent_the_next_time(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    monkeypatch.setattr(telemetry, "_collector", "http://127.0.0.1:9")
    monkeypatch.setattr("retrycontract.front.probes.METRICS_SECONDS", 0.01)
    reads, again = [], Event()

    def read() -> None:
        reads.append(1)
        if len(reads) == 1:
            raise ValueError("a value")
        again.set()

    stop = export_metrics(read)
    try:
        assert again.wait(10)
    finally:
        stop()
    assert "The metrics could not be sent" in caplog.text
    assert "a value" not in caplog.text
