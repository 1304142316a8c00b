"""What the desk calls an output and what may be decided about it: the words fit the kind."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final

from retrycontract.contract.decisions import DECISIONS, Decision
from retrycontract.contract.kinds import Kind
from retrycontract.contract.lifecycle import CallState


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
    """Offer what may be decided about an output of a kind."""
    words = asdict(WORDINGS[Kind(kind)])
    return [
        DecisionChoice(decision, entry.title.format(**words), entry.what.format(**words))
        for decision, entry in DECISIONS.items()
        if kind not in entry.not_of
    ]


def given_word(decision: str, kind: str) -> str:
    """Name an answer that was given."""
    return Decision(decision).entry.given.format(**asdict(WORDINGS[Kind(kind)]))
