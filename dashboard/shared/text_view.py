"""Render text and source files for people: escaped, every character visible, the failing lines marked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import partial

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from pygments.lexers import get_lexer_by_name
from pygments.token import Token
from pygments.util import ClassNotFound

from dashboard.shared.near_lines import MOST_NEAR, NEAR_STRING, NEAR_TEXT, left_out, near_lines, plain, size_of
from retrycontract.contract.redaction.previews import beginning
from retrycontract.contract.redaction.sanitizer import elide_middle, visible

MAX_TEXT = 50_000  # characters of text that never parsed
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


def is_long_text(text: str) -> bool:
    """Tell whether a text has more lines or characters than are shown near its failing lines."""
    return size_of([text]) > NEAR_TEXT or text.count("\n") > 2 * MOST_NEAR


def render_text(text: str, *, near: bool = False) -> SafeString:
    """Write text that never parsed, its own line breaks kept and everything hidden made visible; `near`: less of it."""
    most = NEAR_TEXT // 2 if near else MAX_TEXT
    # Three quarters of the room for how it begins, which tells most; where it breaks off tells the rest.
    begin = beginning(text, most if len(text) <= most else most * 3 // 4)
    end = text[max(len(text) - most // 4, len(begin)) :]
    parts = ["\n".join(map(plain, part.split("\n"))) for part in (begin, end)]
    body = left_out(len(text) - len(begin) - len(end)).join(parts)
    return mark_safe(f'<pre class="text"><bdi>{body}</bdi></pre>')  # noqa: S308 - every line is escaped


def render_source(text: str, language: str = "", failing: Collection[int] = (), *, near: bool = False) -> SafeString:
    """Write a file as numbered lines; of a fenced block its lines alone have numbers, as the errors count them.

    With `near` a long one is shown only around its failing lines, or how it begins.
    """
    near = near and is_long_text(text)
    begin = beginning(text, MAX_SOURCE)  # not its end as well, whose lines would bear wrong numbers
    lines = begin.removesuffix("\n").split("\n")
    if near:
        lines = [elide_middle(line, NEAR_STRING) for line in lines]
    numbers = [number for number, _ in _numbered(lines)]
    fails = [number.isdecimal() and int(number) in failing for number in numbers]
    written = []
    for number, html, is_failing in zip(numbers, _coloured(lines, language), fails, strict=True):
        bad = ' sbad"><span class="vh">Failing line: </span' if is_failing else '"'
        written.append(f'<span data-line="{number}" class="sline{bad}><bdi>{html}</bdi>\n</span>')
    shown = (
        near_lines(zip(fails, (partial(str, line) for line in written), strict=True), len(written), sum(fails))
        if near
        else written
    )
    body = "".join(shown) + left_out(len(text) - len(begin))
    return mark_safe(f'<pre class="text source"><code>{body}</code></pre>')  # noqa: S308 - every token is escaped


def _coloured(lines: list[str], language: str) -> Iterable[str]:
    """Write each line as HTML, in colours where its language is known and it is not too long for that."""
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False) if language else None
    except ClassNotFound:
        lexer = None
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
