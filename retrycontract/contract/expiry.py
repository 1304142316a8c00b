"""Say to an agent that nobody answered in time: honestly, for silence is no person's no."""

from __future__ import annotations

from datetime import timedelta

from retrycontract.contract.configuration import OnExpiry
from retrycontract.contract.durations import shown_duration
from retrycontract.contract.feedback_text import shown_name


def render_expiry(tool_name: str, waited: timedelta, then: OnExpiry) -> str:
    """Write what the model reads when the time for an answer has passed."""
    name, time = shown_name(tool_name), shown_duration(waited)
    match then:
        case "expire":
            return (
                f"No one answered your Blocked call of tool '{name}' within {time}. This is not a rejection: no person "
                "has decided. Nothing was executed. A late answer will be kept and offered."
            )
        case "reject":
            return (
                f"No one answered your Blocked call of tool '{name}' within {time}, so the tool's policy rejects it. "
                "No person has said no. Nothing was executed. Do not try this call again; stop, or take another way."
            )
