"""What an OpenTelemetry collector is told by the service as a process; the collector reads OTLP over HTTP."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.gateway.connections import SECONDS, run, run_command, upstream_command
from tests.gateway.listening import gateway
from tests.serving.desk import Desk
from tests.serving.forked import forked
from tests.serving.receivers import Receiver, receiving
from tests.serving.servers import free_port
from tests.serving.service import ROOT, AgentClient, Service
from tests.serving.threads import eventually, served

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SECRETS = ("ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", "canary-argument", "canary-of-a-person", "canaryPathSecret")
AGAIN = "The collector takes spans again"
SCHEMA = {
    "type": "object",
    "properties": {"region": {"enum": ["eu", "us"]}, "password": {"type": "string"}},
    "required": ["region"],
}


@dataclass
class Collector:
    """Hold what came: the bytes, the spans and the metrics; with a `status` that refuses, how often of each kind."""

    port: int = 0
    status: int = 200
    refused: Counter[str] = field(default_factory=Counter)
    raw: bytes = b""
    spans: list[Any] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)
    resources: list[dict[str, str]] = field(default_factory=list)

    def named(self, beginning: str) -> list[Any]:
        """Find spans by how their names begin."""
        return [span for span in self.spans if span.name.startswith(beginning)]

    def take(self, path: str, body: bytes) -> None:
        """Decode what was sent."""
        self.raw += body
        if path == "/v1/traces":
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.resources.append({pair.key: pair.value.string_value for pair in resource.resource.attributes})
                self.spans += [span for scope in resource.scope_spans for span in scope.spans]
        else:
            assert path == "/v1/metrics"
            for told in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                self.metrics |= {metric.name: metric for scope in told.scope_metrics for metric in scope.metrics}


@pytest.fixture
def collector() -> Iterator[Collector]:
    kept = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            packed = self.headers.get("Content-Encoding") == "gzip"
            status = kept.status
            if status == 200:
                kept.take(self.path, gzip.decompress(body) if packed else body)
            else:
                kept.refused[self.path] += 1
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept.port = server.server_port
    with served(server):
        yield kept


def attributes_of(span: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in span.attributes}


@pytest.mark.parametrize("judge", ["auto", pytest.param("worker", marks=pytest.mark.soak)])
def test_a_call_is_one_trace_from_the_agents_request_to_the_answer_of_a_person(
    tmp_path: Path, collector: Collector, judge: str
) -> None:
    with receiving(Receiver()) as slack:
        service = Service(
            tmp_path / "data",
            {
                "RETRYCONTRACT_OTEL_ENDPOINT": f"http://127.0.0.1:{collector.port}",
                "RETRYCONTRACT_NOTIFY_WEBHOOK_URL": slack.url,
                "RETRYCONTRACT_ALLOW_PRIVATE_WEBHOOKS": "true",
                "RETRYCONTRACT_JUDGE": judge,
                "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test",
            },
        )
        service.start()
        try:
            agent = AgentClient(service, service.new_key("deployer"))
            agent.register("deploy", SCHEMA, max_attempts=1)
            wrong = {"region": SECRETS[1], "password": SECRETS[0]}
            sent = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01", "Prefer": "wait=60"}
            body = {"tool": "deploy", "tool_call_id": "c1", "session_id": "s1", "arguments": wrong, "model": "m-1"}
            verdict = agent.send("POST", "/calls", body, headers=sent).body
            assert verdict["state"] == "blocked"
            eventually(lambda: slack.posts)  # nobody is told of what was answered already
            desk = Desk(service)
            desk.log_in()
            assert TRACE in desk.get(f"/calls/{verdict['call_id']}/")
            desk.answer(verdict["call_id"], text=SECRETS[2])
            assert agent.send("GET", f"/calls/{verdict['call_id']}/guidance").body["operator_text"] == SECRETS[2]
            agent.submit("deploy", "c2", {"region": "eu"})
        finally:
            assert service.stop() == 0
    [judged] = collector.named("judge deploy")[:1]
    steps = {span.name: span for span in collector.spans if span.trace_id.hex() == TRACE}
    assert set(steps) == {"submit deploy", "judge deploy", "wait_for_person deploy", "guidance deploy"}
    submit = steps.pop("submit deploy")
    assert submit.parent_span_id.hex() == "00f067aa0ba902b7"
    assert {span.parent_span_id for span in steps.values()} == {submit.span_id}
    named = attributes_of(judged)
    assert named["gen_ai.tool.name"] == "deploy"
    assert (named["gen_ai.agent.name"], named["gen_ai.conversation.id"]) == ("deployer", "s1")
    assert (named["gen_ai.tool.call.id"], named["gen_ai.request.model"]) == ("c1", "m-1")
    assert (named["gen_ai.evaluation.score.label"], named["error.type"]) == ("blocked", "invalid")
    assert named["retrycontract.error_codes"] == "VAL-008"
    assert attributes_of(steps["guidance deploy"])["retrycontract.decision"] == "hint"
    waited = steps["wait_for_person deploy"]
    assert waited.end_time_unix_nano > waited.start_time_unix_nano >= judged.end_time_unix_nano
    [delivered] = collector.named("deliver ")
    assert attributes_of(delivered)["http.response.status_code"] == 200
    [alone] = [span for span in collector.named("submit ") if span.trace_id.hex() != TRACE]
    assert alone.trace_id in {span.trace_id for span in collector.named("judge ")}, "a trace of its own, and one"
    assert collector.resources[0]["service.name"] == "retrycontract"
    assert collector.resources[0]["deployment.environment.name"] == "test"
    for secret in SECRETS:
        assert secret.encode() not in collector.raw, secret
    check_metrics(collector.metrics)


META: Any = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}


def test_what_mcp_clients_ask_is_part_of_their_trace(tmp_path: Path, collector: Collector) -> None:
    told = {"RETRYCONTRACT_OTEL_ENDPOINT": f"http://127.0.0.1:{collector.port}"}
    service = Service(tmp_path / "data", told)
    service.start()
    try:
        key = service.new_key("deployer")
        told |= {"RETRYCONTRACT_API_KEY": key}

        async def wrong(client: Client) -> None:
            arguments = {"number": SECRETS[1], "password": SECRETS[0]}
            assert (await client.call_tool("double", arguments, meta=META)).is_error

        run(wrong, tmp_path, "--url", service.url, env=told)

        async def checked(client: Client) -> None:
            asked = {"tool": "double", "arguments": {"number": SECRETS[1]}}
            assert (await client.call_tool("check_tool_call", asked, meta=META)).is_error
            with pytest.raises(MCPError):
                await client.read_resource("canary-argument://x", meta=META)

        run_command(checked, tmp_path, *forked("-m", "retrycontract", "mcp", "--url", service.url), env=told)
        over_http(checked, service, key)
    finally:
        assert service.stop() == 0
    mine = [span for span in collector.spans if span.trace_id.hex() == TRACE]
    asked = {span.span_id: span for span in mine if span.parent_span_id.hex() == "00f067aa0ba902b7"}
    names = [span.name for span in asked.values()]
    assert sorted(names) == [*["resources/read"] * 2, *["tools/call check_tool_call"] * 2, "tools/call double"]
    submitted = [asked[span.parent_span_id] for span in mine if span.name == "submit double"]
    assert sorted(span.name for span in submitted) == sorted(names)[2:], "each attempt belongs to who asked for it"
    called = [attributes_of(span) for span in submitted]
    assert {named["mcp.method.name"] for named in called} == {"tools/call"}
    assert {named["gen_ai.operation.name"] for named in called} == {"execute_tool"}
    assert {named["error.type"] for named in called} == {"tool_error"}
    assert sorted(named["network.transport"] for named in called) == ["pipe", "pipe", "tcp"]
    failed = [attributes_of(span) for span in asked.values() if span.name == "resources/read"]
    assert {(named["error.type"], named["rpc.response.status_code"]) for named in failed} == {("-32602", "-32602")}
    for secret in SECRETS:
        assert secret.encode() not in collector.raw, secret


def test_without_a_collector_an_attempt_still_joins_the_trace_of_its_client(tmp_path: Path, service: Service) -> None:
    key = service.new_key("joined")

    async def wrong(client: Client) -> None:
        await client.call_tool("double", {"number": "x"}, meta=META)
        await client.call_tool("double", {"number": "x"}, meta={"traceparent": "no trace\r\nX-Evil: 1"})

    run(wrong, tmp_path, "--url", service.url, env={"RETRYCONTRACT_API_KEY": key})
    [call] = AgentClient(service, key).send("GET", "/calls").body["calls"]
    attempts = AgentClient(service, key).send("GET", f"/calls/{call['call_id']}").body["attempts"]
    assert [attempt.get("traceparent") for attempt in attempts] == [META["traceparent"], None]


@pytest.mark.parametrize("listens", [False, True], ids=["pipe", "tcp"])
def test_many_servers_and_a_gateway_that_listens_tell_what_they_are_asked(
    tmp_path: Path, collector: Collector, *, listens: bool
) -> None:
    behind = {}
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        command, *words = upstream_command(str(tmp_path / name))
        behind[name] = {"command": command, "args": words, "cwd": str(ROOT)}
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": behind}))
    told = {"RETRYCONTRACT_OTEL_ENDPOINT": f"http://127.0.0.1:{collector.port}"}

    async def story(client: Client) -> None:
        assert not (await client.call_tool("one__double", {"number": 4}, meta=META)).is_error
        assert (await client.call_tool("two__double", {"number": SECRETS[1]}, meta=META)).is_error

    options = ["--servers", str(tmp_path / "servers.json")]
    if listens:

        async def connect(url: str) -> None:
            async with Client(streamable_http_client(url)) as client:
                await story(client)

        with gateway(*options, env=told) as listening:
            anyio.run(connect, listening.url)
    else:
        run(story, tmp_path, *options, env=told)
    asked = [attributes_of(span) for span in collector.spans if span.parent_span_id.hex() == "00f067aa0ba902b7"]
    assert {span.trace_id.hex() for span in collector.named("tools/call")} == {TRACE}
    assert [(each["gen_ai.tool.name"], each.get("error.type"), each["network.transport"]) for each in asked] == [
        ("one__double", None, "tcp" if listens else "pipe"),
        ("two__double", "tool_error", "tcp" if listens else "pipe"),
    ]
    assert SECRETS[1].encode() not in collector.raw


def over_http(story: Callable[[Client], Awaitable[None]], service: Service, key: str) -> None:
    """Run a story with a client of the service's own `/mcp`."""

    async def connect() -> None:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=SECONDS) as http,
            Client(streamable_http_client(f"{service.url}/mcp", http_client=http)) as client,
        ):
            await story(client)

    anyio.run(connect)


