"""One answer for many calls as values: the form, the calls to choose from, and what became of each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django import forms

from dashboard.inbox.groups import Row, rows_of
from dashboard.inbox.queue import read_claims, read_snoozes
from dashboard.shared.forms import GRANTS
from retrycontract.contract.decisions import DECISIONS, DEFAULT_GRANT, Decision
from retrycontract.store.models import Call, Mistake
from retrycontract.usecases.answers.answer_group import GroupAnswer, LeftCall, Reason

SHOWN: Final = 100  # calls of one page, and so of one go: two seconds of work
GROUP_DECISIONS: Final = [(name.value, entry.title, entry.group) for name, entry in DECISIONS.items() if entry.group]


class GroupForm(forms.Form):
    """Take one answer for many calls."""

    decision = forms.ChoiceField(choices=[choice[:2] for choice in GROUP_DECISIONS], initial=Decision.HINT.value)
    text = forms.CharField(required=False)
    grant = forms.ChoiceField(choices=GRANTS, initial=str(DEFAULT_GRANT), required=False)

    @property
    def answer(self) -> dict[str, Any]:
        """Give the answer as the use case takes it."""
        cleaned = self.cleaned_data
        return {
            "decision": Decision(cleaned["decision"]),
            "text": cleaned["text"].replace("\r\n", "\n"),
            "grant": int(cleaned["grant"] or DEFAULT_GRANT),
        }


@dataclass(frozen=True, slots=True)
class GroupMember:
    """Offer one call of the group."""

    row: Row
    is_chosen: bool
    is_taken: bool  # somebody else has it: it is left to them


@dataclass(frozen=True, slots=True)
class WaitingGroup:
    """Hold the calls that wait with one mistake, the longest waiting first, as far as they are shown."""

    choices: tuple[GroupMember, ...]
    has_more: bool

    @property
    def chosen(self) -> list[str]:
        """Name the calls that an answer would go to."""
        return [choice.row.call.public_id for choice in self.choices if choice.is_chosen]

    @property
    def first(self) -> Row | None:
        """Give the call that shows what is wrong with all, and that the preview is written for."""
        chosen = [choice.row for choice in self.choices if choice.is_chosen]
        return next(iter(chosen or [choice.row for choice in self.choices]), None)


@dataclass(frozen=True, slots=True)
class Report:
    """Say what was answered and what was not, and why."""

    answered: tuple[tuple[str, str], ...]  # id of the call, and its goal
    left: tuple[tuple[str, str, str], ...]  # the same, and why in words

    @classmethod
    def of(cls, result: GroupAnswer, goals: Mapping[str, str]) -> Report:
        """Put what the use case says into words; calls go by their goals where these are known."""
        return cls(
            tuple((name, goals.get(name, "")) for name in result.answered),
            tuple((call.public_id, goals.get(call.public_id, ""), _why(call)) for call in result.left),
        )


def read_waiting(
    mistake: Mistake, operator: int, *, now: datetime, only: Collection[str] | None = None
) -> WaitingGroup:
    """Read the calls to choose from: chosen is what `only` names, or without it all that is not put off."""
    calls = list(mistake.calls.select_related("agent")[: SHOWN + 1])
    shown = calls[:SHOWN]
    choices = []
    for row in rows_of(shown, read_claims(shown, now), read_snoozes(shown, now)):
        is_taken = row.claim is not None and row.claim.operator_id != operator
        is_named = row.snooze is None if only is None else row.call.public_id in only
        choices.append(GroupMember(row, is_named and not is_taken, is_taken))
    return WaitingGroup(tuple(choices), len(calls) > SHOWN)


def read_goals(public_ids: Collection[str]) -> dict[str, str]:
    """Read what the agents of some calls were trying to do, by the ids of the calls."""
    return {call.public_id: Row(call, ()).goal for call in Call.objects.filter(public_id__in=public_ids)}


def _why(call: LeftCall) -> str:
    match call.reason:
        case Reason.ANSWERED:
            return f"{call.detail} answered it first" if call.detail else "it was answered or ended meanwhile"
        case Reason.CHANGED:
            return "its agent has made another mistake meanwhile"
        case Reason.REFUSED:
            return call.detail
        case Reason.CLAIMED:
            return f"{call.detail} has it"
        case Reason.UNKNOWN:
            return "there is no such call with this mistake"
