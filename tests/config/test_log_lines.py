"""What a line of the log holds, and what it never does."""

from __future__ import annotations

import json
import logging
from typing import Any

from retrycontract.config.logs import json_formatter


def formatted(**extra: Any) -> dict[str, Any]:
    record = logging.makeLogRecord({"name": "retrycontract", "levelname": "WARNING", "msg": "It happened", **extra})
    line: dict[str, Any] = json.loads(json_formatter().format(record))
    return line


def test_a_log_line_is_one_json_object_with_its_fields() -> None:
    line = formatted(tool_name="deploy", error_count=2)
    assert (line["message"], line["level"], line["logger"]) == ("It happened", "warn", "retrycontract")
    assert (line["tool_name"], line["error_count"]) == ("deploy", 2)


def test_a_log_line_holds_no_request() -> None:
    assert "request" not in formatted(request="GET /?token=secret")


def raised(message: str) -> dict[str, Any]:
    error = ValueError(message)
    return formatted(exc_info=(ValueError, error, None))


def test_a_log_line_tells_what_was_raised() -> None:
    assert "ValueError: the reason" in raised("the reason")["exception"]


def test_a_secret_in_what_was_raised_stays_out_of_the_log() -> None:
    secret = "ghp_" + "aZ3kQ9xW7bN2mL5vR8tY1cF4hJ6dS0gPuE9i"
    assert secret not in json.dumps(raised(f"cannot read {secret}"))