def check_metrics(metrics: dict[str, Any]) -> None:
    """Look at what the service said last."""
    attempts = {
        tuple(sorted((pair.key, pair.value.string_value) for pair in point.attributes)): point.as_double or point.as_int
        for point in metrics["retrycontract_attempts_total"].sum.data_points
    }
    assert metrics["retrycontract_attempts_total"].sum.is_monotonic
    of = (("attempt", "1"), ("namespace", "deployer"))
    assert attempts[(*of, ("result", "failed"), ("tool", "deploy"))] == 1
    assert attempts[(*of, ("result", "valid"), ("tool", "deploy"))] == 1
    [answers] = metrics["retrycontract_guidance_seconds"].histogram.data_points
    assert (answers.count, sum(answers.bucket_counts)) == (1, 1)
    assert len(answers.bucket_counts) == len(answers.explicit_bounds) + 1
    assert metrics["retrycontract_open_calls"].gauge.data_points


@pytest.mark.soak
def test_a_collector_that_is_away_holds_nobody_up(tmp_path: Path) -> None:
    service = Service(tmp_path / "data", {"RETRYCONTRACT_OTEL_ENDPOINT": f"http://127.0.0.1:{free_port()}"})
    service.start()
    agent = AgentClient(service, service.new_key("deployer"))
    agent.register("deploy", SCHEMA)
    assert agent.submit("deploy", "c1", {"region": "eu"})["state"] == "valid"
    assert service.stop() == 0
    assert len(said_of_the_collector(service)) <= 2, "one line for spans and one for metrics"


