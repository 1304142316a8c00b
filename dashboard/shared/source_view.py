"""Render a model's source file for people: numbered as its compiler counts, coloured, the failing lines marked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Token
from pygments.util import ClassNotFound

from retrycontract.contract.redaction.sanitizer import elide_middle, visible

MAX_SOURCE = 50_000  # characters; a person reads no more
MAX_COLOURED = 20_000  # lexing costs 1 ms per 4,000 characters, and a page has 100 ms
MAX_LINE = 1_000  # a longer one is minified: a lexer may take long over it, and nobody reads its colours
FENCE = "```"
# The five things that an eye looks for, by the classes that JSON has, too: one set of colours, light and dark.
CLASSES = (
    (Token.Comment, "sc"),
    (Token.Literal.String, "js"),
    (Token.Literal.Number, "jn"),
    (Token.Keyword, "jk"),
    (Token.Name.Function, "sf"),
    (Token.Name.Class, "sf"),
    (Token.Name.Tag, "jk"),
    (Token.Name.Attribute, "sf"),
)


def render_source(text: str, language: str = "", failing: Collection[int] = ()) -> SafeString:
    """Write a file as numbered lines; of a fenced block its lines alone have numbers, as the errors count them."""
    lines = elide_middle(text, MAX_SOURCE).removesuffix("\n").split("\n")
    coloured = _coloured(lines, language)
    body = "".join(
        _line(number, html, is_failing=number.isdecimal() and int(number) in failing)
        for (number, _), html in zip(_numbered(lines), coloured, strict=True)
    )
    return mark_safe(f'<pre class="text source"><code>{body}</code></pre>')  # noqa: S308 - every token is escaped


def _line(number: str, html: str, *, is_failing: bool) -> str:
    bad = ' sbad"><span class="vh">Failing line: </span' if is_failing else '"'
    return f'<span data-line="{number}" class="sline{bad}><bdi>{html}</bdi>\n</span>'


def _coloured(lines: list[str], language: str) -> Iterable[str]:
    """Write each line as HTML, in colours where its language is known and it is not too long for that."""
    lexer = _lexer(language)
    if lexer is None or sum(map(len, lines)) > MAX_COLOURED or max(map(len, lines)) > MAX_LINE:
        return (escape(visible(line)) for line in lines)
    # Each line for itself: a token over several lines is closed and opened again with the line.
    written = [""]
    for token, value in lexer.get_tokens("\n".join(lines)):
        for index, part in enumerate(value.split("\n")):
            if index:
                written.append("")
            shown = escape(visible(part))
            name = next((name for family, name in CLASSES if token in family), "")
            written[-1] += f'<span class="{name}">{shown}</span>' if name and part.strip() else shown
    return written[: len(lines)] + [""] * (len(lines) - len(written))


def _lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False) if language else None
    except ClassNotFound:
        return None


def _numbered(lines: list[str]) -> Iterator[tuple[str, str]]:
    is_fenced = any(line.lstrip().startswith(FENCE) for line in lines)
    number, counts = 0, not is_fenced
    for line in lines:
        if line.lstrip().startswith(FENCE):
            number, counts = 0, not counts
            yield "", line
        else:
            number += counts
            yield str(number) if counts else "", line
