"""The kinds of output that have a contract."""

from __future__ import annotations

from enum import StrEnum


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
