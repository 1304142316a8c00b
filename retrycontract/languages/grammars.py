"""Parse languages of which no compiler is at hand, by their tree-sitter grammars."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.source_code import UNKNOWN, Language, SourceFault, placeholder
from retrycontract.languages.certainty import SourceSlip, certain_slips
from retrycontract.languages.conditionals import resolve, without_directives
from retrycontract.languages.dialects import rewritten
from retrycontract.languages.foreign import foreign
from retrycontract.languages.unclosed import is_ended, likeliest_unclosed, unclosed_quote

ENGINE = "tree_sitter"
OPENERS, CLOSERS = frozenset("([{"), frozenset(")]}")
STRINGS = frozenset({'"', "'", "`", '"""'})
# What is missing or odd at its own place alone; behind half a bracket, string or block a grammar may be lost.
ENDS_SHORT = frozenset({")", "]", ";", ",", ":", "identifier"})
SHIFTING = OPENERS | CLOSERS | STRINGS
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
# Where a string may go over lines whatever its quotes
LONG_STRINGS = frozenset(
    {Language.RUST, Language.RUBY, Language.BASH, Language.HTML, Language.SQL, Language.DOCKERFILE}
)
# Any name of C may be a macro, and CSS skips what it does not know: an error is what neither explains.
UNSURE = frozenset({Language.C, Language.CSS})
CUT_OFF = "the file was cut off: "
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
    """Yield the places that the grammar does not take, or that the file holds nothing."""
    text = source.removeprefix("\ufeff").encode()
    root = _parser(language).parse(text).root_node
    if not root.has_error:
        said = [node for node in root.named_children if node.type not in COMMENTS]
        if not said:
            yield placeholder("comments")
        # To Bash a bare word is a command, which does something.
        elif language is not Language.BASH and all(each.type in NAMES for node in said for each in _named(node)):
            yield placeholder("names")
        yield from _foreign(language, text)
        return
    faulty = list(_faulty(root))
    if (other := rewritten(language, text)) != text:
        # The grammar may know the same in other words; where both are wrong, that with less of it is told.
        again = _parser(language).parse(other).root_node
        if not again.has_error:
            yield from _foreign(language, text)
            return
        faulty = min(list(_faulty(again)), faulty, key=len)
    yield from _told(language, text, faulty)


def _foreign(language: Language, text: bytes) -> Iterator[SourceFault]:
    for reason, (start, _) in foreign(language, text):
        yield SourceFault(FaultKind.SYNTAX, reason, *_place(start, text))


def _told(language: Language, text: bytes, faulty: list[Any]) -> Iterator[SourceFault]:
    """Yield what is wrong, from the file's beginning: the first of it, and what does not follow from that."""
    if language not in UNSURE:
        ordered = sorted(faulty, key=lambda found: (found.start_byte, not found.is_missing))
        slips = [_slip(language, text, node) for node in ordered]
    else:
        spans = [(node.start_byte, node.end_byte) for node in faulty]
        slips = sorted(certain_slips(language, text, spans), key=lambda slip: slip.span)
        if not slips:
            reason = f"{UNKNOWN} {language.title}"
            yield SourceFault(FaultKind.SYNTAX, reason, *_place(min(spans)[0], text), is_warning=True)
    last = 0
    for slip in _replaced(language, text, slips):
        line, column = _place(slip.span[0], text)
        if last and (line <= last or slip.shifts):
            continue
        reason = f"{CUT_OFF}{slip.reason}" if slip.kind is FaultKind.TRUNCATED else slip.reason
        # Browsers supply an implicit end tag by themselves.
        is_cut = slip.kind is FaultKind.TRUNCATED and "implicit" not in reason
        if language in LENIENT:
            is_warning = not is_cut
            yield SourceFault(FaultKind.SYNTAX if is_warning else slip.kind, reason, line, column, is_warning)
            return
        yield SourceFault(slip.kind, reason, line, column, hint=slip.hint)
        if slip.shifts:
            return
        last = line + text.count(b"\n", *slip.span)


