"""Say to an agent that nobody answered in time: honestly, for silence is no person's no."""

from __future__ import annotations

from datetime import timedelta

from retrycontract.contract.configuration import OnExpiry
from retrycontract.contract.durations import shown_duration
from retrycontract.contract.feedback.feedback_text import shown_name
from retrycontract.contract.kinds import Kind


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
