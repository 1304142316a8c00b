"""What is known of source files without compiling them: their languages, and how the lines around a fault are shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from retrycontract.contract.advice.names import did_you_mean
from retrycontract.contract.outputs.json_faults import CARET, CONTEXT, LIKE_CARET, FaultKind
from retrycontract.contract.redaction.sanitizer import ValueSanitizer

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
    HTML = "html"
    CSS = "css"
    SQL = "sql"
    RUST = "rust"
    JAVA = "java"
    C = "c"
    C_SHARP = "csharp"
    RUBY = "ruby"
    DOCKERFILE = "dockerfile"
    MARKDOWN = "markdown"
    TEXT = "text"

    @property
    def title(self) -> str:  # type: ignore[override]  # the language's own spelling; nobody title-cases it
        """Write the language's name as its people do."""
        return SPELLINGS[self].title

    @property
    def names(self) -> frozenset[str]:
        """List what the language is called behind a fence and at the end of a file's name."""
        return SPELLINGS[self].names

    @property
    def has_own_parser(self) -> bool:
        """Tell whether the language's own parser judges its files; a grammar knows less than that does."""
        return self in OWN_PARSERS

    @property
    def takes_prose(self) -> bool:
        """Tell whether plain words, too, may be a file of this language."""
        return self in TAKES_PROSE

    @property
    def has_tags(self) -> bool:
        """Tell whether a file may begin with any tag: text may be XML."""
        return self in (Language.HTML, Language.MARKDOWN, Language.TEXT)


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
    Language.BASH: Spelling("Bash", frozenset({"bash", "sh", "shell", "zsh"}), frozenset({"sh", "bash"})),
    Language.HTML: Spelling("HTML", frozenset({"html", "htm", "xhtml"}), frozenset({"html", "htm"})),
    Language.CSS: Spelling("CSS", frozenset({"css"}), frozenset({"css"})),
    Language.SQL: Spelling("SQL", frozenset({"sql", "postgresql", "mysql", "sqlite", "plpgsql"}), frozenset({"sql"})),
    Language.RUST: Spelling("Rust", frozenset({"rust", "rs"}), frozenset({"rs"})),
    Language.JAVA: Spelling("Java", frozenset({"java"}), frozenset({"java"})),
    Language.C: Spelling("C", frozenset({"c", "h"}), frozenset({"c", "h"})),
    Language.C_SHARP: Spelling("C#", frozenset({"csharp", "cs", "c#"}), frozenset({"cs"})),
    Language.RUBY: Spelling("Ruby", frozenset({"ruby", "rb"}), frozenset({"rb", "rake", "gemspec"})),
    Language.DOCKERFILE: Spelling(
        "Dockerfile", frozenset({"dockerfile", "docker", "containerfile"}), frozenset({"dockerfile", "containerfile"})
    ),
    Language.MARKDOWN: Spelling("Markdown", frozenset({"markdown", "md"}), frozenset({"md", "markdown"})),
    Language.TEXT: Spelling("text", frozenset({"text", "txt", "plaintext", "plain"}), frozenset({"txt", "text"})),
}
TAKES_PROSE = frozenset(
    {
        Language.YAML, Language.BASH, Language.HTML, Language.SQL, Language.RUBY, Language.MARKDOWN, Language.TEXT,
    }
)  # fmt: skip
# Their files are read by what reads them when they are used; nobody wrote another language by a grammar of ours.
OWN_PARSERS = frozenset(
    {Language.PYTHON, Language.JSON, Language.TOML, Language.YAML, Language.MARKDOWN, Language.TEXT}
)
# Files whose names have no ending that tells.
WHOLE_NAMES = {
    "dockerfile": Language.DOCKERFILE, "containerfile": Language.DOCKERFILE, "gemfile": Language.RUBY,
    "rakefile": Language.RUBY, "pipfile": Language.TOML, ".bashrc": Language.BASH, ".profile": Language.BASH,
}  # fmt: skip
# Files that are right without content: what marks a folder as a package, or keeps it.
MAY_BE_EMPTY = frozenset({"__init__.py", "__init__.pyi", "py.typed", ".gitkeep", ".keep", ".nojekyll", ".gitignore"})
ALLOW_EMPTY = "x-allow-empty"  # the key of a schema that says whether a file may be without content
# As behind fences; of a name that two have, as `ts`, the first one counts.
_BY_NAME = {name: language for language, known in reversed(SPELLINGS.items()) for name in known.names} | {
    language.value: language for language in Language
}
_BY_ENDING = {ending: language for language, spelling in SPELLINGS.items() for ending in spelling.endings}


@dataclass(frozen=True, slots=True)
class SourceFault:
    """Say what a compiler dislikes; lines and columns count from 1, columns in characters.

    `reason` is the compiler's own text and may quote the source. A warning leaves the file valid. `hint` says what to
    write instead, where that is known.
    """

    kind: FaultKind
    reason: str
    line: int | None = None
    column: int | None = None
    is_warning: bool = False
    hint: str | None = None


UNKNOWN = "not known to the grammar of"  # begins the reason of a warning that says nothing without its line


