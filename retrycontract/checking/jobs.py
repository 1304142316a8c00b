"""What a child process does with outputs and schemas: everything that may take long, and nothing that is stored."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from retrycontract.children.child import TEXTS
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.feedback.answer import examine_and_redact
from retrycontract.contract.json_types import STORED, WrittenJSON, read_written, text_of, write_json
from retrycontract.contract.outputs import Kind
from retrycontract.contract.redaction.sanitizer import ValueSanitizer, has_redaction
from retrycontract.contract.redaction.schema_marks import HIDDEN
from retrycontract.contract.schemas.admission import examine
from retrycontract.contract.schemas.document import InvalidSchema
from retrycontract.contract.schemas.tool_lists import refuse_slips
from retrycontract.contract.tool import CompiledTool, Tool
from retrycontract.languages.compiling import compiler_here

if TYPE_CHECKING:
    from retrycontract.checking import Question

COMPILED = 128  # schemas kept; a few hundred kB each at worst, and a child that has grown is replaced


def judge_here(question: Question | None) -> dict[str, Any]:
    """Judge one output; without a question, which comes first, only what this needs is loaded."""
    if question is None:
        # The search for secrets puts its patterns together when it looks for the first time.
        ValueSanitizer().redact(["some words"])
        return {}
    # Only source files are judged by their name; what else has one schema shares what was compiled.
    name, schema = question.tool_name if question.kind is Kind.SOURCE_FILE else "", question.schema
    try:
        tool = None if schema is None else _compiled(name, schema, question.strict, question.kind)
    except InvalidSchema as fault:
        return _refused(fault)
    sanitizer = _sanitizer(repr(question.configuration), question.configuration)
    output = read_written(question.output)
    found = examine_and_redact(
        output, tool, sanitizer, tool_name=question.tool_name, known_tools=question.known_tools,
        finish_reason=question.finish_reason, callback_error=question.callback_error, said=question.said,
    )  # fmt: skip
    value = {"value": found.findings.parsed} if question.wants_value and found.findings.is_parsed else {}
    # A null is stored as nothing.
    is_written = isinstance(question.output, WrittenJSON) and found.kept is not None
    kept = _written(found.kept, output) if is_written else {"kept": found.kept}
    return (
        value
        | kept
        | {
            "errors": [error.to_json() for error in found.findings.errors],
            "is_parsed": found.findings.is_parsed,
            "faults": found.findings.faults,
            "hides": found.hides,
        }
    )


def outline_here(asked: tuple[WrittenJSON, RetryConfiguration, bool]) -> dict[str, Any]:
    """Show one line of a large output, unless all of it is hidden."""
    written, configuration, is_hidden = asked
    output = written.read()
    shown = HIDDEN if is_hidden else _sanitizer(repr(configuration), configuration).preview(output)
    return _written(shown, output)


def _written(kept: Any, output: Any) -> dict[str, Any]:
    """Look through an output for the service, in which every other request would wait meanwhile."""
    texts = [write_json(kept, **STORED).encode(), text_of(output).encode("utf-8", "surrogatepass")]
    return {"is_redacted": has_redaction(kept), TEXTS: texts}


def admit_here(schema: Any) -> dict[str, Any]:
    """Admit a schema, and compile what would judge by it: that may be dearer than what registers it."""
    try:
        refuse_slips(schema)
        admission = examine(schema, is_bounded=True)
    except InvalidSchema as fault:
        return _refused(fault)
    return {"warnings": [(warning.pointer, warning.reason) for warning in admission.warnings]}


def _refused(fault: InvalidSchema) -> dict[str, Any]:
    return {"refused": [fault.pointer, fault.reason, fault.code.value]}


@lru_cache(maxsize=COMPILED)
def _compiled(name: str, schema: str, strict: bool, kind: Kind) -> CompiledTool:
    tool = Tool(name=name, input_schema=json.loads(schema), strict=strict, kind=kind)
    return CompiledTool.of(tool, compiler_here, is_bounded=True)


_kept_sanitizer: tuple[str, ValueSanitizer] | None = None


def _sanitizer(written: str, configuration: RetryConfiguration) -> ValueSanitizer:
    """Keep the sanitiser of the configuration that is in force: overrides make it no key of a dictionary."""
    global _kept_sanitizer
    if _kept_sanitizer is None or _kept_sanitizer[0] != written:
        _kept_sanitizer = (written, ValueSanitizer(configuration))
    return _kept_sanitizer[1]
