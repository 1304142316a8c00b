"""Replies that operators keep at hand."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

FIRST, LAST = 1, 9  # the keys of a keyboard


class SavedReply(models.Model):
    """A text for answers, of one operator or shared by all; at most one for each of the keys 1 to 9 on each shelf."""

    operator = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    title = models.CharField(max_length=80)
    text = models.TextField()
    position = models.PositiveSmallIntegerField(null=True)
    updated_at = models.DateTimeField()

    class Meta:
        ordering = ("operator", "position", "title", "pk")
        verbose_name_plural = "saved replies"
        constraints = (
            models.CheckConstraint(
                condition=Q(position__isnull=True) | Q(position__range=(FIRST, LAST)), name="savedreply_position_range"
            ),
            models.UniqueConstraint(fields=("operator", "position"), name="savedreply_unique_own_position"),
            models.UniqueConstraint(
                fields=("position",), condition=Q(operator__isnull=True), name="savedreply_unique_shared_position"
            ),
        )

    def __str__(self) -> str:
        return self.title

    @property
    def is_shared(self) -> bool:
        """Tell whether it belongs to all operators."""
        return self.operator_id is None
