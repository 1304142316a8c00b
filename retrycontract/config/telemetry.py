"""Spans and metrics for an OpenTelemetry collector; without one nothing is imported and nothing is done.

Attributes hold names, ids and numbers as they are stored, redacted: never arguments, outputs or people's words.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings

if TYPE_CHECKING:
    from retrycontract.front.probes import Family, Sample

Attributes = dict[str, str | int | float | bool | None]

logger = logging.getLogger(__name__)

SCOPE: Final = "retrycontract"
BATCH_MILLISECONDS: Final = 1_000
METRICS_SECONDS: Final = 30


def is_on() -> bool:
    """Tell whether there is a collector."""
    return bool(settings.RETRYCONTRACT.otel_endpoint)


@contextmanager
def span(name: str, attributes: Attributes, *, parent: str | None = None, kind: str = "INTERNAL") -> Iterator[Any]:
    """Measure a step; gives the span, or None where there is no collector. `parent` is a traceparent."""
    tracer = _tracer()
    if tracer is None:
        yield None
        return
    from opentelemetry.trace import SpanKind

    # No exception is recorded with it: its words may be an output's.
    with tracer.start_as_current_span(
        name, context=_context(parent), kind=SpanKind[kind], attributes=told(attributes),
        record_exception=False, set_status_on_exception=False,
    ) as made:  # fmt: skip
        try:
            yield made
        except Exception as error:
            note_error(made, type(error).__name__)
            raise


def add_span(
    name: str,
    attributes: Attributes,
    *,
    start: datetime,
    end: datetime,
    parent: str | None = None,
    error: str | None = None,
) -> None:
    """Tell of a step that is over, such as the time in which a person was waited for."""
    tracer = _tracer()
    if tracer is None:
        return
    made = tracer.start_span(name, context=_context(parent), attributes=told(attributes), start_time=_nanos(start))
    if error:
        note_error(made, error)
    made.end(_nanos(end))


def note_error(made: Any, kind: str) -> None:
    """Mark a span as failed, with a class of errors and no words."""
    if made is not None:
        from opentelemetry.trace import StatusCode

        made.set_attribute("error.type", kind)
        made.set_status(StatusCode.ERROR)


def traceparent_of(made: Any) -> str | None:
    """Write a span as what others name as their parent; None where there is no span."""
    if made is None:
        return None
    at = made.get_span_context()
    return f"00-{at.trace_id:032x}-{at.span_id:016x}-{int(at.trace_flags):02x}"


def export_metrics(read: Callable[[], Sequence[Family] | None]) -> Callable[[], None]:
    """Send what `/metrics` tells, from a thread of its own; gives what ends that."""
    if not is_on():
        return lambda: None
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

    exporter, started, ended = OTLPMetricExporter(endpoint=_signal("metrics")), time.time_ns(), threading.Event()

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
            return sdk.Histogram([_histogram(family.samples, started, now)], sdk.AggregationTemporality.CUMULATIVE)
        points = [sdk.NumberDataPoint(dict(sample.labels), started, now, sample.value) for sample in family.samples]
        if family.type == "counter":
            return sdk.Sum(points, sdk.AggregationTemporality.CUMULATIVE, is_monotonic=True)
        return sdk.Gauge(points)

    metrics = [sdk.Metric(family.name, family.help, "", data(family)) for family in families if family.samples]
    scope = sdk.ScopeMetrics(InstrumentationScope(SCOPE), metrics, "")
    return sdk.MetricsData([sdk.ResourceMetrics(_resource(), [scope], "")])


def _histogram(samples: Sequence[Sample], started: int, now: int) -> Any:
    from opentelemetry.sdk.metrics import export as sdk

    # Prometheus adds up its buckets from below, OTLP does not.
    upto = [sample for sample in samples if sample.suffix == "_bucket"]
    counts = [int(sample.value - (upto[place - 1].value if place else 0)) for place, sample in enumerate(upto)]
    bounds = [float(dict(sample.labels)["le"]) for sample in upto[:-1]]
    total = next(sample.value for sample in samples if sample.suffix == "_sum")
    # Nobody keeps them; both may be left out on the wire, though the class declares numbers.
    unknown: Any = None
    return sdk.HistogramDataPoint({}, started, now, sum(counts), total, counts, bounds, min=unknown, max=unknown)


def _tracer() -> Any:
    return _made(os.getpid()) if is_on() else None


@lru_cache(maxsize=1)  # of this process: a fork has no threads, so it makes its own
def _made(_pid: int) -> Any:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    # Not the provider of the whole process: other packages would write what they like into spans.
    provider = TracerProvider(resource=_resource())
    exporter = OTLPSpanExporter(endpoint=_signal("traces"))
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=BATCH_MILLISECONDS))
    return provider.get_tracer(SCOPE)


def _resource() -> Any:
    from opentelemetry.sdk.resources import Resource

    from retrycontract import __version__

    ours = {"service.version": __version__, "service.instance.id": f"{os.uname().nodename}-{os.getpid()}"}
    if "OTEL_SERVICE_NAME" not in os.environ and "service.name" not in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", ""):
        ours["service.name"] = SCOPE
    return Resource.create(ours)


def _signal(kind: str) -> str:
    return f"{settings.RETRYCONTRACT.otel_endpoint.rstrip('/')}/v1/{kind}"


def _context(parent: str | None) -> Any:
    """Read a traceparent; None leaves a span to the one that it is begun in."""
    if parent is None:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract({"traceparent": parent})


def told(attributes: Attributes) -> dict[str, Any]:
    """Leave out what is not known."""
    return {name: value for name, value in attributes.items() if value is not None}


def _nanos(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1_000
