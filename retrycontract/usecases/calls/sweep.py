"""Pick up what was left behind: waiting attempts, leases of dead workers, old claims, calls past their retention."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby, islice
from threading import Semaphore
from time import monotonic
from typing import Any, Final

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import QuerySet, TextField
from django.db.models.functions import Substr

from retrycontract.config.logs import forget
from retrycontract.config.telemetry import is_on
from retrycontract.contract.lifecycle import CallState
from retrycontract.contract.webhooks import WebhookEvent
from retrycontract.store import call_texts
from retrycontract.store.history import forgetting
from retrycontract.store.models import (
    AnswerRecord,
    Attempt,
    AttemptState,
    Call,
    Claim,
    Door,
    Escalation,
    EscalationState,
    Event,
    Guidance,
    LostRaceError,
    OutboxMessage,
    Snooze,
)
from retrycontract.store.models.attempts import WAITING
from retrycontract.store.outages import outage
from retrycontract.store.transactions import LONGEST_SWEEP, in_batches, write_transaction
from retrycontract.usecases.calls.judge_attempt import judge_attempt, judge_leased, lease_attempts
from retrycontract.usecases.calls.tell_step import tell_step
from retrycontract.usecases.counts.keep_count import count_end, goes_first
from retrycontract.usecases.notify.doorbell import ring_after_commit
from retrycontract.usecases.notify.tend_endpoint import tell_endpoints
from retrycontract.usecases.tools.contracts import on_expiry

BATCH = 200  # rows of each kind that are taken at once


def judge_waiting(
    *,
    clock: Callable[[], datetime],
    dear: bool | None = None,
    is_ending: Callable[[], bool] = lambda: False,
    places: Semaphore | None = None,
) -> int:
    """Judge every attempt that may be claimed now; returns how many were judged here.

    With `dear` only those are that wait for a child process, or only the others. None is begun once `is_ending`. Of the
    dear ones of agents that owe much, only as many are in hand as there are `places`: who owes little goes past them.
    """
    judged = 0
    while waiting := WAITING[dear].tuples(now=clock()):
        done = 0
        # After a dear one everything is looked at anew, since it took its time.
        for ids, is_dear, is_long in _leases(sorted(waiting)):
            if is_ending():
                return judged + done
            with _place(places if is_long else None) as has_place:
                if has_place:
                    alone = len(ids) == 1
                    done += judge_or_leave(ids[0], clock=clock, dear=dear) if alone else _judge_together(ids, clock)
            if done and is_dear:
                break
        judged += done
        if not done:  # others are faster, or these wait for a lease to run out
            break
    return judged


@contextmanager
def _place(places: Semaphore | None) -> Iterator[bool]:
    """Hold one of the places, if there is one: who holds it looks anew afterwards, so that nobody need wait for it."""
    has_place = places is None or places.acquire(blocking=False)
    try:
        yield has_place
    finally:
        if places is not None and has_place:
            places.release()


def _leases(waiting: Sequence[tuple[Any, ...]]) -> Iterator[tuple[Sequence[int], bool, bool]]:
    """Give what is leased at once, whether it is dear, and whether it takes long or its agent owes much.

    Quick ones that come the first time are leased together, others alone.

    Whose checks took least comes first; of those that are leased together each agent's first comes before any second.
    """
    for is_alone, group in groupby(waiting, lambda row: row[2] or row[3] != AttemptState.QUEUED):
        if is_alone:
            for work_until, attempt_id, is_dear, *_, submitted_at in group:
                yield [attempt_id], is_dear, is_dear and not goes_first(work_until, submitted_at)
            continue
        before: Counter[int] = Counter()
        turns = []
        for place, (_, attempt_id, _, _, agent_id, _) in enumerate(group):
            turns.append((before[agent_id], place, attempt_id))
            before[agent_id] += 1
        ids = [attempt_id for *_, attempt_id in sorted(turns)]
        most = settings.RETRYCONTRACT.lease_attempts
        yield from ((ids[at : at + most], False, False) for at in range(0, len(ids), most))


def _judge_together(ids: Sequence[int], clock: Callable[[], datetime]) -> int:
    judged = 0
    token, leased = lease_attempts(ids, now=clock())
    for attempt in leased:
        done = _or_leave(partial(judge_leased, attempt, token, clock(), clock=clock))
        if not done:  # of a crash that left this process alive it is known whose it was
            _or_leave(partial(attempt.count_delivery, token))
        judged += done
    return judged


def judge_or_leave(attempt_id: int, *, clock: Callable[[], datetime], dear: bool | None) -> bool:
    """Judge one attempt, or leave it to its lease when the check crashes, which must not keep others waiting."""
    return _or_leave(partial(judge_attempt, attempt_id, clock=clock, dear=dear))


def _or_leave(judge: Callable[[], bool]) -> bool:
    try:
        return judge()
    except Exception as error:  # noqa: BLE001 - it is logged there
        outage.failed(error, "An attempt could not be judged; it is tried again when its lease has run out")
        return False
    finally:
        # The ids of this attempt must not stand in what the thread logs of the next one.
        forget()


def expire_overdue(*, now: datetime) -> int:
    """End the Blocked calls that nobody answered in time; returns how many.

    A late answer reopens an expired call; one that its tool's policy rejects is over.
    """
    overdue = Call.objects.overdue(now).select_related("agent", "tool")[:BATCH]
    return sum(_is_expired(call, now) for call in overdue)


def _is_expired(call: Call, now: datetime) -> bool:
    then = on_expiry(call.tool, call.tool_name)
    try:
        with write_transaction():
            call.move(CallState.REJECTED if then == "reject" else CallState.EXPIRED, now)
            call.attempts.discard()
            Escalation.objects.close(call, EscalationState.EXPIRED, now)
            event = Event.record(
                "call.expired", call=call, actor="sweep", door=Door.WORKER, at=now, from_state=CallState.BLOCKED,
                on_expiry=then,
            )  # fmt: skip
            count_end(call, source=CallState.BLOCKED, now=event.at)
            tell_endpoints(WebhookEvent.CALL_EXPIRED, call, now=event.at, on_expiry=then)
            ring_after_commit(call=call)
    except LostRaceError:
        return False  # answered this moment
    waited = call.escalations.filter(closed_at=now).first() if is_on() else None
    if waited is not None:
        last = call.attempts.order_by("-number").first()
        tell_step("wait_for_person", call, last, start=waited.opened_at, end=now, error="expired")
    return True


def tidy_queue(*, now: datetime) -> int:
    """Clear away what ran out, with an event for each claim and snooze that was still open; returns how many.

    Whoever reads looks at the times themselves: nothing waits for this.
    """
    # Django leaves sessions that ended in its table until somebody runs `clearsessions`.
    if (ended := Session.objects.filter(expire_date__lt=now)).exists():  # also those of log-ins that nobody finished
        ended.delete()
    return _clear(Claim.objects.run_out(now), "claim.expired", now) + _clear(
        Snooze.objects.run_out(now), "call.woken", now
    )


def forget_answers(*, now: datetime) -> int:
    """Forget a batch of the records of answers that nobody gave for as long as history is kept; returns how many."""
    days: float = settings.RETRYCONTRACT.retention_days
    old = AnswerRecord.objects.filter(last_given_at__lt=now - timedelta(days=days)).order_by("last_given_at", "pk")
    if not days or not old.exists():
        return 0
    with write_transaction():
        chosen = list(old.values_list("pk", flat=True)[:BATCH])
        AnswerRecord.objects.filter(pk__in=chosen).delete()
    return len(chosen)


def _clear(run_out: QuerySet[Any], event: str, now: datetime) -> int:
    if not run_out.exists():  # looking costs no lock
        return 0
    with write_transaction():
        # What is renewed or taken over at this moment is locked by whoever does it, and left to them.
        locked = run_out.select_for_update(of=("self", "escalation__call"), skip_locked=True)
        rows = list(locked.select_related("escalation__call", "operator")[:BATCH])
        for row in rows:
            if row.escalation.state == EscalationState.OPEN:
                Event.record(
                    event,
                    call=row.escalation.call,
                    actor="sweep",
                    door=Door.WORKER,
                    at=now,
                    operator=row.operator.get_username(),
                )
        # By their keys: asked again, the query could find more, of which no event was written.
        run_out.model._default_manager.filter(pk__in=[row.pk for row in rows]).delete()
    return len(rows)


FORGOTTEN_AT_ONCE: Final = 200  # calls or messages of one transaction


def forget_calls(*, now: datetime, clock: Callable[[], float] = monotonic) -> int:
    """Forget what is older than the retention; returns how many calls, or messages where these were more.

    A call that is open stays. The events of a call go with it: this is the one way by which events are deleted, and
    each batch leaves one.
    """
    return in_batches(partial(_forget_batch, now), most=FORGOTTEN_AT_ONCE, clock=clock)


INDEXED_AT_ONCE: Final = 500  # calls that are read together
WRITTEN_AT_ONCE: Final = 50  # calls of one transaction: every other writer waits for it
LOOKED_AT_AGAIN: Final = 500  # of the newest, and of the newest Blocked: they may have failed again


def index_calls(*, clock: Callable[[], float] = monotonic) -> int:
    """Take the words of new calls, and of Blocked ones that failed again, to be searched; returns how many calls."""
    # By the sweep and not by a migration: what it holds is made from what is stored, so it may be thrown away at any
    # time.
    if not call_texts.is_there():
        with write_transaction():
            call_texts.prepare()
    end, calls = clock() + LONGEST_SWEEP, 0
    while indexed := _index_batch():
        calls += indexed
        if indexed < INDEXED_AT_ONCE or clock() >= end:
            break
    return calls


def _index_batch() -> int:
    last = call_texts.newest()
    new = Call.objects.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:INDEXED_AT_ONCE]
    # What a transaction of then made visible later has a smaller key: the last keys are looked at again.
    made, known = ("pk", "attempts_made"), Call.objects.filter(pk__lte=last)
    again = {*known.order_by("-pk").values_list(*made)[:LOOKED_AT_AGAIN],
             *known.blocked().order_by("-blocked_at").values_list(*made)[:LOOKED_AT_AGAIN]}  # fmt: skip
    indexed = call_texts.attempts_of([key for key, _ in again])
    keys = [*new, *(key for key, number in again if indexed.get(key, 0) < number)]
    if not keys:
        return 0
    calls = list(Call.objects.filter(pk__in=keys).order_by("pk"))
    # Cut by the database: read whole, the outputs of so many calls would take hundreds of megabytes.
    begins = Substr("output", 1, call_texts.MOST_READ, output_field=TextField())
    outputs = dict(Attempt.objects.newest_judged(calls).annotate(begins=begins).values_list("call_id", "begins"))
    rows = []
    for call in calls:
        # What the agent was trying to do, and the values that it sent: what is stored is redacted.
        context = call.context if isinstance(call.context, dict) else {}
        told = [str(context[name]) for name in ("goal", "last_user_message") if isinstance(context.get(name), str)]
        values = islice(call_texts.values_in(outputs.get(call.pk) or ""), call_texts.MOST_WORDS)
        rows.append((call.pk, call_texts.words_of(*told, *values), call.attempts_made))
    # In the order of their keys: the sweep goes on behind the last one that is there.
    for at in range(0, len(rows), WRITTEN_AT_ONCE):
        with write_transaction():
            call_texts.write(rows[at : at + WRITTEN_AT_ONCE])
    return len(calls)


def _forget_batch(now: datetime, most: int) -> int:
    days: float = settings.RETRYCONTRACT.retention_days
    if not days:
        return 0
    before = now - timedelta(days=days)
    # Asked outside of a transaction, which on SQLite would take the lock of all writers with each sweep.
    if not Call.objects.ended_before(before).exists() and not OutboxMessage.objects.ended_before(before).exists():
        return 0
    with write_transaction():
        chosen = list(
            OutboxMessage.objects.ended_before(before).order_by("created_at").values_list("pk", flat=True)[:most]
        )
        OutboxMessage.objects.filter(pk__in=chosen).only("pk").delete()
        messages = len(chosen)
        # Locked: a late answer may reopen a call that expired.
        # In no order, since that of the model would have all that ended sorted for each batch. What another worker
        # is forgetting is left to it.
        old = Call.objects.ended_before(before).order_by().select_for_update(of=("self",), skip_locked=True)
        calls = list(old.values_list("pk", flat=True)[:most])
        if call_texts.is_there():
            call_texts.forget(calls)
        counts = _delete_calls(calls) | {"before": before.isoformat()} if calls else {}
        Event.record(
            "history.forgotten", actor="sweep", door=Door.WORKER, at=now, calls=len(calls), messages=messages, **counts
        )
    return max(len(calls), messages)


def _delete_calls(calls: list[int]) -> dict[str, Any]:
    """Delete calls, what refers to others first; what hangs on escalations and attempts goes with them."""
    # By their keys: Django reads what it deletes, and outputs have megabytes.
    with forgetting():
        events = Event.objects.forget(calls)
        _, with_guidance = Guidance.objects.filter(call__in=calls).only("pk").delete()
        Escalation.objects.filter(call__in=calls).only("pk").delete()
        _, with_attempts = Attempt.objects.filter(call__in=calls).only("pk").delete()
    # Triggers guard what happened to calls, not the calls themselves, so this needs no leave to forget.
    Call.objects.filter(pk__in=calls).only("pk").delete()
    return {
        "attempts": with_attempts.get(Attempt._meta.label, 0),
        "guidance": with_guidance.get(Guidance._meta.label, 0),
        "events": events,
    }
