"""What is kept of operators: failed logins by hashes, second factors, identities elsewhere, how they want the desk."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, cast

from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q

from retrycontract.store.sealing import seal, unseal

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


class SecondFactor(models.Model):
    """The secret that an operator's app makes codes of, sealed; it is asked for once it was confirmed."""

    operator = models.OneToOneField(User, on_delete=models.CASCADE, related_name="second_factor")
    sealed = models.BinaryField()
    created_at = models.DateTimeField()
    confirmed_at = models.DateTimeField(null=True)
    last_step = models.BigIntegerField(default=0)  # no code of this half minute, or of one before, is taken again

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return f"second factor of {self.operator}"

    @classmethod
    def make(cls, operator: User, secret: str, now: datetime) -> SecondFactor:
        """Put a secret in the place of one that was never confirmed."""
        values = {"sealed": seal({"secret": secret}), "created_at": now, "last_step": 0}
        # A confirmed factor is not matched here, and making a second one beside it fails: the operator is unique.
        return cls.objects.update_or_create(operator=operator, confirmed_at=None, defaults=values)[0]

    @property
    def secret(self) -> str:
        """Open the secret; raises UnreadableError."""
        return cast(str, unseal(bytes(self.sealed))["secret"])

    def use(self, step: int, now: datetime) -> bool:
        """Take the code of a half minute, once; False when somebody was quicker."""
        unused = SecondFactor.objects.filter(pk=self.pk, last_step__lt=step)
        return bool(unused.update(last_step=step, confirmed_at=self.confirmed_at or now))


class ProviderIdentity(models.Model):
    """Who an operator is at the identity provider: its name for them never changes, user names and addresses do."""

    operator = models.OneToOneField(User, on_delete=models.CASCADE, related_name="identity")
    issuer = models.CharField(max_length=255)
    subject = models.CharField(max_length=255)
    linked_at = models.DateTimeField()

    class Meta:
        ordering = ("pk",)
        verbose_name_plural = "provider identities"
        constraints = (models.UniqueConstraint(fields=("issuer", "subject"), name="provideridentity_is_one_operator"),)

    def __str__(self) -> str:
        return f"identity of {self.operator}"


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
