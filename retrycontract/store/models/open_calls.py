"""What a repeated submission is recognised by: the open calls without our id, and the answers to requests."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from django.db import models
from django.db.models import Case, Q, When

from retrycontract.contract.matching import Submission
from retrycontract.store.fields import JSONText
from retrycontract.store.models.agents import Agent
from retrycontract.store.models.attempts import Attempt
from retrycontract.store.models.calls import Call, CallQuerySet
from retrycontract.store.statements import Statement

MAX_CANDIDATES = 50  # open calls of one session and tool that matching looks at


def candidates(agent: Agent, submission: Submission) -> list[Call]:
    """List the agent's open calls that a submission may continue, oldest first; without a session there are none."""
    if submission.session_id is None:
        return []
    found = CONTINUED.rows(
        agent_id=agent.pk,
        tool_call_id=submission.tool_call_id,
        session_id=submission.session_id,
        tool_name=submission.tool_name,
    )
    # Read newest first, so that the bound leaves out the oldest; matching takes them in the order in which they began.
    return sorted(found, key=lambda call: call.pk)


def _continued(agent_id: Any, tool_call_id: Any, session_id: Any, tool_name: Any) -> CallQuerySet:
    """Keep the open calls that a submission without our id may continue, the newest first."""
    by_id = Q(last_tool_call_id=tool_call_id)
    found = Call.objects.open().filter(by_id | Q(tool_name=tool_name), agent_id=agent_id, session_id=session_id)
    # What bears the same id is looked at first, however many calls of the tool were left open.
    return found.order_by(Case(When(by_id, then=0), default=1), "-pk")


CONTINUED = Statement(
    lambda **wanted: _continued(**wanted).select_related("agent", "tool", "version")[:MAX_CANDIDATES],
    "agent_id", "tool_call_id", "session_id", "tool_name",
)  # fmt: skip


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
