"""JSON log lines, for structlog's loggers and the standard library's alike."""

from __future__ import annotations

import logging
import sys
from collections import deque
from functools import lru_cache
from typing import Final, Literal

import structlog
from django.conf import settings

from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.events import ESCALATED, FAILED, RETRIED
from retrycontract.contract.redaction.sanitizer import ValueSanitizer

ANSWERED: Final = "Request answered"
LONGEST_REMEMBERED: Final = 100  # characters of a line
OUR_IDS: Final = frozenset({"call_id", "attempt_id"})
SHARED: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(),
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
]


def follow(**ids: object) -> None:
    """Put ids into every line that this thread logs from now on, until `forget`; None and empty ones are left out."""
    given = {name: str(value) for name, value in ids.items() if value not in (None, "")}
    # What an agent names may hold a secret; what we have numbered cannot.
    structlog.contextvars.bind_contextvars(
        **{name: value if name in OUR_IDS else _redacted(value) for name, value in given.items()}
    )


def forget() -> None:
    """Begin with something else: what this thread logs from now on has no ids."""
    structlog.contextvars.clear_contextvars()


def json_formatter() -> logging.Formatter:
    """Make the formatter of JSON lines; it drops the request, which could hold secrets."""
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*SHARED, _without_request],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.EventRenamer("message"),
            structlog.processors.format_exc_info,
            _with_short_level,
            _without_secrets,
            structlog.processors.JSONRenderer(),
        ],
    )


class OneLineEach(logging.Filter):
    """Leave out, for a person who watches, what says of a failed attempt what another line has said."""

    def __init__(self) -> None:
        super().__init__()
        self._failed: deque[object] = deque(maxlen=256)  # requests whose attempt has its line

    def filter(self, record: logging.LogRecord) -> bool:
        """Pass a failed attempt's first line, and requests that brought no such attempt."""
        message, request = record.getMessage(), structlog.contextvars.get_contextvars().get("request_id")
        if message == FAILED and request:
            self._failed.append(request)
        is_told = message in (RETRIED, ESCALATED) or (message == ANSWERED and request in self._failed)
        return not (is_told and sys.stderr.isatty())


class TerminalFormatter(logging.Formatter):
    """Write a short line for a person who watches; programs read the JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Give time, level, message, and of a failed attempt what failed."""
        known = record.__dict__
        parts = [self.formatTime(record, "%H:%M:%S"), record.levelname.lower(), record.getMessage()]
        if "tool_name" in known:
            parts.append(f"{known['tool_name']} (attempt {known['retry_attempt']}/{known['max_retries']})")
            parts.append(", ".join(f"{error['path'] or '(root)'} {error['code']}" for error in known["errors"]))
            parts += ["a person is asked"] if known["retry_attempt"] >= known["max_retries"] else []
        if "route" in known:
            parts.append(f"{known['method']} {known['route'] or '?'} {known['status']} ({known['duration_ms']} ms)")
        line = _redacted("  ".join(parts))
        return f"{line}\n{_redacted(self.formatException(record.exc_info))}" if record.exc_info else line


def formatter() -> logging.Formatter:
    """Make the formatter that the logging settings name: JSON, unless a person watches the terminal."""
    return TerminalFormatter() if sys.stderr.isatty() else json_formatter()


def _with_short_level(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Call a warning `warn`, as the events of the contract are described."""
    event["level"] = "warn" if event["level"] == "warning" else event["level"]
    return event


def _without_secrets(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Redact what was said and raised: frameworks quote the address, libraries the value that they failed on."""
    for name in ("message", "exception"):
        if isinstance(event.get(name), str):
            event[name] = _redacted(event[name])
    return event


def _without_request(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    event.pop("request", None)
    event.pop("color_message", None)  # uvicorn's, with the codes of colours in it
    return event


def _redacted(text: str) -> str:
    """Redact as the contract is configured; the settings are there whenever a line is written."""
    # Not the sanitiser that the use cases share: they import this module. Most lines have one of a few messages.
    chosen: RetryConfiguration = settings.CONTRACT
    redact = _remembered if len(text) <= LONGEST_REMEMBERED else _remembered.__wrapped__
    return redact(text, chosen.redact_secrets, chosen.sanitizer_mode)


@lru_cache(maxsize=256)
def _remembered(text: str, redact_secrets: bool, sanitizer_mode: Literal["balanced", "strict"]) -> str:
    chosen = RetryConfiguration(redact_secrets=redact_secrets, sanitizer_mode=sanitizer_mode)
    return ValueSanitizer(chosen).redact_text(text)
