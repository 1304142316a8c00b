"""A contract in one process, with two tools that take a path and an encoding."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from retrycontract import Outcome, RetryConfiguration, RetryContract, Tool

NOW = datetime(2030, 1, 1, tzinfo=UTC)
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "encoding": {"enum": ["utf-8", "ascii"]}},
    "required": ["path"],
}
GOOD, BAD = '{"path": "a"}', '{"encoding": "uft8"}'


def contract(*, configuration: RetryConfiguration | None = None, **tool: Any) -> RetryContract:
    """Make a contract that numbers its calls; the options are those of the tool `read_file`."""
    numbers = iter(range(1, 1000))
    return RetryContract(
        [Tool(name="read_file", input_schema=SCHEMA, **tool), Tool(name="write_file", input_schema=SCHEMA)],
        configuration,
        clock=lambda: NOW,
        new_id=lambda: f"call-{next(numbers)}",
    )


def fail(desk: RetryContract, times: int, **options: Any) -> Outcome:
    """Send wrong arguments a number of times; gives the last outcome."""
    for _ in range(times):
        outcome = desk.check("read_file", "id", BAD, **options)
    return outcome
