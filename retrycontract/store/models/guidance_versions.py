"""What became of an answer on its way: what was proposed, what the operator made of it, what the agent was handed."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from retrycontract.store.fields import JSONText
from retrycontract.store.models.escalations import Guidance


class GuidanceStage(models.TextChoices):
    """Name the stages of an answer, in their order."""

    PROPOSED = "proposed"  # by the service, from the near misses of what the agent sent
    EDITED = "edited"  # as the operator sent it off, without secrets
    DELIVERED = "delivered"  # as the agent was first handed it


class GuidanceVersion(models.Model):
    """An answer as it was at one stage; never changed."""

    guidance = models.ForeignKey(Guidance, on_delete=models.CASCADE, related_name="versions")
    stage = models.CharField(max_length=10, choices=GuidanceStage.choices)
    text = models.TextField(blank=True, default="")
    arguments = JSONText(null=True)
    patch = JSONText(null=True)
    at = models.DateTimeField()

    class Meta:
        ordering = ("guidance", "pk")
        constraints = (
            models.UniqueConstraint(fields=("guidance", "stage"), name="guidanceversion_one_each"),
            models.CheckConstraint(condition=Q(stage__in=GuidanceStage.values), name="guidanceversion_stage_known"),
        )

    def __str__(self) -> str:
        return f"{self.stage}: {self.guidance}"