def said_of_the_collector(service: Service) -> list[str]:
    """Give the lines of the log about the collector, less what differs from one outage to another."""
    lines = [json.loads(line) for line in service.log.splitlines() if line.startswith("{")]
    of_sdk = [line for line in lines if "opentelemetry" in line["logger"] or "collector" in line["message"]]
    return [re.sub(r".*(spans|metrics) batch.*", r"refused: \1", line["message"]) for line in of_sdk]


@pytest.mark.parametrize("status", [401, pytest.param(503, marks=pytest.mark.soak)])  # the SDK waits after 503
def test_an_outage_of_the_collector_is_a_line_at_its_beginning_and_one_at_its_end(
    tmp_path: Path, collector: Collector, status: int
) -> None:
    service = Service(tmp_path / "data", {"RETRYCONTRACT_OTEL_ENDPOINT": f"http://127.0.0.1:{collector.port}"})
    service.start()
    try:
        agent = AgentClient(service, service.new_key("deployer"))
        agent.register("deploy", SCHEMA)

        def submit_until(seen: Callable[[], object]) -> None:
            def submitted() -> object:
                agent.submit("deploy", str(uuid4()), {"region": "eu"})
                return seen()

            eventually(submitted)

        for outage in (1, 2):
            collector.status = status
            submit_until(lambda: collector.refused["/v1/traces"] >= 2 * outage)  # noqa: B023 - called at once
            collector.status, taken = 200, len(collector.spans)
            submit_until(lambda: len(collector.spans) > taken)  # noqa: B023 - called at once
            eventually(lambda: said_of_the_collector(service).count(AGAIN) == outage)  # noqa: B023 - called at once
        collector.status = status
    finally:
        assert service.stop() == 0
    assert collector.refused["/v1/metrics"] >= 1
    told = said_of_the_collector(service)
    assert [line for line in told if "spans" in line][:4] == ["refused: spans", AGAIN] * 2
    assert [line for line in told if "spans" not in line] == ["refused: metrics"]


