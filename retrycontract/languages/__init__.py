"""Compilers of source files: what each takes, it finds in a child process whose time and memory are bounded."""

from __future__ import annotations

from functools import partial

from retrycontract.contract.outputs.json_text import JsonFault, parse_json
from retrycontract.contract.outputs.source_code import Compiler, Language, SourceFault, placeholder
from retrycontract.languages.grammars import GRAMMARS, MissingGrammarError, require_grammar
from retrycontract.languages.pool import shared_pool
from retrycontract.languages.process import CompilerUnavailableError

__all__ = ["CompilerUnavailableError", "MissingGrammarError", "compiler_of"]


def compiler_of(language: Language) -> Compiler:
    """Give what compiles the files of a language; raises MissingGrammarError where its grammar is not installed."""
    if language is Language.JSON:
        return _compile_json
    if language in (Language.TEXT, Language.MARKDOWN):
        return _take  # nothing but its structure can be wrong, and that is not the compiler's
    if language in GRAMMARS:
        require_grammar(language)
    return partial(_compile_apart, language)


def _compile_apart(language: Language, source: str) -> tuple[SourceFault, ...]:
    return shared_pool().compile(language, source)


def _take(source: str) -> tuple[SourceFault, ...]:
    return () if source.strip() else (placeholder("blanks"),)


def _compile_json(source: str) -> tuple[SourceFault, ...]:
    value, fault = parse_json(source.removeprefix("\ufeff"))
    if fault is None:
        return (placeholder("null"),) if value is None else ()
    return (_as_source_fault(fault),)


def _as_source_fault(fault: JsonFault) -> SourceFault:
    place = f" at line {fault.line}, column {fault.column}"
    return SourceFault(fault.kind, fault.reason.replace(place, ""), fault.line, fault.column)
