"""Spans and metrics for an OpenTelemetry collector; without one nothing is imported and nothing is done.

Attributes hold names, ids and numbers as they are stored, redacted: never arguments, outputs or people's words.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, Final

from retrycontract.contract.errors import WrongInputError

logger = logging.getLogger("retrycontract")

Attributes = dict[str, str | int | float | bool | None]

SCOPE: Final = "retrycontract"
ENDPOINT: Final = "RETRYCONTRACT_OTEL_ENDPOINT"
BATCH_MILLISECONDS: Final = 1_000
FLUSH_MILLISECONDS: Final = 3_000

_collector = ""


class CollectorOutage(logging.Filter):
    """Pass what the SDK says first when a collector takes nothing, and no more until it takes something again.

    By itself it says something of each try, for as long as the collector is away.
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind, self._is_told = kind, False

    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002 - the standard library's signature
        is_first, self._is_told = not self._is_told, True
        return is_first

    def watched(self, exporter: Any) -> Any:
        """Have an exporter speak through this filter, and say here what the collector took."""
        logging.getLogger(type(exporter).__module__).addFilter(self)
        send = exporter.export

        def export(batch: Any) -> Any:
            result = send(batch)
            if self._is_told and result.name == "SUCCESS":
                self._is_told = False
                logger.warning("The collector takes %s again", self._kind)
            return result

        exporter.export = export
        return exporter


# One of each in a process, which its forks inherit: a collector may take spans and have no place for metrics.
spans_outage, metrics_outage = CollectorOutage("spans"), CollectorOutage("metrics")


def send_to(endpoint: str) -> None:
    """Send what is measured from now on to a collector; to none where the address is empty."""
    global _collector
    _collector = endpoint.rstrip("/")


def checked_endpoint(url: str, extras: str) -> str:
    """Give the address of a collector as it is; raises ValueError where nothing can be sent there."""
    if not url:
        return url
    from retrycontract.config.outside_settings import is_plain_url  # with pydantic, which most gateways never need

    if not is_plain_url(url) or "?" in url:
        raise ValueError("must be an address such as http://collector:4318, without a query")
    try:
        is_installed = find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:  # a part of the name is not there either
        is_installed = False
    if not is_installed:
        raise ValueError(f'needs the extra otel: pip install "retrycontract[{extras}]"')
    return url


def send_as_asked(extras: str) -> None:
    """Do as the environment says, for a command without the service's settings; raises WrongInputError."""
    try:
        send_to(checked_endpoint(os.environ.get(ENDPOINT, "").strip(), extras))
    except ValueError as wrong:
        raise WrongInputError(f"{ENDPOINT}: {wrong}") from None


def is_on() -> bool:
    return bool(_collector)


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


def begin_span(name: str, attributes: Attributes, *, parent: str | None) -> Any:
    """Begin a span that somebody else ends, of a request that others made; None where there is no collector."""
    tracer = _tracer()
    if tracer is None:
        return None
    from opentelemetry.trace import SpanKind

    return tracer.start_span(name, context=_context(parent), kind=SpanKind.SERVER, attributes=told(attributes))


def flush() -> None:
    """Send what is held back, where the process is about to end without ceremony."""
    if is_on():
        _provider(os.getpid()).force_flush(FLUSH_MILLISECONDS)


def add_span(
    name: str,
    attributes: Attributes,
    *,
    start: datetime,
    end: datetime,
    parent: str | None,
    error: str | None,
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


def _tracer() -> Any:
    return _provider(os.getpid()).get_tracer(SCOPE) if is_on() else None


@lru_cache(maxsize=1)  # of this process: a fork has no threads, so it makes its own
def _provider(_pid: int) -> Any:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    # Not the provider of the whole process: other packages would write what they like into spans.
    provider = TracerProvider(resource=resource())
    exporter = spans_outage.watched(OTLPSpanExporter(endpoint=endpoint_of("traces")))
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=BATCH_MILLISECONDS))
    return provider


def resource() -> Any:
    """Say who measures."""
    from opentelemetry.sdk.resources import Resource

    from retrycontract import __version__

    ours = {"service.version": __version__, "service.instance.id": f"{os.uname().nodename}-{os.getpid()}"}
    if "OTEL_SERVICE_NAME" not in os.environ and "service.name" not in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", ""):
        ours["service.name"] = SCOPE
    return Resource.create(ours)


def endpoint_of(kind: str) -> str:
    """Give where traces or metrics are sent."""
    return f"{_collector}/v1/{kind}"


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
