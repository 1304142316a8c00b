"""Write what people are told of Blocked calls: that some wait, why each one does, and what could be done about it.

Nothing in these texts can pose as markup or a mention.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from retrycontract.contract import pointers
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.decisions import Decision
from retrycontract.contract.errors import ValidationError, whole_errors
from retrycontract.contract.feedback.feedback_text import shown_name, shown_pointer
from retrycontract.contract.outputs import Kind
from retrycontract.contract.redaction.previews import elide_middle, fit, visible
from retrycontract.contract.tracker import AttemptRecord

MAX_MESSAGE = 200  # characters of one error's message in the history
MAX_ERRORS_A_LINE = 10  # errors of one attempt that are written out; the others are named by place and code
MAX_PLACES = 100  # errors of one attempt that are named
MAX_PLACE = 80  # characters of a pointer among many
MAX_COMMON = 3  # pointers that all attempts have in common
MAX_CALL = 400  # characters of the original call
MIN_ACTIONS = 4
STUCK = "The model was unable to provide valid arguments. Please intervene or provide guidance."
HELD = "The newest output is valid. Nothing was executed: the tool is set to wait for a person's answer."
LET_GO = "Look at the newest output, which is valid, and accept it as it is if you agree."

Fingerprint = frozenset[tuple[str, str]]
_PLACE = re.compile(r" at line [0-9]+(?:, column [0-9]+)?")


class EscalationFormatter:
    """Write escalation texts; everything in them is already sanitised."""

    def format_escalation(
        self,
        tool_name: str,
        tool_call_id: str,
        validation_history: Sequence[AttemptRecord | str] | None,
        max_attempts: int,
        *,
        original_call: str | None = None,
        now: datetime | None = None,
        held_attempt: int | None = None,
        kind: Kind = Kind.TOOL_CALL,
        is_parsed: bool = True,
    ) -> str:
        """Write the history, the original call (a sanitised preview), an analysis and at least four actions.

        An entry of the history that is a text is told as it is. Without `now` the history shows absolute times. An
        empty history gives a valid text; what goes beyond `max_attempts` was tried while Blocked. `held_attempt` is
        the one that is valid and held all the same until a person has answered. `kind` is that of the output, and
        `is_parsed` tells whether its newest attempt could be read: what is not possible is not recommended.
        """
        history = [
            replace(entry, errors=tuple(whole_errors(entry.errors)))
            if isinstance(entry, AttemptRecord)
            else AttemptRecord(number, tuple(whole_errors([entry])))
            for number, entry in enumerate(validation_history or (), 1)
        ]
        made = history[-1].number if history else max_attempts
        attempts = min(made, max_attempts)
        more = f", and {made - attempts} more while Blocked" if made > attempts else ""
        lines = [f"Tool '{shown_name(tool_name)}' validation failed after {_count(attempts, 'attempt')}{more}.", ""]
        lines += ["Validation History:", *(_history_line(record, now) for record in history)]
        if not history:
            lines.append("(no attempt was recorded)")
        if held_attempt is not None:
            lines.append(f"Attempt {held_attempt}: valid, and held until a person has answered")
        call = elide_middle(visible(original_call), MAX_CALL) if original_call else "(not kept)"
        lines += ["", "Original call:", f"  {shown_name(tool_name)} {call}  (sanitised)"]
        lines += [f"  id: {shown_name(tool_call_id)}"] if tool_call_id else []
        lines += ["", "Analysis:", *(f"- {line}" for line in analyse(history))]
        lines += ["", "Recommended Actions:"]
        actions = recommend(history, kind, is_parsed=is_parsed) if held_attempt is None else [LET_GO, *possible(kind)]
        lines += [f"{number}. {action}" for number, action in enumerate(actions, 1)]
        lines += ["", STUCK if held_attempt is None else HELD]
        return "\n".join(lines)


def fingerprint(errors: Sequence[ValidationError]) -> Fingerprint:
    """Reduce errors to codes and pointer patterns, values left out: equal prints are the same mistake.

    What cannot be read at all is one mistake of the whole, so its kind tells it apart: text that was cut off, NaN, a
    repeated key. Of a file that does not compile it is what the compiler says; one that only moved to another line is
    the same.
    """
    return frozenset((_mistake(error), pointers.pattern(error.field_path)) for error in errors)


def _mistake(error: ValidationError) -> str:
    code = error.error_code.value
    if error.error_code is not ErrorCode.INVALID_JSON_SYNTAX:
        return code
    kind = error.keyword if error.message.startswith("Invalid JSON") else _PLACE.sub("", error.message)
    return f"{code} {kind}".rstrip()


def fingerprint_digest(errors: Sequence[ValidationError]) -> str:
    """Hash a fingerprint, for storing and grouping; empty for no errors."""
    if not errors:
        return ""
    # Sorted, since a set has another order in each process, and equal digests group calls in the database.
    return hashlib.sha256(json.dumps(sorted(fingerprint(errors))).encode()).hexdigest()[:16]


def analyse(history: Sequence[AttemptRecord]) -> list[str]:
    """Say in a few lines what the attempts have in common."""
    errors = [error for record in history for error in record.errors]
    if not errors:
        return ["no errors were recorded"]
    codes = {error.error_code for error in errors}
    counts = (_count(len(errors), "error"), _count(len(history), "attempt"), _count(len(codes), "distinct code"))
    first = f"{counts[0]} in {counts[1]}, {counts[2]}"
    common = frozenset.intersection(*(frozenset(error.field_path for error in record.errors) for record in history))
    if common and len(history) > 1:
        first += f", always on {', '.join(shown_pointer(pointer) for pointer in sorted(common)[:MAX_COMMON])}"
    prints = [fingerprint(record.errors) for record in history]
    repeats = len(prints) - len(set(prints))
    if repeats:
        second = f"{_count(repeats, 'attempt')} repeated exactly the same mistakes as an earlier one"
    elif any(count > 1 for count in Counter(mistake for mistakes in prints for mistake in mistakes).values()):
        second = "some mistakes came back in later attempts"
    else:
        second = "no attempt repeated an earlier mistake"
    return [first, second]


def recommend(history: Sequence[AttemptRecord], kind: Kind = Kind.TOOL_CALL, *, is_parsed: bool = True) -> list[str]:
    """List at least four actions, those that the history asks for first; none that a person could not take."""
    barred = Decision.CORRECTED.barred(kind, is_parsed=is_parsed)
    chosen = [advice for applies, advice in ADVICE if applies(history) and not (barred and applies is _suggested)]
    general = possible(kind, is_parsed=is_parsed)
    return (chosen + [advice for advice in general if advice not in chosen])[: max(MIN_ACTIONS, len(chosen))]


def possible(kind: Kind, *, is_parsed: bool = True) -> list[str]:
    """List what can always be done about an output of a kind."""
    told = [advice for decision, advice in GENERAL.items() if not decision.barred(kind, is_parsed=is_parsed)]
    return told + list(OF_FILES if kind is Kind.SOURCE_FILE else OF_TEXT)[: len(GENERAL) - len(told)]


def _history_line(record: AttemptRecord, now: datetime | None) -> str:
    shown = "; ".join(
        f"{shown_pointer(error.field_path)} ({error.error_code}) {elide_middle(visible(error.message), MAX_MESSAGE)}"
        for error in record.errors[:MAX_ERRORS_A_LINE]
    )
    others = [
        f"{shown_pointer(error.field_path, MAX_PLACE)} ({error.error_code})"
        for error in record.errors[MAX_ERRORS_A_LINE:MAX_PLACES]
    ]
    more = max(len(record.errors) - MAX_PLACES, 0) + record.omitted
    others += [f"and {more} more"] if more else []
    when = f" ({_when(record.at, now)})" if record.at else ""
    return f"Attempt {record.number}{when}: {'; '.join([shown or 'no error was recorded', *others])}"


def _when(at: datetime, now: datetime | None) -> str:
    if now is None:
        return at.isoformat(timespec="seconds")
    passed = max(now - at, timedelta())
    for unit, name in ((timedelta(days=1), "d"), (timedelta(hours=1), "h"), (timedelta(minutes=1), "min")):
        if passed >= unit:
            return f"{passed // unit} {name} ago"
    return "just now"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _repeats(history: Sequence[AttemptRecord]) -> bool:
    prints = [fingerprint(record.errors) for record in history]
    return len(prints) > len(set(prints))


def _has(code: ErrorCode, keyword: str | None = None) -> Callable[[Sequence[AttemptRecord]], bool]:
    return lambda history: any(
        error.error_code is code and keyword in (None, error.keyword) for record in history for error in record.errors
    )


def _suggested(history: Sequence[AttemptRecord]) -> bool:
    """Look at the last attempt alone: what would have mended an earlier one is no correction any more."""
    last = history[-1].errors if history else ()
    return any(error.patch or "did you mean" in (error.hint or "") for error in last)


Applies = Callable[[Sequence[AttemptRecord]], bool]

ADVICE: tuple[tuple[Applies, str], ...] = (
    (_repeats, "The same mistake came back: say in a hint exactly what the field must hold, with an example."),
    (_suggested, "A near miss was found: send the suggested value as corrected arguments."),
    (
        _has(ErrorCode.INVALID_JSON_SYNTAX, "truncated"),
        "The output was cut off: ask for less at once, or raise the model's output limit.",
    ),
    (_has(ErrorCode.INVALID_ENUM_VALUE), "Check whether the allowed values are complete, and name the right one."),
    (_has(ErrorCode.UNKNOWN_FIELD), "Check whether the tool should take the unknown field; else name the right one."),
    (_has(ErrorCode.REQUIRED_FIELD_MISSING), "Provide the missing value, or tell the agent where to find it."),
    (_has(ErrorCode.TYPE_MISMATCH), "Show the expected type with an example value."),
    (_has(ErrorCode.PATTERN_MISMATCH), "Check whether the pattern is stricter than it needs to be."),
    (_has(ErrorCode.OBJECT_SCHEMA_VIOLATION, "tool"), "Name the tool that the agent should use."),
)
GENERAL = {
    Decision.HINT: "Give a hint and grant further attempts.",
    Decision.CORRECTED: "Send corrected arguments, which are checked before they reach the agent.",
    Decision.ACCEPT: "Accept the output as it is, if what it failed is too strict for it.",
    Decision.REJECT: "Reject the call, if the agent should stop or use another tool.",
}
# What takes the place of decisions that are not possible.
OF_FILES = (
    "Write out in the hint what must stand in the line that is named.",
    "Check whether the tool names the language that the file is written in.",
)
OF_TEXT = ("Show in a hint how the output reads as valid JSON.",)


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
        return f"'{text}'"

    def block(self, lines: Sequence[str]) -> str:
        return "\n".join(f"    {line}" for line in lines)


class Slack(Plain):
    """Write for Slack and what is compatible with it: what others wrote stands in code, where nothing is special."""

    def strong(self, text: str) -> str:
        return f"*{text}*"

    def name(self, text: str) -> str:
        return f"`{_literal(text)}`"

    def block(self, lines: Sequence[str]) -> str:
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
