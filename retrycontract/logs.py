"""JSON log lines, for structlog's loggers and the standard library's alike."""

from __future__ import annotations

import logging

import structlog

from retrycontract.contract.sanitizer import ValueSanitizer

SHARED: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(),
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
]


def json_formatter() -> logging.Formatter:
    """Make the formatter that the logging settings name; it drops the request, which could hold secrets."""
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*SHARED, _without_request],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.EventRenamer("message"),
            structlog.processors.format_exc_info,
            _without_secrets,
            structlog.processors.JSONRenderer(),
        ],
    )


def _without_secrets(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Redact what was raised: libraries quote the value that they failed on."""
    if "exception" in event:
        event["exception"] = _sanitizer.redact_text(event["exception"])
    return event


def _without_request(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    event.pop("request", None)
    return event


_sanitizer = ValueSanitizer()