def placeholder(what: str) -> SourceFault:
    """Say that a file holds nothing that does or says anything."""
    return SourceFault(FaultKind.PLACEHOLDER, f"the file holds nothing but {what}")


Compiler = Callable[[str], tuple[SourceFault, ...]]  # never raises on what the model wrote
Compilers = Callable[[Language], Compiler]


class UnknownLanguageError(LookupError):
    """Raised for the name of a language that nobody here knows."""

    def __init__(self, name: str) -> None:
        self.name = name
        meant = did_you_mean(name, _BY_NAME)
        asked = f"did you mean {meant!r}? Name" if meant else "name"
        super().__init__(
            f"{name!r} is no language whose files are known here: {asked} one of {', '.join(Language)} "
            f"(as {LANGUAGE!r} in the schema of a tool), 'text' for any other"
        )


def language_of(name: str, given: Any) -> Language:
    """Tell the language of a file, by the name of a language when given, else by the file's own name.

    What neither tells is text. Raises UnknownLanguageError for a given name that is none.
    """
    if given is not None:
        found = _BY_NAME.get(str(given).strip().lower())
        if found is None:
            raise UnknownLanguageError(str(given))
        return found
    base = _base(name)
    first, _, rest = base.partition(".")
    _, dot, ending = base.rpartition(".")
    by_ending = _BY_ENDING.get(ending) if dot else None
    return by_ending or WHOLE_NAMES.get(base) or (WHOLE_NAMES.get(first) if rest else None) or Language.TEXT


def declared_language(name: str, schema: Any) -> Language:
    """Tell the language of the files that a tool writes: by its schema's `x-language`, else by the tool's name."""
    return language_of(name, schema.get(LANGUAGE) if isinstance(schema, Mapping) else None)


def may_be_empty(name: str, schema: Any) -> bool:
    """Tell whether a file may be without content: by its schema's `x-allow-empty`, else by its name."""
    given = schema.get(ALLOW_EMPTY) if isinstance(schema, Mapping) else None
    return given if isinstance(given, bool) else _base(name) in MAY_BE_EMPTY


def _base(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2].lower()


NEIGHBOURS = 2  # lines shown on each side
MAX_LINE = 100  # characters of a line
LEAD = 60  # of them before the caret
TAB = 4
_BREAK = re.compile(r"\r\n|\r|\n")


def excerpt(
    source: str, line: int, column: int | None, sanitizer: ValueSanitizer, *, around: int = NEIGHBOURS
) -> str | None:
    """Show a line and those `around` it; None where a secret hides which line is which.

    What surrounds them is redacted along, since a part of a secret is not recognised as one.
    """
    starts = [0, *(found.end() for found in _BREAK.finditer(source))]
    # A compiler may name the line behind the last one.
    at = min(line, len(starts)) - 1
    place = min(starts[at] + (column or 1) - 1, len(source))
    # Whole lines, as far as secrets reach; a line that is longer is cut itself.
    first = at
    while first and place - starts[first - 1] <= CONTEXT:
        first -= 1
    window = source[starts[first] : max(place, starts[at]) + CONTEXT]
    redacted = _lines(sanitizer.redact_text(window))
    index = _image(_lines(window), redacted, at - first)
    if index is None:
        return None
    original = _lines(window)[at - first]
    caret = _column_in(original, redacted[index], place - starts[at]) if column else None
    return "\n".join(_numbered(redacted, index, at + 1, caret, sanitizer, around))


def _lines(text: str) -> list[str]:
    return _BREAK.split(text)


def _image(before: list[str], after: list[str], index: int) -> int | None:
    """Find a line again after the redaction, which may have joined lines above or below it."""
    if len(before) == len(after) or before[:index] == after[:index]:
        return index if index < len(after) else None
    mirrored = index + len(after) - len(before)
    return mirrored if mirrored >= 0 and before[index + 1 :] == after[mirrored + 1 :] else None


def _column_in(before: str, after: str, column: int) -> int | None:
    """Find a column again in a redacted line; None when it stood between or inside secrets."""
    if before[:column] == after[:column]:
        return column
    rest = len(before) - column
    return len(after) - rest if before[column:] == after[len(after) - rest :] else None


def _numbered(
    lines: list[str], index: int, number: int, caret: int | None, sanitizer: ValueSanitizer, around: int
) -> Iterator[str]:
    first, last = max(0, index - around), min(len(lines), index + around + 1)
    last -= last - 1 > index and not lines[last - 1]  # a line break ends the file
    width = len(str(number + last - 1 - index))
    for at in range(first, last):
        line = lines[at].expandtabs(TAB).replace(CARET, LIKE_CARET)
        shown = sanitizer.preview_text(line, MAX_LINE)
        if at == index and caret is not None:
            halves = (lines[at][:caret], lines[at][caret:])
            before, after = (half.expandtabs(TAB).replace(CARET, LIKE_CARET) for half in halves)
            shown = f"{sanitizer.preview_text(before, LEAD)}{CARET}{sanitizer.preview_text(after, MAX_LINE - LEAD)}"
        yield f"{number + at - index:>{width}} | {shown}".rstrip()
