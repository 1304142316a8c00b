"""What is known of source files without looking into them: their languages, and what a compiler can say of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from retrycontract.contract.outputs.json_faults import FaultKind

LANGUAGE = "x-language"  # the key of a schema that names the language of the text that it describes


class Language(StrEnum):
    """Name the languages whose files can be checked."""

    PYTHON = "python"
    JSON = "json"
    TOML = "toml"
    YAML = "yaml"
    JAVASCRIPT = "javascript"
    TYPESCRIPT = "typescript"
    TSX = "tsx"
    GO = "go"
    BASH = "bash"

    @property
    def title(self) -> str:  # type: ignore[override]  # the language's own spelling; nobody title-cases it
        """Write the language's name as its people do."""
        return SPELLINGS[self].title

    @property
    def names(self) -> frozenset[str]:
        """List what the language is called behind a fence and at the end of a file's name."""
        return SPELLINGS[self].names

    @property
    def takes_prose(self) -> bool:
        """Tell whether plain words, too, may be a file of this language."""
        return self in (Language.YAML, Language.BASH)


@dataclass(frozen=True, slots=True)
class Spelling:
    """Hold how a language is written, its names behind a fence, and the endings of its files."""

    title: str
    names: frozenset[str]
    endings: frozenset[str]


SPELLINGS: dict[Language, Spelling] = {
    Language.PYTHON: Spelling(
        "Python", frozenset({"python", "python3", "py", "py3", "pyi"}), frozenset({"py", "pyi", "pyw"})
    ),
    Language.JSON: Spelling("JSON", frozenset({"json"}), frozenset({"json"})),
    Language.TOML: Spelling("TOML", frozenset({"toml"}), frozenset({"toml"})),
    Language.YAML: Spelling("YAML", frozenset({"yaml", "yml"}), frozenset({"yaml", "yml"})),
    Language.JAVASCRIPT: Spelling(
        "JavaScript", frozenset({"javascript", "js", "jsx", "mjs", "cjs"}), frozenset({"js", "jsx", "mjs", "cjs"})
    ),
    Language.TYPESCRIPT: Spelling(
        "TypeScript", frozenset({"typescript", "ts", "mts", "cts"}), frozenset({"ts", "mts", "cts"})
    ),
    Language.TSX: Spelling("TSX", frozenset({"tsx", "typescript", "ts"}), frozenset({"tsx"})),
    Language.GO: Spelling("Go", frozenset({"go", "golang"}), frozenset({"go"})),
    Language.BASH: Spelling("Bash", frozenset({"bash", "sh", "shell"}), frozenset({"sh", "bash"})),
}
_BY_NAME = {language.value: language for language in Language}
_BY_ENDING = {ending: language for language, spelling in SPELLINGS.items() for ending in spelling.endings}


@dataclass(frozen=True, slots=True)
class SourceFault:
    """Say what a compiler dislikes; lines and columns count from 1, columns in characters.

    `reason` is the compiler's own text and may quote the source. A warning leaves the file valid.
    """

    kind: FaultKind
    reason: str
    line: int | None = None
    column: int | None = None
    is_warning: bool = False


Compiler = Callable[[str], tuple[SourceFault, ...]]  # never raises on what the model wrote
Compilers = Callable[[Language], Compiler]


class UnknownLanguageError(LookupError):
    """Raised when nobody can tell the language of a file, or nothing here checks it."""

    def __init__(self, name: str) -> None:
        self.name = name
        known = ", ".join(Language)
        super().__init__(
            f"{name!r} doesn't say in which language it is written: name one of {known} (as {LANGUAGE!r} in the "
            "schema of a tool), or a file with one of their endings"
        )


def language_of(name: str, given: Any = None) -> Language:
    """Tell the language of a file, by the name of a language when given, else by the ending of the file's name.

    Raises UnknownLanguageError.
    """
    if given is not None:
        found = _BY_NAME.get(str(given).lower())
    else:
        _, dot, ending = name.rpartition(".")
        found = _BY_ENDING.get(ending.lower()) if dot else None
    if found is None:
        raise UnknownLanguageError(str(given or name))
    return found


def declared_language(name: str, schema: Any) -> Language:
    """Tell the language of the files that a tool writes: by its schema's `x-language`, else by the tool's name."""
    return language_of(name, schema.get(LANGUAGE) if isinstance(schema, Mapping) else None)
