"""Write an operator's answer as the agent will read it: the only text that reaches a model as instruction."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from retrycontract.contract.feedback_text import STANDING_LEAD, shown_name
from retrycontract.contract.lifecycle import Budget, Decision
from retrycontract.contract.sanitizer import visible

MAX_TEXT = 4000  # characters of an operator's words
MAX_STANDING = 600  # characters of words that join a feedback: the errors need room, too
MAX_ARGUMENTS = 4000  # characters of corrected arguments that are written out; more goes in its own field only
REPLACED = "They replace your earlier call, which was not executed: do not send that one again."


@dataclass(frozen=True, slots=True)
class Answer:
    """Hold an operator's decision: the words, and corrected arguments whole or as a patch."""

    decision: Decision
    text: str = ""
    arguments: Any = None
    patch: list[dict[str, Any]] | None = None
    grant: int = 0


def render_guidance(answer: Answer, *, tool_name: str, budget: Budget, base_attempt: int) -> str:
    """Write the text; `budget` is the call's before the grant, `base_attempt` the submission that is answered."""
    name = shown_name(tool_name)
    granted = budget.granted(answer.grant)
    match answer.decision:
        case Decision.HINT:
            parts = [
                _said(f"A person answered your Blocked call of tool '{name}'", answer.text),
                f"Nothing was executed so far. Correct the arguments and call the tool again: {_attempts(granted)}.",
            ]
        case Decision.CORRECTED:
            parts = [f"A person corrected the arguments of your Blocked call of tool '{name}'.", _correction(answer)]
            parts += [_quoted(answer.text)] if answer.text else []
            parts.append(f"{REPLACED} Call the tool with the corrected arguments now: {_attempts(granted)}.")
        case Decision.ACCEPT:
            parts = [
                _said(
                    f"A person accepted your arguments of attempt {base_attempt} for tool '{name}' as they are",
                    answer.text,
                ),
                "Run the tool with exactly those arguments.",
            ]
        case Decision.REJECT:
            parts = [
                _said(f"A person rejected your call of tool '{name}'", answer.text),
                "Nothing was executed. Do not try this call again; stop, or take another way.",
            ]
    return "\n\n".join(parts)


def standing_words(text: str) -> str:
    """Write a person's words for everybody who makes the same mistake; they join the feedback."""
    return f"{STANDING_LEAD}\n{_quoted(text)}"


def _attempts(budget: Budget) -> str:
    number = budget.made + 1
    left = budget.allowed - budget.made
    return f"this is attempt {number}/{budget.allowed}" + (f", {left} are left" if left > 1 else "")


def _correction(answer: Answer) -> str:
    if answer.patch is not None:
        return f"Apply this JSON Patch to them:\n{_compact(answer.patch)}"
    return f"Send exactly these:\n{_compact(answer.arguments)}"


def _compact(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_ARGUMENTS else "(see the field of the same answer: too long to repeat here)"


def _said(what: str, text: str) -> str:
    return f"{what}:\n\n{_quoted(text)}" if text.strip() else f"{what}."


def _quoted(text: str) -> str:
    """Mark every line as the person's words, so that nothing in them can pose as anything else."""
    return "\n".join(f"> {visible(line)}" for line in text.strip().splitlines())
