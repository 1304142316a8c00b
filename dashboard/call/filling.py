"""Put what is at hand into what was typed; a person still looks at it and sends it."""

from __future__ import annotations

from typing import Final

from django.http import QueryDict

from dashboard.call.call_history import CallHistory, editable
from dashboard.call.suggestions import AtHand, Suggestion
from retrycontract.contract.decisions import Decision
from retrycontract.contract.outputs.json_text import read_json

BUTTONS: Final = ("suggestion", "past", "reply", "pretty")  # the names of the buttons that fill in the form


def is_asked(typed: QueryDict) -> bool:
    """Tell whether one of the buttons was pressed."""
    return any(name in typed for name in BUTTONS)


def filled(typed: QueryDict, story: CallHistory, at_hand: AtHand) -> QueryDict:
    """Return what was typed with what the pressed button stands for put in; nothing that was typed is lost."""
    filling = typed.copy()
    if "suggestion" in typed and story.suggested_arguments is not None:
        _correct(filling, story.suggested_arguments)
    if (proposal := at_hand.proposal(typed.get("past", ""))) is not None:
        _take_over(filling, proposal)
    if (reply := at_hand.reply(typed.get("reply", ""))) is not None:
        _add(filling, reply.text)
    if "pretty" in typed:
        _lay_out(filling)
    return filling


def _take_over(filling: QueryDict, proposal: Suggestion) -> None:
    if proposal.arguments is not None:
        _correct(filling, proposal.arguments)
    else:
        filling["decision"] = Decision.HINT
    _add(filling, proposal.guidance.text)


def _correct(filling: QueryDict, arguments: str) -> None:
    filling["decision"], filling["arguments"] = Decision.CORRECTED, arguments


def _add(filling: QueryDict, text: str) -> None:
    """Put words below those that stand there, once."""
    before = filling.get("text", "").replace("\r\n", "\n").rstrip()
    if text not in before:
        filling["text"] = f"{before}\n{text}" if before else text


def _lay_out(filling: QueryDict) -> None:
    """Write JSON over several lines; what cannot be written back as it was typed stays, and the check says why."""
    value, fault = read_json(filling.get("arguments", ""))
    if fault is None:
        filling["arguments"] = editable(value)
