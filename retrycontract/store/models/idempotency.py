"""What was answered to requests that may be sent again: a repeat is told the same and does nothing."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.db import models
from django.db.models import Q

from retrycontract.store.fields import JSONText
from retrycontract.store.models.agents import Agent
from retrycontract.store.models.calls import Attempt

REMEMBERED_FOR: Final = timedelta(days=1)  # a client that is still trying after a day has other troubles


class IdempotencyKeyQuerySet(models.QuerySet["IdempotencyKey"]):
    """Find keys."""

    def outdated(self, now: datetime) -> IdempotencyKeyQuerySet:
        """Keep those that are remembered no longer, the oldest first."""
        return self.filter(created_at__lt=now - REMEMBERED_FOR).order_by("created_at", "pk")


class IdempotencyKey(models.Model):
    """One key of one agent, with the attempt that it made, or the answer that it was given.

    Keys and bodies are kept as hashes: either may hold what must not be stored.
    """

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="idempotency_keys")
    key_hash = models.CharField(max_length=64)
    request_hash = models.CharField(max_length=64)
    attempt = models.ForeignKey(Attempt, null=True, on_delete=models.CASCADE, related_name="idempotency_keys")
    answer = JSONText(null=True)
    created_at = models.DateTimeField()

    objects = IdempotencyKeyQuerySet.as_manager()

    class Meta:
        ordering = ("pk",)
        constraints = (
            # Of two requests with one key that come in at once, the second finds the first's.
            models.UniqueConstraint(fields=("agent", "key_hash"), name="idempotency_key_unique"),
            models.CheckConstraint(
                condition=Q(attempt__isnull=False) | Q(answer__isnull=False), name="idempotency_key_has_answer"
            ),
        )
        indexes = (models.Index(fields=("created_at",), name="idempotency_key_age"),)  # for forgetting them

    def __str__(self) -> str:
        return self.key_hash[:12]
