"""Render a model's source file for people: every line numbered as its compiler counts, every character visible."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.html import escape, format_html_join
from django.utils.safestring import SafeString, mark_safe

from retrycontract.contract.redaction.sanitizer import elide_middle, visible

MAX_SOURCE = 50_000  # characters; a person reads no more
FENCE = "```"


def render_source(text: str) -> SafeString:
    """Write a file as numbered lines; of a fenced block its lines alone have numbers, as the errors count them."""
    lines = elide_middle(text, MAX_SOURCE).removesuffix("\n").split("\n")
    rows = ((number, escape(visible(line))) for number, line in _numbered(lines))
    body = format_html_join("", '<span class="sline" data-line="{}"><bdi>{}</bdi>\n</span>', rows)
    return mark_safe(f'<pre class="text source"><code>{body}</code></pre>')  # noqa: S308 - every line is escaped


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
