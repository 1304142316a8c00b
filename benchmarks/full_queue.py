"""A queue as long as it gets: copies of the Blocked calls that are there."""

from __future__ import annotations

from datetime import timedelta
from hashlib import sha256

from django.utils import timezone

from retrycontract.store.fields import new_call_id, new_escalation_id
from retrycontract.store.models import Attempt, Call, Escalation
from retrycontract.store.transactions import write_transaction

MISTAKES = 300  # that every other call shares; the rest are alone with theirs
APART = timedelta(seconds=7)


def plant(number: int) -> None:
    """Block so many calls more, each with its newest attempt and its open request for a person."""
    models, now = list(Call.objects.blocked()), timezone.now()
    for n in range(number):
        call = models[n % len(models)]
        attempt, escalation = call.attempts.order_by("-number").first(), call.escalations.open().get()
        assert attempt is not None
        call = Call.objects.get(pk=call.pk)
        call.pk, call.public_id, call.blocked_at = None, new_call_id(), now - n * APART
        call.fingerprint = sha256(str(n % MISTAKES if n % 2 else n).encode()).hexdigest()
        attempt.pk, escalation.pk, escalation.public_id = None, None, new_escalation_id()
        with write_transaction():
            call.save(force_insert=True)
            attempt.call = escalation.call = call
            Attempt.objects.bulk_create([attempt])
            Escalation.objects.bulk_create([escalation])
