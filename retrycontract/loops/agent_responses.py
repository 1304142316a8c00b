"""What an agent's response is: its schema, its check, and how it is logged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

from retrycontract.contract.checks.failure import Findings, blocks
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.json_types import Schema
from retrycontract.contract.kinds import Kind
from retrycontract.contract.lifecycle import Status
from retrycontract.contract.tool import Tool
from retrycontract.contract.webhooks import ResponseStatus, response_status
from retrycontract.judging import Examiner
from retrycontract.loops.engine import Trial

NAME = "agent_response"
AGENT_RESPONSE_SCHEMA: Schema = {
    "type": "object",
    "properties": {
        "action": {"type": "string"},
        "parameters": {"type": "object"},
        "reasoning": {"type": "string"},
    },
    "required": ["action", "parameters"],
    "additionalProperties": False,
}

REQUIRED = {"action", "parameters"}


@dataclass(frozen=True, slots=True)
class AgentResponse:
    """Hold a reply of the standard schema: what the agent wants done, with what, and why."""

    action: str
    parameters: dict[str, Any]
    reasoning: str | None = None


@dataclass(frozen=True, slots=True)
class Valid:
    """Hold a reply that conforms: an AgentResponse, or the parsed value where another schema was given."""

    parsed: Any


@dataclass(frozen=True, slots=True)
class Invalid:
    """Say what is wrong with a reply; `raw` is the reply as it came."""

    error: Literal["INVALID_JSON", "SCHEMA_VIOLATION"]
    violations: tuple[ValidationError, ...]
    raw: Any = field(repr=False)


@dataclass(frozen=True, slots=True)
class ResponseRecord:
    """Hold one line of the agent-response log; `raw` is redacted, `correction_attempt` 0 for the reply itself.

    A correction turn for which the model could not be asked leaves no line: there was no response.
    """

    task_id: str
    turn: int
    status: ResponseStatus
    raw: Any
    violations: tuple[ValidationError, ...]
    correction_attempt: int
    at: datetime


def validate(raw: Any, *, schema: Schema = AGENT_RESPONSE_SCHEMA) -> Valid | Invalid:
    """Check a reply, text, bytes or a parsed value, against a schema; never raises on what a model wrote.

    Raises InvalidSchema for a schema that is none.
    """
    # As text: a dict cannot be the key of a cache.
    return _verdict(_examiner(json.dumps(schema)).examine(raw), raw, schema)


def status_of(trial: Trial) -> ResponseStatus:
    """Tell how an attempt is logged."""
    return response_status(is_valid=trial.status is Status.VALID, is_parsed=not _is_malformed(trial.errors))


def typed(value: Any, schema: Schema) -> Any:
    """Give the value its type; what a person accepted as it is may not have it."""
    if schema == AGENT_RESPONSE_SCHEMA and isinstance(value, dict) and set(value) - {"reasoning"} == REQUIRED:
        return AgentResponse(**value)
    return value


@lru_cache(maxsize=64)
def _examiner(schema: str) -> Examiner:
    return Examiner(Tool(kind=Kind.AGENT_RESPONSE, name=NAME, input_schema=json.loads(schema)))


def _verdict(findings: Findings, raw: Any, schema: Schema) -> Valid | Invalid:
    if findings.is_valid:
        return Valid(typed(findings.parsed, schema))
    return Invalid("INVALID_JSON" if _is_malformed(findings.errors) else "SCHEMA_VIOLATION", findings.errors, raw)


def _is_malformed(errors: Sequence[ValidationError]) -> bool:
    return any(blocks(error) and error.error_code is ErrorCode.INVALID_JSON_SYNTAX for error in errors)
