"""Failed logins, counted by hashes: what was typed as a name may have been a password."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q

FORGOTTEN_AFTER: Final = timedelta(days=1)


class FailedLoginsQuerySet(models.QuerySet["FailedLogins"]):
    """Find failed logins."""

    def forgettable(self, now: datetime) -> FailedLoginsQuerySet:
        """Keep what is so long ago that it counts no more."""
        return self.filter(last_at__lte=now - FORGOTTEN_AFTER)

    def locked(self, now: datetime) -> FailedLoginsQuerySet:
        """Keep what still has to wait."""
        return self.filter(locked_until__gt=now)


class FailedLogins(models.Model):
    """The logins that failed one after the other: of one name, of one name from one address, or of one address."""

    key_hash = models.CharField(max_length=64, unique=True)
    operator = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="failed_logins")
    # Begun and not yet decided: guesses at once count, those that a crash cut off are forgotten after some seconds.
    begun = models.PositiveIntegerField(default=0)
    begun_at = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0)
    last_at = models.DateTimeField(db_index=True)
    locked_until = models.DateTimeField(null=True)

    objects = FailedLoginsQuerySet.as_manager()

    class Meta:
        ordering = ("-last_at", "-pk")
        verbose_name_plural = "failed logins"
        constraints = (
            models.CheckConstraint(
                condition=Q(locked_until__isnull=True) | Q(failures__gt=0), name="failedlogins_locked_has_failures"
            ),
        )

    def __str__(self) -> str:
        return f"{self.operator or 'an unknown name'}: {self.failures}"
