"""Answer `/livez`, `/readyz` and `/metrics` before Django: without login, host check or a thread of the pages."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar

from retrycontract.config.telemetry import SCOPE, endpoint_of, is_on, metrics_outage, resource

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from retrycontract.front.wsgi import Header, Receive, Scope, Send

logger = logging.getLogger("retrycontract")

METRICS_SECONDS: Final = 30  # between two sendings of the metrics
# Whoever probes has given up by then, and a database that takes this long is not ready.
LONGEST_SECONDS: Final = 5.0
# Each look writes a row: so long one answers whoever asks, however often that is.
KEPT_SECONDS: Final = 1.0
PLAIN: Final = "text/plain; charset=utf-8"
ONLY_READ: Final = "This address is only read: ask with GET or HEAD.\n"
UNAVAILABLE: Final = {"status": "unavailable", "database": "no answer", "reason": "it does not answer in time"}
NOT_SERVING: Final = ("unavailable", "not-ready")
Seen = TypeVar("Seen")


class Looking(Generic[Seen]):
    """Look in a thread of its own, once at a time however many ask, and once in so many seconds as it is kept."""

    def __init__(self, look: Callable[[], Seen], *, timeout: float, kept: float = 0) -> None:
        self._look = look
        self._timeout, self._kept = timeout, kept
        self._task: asyncio.Task[Seen] | None = None
        self._begun = 0.0

    async def result(self) -> Seen | None:
        """Give what is seen, or None when it takes too long."""
        now = asyncio.get_running_loop().time()
        # The one that is joined here: whoever comes after its end begins another, which is still under way.
        task = self._task
        if task is None or (task.done() and now - self._begun >= self._kept):
            task = self._task = asyncio.create_task(asyncio.to_thread(self._look))
            self._begun = now
        # Not `wait_for`, which would cancel the look: whoever asks next joins it, and a database that hangs keeps one
        # thread only.
        await asyncio.wait((task,), timeout=self._timeout)
        return task.result() if task.done() else None


class Health:
    """Serve an application, and tell how it is; `status` of what `look` gives decides."""

    def __init__(self, app: Any, look: Callable[[], Mapping[str, Any]], *, timeout: float = LONGEST_SECONDS) -> None:
        self._app = app
        self._looking = Looking(look, timeout=timeout, kept=KEPT_SECONDS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a probe, or hand the request on."""
        path = scope["path"] if scope["type"] == "http" else None
        if path not in ("/livez", "/readyz"):
            await self._app(scope, receive, send)
        elif await _only_reads(scope, send):
            alive = {"status": "alive"}
            await _tell(scope, send, alive if path == "/livez" else await self._looking.result() or UNAVAILABLE)


async def _only_reads(scope: Scope, send: Send) -> bool:
    if scope["method"] in ("GET", "HEAD"):
        return True
    await answer(scope, send, 405, PLAIN, ONLY_READ, (b"allow", b"GET, HEAD"))
    return False


