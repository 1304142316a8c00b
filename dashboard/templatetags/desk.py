"""What the templates of the desk say: icons, times, states, and everything that a model supplied."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from django import template
from django.http import HttpRequest
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from dashboard.insights.plots import percent
from dashboard.navigation import Section, sections_for
from dashboard.shared.choices import WORDINGS, given_word, state_word
from dashboard.shared.json_view import is_long, render_json
from dashboard.shared.mistakes import code_title, title_of, value_of
from dashboard.shared.responses import is_sent, undo_of
from dashboard.shared.text_view import render_source, render_text
from retrycontract.contract.decisions import Decision
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.feedback.feedback_text import shown_pointer
from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.json_faults import CARET
from retrycontract.contract.redaction.sanitizer import elide_middle, visible
from retrycontract.store.models import Attempt, Call, StandingHint
from retrycontract.usecases.answers.reuse_answers import times

if TYPE_CHECKING:
    from dashboard.inbox.groups import Row

register = template.Library()

THEMES = ("light", "dark")
JUST_NOW = timedelta(seconds=10)
LONGEST_VALUE = 80  # characters of a value in a line of changes
MOST_PLACES = 20  # of a mistake that was made in many
LONGEST_LINE = 300  # characters of one line of a model's text in a list


@register.simple_tag
def icon(name: str) -> SafeString:
    """Draw an icon of the sprite; it says nothing to a screen reader, the word beside it does."""
    return format_html(
        '<svg class="icon" aria-hidden="true"><use href="{}#{}"></use></svg>',
        static("dashboard/icons.svg"),
        name,
    )


@register.simple_tag
def number_of(number: int, address: str, label: str = "") -> SafeString | str:
    """Write a number that leads to what it counts; none leads nowhere."""
    words = thousands(number)
    if not (number and address):
        return words
    return format_html('<a href="{}"{}>{}</a>', address, format_html(' aria-label="{}"', label) if label else "", words)


@register.filter
def waited_for(call: Call, now: datetime) -> bool:
    """Tell whether an agent waits for the answer to a call."""
    return call.is_waited_for(now)


@register.simple_tag
def state_pill(state: str) -> SafeString:
    """Show a call's state: a shape, a word and a colour."""
    return format_html('<span class="pill pill-{}">{}{}</span>', state, icon(state), state_word(state))


@register.simple_tag
def json_view(value: Any, errors: Sequence[ValidationError] = (), *, near: bool = False) -> SafeString:
    """Render JSON that a model supplied, with the places of the errors marked; `near`: only what is around them."""
    return render_json(value, errors, near=near)


@register.simple_tag
def attempt_view(attempt: Attempt, errors: Sequence[ValidationError] = (), *, near: bool = False) -> SafeString:
    """Render what an attempt gave: JSON, text that is none, or the words that there is nothing."""
    if not attempt.has_output:
        return format_html('<p class="soft">{}</p>', "No output.")
    if attempt.is_parsed or not isinstance(attempt.output, str):
        return render_json(attempt.output, errors, near=near)
    return render_text(attempt.output, near=near)


@register.simple_tag
def raw_view(text: str, *, near: bool = False) -> SafeString:
    """Render output that never parsed; `near`: its beginning and its end."""
    return render_text(text, near=near)


@register.simple_tag
def source_view(text: str, language: str = "", failing: Collection[int] = (), *, near: bool = False) -> SafeString:
    """Render a source file in colours, its lines numbered and the failing ones marked; `near`: what is around them."""
    return render_source(text, language, failing, near=near)


register.filter("undo_of", undo_of)
register.filter("is_sent", is_sent)
register.filter("percent", percent)
register.filter("code_title", code_title)
register.filter("title_of", title_of)
register.filter("value_of", value_of)
register.filter("is_long", is_long)


@register.filter
def barred(decision: str, story: Any) -> str:
    """Say why a decision is not possible about a call's newest output; empty where it is."""
    newest = story.newest_judged
    return Decision(decision).barred(Kind(story.call.kind), is_parsed=newest is not None and newest.is_parsed)


@register.filter
def compact(value: object) -> SafeString:
    """Show a small JSON value in one line."""
    return shown(elide_middle(json.dumps(value, ensure_ascii=False), LONGEST_VALUE))


@register.filter
def lasted(begin: datetime, end: datetime) -> str:
    """Write how long something lasted, in its largest unit."""
    return since(end - begin).partition(" ")[0] + " " + since(end - begin).split(" ")[1]


@register.filter
def upto(errors: Sequence[ValidationError], entry: Any) -> Sequence[ValidationError]:
    """Give the errors that are listed of an attempt: all, or the first where it is not shown to its end."""
    return errors[:MOST_PLACES] if entry.is_cut else errors


@register.filter
def is_text(value: object) -> bool:
    """Tell whether a model's output is text."""
    return isinstance(value, str)


@register.filter
def bare(text: object) -> str:
    """Give one line of text that came from outside for a title or a label, where no element may stand."""
    return visible(elide_middle(str(text), LONGEST_LINE))


