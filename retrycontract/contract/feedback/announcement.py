"""Write what people are told of Blocked calls: short, bounded, and nothing in it can pose as markup or a mention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from retrycontract.contract.feedback.feedback_text import shown_name, shown_pointer
from retrycontract.contract.redaction.previews import elide_middle, fit, visible

MAX_GROUPS = 10  # groups of alike calls that are written out; the rest is counted
MAX_POINTER = 80
MAX_EXCERPT = 600  # characters of an escalation's text
MAX_LINE = 200  # characters of one line of it
MAX_LINES = 8
MAX_SUBJECT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class AlikeCalls:
    """Hold what is told of one Blocked call, or of several that made the same mistake; every text is sanitised."""

    tool: str
    agent: str
    attempts: int
    address: str
    until: datetime | None = None
    pointer: str | None = None
    code: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True)
class Announcement:
    """Hold a message for people."""

    subject: str
    text: str


class Plain:
    """Write for e-mail."""

    def strong(self, text: str) -> str:
        """Leave it: plain text has no bold."""
        return text

    def name(self, text: str) -> str:
        """Put a name between quotes."""
        return f"'{text}'"

    def block(self, lines: Sequence[str]) -> str:
        """Indent quoted lines."""
        return "\n".join(f"    {line}" for line in lines)


class Slack(Plain):
    """Write for Slack and what is compatible with it: what others wrote stands in code, where nothing is special."""

    def strong(self, text: str) -> str:
        """Make it bold."""
        return f"*{text}*"

    def name(self, text: str) -> str:
        """Put a name into code."""
        return f"`{_literal(text)}`"

    def block(self, lines: Sequence[str]) -> str:
        """Put quoted lines into a block of code."""
        return "\n".join(("```", *(_literal(line) for line in lines), "```"))


def announce(
    groups: Sequence[AlikeCalls], *, total: int, since: datetime, excerpt: str, desk: str, style: Plain
) -> Announcement:
    """Write one message about `total` Blocked calls, at most ten groups of them; the excerpt is used for a single one.

    `since` says when the first was Blocked, `desk` is the address of the whole queue, or empty. The text has at most
    8,000 characters, mostly far fewer; Slack takes 40,000.
    """
    if total == 1:
        call = groups[0]
        tool, agent = shown_name(call.tool), shown_name(call.agent)
        tries = f"{call.attempts} attempt{'' if call.attempts == 1 else 's'}"
        who = f"{style.name(tool)} of agent {style.name(agent)}"
        lines = [
            f"{style.strong('Blocked:')} {who} waits for an answer after {tries}.",
            f"Since {_moment(since)}" + (f", until {_moment(call.until)}" if call.until else ""),
        ]
        lines += [f"Worst error: {_error(call, style)}"] if call.code else []
        lines += [call.address]
        quoted = excerpt_lines(excerpt)
        lines += [style.block(quoted)] if quoted else []
        return Announcement(
            elide_middle(f"Blocked: {tool} of agent {agent} waits for an answer", MAX_SUBJECT), "\n".join(lines)
        )
    lines = [f"{style.strong(f'{total} calls are Blocked')} and wait for an answer, the first since {_moment(since)}."]
    for group in groups[:MAX_GROUPS]:
        who = f"{style.name(shown_name(group.tool))} of agent {style.name(shown_name(group.agent))}"
        many, error = f"{group.count} × " if group.count > 1 else "", f": {_error(group, style)}" if group.code else ""
        lines.append(f"• {many}{who}{error} {group.address}")
    hidden = total - sum(group.count for group in groups[:MAX_GROUPS])
    lines += [f"• and {hidden} more"] if hidden else []
    lines += [desk] if desk else []
    return Announcement(f"{total} Blocked calls wait for an answer", "\n".join(lines))


def excerpt_lines(text: str) -> list[str]:
    """Shorten an escalation's text to its first lines, each on one line and bounded."""
    kept: list[str] = []
    room = MAX_EXCERPT
    for line in (line for line in text.splitlines() if line.strip()):
        if len(kept) == MAX_LINES or room <= 0:
            return [*kept, "…"]
        kept.append(fit(line, min(MAX_LINE, room), visible)[0])
        room -= len(kept[-1])
    return kept


def _error(call: AlikeCalls, style: Plain) -> str:
    return f"{style.name(shown_pointer(call.pointer or '', MAX_POINTER))} ({call.code})"


def _moment(at: datetime) -> str:
    """Write a time that is right whenever it is read: a message may have waited for its receiver."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _literal(text: str) -> str:
    """Take away what would end a piece of code, and what Slack reads as a link or a mention inside of it."""
    # The ampersand first: the other replacements begin with one.
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("`", "’")