async def answer(scope: Scope, send: Send, status: int, content_type: str, text: str, *headers: Header) -> None:
    """Send a short text that nobody may keep."""
    body = text.encode()
    basic = [
        (b"content-type", content_type.encode()),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": [*basic, *headers]})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


async def _tell(scope: Scope, send: Send, state: Mapping[str, Any]) -> None:
    status = 503 if state["status"] in NOT_SERVING else 200
    await answer(scope, send, status, "application/json", json.dumps(state) + "\n")


# Prometheus gives up after ten seconds unless it is told otherwise.
LONGEST_SCRAPE: Final = 9.0
CLOSED: Final = "Metrics are closed: set RETRYCONTRACT_METRICS_TOKEN, and send it as a bearer token.\n"
UNKNOWN: Final = "Send the token of RETRYCONTRACT_METRICS_TOKEN as a bearer token.\n"
NO_ANSWER: Final = "The database does not answer.\n"


class Metrics:
    """Serve an application, and its metrics to whoever sends the token.

    `read` runs in a thread of its own, once at a time however many ask; None says that there is nothing to read from.
    """

    def __init__(self, app: Any, read: Callable[[], Sequence[Family] | None], *, token: str) -> None:
        self._app = app
        self._token = token
        self._reading = Looking(read, timeout=LONGEST_SCRAPE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer Prometheus, or hand the request on."""
        if scope["type"] != "http" or scope["path"] != "/metrics":
            await self._app(scope, receive, send)
        elif not await _only_reads(scope, send):
            return
        elif not self._token:
            await answer(scope, send, 403, PLAIN, CLOSED)
        elif not self._is_known(scope):
            await answer(scope, send, 401, PLAIN, UNKNOWN, (b"www-authenticate", b"Bearer"))
        elif (families := await self._reading.result()) is None:
            await answer(scope, send, 503, PLAIN, NO_ANSWER)
        else:
            await answer(scope, send, 200, CONTENT_TYPE, write_exposition(families))

    def _is_known(self, scope: Scope) -> bool:
        given: bytes = dict(scope["headers"]).get(b"authorization", b"")
        scheme, _, token = given.partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._token.encode())


CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
Type = Literal["counter", "gauge", "histogram"]
_ESCAPES: Final = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


@dataclass(frozen=True, slots=True)
class Sample:
    """Hold one number; `suffix` tells the parts of a histogram apart."""

    value: float
    labels: tuple[tuple[str, str], ...] = ()
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    """Hold the samples of one metric."""

    name: str
    type: Type
    help: str
    samples: tuple[Sample, ...]


def write_exposition(families: Iterable[Family]) -> str:
    """Write metrics as text; a metric without samples is left out."""
    lines: list[str] = []
    for family in (family for family in families if family.samples):
        lines += [f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.type}"]
        for sample in family.samples:
            pairs = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in sample.labels)
            labels = f"{{{pairs}}}" if pairs else ""
            value = int(sample.value) if sample.value == int(sample.value) else float(sample.value)
            lines.append(f"{family.name}{sample.suffix}{labels} {value!r}")
    return "".join(f"{line}\n" for line in lines)


def export_metrics(read: Callable[[], Sequence[Family] | None]) -> Callable[[], None]:
    """Send what `/metrics` tells, from a thread of its own; gives what ends that."""
    if not is_on():
        return lambda: None
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

    exporter = metrics_outage.watched(OTLPMetricExporter(endpoint=endpoint_of("metrics")))
    started, ended = time.time_ns(), threading.Event()

    def send() -> None:
        try:
            families = read()
            if families:
                exporter.export(metrics_data(families, started, time.time_ns()))
        except Exception as error:  # noqa: BLE001 - whatever it is, the thread must go on
            # The class alone, since its words may quote what is stored. The next half minute may go better.
            logger.error("The metrics could not be sent", extra={"reason": type(error).__name__})  # noqa: TRY400

    def run() -> None:
        while not ended.wait(METRICS_SECONDS):
            send()
        send()

    thread = threading.Thread(target=run, name="otlp-metrics", daemon=True)
    thread.start()

    def stop() -> None:
        ended.set()
        # Bounded: a collector that is away must not hold up the end of the service.
        thread.join(5)

    return stop


def metrics_data(families: Sequence[Family], started: int, now: int) -> Any:
    """Write metrics as OpenTelemetry has them: counters as sums from the beginning, histograms with their buckets."""
    from opentelemetry.sdk.metrics import export as sdk
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    def data(family: Family) -> Any:
        if family.type == "histogram":
            # Prometheus adds up its buckets from below, OTLP does not.
            upto = [sample for sample in family.samples if sample.suffix == "_bucket"]
            counts = [int(sample.value - (upto[place - 1].value if place else 0)) for place, sample in enumerate(upto)]
            bounds = [float(dict(sample.labels)["le"]) for sample in upto[:-1]]
            total = next(sample.value for sample in family.samples if sample.suffix == "_sum")
            # Nobody keeps them; both may be left out on the wire, though the class declares numbers.
            unknown: Any = None
            point = sdk.HistogramDataPoint(
                {}, started, now, sum(counts), total, counts, bounds, min=unknown, max=unknown
            )
            return sdk.Histogram([point], sdk.AggregationTemporality.CUMULATIVE)
        points = [sdk.NumberDataPoint(dict(sample.labels), started, now, sample.value) for sample in family.samples]
        if family.type == "counter":
            return sdk.Sum(points, sdk.AggregationTemporality.CUMULATIVE, is_monotonic=True)
        return sdk.Gauge(points)

    metrics = [sdk.Metric(family.name, family.help, "", data(family)) for family in families if family.samples]
    scope = sdk.ScopeMetrics(InstrumentationScope(SCOPE), metrics, "")
    return sdk.MetricsData([sdk.ResourceMetrics(resource(), [scope], "")])
