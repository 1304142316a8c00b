"""Write an operator's answer as the agent will read it: the only text that reaches a model as instruction."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from retrycontract.contract.configuration import OnExpiry, shown_duration
from retrycontract.contract.decisions import Decision
from retrycontract.contract.feedback.feedback_text import STANDING_LEAD, shown_name
from retrycontract.contract.lifecycle import Budget, CallState
from retrycontract.contract.outputs import Kind
from retrycontract.contract.redaction.sanitizer import visible

MAX_TEXT = 4000  # characters of an operator's words
MAX_STANDING = 600  # characters of words that join a feedback: the errors need room, too
MAX_ARGUMENTS = 4000  # characters of corrected arguments that are written out; more goes in its own field only


@dataclass(frozen=True, slots=True)
class Answer:
    """Hold an operator's decision: the words, and corrected arguments whole or as a patch."""

    decision: Decision
    text: str = ""
    arguments: Any = None
    patch: list[dict[str, Any]] | None = None
    grant: int = 0


EARLIER_LEAD = "A person has said about this call:"
OUTPUT_WORDS = {  # the output, and what was not done with it: a tool call has words of its own in every text
    Kind.TOOL_CALL: {"noun": "call", "used": "executed"},
    Kind.AGENT_RESPONSE: {"noun": "response", "used": "used"},
    Kind.SOURCE_FILE: {"noun": "file", "used": "written"},
    Kind.EXTRACTION: {"noun": "extraction", "used": "used"},
}


def render_guidance(answer: Answer, *, kind: Kind, tool_name: str, budget: Budget, base_attempt: int) -> str:
    """Write the text; `budget` is the call's before the grant, `base_attempt` the submission that is answered."""
    entry, is_call = answer.decision.entry, kind is Kind.TOOL_CALL
    words = {"name": shown_name(tool_name), "attempt": base_attempt, **OUTPUT_WORDS[kind]}
    lead, end = (pair[0 if is_call else 1].format(**words) for pair in (entry.lead, entry.end))
    if entry.takes_arguments:
        if answer.patch is not None:
            correction = f"Apply this JSON Patch to {'them' if is_call else 'it'}:\n{_compact(answer.patch, 'patch')}"
        else:
            correction = f"Send exactly {'these' if is_call else 'this'}:\n{_compact(answer.arguments, 'arguments')}"
        parts = [f"{lead}.", correction] + ([_quoted(answer.text)] if answer.text else [])
    else:
        parts = [f"{lead}:\n\n{_quoted(answer.text)}" if answer.text.strip() else f"{lead}."]
    if entry.leads_to is CallState.GUIDED:
        granted = budget.granted(answer.grant)
        left = granted.allowed - granted.made
        end += f": this is attempt {granted.made + 1}/{granted.allowed}" + (f", {left} are left" if left > 1 else "")
    parts.append(f"{end}.")
    return "\n\n".join(parts)


def standing_words(text: str) -> str:
    """Write a person's words for everybody who makes the same mistake; they join the feedback."""
    return f"{STANDING_LEAD}\n{_quoted(text)}"


def earlier_words(text: str) -> str:
    """Repeat a person's words for what is asked after the attempt that they led to; empty for none."""
    return f"{EARLIER_LEAD}\n{_quoted(text)}" if text.strip() else ""


def _compact(value: Any, field: str) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_ARGUMENTS else f"(see '{field}' of the same answer: too long to repeat here)"


def _quoted(text: str) -> str:
    """Mark every line as the person's words, so that nothing in them can pose as anything else; tabs stay."""
    lines = ("\t".join(map(visible, line.split("\t"))) for line in text.strip().splitlines())
    return "\n".join(f"> {line}" for line in lines)


def render_expiry(kind: Kind, name: str, waited: timedelta, then: OnExpiry) -> str:
    """Write what the model reads when the time for an answer has passed."""
    shown, time = shown_name(name), shown_duration(waited)
    is_call = kind is Kind.TOOL_CALL
    what = f"call of tool '{shown}'" if is_call else f"{kind.subject} '{shown}'"
    nothing = f"Nothing was {'written' if kind is Kind.SOURCE_FILE else 'executed' if is_call else 'used'}."
    match then:
        case "expire":
            return (
                f"No one answered your Blocked {what} within {time}. This is not a rejection: no person "
                f"has decided. {nothing} A late answer will be kept and offered."
            )
        case "reject":
            again = "try this call" if is_call else f"send this {kind.subject}"
            return (
                f"No one answered your Blocked {what} within {time}, so the tool's policy rejects it. "
                f"No person has said no. {nothing} Do not {again} again; stop, or take another way."
            )
