"""What the answer to one call may start from: saved replies, what worked before, and how it fills the form."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.contrib.auth.models import User
from django.http import QueryDict

from dashboard.call.call_history import CallHistory, editable
from retrycontract.contract.decisions import Decision
from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.json_text import read_json
from retrycontract.contract.patches import PatchError, apply_patch
from retrycontract.store.models import Attempt, Call, Mistake, SavedReply, StandingHint
from retrycontract.usecases.answers.reuse_answers import SuggestedGuidance, replies_of, suggest_guidance

SHOWN_REPLIES: Final = 20  # those with keys come first; the rest is in the settings


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Hold an answer that was given before, as it would be given to this call."""

    guidance: SuggestedGuidance
    arguments: str | None = None  # of corrections: written for this call's own output

    @property
    def is_correction(self) -> bool:
        """Tell whether it corrects the output itself."""
        return self.arguments is not None


@dataclass(frozen=True, slots=True)
class AtHand:
    """Hold what the form of an answer offers."""

    replies: tuple[SavedReply, ...] = ()
    hidden_replies: int = 0
    proposals: tuple[Suggestion, ...] = ()
    standing: StandingHint | None = None  # what agents are told already
    can_stand: bool = False

    def proposal(self, record_id: str) -> Suggestion | None:
        return next((one for one in self.proposals if str(one.guidance.id) == record_id), None)

    def reply(self, reply_id: str) -> SavedReply | None:
        return next((reply for reply in self.replies if str(reply.pk) == reply_id), None)


def read_at_hand(call: Call, attempt: Attempt | None, operator: User, *, now: datetime) -> AtHand:
    """Read what the operator may take for an answer to the mistake of a call's newest judged attempt."""
    replies, suggestions = replies_of(operator), list[Suggestion]()
    can_stand = attempt is not None and bool(attempt.fingerprint) and call.tool_id is not None
    for guidance in suggest_guidance(call):
        # What was tried and never worked is no suggestion; what nobody has tried yet may be one.
        if guidance.tried and not guidance.worked:
            continue
        if not guidance.decision.entry.takes_arguments:
            suggestions.append(Suggestion(guidance))
        # A file is sent whole, and a patch needs a document that was parsed.
        elif attempt is not None and attempt.is_parsed and call.kind != Kind.SOURCE_FILE:
            with suppress(PatchError):  # a correction that does not fit its output
                suggestions.append(Suggestion(guidance, editable(apply_patch(attempt.output, guidance.patch))))
    return AtHand(
        tuple(replies[:SHOWN_REPLIES]),
        max(len(replies) - SHOWN_REPLIES, 0),
        tuple(suggestions),
        StandingHint.objects.active(now).about(Mistake.of(call)).select_related("owner").first() if can_stand else None,
        can_stand,
    )


BUTTONS: Final = ("suggestion", "past", "reply", "pretty", "load")  # the names of the buttons that fill in the form


def is_asked(typed: QueryDict) -> bool:
    """Tell whether one of the buttons was pressed."""
    return any(name in typed for name in BUTTONS)


def filled(typed: QueryDict, story: CallHistory, at_hand: AtHand) -> QueryDict:
    """Return what was typed with what the pressed button stands for put in; nothing that was typed is lost."""
    filling = typed.copy()
    if "load" in typed:
        _correct(filling, story.editable_arguments)
    if "suggestion" in typed and story.suggested_arguments is not None:
        _correct(filling, story.suggested_arguments)
    if (proposal := at_hand.proposal(typed.get("past", ""))) is not None:
        if proposal.arguments is not None:
            _correct(filling, proposal.arguments)
        else:
            filling["decision"] = Decision.HINT
        _add(filling, proposal.guidance.text)
    if (reply := at_hand.reply(typed.get("reply", ""))) is not None:
        _add(filling, reply.text)
    if "pretty" in typed:
        value, fault = read_json(filling.get("arguments", ""))
        if fault is None:
            filling["arguments"] = editable(value)
    return filling


def _correct(filling: QueryDict, arguments: str) -> None:
    filling["decision"], filling["arguments"] = Decision.CORRECTED, arguments


def _add(filling: QueryDict, text: str) -> None:
    """Put words below those that stand there, once."""
    before = filling.get("text", "").replace("\r\n", "\n").rstrip()
    if text not in before:
        filling["text"] = f"{before}\n{text}" if before else text
