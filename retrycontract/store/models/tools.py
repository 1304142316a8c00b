"""Tools and their versions: the contracts that calls are judged by."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import Any

from django.db import models
from django.db.models import Q

from retrycontract.contract.configuration import LONGEST, SHORTEST
from retrycontract.contract.outputs import Kind
from retrycontract.contract.redaction.sanitizer import visible
from retrycontract.store.fields import JSONText
from retrycontract.store.sealing import UnreadableError, seal, unseal
from retrycontract.store.statements import Statement

SCHEMA = "schema"  # what was sealed for another purpose is none
REVISED = ("description", "kind", "strict", "hold", "mode", "max_attempts", "expires_after", "on_expiry")
KINDS = [(kind.value, kind.name.replace("_", " ").capitalize()) for kind in Kind]


class ToolQuerySet(models.QuerySet["Tool"]):
    """Find tools."""

    def of(self, namespace: str, kind: Kind | None = None) -> ToolQuerySet:
        """Keep the tools of a namespace that outputs can be judged by, with their present versions."""
        found = self.filter(namespace=namespace, current_version__isnull=False).select_related("current_version")
        return found.filter(kind=kind) if kind else found

    def page(self, *, after: str | None, size: int) -> list[Tool]:
        """List tools by name, from the first or from the one that follows a name."""
        following = self.filter(name__gt=after) if after else self
        return list(following.order_by("name")[:size])

    def names(self, namespace: str) -> list[str]:
        return list(self.filter(namespace=namespace).order_by("name").values_list("name", flat=True))


TOOL_BY_NAME = Statement(
    lambda namespace, name: (
        Tool.objects.filter(namespace=namespace, name=name).select_related("current_version").order_by("pk")[:1]
    ),
    "namespace",
    "name",
)


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

    @classmethod
    def named(cls, namespace: str, name: str) -> Tool | None:
        """Get the tool of that name with its current version, or None."""
        return TOOL_BY_NAME.first(namespace=namespace, name=name)

    @property
    def revision(self) -> str:
        """Hash all that a registration may set: by it one sees whether the tool has changed."""
        contents = [self.current_version.schema_hash if self.current_version else None]
        contents += [getattr(self, name) for name in REVISED]
        # JSON has no form for a duration.
        return hashlib.sha256(json.dumps(contents, default=str).encode()).hexdigest()[:32]


class ToolVersion(models.Model):
    """One schema of a tool; never changed, since calls are pinned to it.

    `schema` may be shown. Where its author wrote secrets into it, the schema that outputs are judged by lies sealed.
    """

    tool = models.ForeignKey(Tool, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    schema_hash = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    quarantined_at = models.DateTimeField(null=True)
    schema = JSONText()
    sealed = models.BinaryField(null=True)

    class Meta:
        ordering = ("tool", "number", "pk")
        constraints = (
            models.UniqueConstraint(fields=("tool", "number"), name="toolversion_unique_number"),
            models.UniqueConstraint(fields=("tool", "schema_hash"), name="toolversion_unique_schema"),
        )

    def __str__(self) -> str:
        return f"{self.tool} v{self.number}"

    # Factories

    @classmethod
    def of(cls, tool: Tool, schema: Any, *, shown: Any, number: int, now: datetime) -> ToolVersion:
        """Make a version that is not stored yet; `shown` is the schema without secrets."""
        version = cls(tool=tool, number=number, schema=shown, schema_hash=cls.hash_of(schema), created_at=now)
        version.sealed = version._closed(schema)
        return version

    @classmethod
    def hash_of(cls, schema: Any) -> str:
        """Hash a schema; the order of its keys does not matter."""
        return hashlib.sha256(json.dumps(schema, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    # Properties

    @property
    def judged_by(self) -> Any:
        """Give the schema as its author wrote it; raises UnreadableError."""
        return self.schema if self.sealed is None else unseal(bytes(self.sealed))[SCHEMA]

    # Mutators

    def open_again(self, schema: Any) -> None:
        """Seal the schema anew, which its author has sent again, when no known key opens it any more."""
        try:
            _ = self.judged_by
        except UnreadableError:
            self.sealed = self._closed(schema)
            ToolVersion.objects.filter(pk=self.pk).update(sealed=self.sealed)

    def _closed(self, schema: Any) -> bytes | None:
        return None if schema == self.schema else seal({SCHEMA: schema})

    def quarantine(self, now: datetime) -> bool:
        """Keep this version away from the door: its checks crashed or ran out of time; False when it was before."""
        if not ToolVersion.objects.filter(pk=self.pk, quarantined_at=None).update(quarantined_at=now):
            return False
        self.quarantined_at = now
        return True
