"""Answer calls that made the same mistake at once: each in a transaction of its own, and the first answer wins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from django.contrib.auth.models import User

from retrycontract.children.pool import ChildUnavailableError
from retrycontract.contract.decisions import Decision
from retrycontract.store.models import Attempt, Call, Claim, HeldAnswer, LostRaceError, Mistake
from retrycontract.usecases.answers.give_guidance import (
    AlreadyAnsweredError,
    OtherMistakeError,
    RefusedAnswerError,
)
from retrycontract.usecases.answers.send_answer import new_batch, send_answer

MOST: Final = 200  # calls of one go: some seconds of work


class Reason(StrEnum):
    """Name why a call was left."""

    ANSWERED = "answered"  # somebody was faster
    ENDED = "ended"  # without an answer: its agent got it right or gave up, or nobody answered in time
    CHANGED = "changed"  # its agent has made another mistake meanwhile
    REFUSED = "refused"  # the answer cannot be sent to this call: its arguments are not valid for it, say
    CLAIMED = "claimed"  # somebody else looks after it
    UNKNOWN = "unknown"  # there is no such call of this mistake


@dataclass(frozen=True, slots=True)
class LeftCall:
    """Say which call was left, and why."""

    public_id: str
    reason: Reason
    detail: str = ""


@dataclass(frozen=True, slots=True)
class GroupAnswer:
    """Say what was answered and what was not; `has_more` when calls of the mistake are still to be looked at."""

    answered: tuple[str, ...]
    left: tuple[LeftCall, ...]
    has_more: bool
    held: HeldAnswer | None = None  # one of them, while all can be taken back by their batch


Correct = Callable[[Attempt], Any]  # None where it has no correction for this one


def answer_group(
    mistake: Mistake,
    operator: User,
    decision: Decision,
    *,
    now: datetime,
    text: str = "",
    arguments: Any = None,
    grant: int = 0,
    only: Sequence[str] | None = None,
    most: int = MOST,
    correct: Correct | None = None,
    stands_days: int | None = None,
) -> GroupAnswer:
    """Give one answer to every Blocked call of a mistake, or to those whose ids are named, `most` at once.

    What somebody else has claimed is left to them. `correct` writes corrected arguments for each call from its own
    newest attempt, in the place of `arguments`; they are checked against the schema that the call is pinned to.
    """
    # One more than is answered: whether there is one tells whether calls are left.
    found = _calls(mistake, only, most + 1)
    calls = found[:most]
    claims = Claim.objects.of_others(operator.pk, now).filter(escalation__call__in=[call.pk for call in calls])
    taken = dict(claims.values_list("escalation__call_id", "operator__username"))
    batch = new_batch()
    answer = {"text": text, "arguments": arguments, "grant": grant, "batch": batch}
    answered: list[str] = []
    # When more were named than are answered at once, the rest is not judged.
    unknown = set(only or ()) - {call.public_id for call in calls} if len(calls) < most else ()
    left = [LeftCall(name, Reason.UNKNOWN) for name in sorted(unknown)]
    for call in calls:
        if call.pk in taken:
            left.append(LeftCall(call.public_id, Reason.CLAIMED, taken[call.pk]))
            continue
        # One of them carries what is told to the next agents: it is taken back with the rest.
        told = answer | {"stands_days": None if answered else stands_days}
        if (problem := _answer(call, mistake, operator, decision, now, told, correct)) is not None:
            left.append(problem)
        else:
            answered.append(call.public_id)
    is_held = HeldAnswer.objects.filter(batch=batch).first()
    return GroupAnswer(tuple(answered), tuple(left), has_more=len(found) > most, held=is_held)


def _answer(
    call: Call,
    mistake: Mistake,
    operator: User,
    decision: Decision,
    now: datetime,
    answer: dict[str, Any],
    correct: Correct | None,
) -> LeftCall | None:
    escalation = call.escalations.open().filter(held_answer__isnull=True).first()
    # First: whether a correction fits what was answered is no matter any more.
    if escalation is None:
        newest = call.escalations.order_by("-round").first()
        answered = _operator(AlreadyAnsweredError(newest)) if newest else ""
        if not answered and call.has_ended:
            return LeftCall(call.public_id, Reason.ENDED, call.state)
        return LeftCall(call.public_id, Reason.ANSWERED, answered)
    if correct is not None:
        base = call.attempts.filter(is_valid__isnull=False).order_by("-number").first()
        arguments = None if base is None else correct(base)
        if base is None or arguments is None:
            return LeftCall(call.public_id, Reason.REFUSED, "this correction does not fit what it sent")
        answer = answer | {"arguments": arguments, "base_number": base.number}
    try:
        send_answer(escalation, operator, decision, now=now, mistake=mistake.fingerprint, **answer)
    except AlreadyAnsweredError as error:
        return LeftCall(call.public_id, Reason.ANSWERED, _operator(error))
    except (OtherMistakeError, LostRaceError):
        return LeftCall(call.public_id, Reason.CHANGED)
    except RefusedAnswerError as error:
        return LeftCall(call.public_id, Reason.REFUSED, error.reason)
    except ChildUnavailableError as error:
        return LeftCall(call.public_id, Reason.REFUSED, str(error))
    return None


def _operator(error: AlreadyAnsweredError) -> str:
    return error.guidance.operator.get_username() if error.guidance else ""


def _calls(mistake: Mistake, only: Sequence[str] | None, size: int) -> list[Call]:
    """Find the calls; of those that are named, also what has changed since it was seen."""
    if only is None:
        return list(mistake.calls.select_related("agent")[:size])
    named = Call.objects.filter(
        public_id__in=set(only), agent__namespace=mistake.namespace, tool_name=mistake.tool_name
    )
    return list(named.order_by("blocked_at", "pk").select_related("agent")[:size])
