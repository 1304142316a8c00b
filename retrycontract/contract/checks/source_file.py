"""Check a source file: whether it is there as a whole, and whether its compiler takes it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from retrycontract.contract.checks.failure import Findings, blocks
from retrycontract.contract.checks.reading import safe, was_cut_off
from retrycontract.contract.checks.schema_engine import violations
from retrycontract.contract.checks.tool_arguments import run_checks
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.contract.feedback.hints import in_order
from retrycontract.contract.json_types import type_name
from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.code_blocks import Candidate, doubt, find_code
from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.no_attempt import NO_ATTEMPT, SAID, no_attempt
from retrycontract.contract.outputs.source_code import (
    NEIGHBOURS,
    UNKNOWN,
    Compiler,
    Language,
    SourceFault,
    declared_language,
    excerpt,
    may_be_empty,
)
from retrycontract.contract.outputs.stand_ins import is_call, stand_in
from retrycontract.contract.outputs.thoughts import without_thoughts
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.tool import CompiledTool

MAX_SOURCE = 2_000_000  # characters; a file that a person could never read is no answer
CUT_OFF = SourceFault(FaultKind.TRUNCATED, "the file was cut off by the length limit")
OPEN_FENCE = SourceFault(FaultKind.TRUNCATED, "the file was cut off: no fence ends its block")
NO_FILE = SourceFault(FaultKind.EMPTY, "the file is empty")
UNMARKED = SourceFault(FaultKind.FENCED, "nothing marks these words as the file; the same words in a fence pass")
UNMARKED_CALL = SourceFault(
    FaultKind.FENCED, "this is a tool's call in the place of the file; if the file is to say so, put it in a fence"
)
AMONG_WORDS = SourceFault(FaultKind.FENCED, "words stand around the file")
# What a grammar says of a file that is whole; everything else is said of a part of one, or of an answer without one.
OF_A_GRAMMAR = (FaultKind.SYNTAX, FaultKind.DEPTH)
# Two versions that nobody has merged are no file in any language.
CONFLICT = re.compile(r"^<{7}(?: .*)?$[\s\S]*?^={7}$[\s\S]*?^>{7}(?: .*)?$", re.MULTILINE)
TOO_LONG = SourceFault(FaultKind.DEPTH, f"the file is longer than {MAX_SOURCE:,} characters")


def check_source(
    output: str | bytes | Any, contract: CompiledTool, sanitizer: ValueSanitizer, *, finish_reason: str | None = None
) -> Findings:
    """Judge a file given as text, alone or in a fenced block; never raises on the output.

    `parsed` is its source, also where only a grammar refuses it: a grammar may not know what is right.
    """
    language = declared_language(contract.tool.name, contract.tool.input_schema)
    if not isinstance(output, str | bytes):
        code = ErrorCode.TYPE_MISMATCH
        message = code.template.format(expected="string", actual=type_name(output))
        hint = HINTS[FaultKind.EMPTY]
        return Findings((ValidationError(code, "", message, expected_value="string", keyword="type", hint=hint),))
    text, fault = _decoded(output, language)
    if fault is not None:
        return Findings((source_error(fault, text, language, sanitizer),))
    source, faults = _compiled(without_thoughts(text, has_tags=language.has_tags), contract, language)
    # Reported even if it compiles, as a file that was cut off between two statements does.
    if was_cut_off(finish_reason):
        faults = (*faults, CUT_OFF)
    found = list(_errors(faults, source, language, sanitizer))
    blocking = [fault for fault in faults if not fault.is_warning]
    if blocking:
        # A person may know better than a grammar. What was cut off is no whole file to anybody.
        may_be_right = (
            not language.has_own_parser
            and all(fault.kind in OF_A_GRAMMAR for fault in blocking)
            and not CONFLICT.search(source)
        )
        return Findings(in_order(found), parsed=source if may_be_right else None, is_parsed=may_be_right)
    found.extend(violations(contract.schema, source, strict=contract.tool.strict, sanitizer=sanitizer))
    if any(blocks(error) for error in found):
        return Findings(in_order(found), parsed=source, is_parsed=True)
    told, broken = run_checks(contract.tool.checks, source, lambda: sanitizer)
    return Findings(in_order([*found, *told]), parsed=source, is_parsed=True, faults=broken)


def _decoded(output: str | bytes, language: Language) -> tuple[str, SourceFault | None]:
    """Read bytes as UTF-8, and find what no text file may hold."""
    try:
        text = output.decode("utf-8") if isinstance(output, bytes) else output
        # A str may hold lone surrogates, which no file can hold.
        text.encode("utf-8")
    except UnicodeError:
        return "", SourceFault(FaultKind.ENCODING, "the text is not UTF-8")
    # Bounded before anything walks through the text.
    if len(text) > MAX_SOURCE:
        return text, TOO_LONG
    if not without_thoughts(text, has_tags=language.has_tags).strip():
        return text, _answered(no_attempt(text, has_tags=language.has_tags) or FaultKind.EMPTY)
    null = text.find("\0")
    if null >= 0:
        line, column = text.count("\n", 0, null) + 1, null - text.rfind("\n", 0, null)
        return text, SourceFault(FaultKind.ENCODING, "a null character is no text", line, column)
    return text, None


def _compiled(text: str, contract: CompiledTool, language: Language) -> tuple[str, tuple[SourceFault, ...]]:
    """Compile what may be the file until one compiles; gives it, or the one whose faults are told."""
    if contract.compiler is None:
        raise ValueError(f"no compiler was handed in for {contract.tool.name!r}: CompiledTool.of(tool, compilers)")
    found = find_code(text, language, contract.tool.name)
    if found.is_only_shown:
        return text, (_answered(FaultKind.REFUSED),)
    blocks = found.blocks
    which = "no fenced block holds" if not blocks else f"each of {blocks} fenced blocks may be"
    told: tuple[str, tuple[SourceFault, ...]] = (
        text,
        (SourceFault(FaultKind.FENCED, f"{which} the file ({language.title})"),),
    )
    is_free = may_be_empty(contract.tool.name, contract.tool.input_schema)
    for candidate in found.candidates:
        if candidate.probe is not None and contract.compiler(candidate.probe):
            continue
        faults = _faults_of(candidate, contract.compiler, language, is_free=is_free)
        if all(fault.is_warning for fault in faults):
            if not candidate.is_fenced and is_call(candidate.text, contract.tool.name, contract.tool.input_schema):
                return text, (UNMARKED_CALL,)
            return candidate.text, faults
        if candidate is found.told:
            told = candidate.text, faults
    # Asked last: what compiles is a file, however it reads, and "with a as b" is a statement without its colon.
    reason = no_attempt(text, has_tags=language.has_tags)
    # After an apology a JSON file without a fence is an attempt, though no file: the words stand in it.
    if reason and language is Language.JSON and no_attempt(text, kind=Kind.EXTRACTION) is None:
        return text, (AMONG_WORDS,)
    if reason is FaultKind.ONLY_TALK and not language.takes_prose:
        is_statement = _STATEMENT.match(text) is not None and text.rstrip()[-1] not in ".!?"
        reason = None if is_statement else reason
    return (text, (_answered(reason),)) if reason else told


# Lower case alone: "For this, I need", "If you want".
_STATEMENT = re.compile(
    r"\s*(async|assert|await|case|class|const|def|del|elif|else|except|export|finally|fn|for|from|func|function|global|if|"
    r"import|lambda|let|match|nonlocal|package|pass|private|public|raise|return|static|struct|switch|throw|try|use|using|"
    r"var|while|with|yield)\b"
)


def _faults_of(
    candidate: Candidate, compiler: Compiler, language: Language, *, is_free: bool
) -> tuple[SourceFault, ...]:
    """Compile a candidate, and doubt one that compiles only because its language takes nearly anything."""
    if not candidate.text.strip():
        return () if is_free else (NO_FILE,)
    faults = tuple(fault for fault in compiler(candidate.text) if not (is_free and fault.kind is FaultKind.PLACEHOLDER))
    if not candidate.is_closed:
        faults = (*faults, OPEN_FENCE)
    if any(not fault.is_warning for fault in faults):
        return faults
    doubted = None if candidate.is_fenced else stand_in(candidate.text)
    doubted = doubted or doubt(candidate.text, language, is_fenced=candidate.is_fenced)
    if doubted is FaultKind.FENCED:
        return (UNMARKED,)
    return (_answered(doubted),) if doubted else faults


def _answered(reason: FaultKind) -> SourceFault:
    return NO_FILE if reason is FaultKind.EMPTY else SourceFault(reason, SAID[reason])


MOST_PLACES = 10  # places of one error


def _errors(
    faults: Sequence[SourceFault], source: str, language: Language, sanitizer: ValueSanitizer
) -> Iterator[ValidationError]:
    """Report every fault; the places where the syntax is wrong are one error, since a file is one value."""
    placed = [fault for fault in faults if fault.kind is FaultKind.SYNTAX and fault.line and not fault.is_warning]
    for fault in faults:
        if fault not in placed:
            yield source_error(fault, source, language, sanitizer)
        elif fault is placed[0]:
            yield source_error(fault, source, language, sanitizer, others=placed[1:])


def source_error(
    fault: SourceFault,
    source: str,
    language: Language,
    sanitizer: ValueSanitizer,
    *,
    others: Sequence[SourceFault] = (),
) -> ValidationError:
    """Report what a compiler dislikes, with the line and its neighbours; of several places each line alone."""
    if fault.kind in NO_ATTEMPT:
        # There is no place in it to be shown
        return ValidationError(
            error_code=ErrorCode.INVALID_JSON_SYNTAX,
            field_path="",
            message=f"There is no {language.title} file: {fault.reason}",
            keyword=fault.kind.value,
            hint=HINTS[FaultKind.FENCED].format(language=language.title),
        )
    told = (fault, *others[: MOST_PLACES - 1])
    said = "; ".join(f"{safe(one.reason, sanitizer)}{_where(one)}" for one in told)
    said += f"; and {len(others) + 1 - len(told)} more" if len(others) >= MOST_PLACES else ""
    if fault.reason.startswith(UNKNOWN) and fault.line is not None:
        # From the excerpt, which hides secrets in the whole file before it takes a line out of it.
        shown = excerpt(source, fault.line, None, sanitizer, around=0) or ""
        said += f": `{shown.partition('|')[2].strip()}`"
    code = ErrorCode.CONSTRAINT_VIOLATION if fault.is_warning else ErrorCode.INVALID_JSON_SYNTAX
    if fault.hint:
        hint = f"{fault.hint}; send the whole file again"
    elif fault.is_warning or fault.kind is FaultKind.SYNTAX:
        lines = [str(line) for line in sorted({one.line for one in told if one.line is not None})]
        at = (
            f"lines {', '.join(lines[:-1])} and {lines[-1]}"
            if lines[1:]
            else f"line {lines[0]}"
            if lines
            else "the fault"
        )
        hint = f"correct {at} and send the whole file again"
    else:
        hint = HINTS.get(fault.kind, "send the whole file again").format(language=language.title)
    return ValidationError(
        error_code=code,
        field_path="",
        message=code.template.format(constraint=said) if fault.is_warning else f"Invalid {language.title}: {said}",
        severity=ErrorSeverity.WARNING if fault.is_warning else ErrorSeverity.ERROR,
        expected_value=f"a complete {language.title} file",
        actual_value=_shown(told, source, sanitizer),
        keyword="warning" if fault.is_warning else fault.kind.value,
        hint=hint,
    )


def _where(fault: SourceFault) -> str:
    # A reason that is put together of several may name their places itself.
    if fault.line is None or f" at line {fault.line}" in fault.reason:
        return ""
    return f" at line {fault.line}" + ("" if fault.column is None else f", column {fault.column}")


def _shown(faults: Sequence[SourceFault], source: str, sanitizer: ValueSanitizer) -> str | None:
    around = NEIGHBOURS if len(faults) == 1 else 0
    parts = [
        excerpt(source, fault.line, fault.column, sanitizer, around=around)
        for fault in faults
        if fault.line is not None
    ]
    return "\n".join(part for part in parts if part) or None


HINTS = {
    FaultKind.TRUNCATED: "send the whole file again, shorter: it was cut off",
    FaultKind.FENCED: "send the whole file as one fenced block of {language} and nothing else in a fence",
    FaultKind.EMPTY: "send the file's whole text",
    FaultKind.PLACEHOLDER: "write the file out and send the whole of it",
    FaultKind.ENCODING: "send the file as UTF-8 text",
    FaultKind.DEPTH: "write the file shorter and less deeply nested",
    FaultKind.DUPLICATE_KEY: "write each key once and send the whole file again",
    FaultKind.NOT_A_NUMBER: "write a number or null and send the whole file again",
    FaultKind.SURROGATE: "write complete Unicode characters and send the whole file again",
}
