"""Find in files of C and CSS what their grammars take though it belongs to no such file: other languages, prose."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retrycontract.contract.outputs.source_code import Language
from retrycontract.languages.conditionals import (
    DIRECTIVE,
    UNPAIRED,
    blank,
    odd_conditional,
    resolve,
    without_directives,
)

Found = tuple[str, tuple[int, int]]
_HIDDEN = re.compile(rb"""//(?:\\\r?\n|[^\n])*|/\*(?:.*?\*/|.*)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?""", re.DOTALL)
_HIDDEN_OF_CSS = re.compile(rb"""/\*(?:.*?\*/|.*)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?""", re.DOTALL)
_ANY_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*([A-Za-z_]\w*)", re.MULTILINE)
DIRECTIVES = frozenset(
    b"define undef include include_next import embed if ifdef ifndef elif elifdef elifndef else endif line error "
    b"warning pragma ident sccs assert unassert".split()
)
# Each before a name begins a statement of another language, and none is a word of C.
_OTHER = re.compile(rb"^(function|var|let|interface|using|namespace|class|import|def)[ \t]+[A-Za-z_]", re.MULTILINE)
_OWN_NAMES = re.compile(rb"^[ \t]*(?:typedef|#[ \t]*define)\b[^\n]*", re.MULTILINE)
# A sentence has words that no element is called by.
_SENTENCE = re.compile(rb"^[ \t]*[A-Z][a-z]+(?:,?[ \t]+[A-Za-z][A-Za-z'-]*){2,}[ \t]*[.:!,]?[ \t]*\r?$", re.MULTILINE)
_OF_SENTENCES = re.compile(
    rb"\b(?:the|this|that|is|are|for|your|you|with|of|to|and|an|in|which|it|following|here)\b", re.IGNORECASE
)
_ENDS_WITH_COLON = re.compile(rb"^[^\n]*:[ \t]*\r?$", re.MULTILINE)


def foreign(language: Language, text: bytes) -> Iterator[Found]:
    """Yield what belongs to no file of the language, with its bytes, from the file's beginning."""
    if language is Language.C:
        yield from sorted(_foreign_to_c(text), key=lambda found: found[1])
    elif language is Language.CSS:
        yield from _prose_in_css(text)


def _foreign_to_c(text: bytes) -> Iterator[Found]:
    code = _HIDDEN.sub(lambda found: b'""' + blank(found[0][2:]) if found[0][:1] == b'"' else blank(found[0]), text)
    for found in DIRECTIVE.finditer(code):
        if found[1] not in (b"else", b"endif") and not found[2].replace(b"\\", b"").strip():
            yield f"'#{found[1].decode()}' has no condition", found.span()
    branch = resolve(code)
    if branch is None:
        yield UNPAIRED, odd_conditional(code)
        return
    for found in _ANY_DIRECTIVE.finditer(branch):
        if found[1] not in DIRECTIVES:
            yield f"no directive is called '#{found[1].decode()}'", found.span()
    said = without_directives(branch)
    own = {word for line in _OWN_NAMES.finditer(code) for word in re.findall(rb"\w+", line[0])}
    for found in _OTHER.finditer(said):
        before = said[max(found.start() - MOST_BLANKS, 0) : found.start()].rstrip()[-1:]
        if before in (b"", b";", b"}") and found[1] not in own:
            yield f"this is not C: no statement begins with '{found[1].decode()}'", found.span(1)


MOST_BLANKS = 2_000  # characters in which the end of the statement before is sought


def _prose_in_css(text: bytes) -> Iterator[Found]:
    """Yield the lines of prose that stand where a rule's selector does."""
    code = _HIDDEN_OF_CSS.sub(lambda found: blank(found[0]), text)
    depth, last = 0, 0
    for sign in re.finditer(rb"[{};]", code):
        if depth == 0 and not code[last : sign.start()].lstrip().startswith(b"@"):
            for line in _ENDS_WITH_COLON.finditer(code, last, sign.start()):
                if line.end() < sign.start():
                    yield "no rule begins so", line.span()
            for line in _SENTENCE.finditer(code, last, sign.start()):
                if line.end() < sign.start() and _OF_SENTENCES.search(line[0]) and b":" not in line[0]:
                    yield "no rule begins so", line.span()
        depth = max(depth + (sign[0] == b"{") - (sign[0] == b"}"), 0)
        last = sign.end()