def _replaced(language: Language, text: bytes, slips: list[SourceSlip]) -> list[SourceSlip]:
    """Tell what is never closed at its own likeliest place where the file goes on to its end; else it was cut off."""
    # The two lenient languages close by themselves, or end with any line.
    at = next((at for at, slip in enumerate(slips) if slip.kind is FaultKind.TRUNCATED and not slip.is_comment), None)
    if language in LENIENT or not slips or (at is None and language in UNSURE):
        return slips
    code = without_directives(resolve(text) or text) if language is Language.C else text
    found = likeliest_unclosed(language, code)
    if not is_ended(language, text):
        if at is None and language is Language.RUBY and found and slips[0].span[1] >= len(text.rstrip()):
            return [replace(slips[0], kind=FaultKind.TRUNCATED)]
        return slips
    if at is None:
        # What stands behind half a block may be wrong by that alone.
        if found is None or not found.is_certain or _is_before(text, slips[0], found.start):
            return slips
        at = 0
    if found is None and language in LONG_STRINGS:
        found = unclosed_quote(text)
    if found is None:
        return [replace(slip, kind=FaultKind.SYNTAX) if slip is slips[at] else slip for slip in slips]
    hint = f"add the missing {found.closing!r} of line {_place(found.start, text)[0]}"
    span = (found.start, found.start + len(found.text))
    told = SourceSlip(FaultKind.SYNTAX, f"nothing closes the {found.text!r}", span, shifts=True, hint=hint)
    return [*(slip for slip in slips[:at] if slip.span < span and not slip.shifts), told]


def _is_before(text: bytes, slip: SourceSlip, start: int) -> bool:
    """Tell whether something is wrong on a line before, and ends there."""
    return slip.span[0] < start and b"\n" not in text[slip.span[0] : slip.span[1]]


def _slip(language: Language, text: bytes, node: Any) -> SourceSlip:
    """Say what is wrong with a faulty node, and whether what follows it may be wrong by it alone."""
    end, kinds = len(text.rstrip()), [leaf.type for leaf in _leaves(node)]
    is_open = (
        node.start_byte >= end
        if node.is_missing
        else node.end_byte >= end and _is_open(node, text[:end], has_long_strings=language in LONG_STRINGS)
    )
    reason = f"missing {node.type[:PLAIN_WORDS]!r}" if node.is_missing else "syntax error"
    if node.is_missing:
        shifts = is_open or node.type not in ENDS_SHORT
    else:
        shifts = b"\n" in text[node.start_byte : node.end_byte].strip() or any(kind in SHIFTING for kind in kinds)
    kind = FaultKind.TRUNCATED if is_open else FaultKind.SYNTAX
    return SourceSlip(kind, reason, (node.start_byte, node.end_byte), shifts=shifts)


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


def _leaves(node: Any) -> Iterator[Any]:
    pending = [node]
    while pending:
        current = pending.pop()
        if current.child_count:
            pending.extend(reversed(current.children))
        else:
            yield current


def _is_open(node: Any, text: bytes, *, has_long_strings: bool) -> bool:
    """Tell whether a faulty node that reaches the file's end opens more brackets than it closes, or begins a string."""
    kinds, quote = [], None
    for leaf in _leaves(node):
        kinds.append(leaf.type)
        if leaf.type in ('"', "'") and not has_long_strings:
            # A string that its own line should end is left open there, however far the grammar goes on.
            if quote is None and b"\n" in text[leaf.start_byte :].split(leaf.type.encode(), 2)[1]:
                return False
            quote = None if quote else leaf.type
    balance = sum(kind in OPENERS or kind == "${" for kind in kinds) - sum(kind in CLOSERS for kind in kinds)
    return balance > 0 or quote is not None or bool(kinds and kinds[0] in STRINGS)


def _place(start: int, text: bytes) -> tuple[int, int]:
    """Give the line and the column, in characters, of a byte of the file as it was sent."""
    before = text[:start]
    return before.count(b"\n") + 1, len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
