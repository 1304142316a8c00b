"""Give identifiers their safe form, and answer a repeated request as the first one was answered, by its key."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from time import monotonic, sleep
from typing import Any, Final, Self, overload

from django.db import IntegrityError, transaction
from django.utils import timezone

from retrycontract.contract.redaction.sanitizer import elide_middle, redacted_ends, visible
from retrycontract.store.models import Agent, Attempt, IdempotencyKey, LostRaceError
from retrycontract.store.sealing import UnreadableError, keyed_hash, seal, unseal
from retrycontract.store.transactions import in_batches, write_transaction
from retrycontract.usecases.tools.contracts import sanitizer

MAX_IDENTIFIER = 200  # as the columns and the API have it
MAX_TOOL_NAME = 300
REDACTED = "[REDACTED: IDENTIFIER]"
# PostgreSQL keeps no NUL, no database half a character, and lists have one line for each.
UNKEPT = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
NO_NAME = "(no name)"
HASH_DIGITS = 16  # 64 bits: of a million secrets no two meet
IDENTIFIER = "identifier"  # what was sealed for another purpose is none


@overload
def safe_identifier(text: str, limit: int = MAX_IDENTIFIER) -> str: ...
@overload
def safe_identifier(text: None, limit: int = MAX_IDENTIFIER) -> None: ...
def safe_identifier(text: str | None, limit: int = MAX_IDENTIFIER) -> str | None:
    """Give an identifier as it may be stored, shown and compared: itself, unless it holds a secret or is too long.

    One that does, or holds what is not seen, becomes what may be shown of it and a keyed hash, so that equal ones stay
    equal and others apart.
    """
    if text is None:
        return None
    redact = sanitizer().redact_identifier
    redacted = redacted_ends(text, limit, redact)
    if redacted == text and len(text) <= limit and not UNKEPT.search(text):
        return text
    digits = keyed_hash(text)[:HASH_DIGITS]
    safe = f"{elide_middle(visible(redacted), limit - HASH_DIGITS - 1)}-{digits}"
    # What is left of it may look like a secret again, together with the hash: then only the hash stays.
    return safe if redact(safe) == safe else f"{REDACTED}-{digits}"


def safe_tool_name(name: str) -> str:
    """Give a tool's name as it may be stored, shown and compared; a model may make up any, and also none."""
    return safe_identifier(name, MAX_TOOL_NAME) if name.strip() else NO_NAME


def safe_query(asked: dict[str, Any]) -> dict[str, Any]:
    """Give what was looked for as an address may repeat it: every text in the form in which it is stored."""
    return {
        name: (safe_tool_name if name == "tool" else safe_identifier)(value) if isinstance(value, str) else value
        for name, value in asked.items()
    }


def sealed_identifier(text: str) -> str:
    """Encrypt an identifier for an address that its agent asks again at."""
    return seal({IDENTIFIER: text}).decode()


def opened_identifier(sealed: str) -> str | None:
    """Decrypt it; None for anything else."""
    try:
        return unseal(sealed.encode()).get(IDENTIFIER)
    except UnreadableError:
        return None


BEGUN: dict[str, Any] = {}  # the answer of a request that is under way; no other is empty
PATIENCE: Final = timedelta(seconds=10)  # with one that is under way elsewhere; a longer one may have died
LOOKS_EVERY: Final = 0.05  # seconds
BATCH = 1_000  # keys that are forgotten at once


class IdempotencyConflictError(ValueError):
    """Raised when a key comes again with another request."""


@dataclass(frozen=True, slots=True)
class RequestKey:
    """Hold the hashes of an idempotency key and of the request that it stands for."""

    key_hash: str
    request_hash: str

    @classmethod
    def of(cls, key: str, *request: str) -> Self:
        """Hash what came in; `request` is everything that makes it another one: method, address, body."""
        # Hashed, since clients may put anything into a key, and a body holds what must not be at rest.
        return cls(keyed_hash(key), keyed_hash("\n".join(request)))


def made_before(agent: Agent, key: RequestKey | None) -> Attempt | None:
    """Find the attempt that the same request has made; raises IdempotencyConflictError for another request's key.

    Its call is in the state that the verdict put it into: what came after was not in the first answer.
    """
    found = _find(agent, key) if key else None
    attempt = found.attempt if found else None
    if attempt is not None and not attempt.is_waiting:
        # One without a verdict has only its present state.
        events = attempt.call.events.filter(name=f"attempt.{attempt.state}").order_by("-pk")
        told = (event.to_state for event in events if event.data.get("attempt") == attempt.number)
        attempt.call.state = next(told, attempt.call.state)
    return attempt


