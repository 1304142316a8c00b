"""Compile a source file, in the process that can be killed for it. Source is compiled, never run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from retrycontract.contract.outputs.json_text import JsonFault, parse_json
from retrycontract.contract.outputs.source_code import Compiler, Language, SourceFault, placeholder
from retrycontract.languages import data_files, grammars, python_source

MAX_FAULTS = 20
MAX_REASON = 300  # characters of a compiler's text


def compiler_here(language: Language) -> Compiler:
    """Give what compiles the files of a language in this very process."""

    def compile_source(source: str) -> tuple[SourceFault, ...]:
        return tuple(
            SourceFault(fault.kind, fault.reason[:MAX_REASON], fault.line, fault.column, fault.is_warning)
            for fault in islice(_read(language, source), MAX_FAULTS)
        )

    return compile_source


def compile_here(request: tuple[str, str]) -> list[list[Any]]:
    """Compile a file for another process: takes language and source, gives the fields of each fault."""
    faults = compiler_here(Language(request[0]))(request[1])
    return [[fault.kind.value, fault.reason, fault.line, fault.column, fault.is_warning] for fault in faults]


def read_json_file(source: str) -> Iterator[SourceFault]:
    """Find the fault of a JSON file."""
    value, fault = parse_json(source.removeprefix("\ufeff"))
    if fault is not None:
        yield _as_source_fault(fault)
    elif value is None:
        yield placeholder("null")


def read_words(source: str) -> Iterator[SourceFault]:
    """Find that a text is blank: nothing but its structure can be wrong, and that is not the compiler's."""
    if not source.strip():
        yield placeholder("blanks")


def _read(language: Language, source: str) -> Iterator[SourceFault]:
    reader = READERS.get(language)
    return reader(source) if reader else grammars.parse(language, source)


def _as_source_fault(fault: JsonFault) -> SourceFault:
    place = f" at line {fault.line}, column {fault.column}"
    return SourceFault(fault.kind, fault.reason.replace(place, ""), fault.line, fault.column)


READERS: dict[Language, Callable[[str], Iterator[SourceFault]]] = {
    Language.JSON: read_json_file,
    Language.TEXT: read_words,
    Language.MARKDOWN: read_words,
    Language.PYTHON: python_source.compile_python,
    Language.TOML: data_files.read_toml,
    Language.YAML: data_files.read_yaml,
}
