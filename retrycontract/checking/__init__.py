"""Judge in a child process what may take long: a check of an output, or of a schema, that can be cut off."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from retrycontract.children.pool import ChildDiedError, ChildUnavailableError, Death, Done, shared_pool
from retrycontract.contract.checks.composition import SchemaIndex
from retrycontract.contract.checks.failure import Findings, blocks
from retrycontract.contract.checks.reading import syntax_error
from retrycontract.contract.checks.tool_arguments import Rejection, unfinished_check, with_own_checks
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.feedback.answer import Examined
from retrycontract.contract.json_types import WrittenJSON, WrittenOutput
from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.json_text import HAS_VALUE, fault_in
from retrycontract.contract.outputs.source_code import Compilers
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.redaction.schema_marks import HIDDEN
from retrycontract.contract.schemas.document import DearSchema, InvalidSchema, SchemaFault, SchemaWarning
from retrycontract.contract.tool import CompiledTool, Tool

AT_ONCE = 2  # requests of one agent that wait for a child: the threads that wait are needed by the others, too
LIBRARY_SECONDS = 2.0  # of processor time to check an output where no service sets it
OUTLINE_SECONDS = 2.0  # to read a large output and show a line of it
SCHEMA_SECONDS = 2.0  # of processor time to admit a schema: the dearest that are admitted take a fifth of it


# What the model is told of an output that was too much, and what to do about it; a file has no values.
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


SHORTER_FILE = "write a shorter file, or several, with less nesting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Ask for an output to be judged by a tool's contract, None where nobody registered such a tool.

    `schema` is the tool's, as JSON text: the child keeps what it compiled by that. Of an output that is WrittenJSON
    what may be kept comes back as text, too.
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
    wants_value: bool = False  # whether the answer is to hold what the output was read as

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
    is_queued: bool = False,
) -> Answered:
    """Judge an output in a child process; what it could not finish is a verdict of its own.

    `key` says who asks: keys take turns, and what `is_queued` leaves a place free. `charge` is told the processor
    seconds, also of a schema that is refused.
    Raises InvalidSchema for a schema that was not admitted before, and ChildUnavailableError.
    """
    try:
        done = shared_pool().run(
            "judge", question, key=key, at_once=at_once, cpu_seconds=cpu_seconds, is_queued=is_queued
        )
    except ChildDiedError as died:
        charge(died.cpu_seconds)
        reason, hint = UNFINISHED[died.death]
        findings = unfinished_check(reason, SHORTER_FILE if question.kind is Kind.SOURCE_FILE else hint)
        outlined = _outlined(question, sanitizer, key=key, is_queued=is_queued)
        return Answered(Examined(findings, outlined), died.cpu_seconds, died.death)
    charge(done.cpu_seconds)
    told = done.answer
    _raise_refused(told)
    kept = _as_written(done) if done.texts else told["kept"]
    findings = Findings(
        tuple(map(ValidationError.from_json, told["errors"])), told.get("value"), is_parsed=told["is_parsed"],
        faults=tuple(told["faults"]),
    )  # fmt: skip
    return Answered(Examined(findings, kept, hides=told["hides"]), done.cpu_seconds)


def _outlined(question: Question, sanitizer: ValueSanitizer, *, key: Hashable, is_queued: bool) -> Any:
    """Show one line of what is too much work to check: no more of it is looked at than that has room for."""
    is_marked = question.schema is not None and SchemaIndex(json.loads(question.schema)).marks_anything
    is_hidden = is_marked and sanitizer.redacts_secrets
    if not isinstance(question.output, WrittenJSON):
        return HIDDEN if is_hidden else sanitizer.preview(question.output)
    try:
        asked = (question.output, question.configuration, is_hidden)
        done = shared_pool().run("outline", asked, key=key, cpu_seconds=OUTLINE_SECONDS, is_queued=is_queued)
        return _as_written(done)
    except (ChildDiedError, ChildUnavailableError):  # one that ends the next child, too
        return WrittenOutput(json.dumps(HIDDEN), is_redacted=True, comparable=question.output.text.encode())


def _as_written(done: Done) -> WrittenOutput:
    kept, comparable = done.texts
    return WrittenOutput(kept.decode(), is_redacted=done.answer["is_redacted"], comparable=comparable)


def admit_apart(
    schema: Any,
    *,
    key: Hashable = None,
    at_once: int | None = None,
    charge: Callable[[float], None] = lambda _seconds: None,
) -> tuple[SchemaWarning, ...]:
    """Admit a schema in a child process and give its warnings; raises InvalidSchema and ChildUnavailableError.

    `charge` is told the processor seconds either way.
    """
    try:
        done = shared_pool().run("admit", schema, key=key, at_once=at_once, cpu_seconds=SCHEMA_SECONDS)
    except ChildDiedError as died:
        charge(died.cpu_seconds)
        if died.is_starved:  # of which nothing can be said of the schema
            raise ChildUnavailableError("the machine has too much to do") from died
        reason = "This schema takes too much work to read; make it smaller, with fewer and shorter patterns."
        raise InvalidSchema("", reason, SchemaFault.UNCOMPILABLE) from died
    charge(done.cpu_seconds)
    _raise_refused(done.answer)
    return tuple(SchemaWarning(*warning) for warning in done.answer["warnings"])


def compiled_or_apart(tool: Tool, compilers: Compilers | None = None) -> CompiledTool:
    """Compile a tool, or leave the judging to a child process where its schema is dear; raises InvalidSchema.

    Most schemas are not, and start no process. Where none can be started a dear schema is refused.
    """
    try:
        return CompiledTool.of(tool, compilers)
    except DearSchema as dear:
        try:
            return compiled_apart(tool)
        except ChildUnavailableError as unavailable:
            raise dear from unavailable


def compiled_apart(tool: Tool, *, key: Hashable = None) -> CompiledTool:
    """Leave all work on a tool's schema to child processes, in the turn of `key`.

    Raises InvalidSchema and ChildUnavailableError.
    """
    warnings = admit_apart(tool.input_schema, key=key)
    return CompiledTool.judged_by(partial(check_apart, key=key), tool, warnings)


def check_apart(
    output: Any,
    tool: CompiledTool,
    sanitizer: ValueSanitizer,
    *,
    finish_reason: str | None = None,
    key: Hashable = None,
) -> Findings:
    """Check an output in a child process as the check of its kind does; raises ChildUnavailableError.

    The developer's own checks run here, as they cannot be sent anywhere.
    """
    is_text = isinstance(output, str | bytes)
    if not is_text and (fault := fault_in(output)) and fault.kind not in HAS_VALUE:
        return Findings((syntax_error(fault, sanitizer),))
    # Types of the caller's own are not known to the child: it gets what they would be as JSON.
    sent = str.__str__(output) if isinstance(output, str) else output
    if not is_text:
        with suppress(ValueError):  # thousands of digits, which Python does not write
            sent = json.loads(json.dumps(output))
    question = Question.of(
        sent, tool.tool, sanitizer.configuration, tool_name=tool.tool.name, finish_reason=finish_reason,
        wants_value=is_text,
    )  # fmt: skip
    found = judge_apart(question, sanitizer, key=key, cpu_seconds=LIBRARY_SECONDS).examined.findings
    if not found.is_parsed:
        return found
    value = found.parsed if is_text else output
    if not tool.tool.checks or any(map(blocks, found.errors)):
        return replace(found, parsed=value)
    return with_own_checks(found.errors, value, tool, sanitizer)


def _raise_refused(told: dict[str, Any]) -> None:
    if "refused" in told:
        pointer, reason, fault = told["refused"]
        raise InvalidSchema(pointer, reason, SchemaFault(fault))
