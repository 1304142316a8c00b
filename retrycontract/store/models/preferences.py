"""How operators want their desk."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import models


class Preferences(models.Model):
    """What one operator has chosen; who has no row has chosen nothing."""

    operator = models.OneToOneField(User, on_delete=models.CASCADE, related_name="preferences")
    time_zone = models.CharField(max_length=64, blank=True, default="")  # empty: the browser's
    has_shortcuts = models.BooleanField(default=True)

    class Meta:
        ordering = ("pk",)
        verbose_name_plural = "preferences"

    def __str__(self) -> str:
        return f"preferences of {self.operator}"
