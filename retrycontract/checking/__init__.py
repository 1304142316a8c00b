"""Judge in a child process what may take long: a check of an output, or of a schema, that can be cut off."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from retrycontract.children.pool import ChildDiedError, Death, shared_pool
from retrycontract.contract.checks.composition import SchemaIndex
from retrycontract.contract.checks.failure import Findings
from retrycontract.contract.checks.tool_arguments import Rejection, unfinished_check
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.feedback.answer import Examined
from retrycontract.contract.outputs import Kind
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.redaction.schema_marks import HIDDEN
from retrycontract.contract.schemas.document import InvalidSchema, SchemaFault, SchemaWarning
from retrycontract.contract.tool import Tool

AT_ONCE = 2  # requests of one agent that wait for a child: the threads that wait are needed by the others, too
SCHEMA_SECONDS = 2.0  # of processor time to admit a schema: the dearest that are admitted take a fifth of it


# What the model is told of an output that was too much, and what to do about it.
UNFINISHED = {
    Death.WORK: (
        "The output is too much work to check, so the check was cut off",
        "send fewer and shorter values at once",
    ),
    Death.MEMORY: (
        "The output takes more memory to check than a check may have",
        "send fewer and shorter values at once",
    ),
    Death.DEPTH: ("The output is nested too deeply to be checked", "send a flatter value"),
    Death.CRASH: (
        "The check of the output ended without an answer, as it does for too deep or large values",
        "send a smaller value",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Ask for an output to be judged by a tool's contract, None where nobody registered such a tool.

    `schema` is the tool's, as JSON text: the child keeps what it compiled by that.
    """

    output: Any
    tool_name: str
    schema: str | None
    configuration: RetryConfiguration
    strict: bool = True
    kind: Kind = Kind.TOOL_CALL
    known_tools: tuple[str, ...] = ()
    finish_reason: str | None = None
    callback_error: Rejection | None = None
    said: str | None = None

    @classmethod
    def of(cls, output: Any, tool: Tool | None, configuration: RetryConfiguration, **fields: Any) -> Question:
        """Ask by a tool as it is declared."""
        if tool is None:
            return cls(output=output, schema=None, configuration=configuration, **fields)
        return cls(
            output=output, schema=json.dumps(tool.input_schema), strict=tool.strict, kind=tool.kind,
            configuration=configuration, **fields,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answered:
    """Hold what was found, the processor seconds that it took, and whether the child crashed over it."""

    examined: Examined
    cpu_seconds: float
    death: Death | None = None


def judge_apart(
    question: Question,
    sanitizer: ValueSanitizer,
    *,
    key: Hashable = None,
    at_once: int | None = None,
    cpu_seconds: float | None = None,
    charge: Callable[[float], None] = lambda _seconds: None,
) -> Answered:
    """Judge an output in a child process; what it could not finish is a verdict of its own.

    `key` says who asks: keys take turns. `charge` is told the processor seconds, also of a schema that is refused.
    Raises InvalidSchema for a schema that was not admitted before, and ChildUnavailableError.
    """
    try:
        done = shared_pool().run("judge", question, key=key, at_once=at_once, cpu_seconds=cpu_seconds)
    except ChildDiedError as died:
        charge(died.cpu_seconds)
        # Of what is too much work to check, no more is looked at than a line shows.
        is_marked = question.schema is not None and SchemaIndex(json.loads(question.schema)).marks_anything
        shown = HIDDEN if is_marked and sanitizer.redacts_secrets else sanitizer.preview(question.output)
        return Answered(Examined(unfinished_check(*UNFINISHED[died.death]), shown), died.cpu_seconds, died.death)
    charge(done.cpu_seconds)
    told = done.answer
    _raise_refused(told)
    findings = Findings(
        tuple(map(ValidationError.from_json, told["errors"])), is_parsed=told["is_parsed"], faults=tuple(told["faults"])
    )
    return Answered(Examined(findings, told["kept"], hides=told["hides"]), done.cpu_seconds)


def admit_apart(
    schema: Any,
    *,
    key: Hashable = None,
    at_once: int | None = None,
    charge: Callable[[float], None] = lambda _seconds: None,
) -> tuple[SchemaWarning, ...]:
    """Admit a schema in a child process and give its warnings; raises InvalidSchema.

    `charge` is told the processor seconds either way.
    """
    try:
        done = shared_pool().run("admit", schema, key=key, at_once=at_once, cpu_seconds=SCHEMA_SECONDS)
    except ChildDiedError as died:
        charge(died.cpu_seconds)
        reason = "This schema takes too much work to read; make it smaller, with fewer and shorter patterns."
        raise InvalidSchema("", reason, SchemaFault.UNCOMPILABLE) from died
    charge(done.cpu_seconds)
    _raise_refused(done.answer)
    return tuple(SchemaWarning(*warning) for warning in done.answer["warnings"])


def _raise_refused(told: dict[str, Any]) -> None:
    if "refused" in told:
        pointer, reason, fault = told["refused"]
        raise InvalidSchema(pointer, reason, SchemaFault(fault))
