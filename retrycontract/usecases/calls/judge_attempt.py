"""Judge a queued attempt: claim it with a lease, work without a transaction, finish fenced by the token."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection

from retrycontract.children.pool import ChildUnavailableError
from retrycontract.config.logs import follow
from retrycontract.contract.checks.failure import Findings
from retrycontract.contract.checks.tool_arguments import unfinished_check
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.feedback.answer import Examined
from retrycontract.contract.feedback.feedback_forms import PLAIN, FeedbackForm, FeedbackOptions
from retrycontract.contract.json_types import WrittenJSON, write_json
from retrycontract.contract.lifecycle import CallState, Move, Status
from retrycontract.contract.schemas.document import InvalidSchema
from retrycontract.store.models import Attempt, AttemptState, Call, Door, Event, Tool
from retrycontract.store.models.attempts import CALL_TO_DECIDE, LEASED_BY, NEXT_DEAR, NEXT_WAITING
from retrycontract.store.sealing import UnreadableError, unseal_apart
from retrycontract.store.statements import rewrite
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.calls.check_output import Checked, Submitted, check_apart, check_here
from retrycontract.usecases.calls.record_verdict import (
    StoredOutput,
    apply_verdict,
    fill_in,
    log_verdict,
    open_escalation,
)
from retrycontract.usecases.counts.keep_count import charge, goes_first, note_work
from retrycontract.usecases.notify.doorbell import ring_after_commit
from retrycontract.usecases.tools.contracts import pinned, sanitizer

logger = logging.getLogger("retrycontract")

UNREADABLE = "The service could not read this submission again (its key was changed), so it was not judged"
SEND_AGAIN = "send the same arguments again"
REFUSED = "The tool's schema is refused by this release, so nothing can be judged by it"
REGISTER_AGAIN = "the tool has to be registered with another schema"
UNFINISHED = "The checker could not finish: its work on this output crashed or took too long"


def judge_attempt(attempt_id: int, *, clock: Callable[[], datetime], dear: bool | None = None) -> bool:
    """Judge one attempt; False when somebody else has it, it is not its turn, or the lease was lost meanwhile.

    With `dear` also when it is dear and must not be, or is not.
    """
    now = clock()
    lease = _new_lease(now)
    attempt = Attempt.claim(attempt_id, dear=dear, **lease)
    if attempt is None:
        return False
    claimed = attempt.deliveries
    try:
        return judge_leased(attempt, lease["token"], now, clock=clock)
    except ChildUnavailableError:  # which is not the output's doing
        raise
    except Exception:
        if attempt.is_dear and attempt.deliveries == claimed:
            attempt.count_delivery(lease["token"])
        raise


def lease_attempts(ids: Sequence[int], *, now: datetime) -> tuple[str, list[Attempt]]:
    """Lease those of several quick attempts that nobody has yet, to be judged in turn; gives the lease's token, too."""
    lease = _new_lease(now)
    return lease["token"], Attempt.lease(ids, most=settings.RETRYCONTRACT.lease_attempts, **lease)


def _new_lease(now: datetime) -> dict[str, Any]:
    # A lease that runs out stops nobody: a worker that stalled comes back and finishes. The token tells it from the
    # worker that took the attempt over meanwhile.
    until = now + timedelta(seconds=settings.RETRYCONTRACT.lease_seconds)
    return {"token": secrets.token_hex(16), "now": now, "until": until}