@register.filter
def link_name(row: Row, size: int = 1) -> str:
    """Name the link to a call, or to `size` calls with its mistake, apart from the others of the same tool."""
    worst, parts = row.worst, [row.call.tool_name]
    parts.append(f"{size} calls with the same mistake" if size > 1 else row.call.agent.name)
    if worst is not None:
        parts.append(f"{shown_pointer(worst.field_path)} {title_of(worst)}")
    parts.append(row.goal or row.call.public_id)
    return ", ".join(map(bare, parts))


@register.filter
def shown(text: object) -> SafeString:
    """Show one line of text that came from outside: escaped, isolated, nothing hidden."""
    return format_html("<bdi>{}</bdi>", bare(text))


@register.filter
def shown_text(text: object) -> SafeString:
    """Show text of several lines that came from outside: escaped, isolated, nothing hidden."""
    return format_html("<bdi>{}</bdi>", "\n".join(visible(line) for line in str(text).split("\n")))


@register.filter
def excerpt(text: object) -> SafeString:
    """Show some lines of a file as text from outside, the caret where it fails made easy to see."""
    marked = shown_text(text).replace(CARET, f'<mark class="caret">{CARET}</mark>')
    return mark_safe(marked)  # noqa: S308 - the text was escaped before


@register.filter
def pointer(path: str) -> SafeString:
    """Show a JSON Pointer; the whole document as `(root)`."""
    shown = shown_pointer(path)
    if not shown.isascii():
        # Each name for itself: one that is read from the right would take those around it along.
        shown = format_html_join("/", "<bdi>{}</bdi>", ((step,) for step in shown.split("/")))
    return format_html('<code class="pointer">{}</code>', shown)


@register.filter
def thousands(number: int) -> str:
    return f"{number:,}"


@register.simple_tag
def ago(at: datetime | None, now: datetime, suffix: str = " ago") -> SafeString:
    """Show a time as the time since, the exact one on hover; our script keeps it going."""
    if at is None:
        return SafeString("")
    return format_html(
        '<time datetime="{}" title="{}" data-since="{}">{}</time>',
        at.astimezone(UTC).isoformat(timespec="seconds"),
        exact(at),
        suffix,
        "just now" if suffix and now - at < JUST_NOW else since(now - at) + suffix,
    )


@register.simple_tag
def until(at: datetime, now: datetime) -> SafeString:
    """Show a time to come as the time left; our script keeps it going."""
    return format_html(
        '<time datetime="{}" title="{}" data-until>{}</time>',
        at.astimezone(UTC).isoformat(timespec="seconds"),
        exact(at),
        since(at - now),
    )


@register.filter
def noun(kind: str) -> str:
    """Name what a person corrects of an output of a kind."""
    return WORDINGS[Kind(kind)].noun


@register.filter
def decided(decision: str, kind: str) -> str:
    """Name an answer that was given to an output of a kind."""
    return given_word(decision, kind)


@register.filter
def whole(kind: str) -> str:
    """Name what an agent sent: its call, its response."""
    return WORDINGS[Kind(kind)].whole


@register.filter
def record(hint: StandingHint) -> str:
    """Say what a standing hint was good for."""
    if not hint.shown:
        return "not shown yet"
    tried = f", next attempt valid {times(hint.worked)}" if hint.tried else ", no next attempt yet"
    return f"shown {times(hint.shown)}{tried}"


@register.filter
def exact(at: datetime) -> str:
    """Write a time to the second, in the zone of whoever looks."""
    return timezone.localtime(at).strftime("%Y-%m-%d %H:%M:%S %Z")


@register.simple_tag
def clock() -> str:
    """Tell what time it is in the zone of whoever looks."""
    return timezone.localtime().strftime("%H:%M %Z")


@register.simple_tag
def get_now() -> datetime:
    """Give the time at which a page is written."""
    return timezone.now()


@register.simple_tag
def get_zone() -> str:
    """Name the zone in which times are written now."""
    return timezone.get_current_timezone_name()


@register.simple_tag(takes_context=True)
def sections(context: template.Context) -> list[list[tuple[Section, bool]]]:
    """List the sections for the visitor, by group, each with whether the page lies in it."""
    request = context.get("request")
    if not isinstance(request, HttpRequest):
        return []
    view = request.resolver_match.view_name if request.resolver_match else ""
    return [[(section, section.holds(view)) for section in group] for group in sections_for(request.user)]


@register.simple_tag(takes_context=True)
def theme(context: template.Context) -> str:
    """Give the chosen theme, or nothing where the system decides."""
    request = context.get("request")
    chosen = request.COOKIES.get("theme", "") if isinstance(request, HttpRequest) else ""
    return chosen if chosen in THEMES else ""


def since(passed: timedelta) -> str:
    """Write a duration in its two largest units; desk.js writes it the same way."""
    seconds = max(int(passed.total_seconds()), 0)
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if days:
        return f"{days} d {hours % 24} h" if hours % 24 and days < 10 else f"{days} d"
    if hours:
        return f"{hours} h {minutes % 60} min" if minutes % 60 else f"{hours} h"
    return f"{minutes} min" if minutes else f"{seconds} s"
