"""The kinds of output that have a contract, and how a model came to one: what it read and said, and what that took."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # a client needs the limits alone, and the sanitiser's tables are slow to import
    from retrycontract.contract.redaction.sanitizer import ValueSanitizer


class Kind(StrEnum):
    """Name the kinds of output that have a contract."""

    TOOL_CALL = "tool_call"
    AGENT_RESPONSE = "agent_response"
    SOURCE_FILE = "source_file"
    EXTRACTION = "extraction"

    @property
    def subject(self) -> str:
        """Say what the feedback calls it."""
        return SUBJECTS[self]


SUBJECTS = {
    Kind.TOOL_CALL: "tool",
    Kind.AGENT_RESPONSE: "response",
    Kind.SOURCE_FILE: "file",
    Kind.EXTRACTION: "extraction",
}


MAX_MODEL: Final = 200  # characters of a model's name
MAX_WORDS: Final = 50_000  # characters kept of what a model read, and of what it said: a page shows them whole
MAX_TOKENS: Final = 2**31 - 1  # as the databases' integer has it


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """Say how an output came about, as far as the agent tells it; the contract judges nothing of this.

    `prompt` is the text that the model read before this attempt, `said` its own words, `seconds` the time that the
    model took, `finish_reason` the provider's word for why it ended.
    """

    model: str | None = None
    prompt: str | None = None
    said: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    seconds: float | None = None
    finish_reason: str | None = None

    def kept_by(self, sanitizer: ValueSanitizer) -> Generation:
        """Give it as it may be stored: its texts without secrets, and shortened in the middle."""
        return replace(self, prompt=_kept(self.prompt, sanitizer), said=_kept(self.said, sanitizer))


UNTOLD: Final = Generation()


def _kept(text: str | None, sanitizer: ValueSanitizer) -> str | None:
    return None if text is None else sanitizer.redact_ends(text, MAX_WORDS)