def judge_leased(attempt: Attempt, token: str, now: datetime, *, clock: Callable[[], datetime]) -> bool:
    """Judge an attempt that was leased with a token; False when the lease was lost meanwhile."""
    follow(
        attempt_id=attempt.pk,
        call_id=attempt.call.public_id,
        correlation_id=attempt.call.correlation_id,
        traceparent=attempt.traceparent,
    )
    # The claim has counted this delivery already, unless it is a dear one's: so one more than the limit means that the
    # limit was used up before.
    if attempt.deliveries + attempt.is_dear > settings.RETRYCONTRACT.max_deliveries:
        return _give_up(attempt, token, now, unfinished_check(UNFINISHED), crashed=True)
    try:
        payload, written = unseal_apart(bytes(attempt.sealed or b""))
        follow(request_id=payload.get("request_id"))
        call = _as_submitted(attempt.call, payload)
        contract = pinned(call.tool, call.version, call.kind) if call.tool and call.version else None
    except UnreadableError:
        logger.warning("A submission or its schema cannot be decrypted: is an old encryption key missing?")
        return _send_again(attempt, token, now)
    except InvalidSchema as fault:
        return _give_up(attempt, token, now, _refused(fault))
    sealed = payload["callback_error"]
    # What an older release queued has it in the payload.
    output = WrittenJSON(written or write_json(payload["output"]))
    submitted = Submitted(
        output=output if attempt.is_dear else output.read(),
        tool_name=call.tool_name,
        known_tools=() if contract else tuple(Tool.objects.names(call.agent.namespace)),
        finish_reason=payload["finish_reason"],
        callback_error=[ValidationError.from_json(error) for error in sealed] if isinstance(sealed, list) else sealed,
        said=payload.get("said"),
    )
    try:
        # What is cheap was queued for another reason (the order of attempts, the setting), and needs no child process.
        if not attempt.is_dear:
            return _finish(attempt, token, submitted, check_here(submitted, contract), payload, clock())
        first = goes_first(call.agent.work_until, attempt.submitted_at)
        checked = check_apart(submitted, contract, call.agent_id, goes_first=first)
    except InvalidSchema as fault:  # an earlier release took it, and what is pinned to it stays so
        return _give_up(attempt, token, clock(), _refused(fault))
    # What ends this process from here on may be the output.
    return attempt.count_delivery(token) and _finish(attempt, token, submitted, checked, payload, clock())


def _finish(
    attempt: Attempt, token: str, submitted: Submitted, checked: Checked, payload: dict[str, Any], now: datetime
) -> bool:
    stored = StoredOutput.of(checked.examined, submitted.output)
    with write_transaction():
        call = _fenced_call(attempt, token)
        if call is None:
            return False
        attempt.call = _as_submitted(call, payload)
        if checked.crashed:
            _quarantine(call, now)
        asked = payload.get("feedback") or {}  # what was queued by an older release says nothing of it
        options = FeedbackOptions(FeedbackForm(asked["form"]), asked["max_length"]) if asked else PLAIN
        verdict = fill_in(attempt, stored, submitted.output, now=now, duration_us=checked.duration_us, options=options)
        _conclude(attempt, verdict, now)
    if attempt.is_dear:
        agent_id = attempt.call.agent_id
        # The estimate was charged when the attempt came in: only the difference is left, and it may be negative.
        charge(agent_id, checked.cpu_seconds - payload.get("reserved", 0), now=now)
        # One at a time of each agent: whoever was rung for the next one has found this one in hand, and left it.
        for (following,) in NEXT_DEAR.tuples(now=now, agent=agent_id):
            ring_after_commit(attempt_id=following, is_dear=True)
    else:
        note_work(attempt.call.agent_id, checked.cpu_seconds, now=now)
    log_verdict(attempt)
    return True


def _refused(fault: InvalidSchema) -> Findings:
    """Say what keeps a schema from judging, without the secrets that it may hold there."""
    at, why = sanitizer().redact_pointer(fault.pointer) or "(root)", sanitizer().redact_identifier(fault.reason)
    return unfinished_check(f"{REFUSED}: {at}: {why}", REGISTER_AGAIN)


def _give_up(attempt: Attempt, token: str, now: datetime, findings: Findings, *, crashed: bool = False) -> bool:
    """Block the call of an attempt that cannot be judged; a version whose check crashes is kept from the door."""
    with write_transaction():
        call = _fenced_call(attempt, token)
        if call is None:
            return False
        if crashed:
            _quarantine(call, now)
        attempt.call = call
        # With the budget ended here the verdict is Blocked: a retry would find the same fault, which is no model's.
        call.attempts_allowed = min(call.attempts_allowed, attempt.number)
        verdict = fill_in(attempt, StoredOutput.of(Examined(findings, ""), ""), "", now=now, duration_us=0)
        # After `fill_in`, which writes the state of a check that was finished.
        if crashed:
            attempt.state = AttemptState.DEAD
        _conclude(attempt, verdict, now, attempts_allowed=call.attempts_allowed)
    log_verdict(attempt)
    return True


