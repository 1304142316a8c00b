"""Tools and their versions: the contracts that calls are judged by."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import Any

from django.db import models
from django.db.models import Q

from retrycontract.contract.durations import LONGEST, SHORTEST
from retrycontract.contract.kinds import Kind
from retrycontract.contract.sanitizer import visible
from retrycontract.store.fields import JSONText

KINDS = [(kind.value, kind.name.replace("_", " ").capitalize()) for kind in Kind]


class ToolQuerySet(models.QuerySet["Tool"]):
    """Find tools."""

    def named(self, namespace: str, name: str) -> Tool | None:
        """Get the tool of that name with its current version, or None."""
        return self.filter(namespace=namespace, name=name).select_related("current_version").first()

    def names(self, namespace: str) -> list[str]:
        """List the names that are known in a namespace."""
        return list(self.filter(namespace=namespace).order_by("name").values_list("name", flat=True))


class Tool(models.Model):
    """A named contract of one namespace; its schema stands in its versions."""

    namespace = models.CharField(max_length=200)
    name = models.CharField(max_length=300)
    kind = models.CharField(max_length=20, choices=KINDS, default=Kind.TOOL_CALL)
    description = models.TextField(blank=True, default="")
    strict = models.BooleanField(default=True)
    hold = models.BooleanField(default=False)
    mode = models.CharField(max_length=10, null=True, choices=[("enforce", "Enforce"), ("observe", "Observe")])
    max_attempts = models.PositiveSmallIntegerField(null=True)
    expires_after = models.DurationField(null=True)
    on_expiry = models.CharField(max_length=10, null=True, choices=[("expire", "Expire"), ("reject", "Reject")])
    current_version = models.ForeignKey("ToolVersion", null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    objects = ToolQuerySet.as_manager()

    class Meta:
        ordering = ("namespace", "name", "pk")
        constraints = (
            models.UniqueConstraint(fields=("namespace", "name"), name="tool_unique_name"),
            models.CheckConstraint(condition=Q(kind__in=[kind.value for kind in Kind]), name="tool_kind_known"),
            models.CheckConstraint(
                condition=Q(max_attempts__isnull=True) | Q(max_attempts__range=(1, 10)), name="tool_max_attempts_range"
            ),
            models.CheckConstraint(
                condition=Q(expires_after__isnull=True) | Q(expires_after__range=(SHORTEST, LONGEST)),
                name="tool_expires_after_range",
            ),
            models.CheckConstraint(
                condition=Q(on_expiry__isnull=True) | Q(on_expiry__in=("expire", "reject")), name="tool_on_expiry_known"
            ),
        )

    def __str__(self) -> str:
        return visible(self.name)


class ToolVersion(models.Model):
    """One schema of a tool, as its agent sent it; never changed, since calls are pinned to it."""

    tool = models.ForeignKey(Tool, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    schema = JSONText()
    schema_hash = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    quarantined_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("tool", "number", "pk")
        constraints = (
            models.UniqueConstraint(fields=("tool", "number"), name="toolversion_unique_number"),
            models.UniqueConstraint(fields=("tool", "schema_hash"), name="toolversion_unique_schema"),
        )

    def __str__(self) -> str:
        return f"{self.tool} v{self.number}"

    @classmethod
    def hash_of(cls, schema: Any) -> str:
        """Hash a schema; the order of its keys does not matter."""
        return hashlib.sha256(json.dumps(schema, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def quarantine(self, now: datetime) -> bool:
        """Keep this version away from the door: its checks crashed or ran out of time; False when it was before."""
        if not ToolVersion.objects.filter(pk=self.pk, quarantined_at=None).update(quarantined_at=now):
            return False
        self.quarantined_at = now
        return True
