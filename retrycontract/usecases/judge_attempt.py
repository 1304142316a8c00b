"""Judge a queued attempt: claim it with a lease, work without a transaction, finish fenced by the token."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from time import perf_counter_ns

from django.conf import settings

from retrycontract.contract.answer import examine
from retrycontract.contract.checks.findings import Findings
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.lifecycle import CallState
from retrycontract.store.models import Attempt, AttemptState, Call, Door, LostRaceError, Tool
from retrycontract.store.sealing import UnreadableError, unseal
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.contracts import compiled, sanitizer
from retrycontract.usecases.doorbell import ring_after_commit
from retrycontract.usecases.record_verdict import apply_verdict, fill_in, log_verdict, open_escalation

logger = logging.getLogger("retrycontract")

UNREADABLE = "the service could not read this submission again (its key was changed); send it again"
UNFINISHED = "the checker could not finish: its work on this output crashed or took too long"


def judge_attempt(attempt_id: int, *, clock: Callable[[], datetime]) -> bool:
    """Judge one attempt; False when somebody else has it, it is not its turn, or the lease was lost meanwhile."""
    now = clock()
    token = secrets.token_hex(16)
    until = now + timedelta(seconds=settings.RETRYCONTRACT.lease_seconds)
    attempt = Attempt.objects.claim(attempt_id, token=token, now=now, until=until)
    if attempt is None:
        return False
    if attempt.deliveries > settings.RETRYCONTRACT.max_deliveries:
        return _give_up(attempt, token, now)
    started = perf_counter_ns()
    findings, output = _examine(attempt)
    duration_us = (perf_counter_ns() - started) // 1000
    return _finish(attempt, token, findings, output, clock(), duration_us)


def _examine(attempt: Attempt) -> tuple[Findings, object]:
    call = attempt.call
    try:
        payload = unseal(attempt.sealed or b"")
    except UnreadableError:
        logger.warning("A queued submission cannot be decrypted: is an old encryption key missing?")
        return _failure(UNREADABLE), ""
    contract = compiled(call.tool, call.version) if call.tool and call.version else None
    findings = examine(
        payload["output"],
        contract,
        sanitizer(),
        tool_name=call.tool_name,
        known_tools=() if contract else Tool.objects.names(call.agent.namespace),
        finish_reason=payload["finish_reason"],
        callback_error=payload["callback_error"],
    )
    return findings, payload["output"]


def _finish(attempt: Attempt, token: str, findings: Findings, output: object, now: datetime, duration_us: int) -> bool:
    with write_transaction():
        try:
            call = _fenced_call(attempt, token)
        except LostRaceError:
            return False
        attempt.call = call
        contract = compiled(call.tool, call.version) if call.tool and call.version else None
        verdict = fill_in(attempt, findings, output, contract, now=now, duration_us=duration_us)
        apply_verdict(attempt, verdict, now=now, door=Door.WORKER)
        attempt.lease_until, attempt.lease_token = None, ""
        attempt.save()
        if verdict.opens_escalation:
            open_escalation(call, now=now, door=Door.WORKER)
        following = call.attempts.waiting().order_by("number").first()
        ring_after_commit(call_id=call.public_id, attempt_id=following.pk if following else None)
    log_verdict(attempt)
    return True


def _fenced_call(attempt: Attempt, token: str) -> Call:
    """Make sure that the lease is still ours, and read the call as it is now."""
    mine = Attempt.objects.filter(pk=attempt.pk, lease_token=token, state=AttemptState.LEASED)
    if not mine.update(state=AttemptState.LEASED):
        raise LostRaceError("the lease went to somebody else")
    call = Call.objects.select_related("agent", "tool", "version").get(pk=attempt.call_id)
    if CallState(call.state).has_ended:
        # Another attempt was valid, or the agent gave up: nothing is left to decide.
        Attempt.objects.filter(pk=attempt.pk).update(state=AttemptState.DISCARDED, sealed=None, lease_until=None)
        raise LostRaceError("the call has ended")
    return call


def _give_up(attempt: Attempt, token: str, now: datetime) -> bool:
    """Block the call of an attempt whose check crashes again and again, and keep its version from the door."""
    if attempt.call.version is not None:
        attempt.call.version.quarantine(now)
    logger.error("The checker could not finish; the tool's version is quarantined")
    with write_transaction():
        try:
            call = _fenced_call(attempt, token)
        except LostRaceError:
            return False
        attempt.call = call
        call.attempts_allowed = min(call.attempts_allowed, attempt.number)
        verdict = fill_in(attempt, _failure(UNFINISHED), "", None, now=now, duration_us=0)
        apply_verdict(attempt, verdict, now=now, door=Door.WORKER, attempts_allowed=call.attempts_allowed)
        attempt.state, attempt.lease_until, attempt.lease_token = AttemptState.DEAD, None, ""
        attempt.save()
        if verdict.opens_escalation:
            open_escalation(call, now=now, door=Door.WORKER)
        ring_after_commit(call_id=call.public_id)
    return True


def _failure(reason: str) -> Findings:
    code = ErrorCode.OBJECT_SCHEMA_VIOLATION
    return Findings((ValidationError(code, "", code.template.format(reason=reason), keyword="checker"),))
