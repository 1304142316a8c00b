"""Compilers of source files: what each takes, it finds in a child process whose time and memory are bounded."""

from __future__ import annotations

from retrycontract.children.pool import ChildDiedError, ChildUnavailableError, Death, shared_pool
from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.source_code import Compiler, Language, SourceFault
from retrycontract.languages.compiling import compiler_here
from retrycontract.languages.grammars import GRAMMARS, MissingGrammarError, require_grammar

__all__ = ["ChildUnavailableError", "MissingGrammarError", "compiler_of", "require_compiler"]

# Their readers take time in proportion to the text, and the depth of JSON is bounded: no child process is needed.
QUICK = (Language.JSON, Language.TEXT, Language.MARKDOWN)
TOO_MUCH = "its compiler ends without an answer: too deeply nested, or too large"
FAULTS = {
    Death.WORK: SourceFault(FaultKind.DEPTH, "it takes longer to compile than a file may"),
    Death.MEMORY: SourceFault(FaultKind.DEPTH, "it takes more memory than a file may"),
    Death.DEPTH: SourceFault(FaultKind.DEPTH, TOO_MUCH),
    Death.CRASH: SourceFault(FaultKind.DEPTH, TOO_MUCH),
}


def compiler_of(language: Language) -> Compiler:
    """Give what compiles the files of a language; raises MissingGrammarError where its grammar is not installed."""
    # Asked when the tool is registered, so that a missing grammar is no surprise at the first file.
    require_compiler(language)

    def compile_apart(source: str) -> tuple[SourceFault, ...]:
        try:
            faults = shared_pool().run("compile", (language.value, source)).answer
        except ChildDiedError as died:
            return (FAULTS[died.death],)
        return tuple(SourceFault(FaultKind(kind), *rest) for kind, *rest in faults)

    return compiler_here(language) if language in QUICK else compile_apart


def require_compiler(language: Language) -> None:
    """Make sure that the files of a language can be checked here; raises MissingGrammarError."""
    if language in GRAMMARS:
        require_grammar(language)
