"""Send an operator's answer: held at the desk for some seconds, so that it can be taken back, then given."""

from __future__ import annotations

import logging
import secrets
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.models import User

from retrycontract.children.pool import ChildUnavailableError
from retrycontract.contract.decisions import Decision
from retrycontract.store.models import Call, Escalation, Guidance, HeldAnswer, LostRaceError
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.answers.give_guidance import (
    AlreadyAnsweredError,
    OtherMistakeError,
    RefusedAnswerError,
    draft_guidance,
    give_guidance,
)
from retrycontract.usecases.answers.reuse_answers import UnusableHintError, set_hint_from
from retrycontract.usecases.notify.doorbell import ring_after_commit

logger = logging.getLogger("retrycontract")

BATCH: Final = 50  # held answers that one sweep sends, in one to two seconds: the next one sees what is due since


def new_batch() -> str:
    """Name what one press sends."""
    return secrets.token_hex(12)


def send_answer(
    escalation: Escalation,
    operator: User,
    decision: Decision,
    *,
    now: datetime,
    batch: str = "",
    stands_days: int | None = None,
    mistake: str | None = None,
    **answer: Any,
) -> HeldAnswer | Guidance:
    """Hold an answer, or give it at once where nothing is held; raises as `give_guidance` does.

    `answer` is what `draft_guidance` takes. `stands_days` tells it to the next agents, too, once it is given.
    """
    hold = timedelta(seconds=settings.RETRYCONTRACT.answer_hold_seconds)
    if not hold:
        given = give_guidance(escalation, operator, decision, now=now, mistake=mistake, **answer)
        _let_stand(given, operator, stands_days, now=now)
        return given
    call = Call.objects.select_related("agent", "tool", "version").get(pk=escalation.call_id)
    if mistake not in (None, call.fingerprint):
        raise OtherMistakeError(f"{call} has made another mistake meanwhile")
    # Before the transaction: corrected arguments may be checked in a child process, for seconds.
    draft = draft_guidance(call, decision, **answer)
    with write_transaction():
        locked = Call.objects.select_for_update().get(pk=call.pk)
        if mistake not in (None, locked.fingerprint):  # it came between the two reads
            raise OtherMistakeError(f"{call} has made another mistake meanwhile")
        is_open = Escalation.objects.answerable().filter(pk=escalation.pk, held_answer__isnull=True).exists()
        if not is_open:
            escalation.refresh_from_db()
            raise AlreadyAnsweredError(escalation)
        held = HeldAnswer.objects.create(
            escalation=escalation,
            call=call,
            operator=operator,
            batch=batch or new_batch(),
            decision=decision,
            text=draft.answer.text,
            # As they were typed: the draft has made sure that they hold no secret.
            arguments=answer.get("arguments"),
            grant=answer.get("grant", 0),
            # What the agent tries until it is sent does not make it another answer: without the hold it would have
            # been given by then.
            base_number=draft.base.number,
            stands_days=stands_days,
            rendered=draft.rendered,
            held_at=now,
            send_at=now + hold,
        )
        ring_after_commit(call=call)  # other desks see at once that it is answered
    return held


def take_back(batch: str, operator: User) -> list[HeldAnswer]:
    """Take back what the operator sent by one press and no agent has seen; empty when it was too late.

    What can no longer be given goes, too: its operator has seen the words and puts them away.
    """
    with write_transaction():
        mine = HeldAnswer.objects.select_related("call", "escalation").select_for_update(of=("self",))
        held = list(mine.filter(batch=batch, operator=operator))
        # Deleting decides: what the sweep deleted first was given.
        taken = [answer for answer in held if HeldAnswer.objects.filter(pk=answer.pk).delete()[0]]
        for answer in taken:
            ring_after_commit(call=answer.call)
    return taken


def send_held(*, now: datetime) -> int:
    """Give the answers whose hold is over; returns how many.

    What cannot be given any more stays, so that its operator sees it with the words: the agent got it right itself
    meanwhile, say.
    """
    due = HeldAnswer.objects.due(now).select_related("escalation", "operator", "call")
    number = 0
    for held in due.first_of_each_press()[:BATCH]:
        try:
            given = give_guidance(
                held.escalation, held.operator, Decision(held.decision), now=now, text=held.text,
                arguments=held.arguments, grant=held.grant, base_number=held.base_number, held=held,
            )  # fmt: skip
        except LostRaceError:
            continue  # its agent keeps trying: the next sweep looks again
        except AlreadyAnsweredError:
            continue  # it was taken back, or its request ended, at this moment
        except ChildUnavailableError as error:  # it stays as it is: the next sweep tries again
            logger.warning(
                "A held answer of %s to %s cannot be checked at the moment: %s", held.operator, held.call, error
            )
            continue
        except RefusedAnswerError as error:  # the service was set otherwise since it was sent
            held.put_off(now)
            logger.warning("A held answer of %s to %s is refused now: %s", held.operator, held.call, error)
            continue
        _let_stand(given, held.operator, held.stands_days, now=now)
        number += 1
    return number


def _let_stand(given: Guidance, owner: User, days: int | None, *, now: datetime) -> None:
    """Tell the next agents, too; the answer is given whatever becomes of this."""
    if days is None:
        return
    try:
        set_hint_from(given, owner, now=now, expires_at=now + timedelta(days=days))
    except (UnusableHintError, LostRaceError) as error:
        logger.warning("An answer does not stand for the next agents: %s", error)