def remember_attempt(agent: Agent, key: RequestKey | None, attempt: Attempt, *, now: datetime) -> None:
    """Note, in the attempt's own transaction, which request made it; raises LostRaceError when another one has."""
    if key is None:
        return
    try:
        _create(agent, key, now, attempt=attempt)
    except IntegrityError:
        # The whole transaction goes with it, so that the next try finds what the other one has made.
        raise LostRaceError("the same request came in twice at once") from None


def answer_once(
    agent: Agent,
    key: RequestKey | None,
    answer: Callable[[], Any],
    *,
    now: datetime,
    before: Callable[[], object] = lambda: None,
) -> Any:
    """Give the remembered answer, else make one and remember it; the same request at the same moment waits for it.

    What `answer` writes and the memory of it are one transaction; `before` is called ahead of it, for what takes long
    and must not keep other writers waiting. Raises IdempotencyConflictError for another request's key.
    """
    found = _find(agent, key) if key else None
    if found is None:
        before()
    if key is None:
        return answer()
    if found is None:
        with write_transaction():
            # The key comes first: who made the tool, or cancelled the call, is the one whose answer all are told.
            try:
                # A savepoint: on PostgreSQL an insert that fails would end the whole transaction.
                with transaction.atomic():
                    kept = _create(agent, key, now, answer={})
            except IntegrityError:
                found = _find(agent, key)
            else:
                kept.answer = answer()
                kept.save(update_fields=["answer"])
                return kept.answer
    if found is None:
        raise LostRaceError("the same request was forgotten at the same moment")
    return found.answer


def _begin(agent: Agent, key: RequestKey, now: datetime) -> bool:
    """Keep a key for a request that begins; False for one that begins elsewhere."""
    with write_transaction():
        try:
            with transaction.atomic():
                _create(agent, key, now, answer=BEGUN)
        except IntegrityError:
            return False
    return True


def answer_in_steps(agent: Agent, key: RequestKey | None, answer: Callable[[], Any], *, now: datetime) -> Any:
    """Give the remembered answer, else make one in several transactions, and remember it.

    What `answer` does may be done again, where the service ended in its midst: the same request at the same moment
    waits for the first, a while. All are told the same. Raises IdempotencyConflictError for another request's key
    before anything is done.
    """
    if key is None:
        return answer()
    given_up = monotonic() + PATIENCE.total_seconds()
    while (found := _find(agent, key)) is not None or not _begin(agent, key, now):
        if found is not None and found.answer != BEGUN:
            return found.answer
        if monotonic() > given_up or (found is not None and timezone.now() - found.created_at > PATIENCE):
            break
        sleep(LOOKS_EVERY)
    same = {"agent": agent, "key_hash": key.key_hash, "request_hash": key.request_hash}
    begun = IdempotencyKey.objects.filter(**same, answer=BEGUN)
    try:
        made = answer()
    except BaseException:
        with write_transaction():
            begun.delete()  # a request that failed leaves its key to the next
        raise
    with write_transaction():
        begun.update(answer=made)
        kept = _find(agent, key)
    return made if kept is None else kept.answer


def forget_requests(*, now: datetime) -> int:
    """Forget the keys of yesterday; returns how many."""
    return in_batches(partial(_forget_batch, now), most=BATCH)


def _forget_batch(now: datetime, most: int) -> int:
    # Keys first: Django deletes no slice of a query.
    outdated = list(IdempotencyKey.objects.outdated(now).values_list("pk", flat=True)[:most])
    if not outdated:
        return 0
    with write_transaction():
        return IdempotencyKey.objects.filter(pk__in=outdated).delete()[0]


def _find(agent: Agent, key: RequestKey) -> IdempotencyKey | None:
    keys = IdempotencyKey.objects.filter(agent=agent, key_hash=key.key_hash)
    if not keys.exists():  # most requests come once: to ask so much is a fifth of the work of asking for everything
        return None
    found = keys.select_related("attempt__call__agent", "attempt__call__tool", "attempt__call__version").first()
    if found is not None and found.request_hash != key.request_hash:
        raise IdempotencyConflictError
    return found


def _create(agent: Agent, key: RequestKey, now: datetime, **of: Any) -> IdempotencyKey:
    return IdempotencyKey.objects.create(
        agent=agent, key_hash=key.key_hash, request_hash=key.request_hash, created_at=now, **of
    )