def test_a_collector_without_the_extra_is_refused_at_the_start_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'opentelemetry.exporter': raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
    )
    told = {"RETRYCONTRACT_OTEL_ENDPOINT": "http://127.0.0.1:9", "RETRYCONTRACT_DATA_DIR": str(tmp_path / "data")}
    told |= {"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"}
    run = subprocess.run(
        [sys.executable, "-m", "retrycontract", "migrate"],
        cwd=ROOT,
        env=told,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert 'RETRYCONTRACT_OTEL_ENDPOINT: needs the extra otel: pip install "retrycontract[server,otel]"' in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("endpoint", "expected"), [("", "False"), pytest.param("http://127.0.0.1:9", "True", marks=pytest.mark.soak)]
)
def test_without_a_collector_nothing_of_it_is_imported(tmp_path: Path, endpoint: str, expected: str) -> None:
    look = (
        "import sys, django; django.setup(); from retrycontract.config.telemetry import span\n"
        "with span('a', {}): pass\n"
        "print(any(name.startswith('opentelemetry.sdk') for name in sys.modules))"
    )
    told = {"RETRYCONTRACT_OTEL_ENDPOINT": endpoint, "RETRYCONTRACT_DATA_DIR": str(tmp_path)}
    told |= {"DJANGO_SETTINGS_MODULE": "retrycontract.settings", "PATH": "/usr/bin:/bin"}
    run = subprocess.run([sys.executable, "-c", look], cwd=ROOT, env=told, capture_output=True, text=True, check=False)
    assert run.stdout.strip() == expected, run.stderr
