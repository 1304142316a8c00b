"""Parse languages of which no compiler is at hand, by their tree-sitter grammars."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.source_code import Language, SourceFault, placeholder

ENGINE = "tree_sitter"
OPENERS, CLOSERS = frozenset("([{"), frozenset(")]}")
STRINGS = frozenset({'"', "'", "`", '"""'})
PLAIN_WORDS = 40  # characters of a grammar's name for what is missing


@dataclass(frozen=True, slots=True)
class Grammar:
    """Say which package has a grammar, and by which function."""

    package: str
    function: str = "language"


GRAMMARS: dict[Language, Grammar] = {
    Language.JAVASCRIPT: Grammar("tree_sitter_javascript"),
    Language.TYPESCRIPT: Grammar("tree_sitter_typescript", "language_typescript"),
    Language.TSX: Grammar("tree_sitter_typescript", "language_tsx"),
    Language.GO: Grammar("tree_sitter_go"),
    Language.BASH: Grammar("tree_sitter_bash"),
    Language.HTML: Grammar("tree_sitter_html"),
    Language.CSS: Grammar("tree_sitter_css"),
    Language.SQL: Grammar("tree_sitter_sql"),
    Language.RUST: Grammar("tree_sitter_rust"),
    Language.JAVA: Grammar("tree_sitter_java"),
    Language.C: Grammar("tree_sitter_c"),
    Language.C_SHARP: Grammar("tree_sitter_c_sharp"),
    Language.RUBY: Grammar("tree_sitter_ruby"),
    Language.DOCKERFILE: Grammar("tree_sitter_containerfile"),
}
# Browsers end elements by themselves, and each database has a SQL of its own: what these grammars do not know may be
# right all the same, so they only warn, unless the file ends in the middle of something.
LENIENT = frozenset({Language.HTML, Language.SQL})
# What a statement is made of that does nothing: words that happen to parse are names.
NAMES = frozenset(
    {
        "expression_statement", "global_statement", "sequence_expression", "parenthesized_expression", "identifier",
        "constant", "type_identifier", "property_identifier", "empty_statement", "undefined", "null",
        "non_null_expression",
    }
)  # fmt: skip
COMMENTS = frozenset({"comment", "line_comment", "block_comment", "js_comment", "marginalia", "hash_bang_line"})


class MissingGrammarError(ImportError):
    """Raised when the grammar of a language is not installed."""

    def __init__(self, language: Language) -> None:
        self.language = language
        super().__init__(f"checking {language.title} needs its grammar: pip install 'retrycontract[languages]'")


def require_grammar(language: Language) -> None:
    """Make sure that a language can be parsed; raises MissingGrammarError."""
    if find_spec(ENGINE) is None or find_spec(GRAMMARS[language].package) is None:
        raise MissingGrammarError(language)


def parse(language: Language, source: str) -> Iterator[SourceFault]:
    """Yield the first place that the grammar does not take, or that the file holds nothing."""
    text = source.removeprefix("\ufeff").encode()
    root = _parser(language).parse(text).root_node
    if not root.has_error:
        said = [node for node in root.named_children if node.type not in COMMENTS]
        if not said:
            yield placeholder("comments")
        # To Bash a bare word is a command, which does something.
        elif language is not Language.BASH and all(each.type in NAMES for node in said for each in _named(node)):
            yield placeholder("names")
        return
    node = min(_faulty(root), key=lambda found: (found.start_byte, not found.is_missing))
    end = len(text.rstrip())
    is_open = node.start_byte >= end if node.is_missing else node.end_byte >= end and _is_open(node)
    reason = f"missing {node.type[:PLAIN_WORDS]!r}" if node.is_missing else "syntax error"
    if is_open:
        fault = SourceFault(FaultKind.TRUNCATED, f"the file was cut off: {reason}", *_place(node, text))
    else:
        fault = SourceFault(FaultKind.SYNTAX, reason, *_place(node, text))
    # Browsers supply an implicit end tag by themselves.
    is_cut = is_open and "implicit" not in node.type
    yield replace(fault, is_warning=True) if language in LENIENT and not is_cut else fault


def _named(node: Any) -> Iterator[Any]:
    # Without recursion: brackets may be nested deeper than Python's stack.
    pending = [node]
    while pending:
        yield (current := pending.pop())
        pending.extend(child for child in current.named_children if child.type not in COMMENTS)


@cache
def _parser(language: Language) -> Any:
    engine, grammar = import_module(ENGINE), GRAMMARS[language]
    return engine.Parser(engine.Language(getattr(import_module(grammar.package), grammar.function)()))


def _faulty(root: Any) -> Iterator[Any]:
    """Yield the outermost nodes that are wrong or missing, and the root when nothing else is."""
    pending, found = [root], False
    while pending:
        node = pending.pop()
        if node.is_missing or (node.is_error and node.parent is not None):
            found = True
            yield node
        elif node.has_error:
            pending.extend(node.children)
    if not found:
        yield root


def _is_open(node: Any) -> bool:
    """Tell whether a faulty node opens more brackets than it closes, or begins with a quote."""
    kinds, pending = [], [node]
    while pending:
        current = pending.pop()
        if current.child_count:
            pending.extend(reversed(current.children))
        else:
            kinds.append(current.type)
    balance = sum(kind in OPENERS or kind == "${" for kind in kinds) - sum(kind in CLOSERS for kind in kinds)
    return balance > 0 or bool(kinds and kinds[0] in STRINGS)


def _place(node: Any, text: bytes) -> tuple[int, int]:
    row, column = node.start_point
    # tree-sitter counts columns in bytes; ours are in characters.
    line = text[node.start_byte - column : node.start_byte]
    return row + 1, len(line.decode("utf-8", "replace")) + 1