def _send_again(attempt: Attempt, token: str, now: datetime) -> bool:
    """Ask once more for a submission that cannot be read: it was not judged, so it does not count."""
    with write_transaction():
        call = _fenced_call(attempt, token)
        if call is None:
            return False
        attempt.call = call
        source = CallState(call.state)
        # The attempt was counted when it came in, so one more is allowed in its place. A Blocked call has none left to
        # return, and what is tried meanwhile counts against nothing.
        if source is not CallState.BLOCKED:
            call.attempts_allowed += 1
        verdict = Move(CallState.RETRYING if source is CallState.PENDING else source, Status.RETRY)
        unread = StoredOutput.of(Examined(unfinished_check(UNREADABLE, SEND_AGAIN), ""), "")
        fill_in(attempt, unread, "", now=now, duration_us=0, verdict=verdict)
        attempt.state, attempt.is_valid, attempt.judged_at = AttemptState.DISCARDED, None, None
        # Nothing was judged, so this is no mistake of the model: the call keeps the fingerprint that it had.
        attempt.fingerprint = ""
        _conclude(attempt, verdict, now, attempts_allowed=call.attempts_allowed)
    return True


def _quarantine(call: Call, now: datetime) -> None:
    """Keep a version from the door whose check took a process down: there it would take everybody's."""
    logger.error("A check crashed; the tool's version is quarantined")
    if call.tool is not None and call.version is not None and call.version.quarantine(now):
        Event.record(
            "version.quarantined", actor="worker", door=Door.WORKER, at=now, tool=call.tool.name,
            namespace=call.tool.namespace, version=call.version.number,
        )  # fmt: skip


def _conclude(attempt: Attempt, verdict: Move, now: datetime, **changes: Any) -> None:
    """Store the verdict, and wake whoever waits for it or for its turn."""
    call = attempt.call
    following = NEXT_WAITING.first(call_id=call.pk, but=attempt.pk)
    if following and verdict.state is CallState.RETRYING:
        verdict = replace(verdict, state=CallState.PENDING)  # the agent has sent its next attempt already
    apply_verdict(attempt, verdict, now=now, door=Door.WORKER, **changes)
    attempt.lease_until, attempt.lease_token = None, ""
    rewrite(attempt)
    # After the attempt is saved: the text of the request is written from the attempts that are stored.
    if verdict.opens_escalation:
        open_escalation(call, now=now, door=Door.WORKER)
    if verdict.state.has_ended:
        call.attempts.discard()
    # The name of an unknown tool is the attempt's own: a later one may have named the right tool meanwhile, which the
    # agent is to read.
    ring_after_commit(
        call=call,
        attempt_id=following.pk if following else None,
        is_dear=following is not None and following.is_dear,
        judged=attempt if call.tool is not None else None,
    )


def _fenced_call(attempt: Attempt, token: str) -> Call | None:
    """Make sure that the lease is still ours, and read the call as it is now; None when nothing is left to decide."""
    # The call first, as everywhere: who locks in one order never waits in a circle.
    call = CALL_TO_DECIDE.rows(pk=attempt.call_id)[0]
    # An update that changes nothing, in the place of a read: it locks the row, so that the lease cannot be taken over
    # between this look and the verdict. SQLite has no second writer, and would read all of a large row to change it.
    mine = {"pk": attempt.pk, "token": token}
    is_alone = connection.vendor == "sqlite"
    if not (LEASED_BY.exists(**mine) if is_alone else LEASED_BY.update({"state": AttemptState.LEASED}, **mine)):
        return None
    if call.has_ended:
        call.attempts.discard()
        return None
    return call


def _as_submitted(call: Call, payload: dict[str, Any]) -> Call:
    """See the call as the attempt did: a later one may have named the right tool meanwhile."""
    if not payload["is_known"]:
        call.tool, call.version, call.tool_name = None, None, payload["tool"]
    return call
