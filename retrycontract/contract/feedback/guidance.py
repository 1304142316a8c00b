"""Write an operator's answer as the agent will read it: the only text that reaches a model as instruction."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from retrycontract.contract.feedback.feedback_text import STANDING_LEAD, shown_name
from retrycontract.contract.kinds import Kind
from retrycontract.contract.lifecycle import Budget, Decision
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


@dataclass(frozen=True, slots=True)
class Wording:
    """Say what an answer says of one kind of output; `{name}` and `{attempt}` are filled in."""

    answered: str
    try_again: str
    corrected: str
    them: str
    these: str
    send_now: str
    accepted: str
    use: str
    rejected: str
    stop: str

    def about(self, name: str, attempt: int) -> Wording:
        """Fill in what is answered."""
        filled = {part: words.format(name=name, attempt=attempt) for part, words in asdict(self).items()}
        return Wording(**filled)


TOOL_CALL = Wording(
    answered="A person answered your Blocked call of tool '{name}'",
    try_again="Nothing was executed so far. Correct the arguments and call the tool again",
    corrected="A person corrected the arguments of your Blocked call of tool '{name}'.",
    them="them",
    these="these",
    send_now="They replace your earlier call, which was not executed: do not send that one again. "
    "Call the tool with the corrected arguments now",
    accepted="A person accepted your arguments of attempt {attempt} for tool '{name}' as they are",
    use="Run the tool with exactly those arguments.",
    rejected="A person rejected your call of tool '{name}'",
    stop="Nothing was executed. Do not try this call again; stop, or take another way.",
)


def _wording_of_output(noun: str, used: str) -> Wording:
    return Wording(
        answered=f"A person answered your Blocked {noun} '{{name}}'",
        try_again=f"Nothing was {used} so far. Correct the {noun} and send all of it again",
        corrected=f"A person corrected your Blocked {noun} '{{name}}'.",
        them="it",
        these="this",
        send_now=f"It replaces your earlier {noun}, which was not {used}: do not send that one again. "
        f"Send the corrected {noun} now",
        accepted=f"A person accepted your {noun} '{{name}}' of attempt {{attempt}} as it is",
        use=f"Go on with exactly that {noun}.",
        rejected=f"A person rejected your {noun} '{{name}}'",
        stop=f"Nothing was {used}. Do not send this {noun} again; stop, or take another way.",
    )


WORDINGS = {
    Kind.TOOL_CALL: TOOL_CALL,
    Kind.AGENT_RESPONSE: _wording_of_output("response", "used"),
    Kind.SOURCE_FILE: _wording_of_output("file", "written"),
    Kind.EXTRACTION: _wording_of_output("extraction", "used"),
}


def render_guidance(answer: Answer, *, kind: Kind, tool_name: str, budget: Budget, base_attempt: int) -> str:
    """Write the text; `budget` is the call's before the grant, `base_attempt` the submission that is answered."""
    words = WORDINGS[kind].about(shown_name(tool_name), base_attempt)
    attempts = _attempts(budget.granted(answer.grant))
    match answer.decision:
        case Decision.HINT:
            parts = [_said(words.answered, answer.text), f"{words.try_again}: {attempts}."]
        case Decision.CORRECTED:
            parts = [words.corrected, _correction(answer, words)]
            parts += [_quoted(answer.text)] if answer.text else []
            parts.append(f"{words.send_now}: {attempts}.")
        case Decision.ACCEPT:
            parts = [_said(words.accepted, answer.text), words.use]
        case Decision.REJECT:
            parts = [_said(words.rejected, answer.text), words.stop]
    return "\n\n".join(parts)


def standing_words(text: str) -> str:
    """Write a person's words for everybody who makes the same mistake; they join the feedback."""
    return f"{STANDING_LEAD}\n{_quoted(text)}"


def _attempts(budget: Budget) -> str:
    number = budget.made + 1
    left = budget.allowed - budget.made
    return f"this is attempt {number}/{budget.allowed}" + (f", {left} are left" if left > 1 else "")


def _correction(answer: Answer, words: Wording) -> str:
    if answer.patch is not None:
        return f"Apply this JSON Patch to {words.them}:\n{_compact(answer.patch)}"
    return f"Send exactly {words.these}:\n{_compact(answer.arguments)}"


def _compact(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_ARGUMENTS else "(see the field of the same answer: too long to repeat here)"


def _said(what: str, text: str) -> str:
    return f"{what}:\n\n{_quoted(text)}" if text.strip() else f"{what}."


def _quoted(text: str) -> str:
    """Mark every line as the person's words, so that nothing in them can pose as anything else."""
    return "\n".join(f"> {visible(line)}" for line in text.strip().splitlines())
