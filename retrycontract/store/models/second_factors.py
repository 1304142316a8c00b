"""What operators prove themselves with besides their password."""

from __future__ import annotations

from datetime import datetime
from typing import cast

from django.contrib.auth.models import User
from django.db import models

from retrycontract.store.sealing import seal, unseal


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
        return cls.objects.update_or_create(operator=operator, confirmed_at=None, defaults=values)[0]

    @property
    def secret(self) -> str:
        """Open the secret; raises UnreadableError."""
        return cast(str, unseal(bytes(self.sealed))["secret"])

    def use(self, step: int, now: datetime) -> bool:
        """Take the code of a half minute, once; False when somebody was quicker."""
        unused = SecondFactor.objects.filter(pk=self.pk, last_step__lt=step)
        return bool(unused.update(last_step=step, confirmed_at=self.confirmed_at or now))
