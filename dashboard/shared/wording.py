"""What the desk calls an output and what may be decided about it: the words fit the kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from retrycontract.contract.kinds import Kind
from retrycontract.contract.lifecycle import CallState, Decision


@dataclass(frozen=True, slots=True)
class OutputWords:
    """Name an output of one kind, and what its agent does with it."""

    noun: str  # what a person corrects
    whole: str  # what the agent sent
    these: str
    use: str
    used: str
    judge: str  # what an output may be too good for


WORDINGS: Final = {
    Kind.TOOL_CALL: OutputWords("arguments", "call", "these", "runs it", "executed", "schema"),
    Kind.AGENT_RESPONSE: OutputWords("response", "response", "this", "goes on with it", "used", "schema"),
    Kind.SOURCE_FILE: OutputWords("file", "file", "this", "writes it", "written", "check"),
    Kind.EXTRACTION: OutputWords("extraction", "extraction", "this", "goes on with it", "used", "schema"),
}


STATE_WORDS: Final = {
    CallState.GUIDED: "Waiting for agent",
    CallState.PENDING: "Being checked",
    CallState.RETRYING: "Agent retries",
}


def state_word(state: str) -> str:
    """Say what a state of a call means."""
    return STATE_WORDS.get(CallState(state), state.capitalize())


@dataclass(frozen=True, slots=True)
class DecisionChoice:
    """Offer one decision."""

    decision: Decision
    title: str
    what: str


def choices_for(kind: str) -> list[DecisionChoice]:
    """Offer what may be decided about an output of a kind; a file is sent whole, so nobody corrects it here."""
    words = WORDINGS[Kind(kind)]
    offered = [
        DecisionChoice(Decision.HINT, "Hint", f"Say what to change. The agent corrects its {words.whole} itself."),
        DecisionChoice(
            Decision.CORRECTED,
            f"Corrected {words.noun}",
            f"Write the {words.noun}. The agent sends exactly {words.these}.",
        ),
        DecisionChoice(
            Decision.ACCEPT,
            "Accept as is",
            f"The output is right, the {words.judge} too strict. The agent {words.use}.",
        ),
        DecisionChoice(Decision.REJECT, "Reject", f"Stop. Nothing is {words.used}, and the agent is told so."),
    ]
    return [choice for choice in offered if kind != Kind.SOURCE_FILE or choice.decision is not Decision.CORRECTED]
