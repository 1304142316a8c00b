"""The systems that are told: an address, its secrets, and what it is told of."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from typing import Final, cast
from urllib.parse import urlsplit

from django.db import models
from django.db.models import Q

from retrycontract.contract.webhooks import WebhookEvent, secret_of
from retrycontract.store.fields import JSONText, new_endpoint_id
from retrycontract.store.models.agents import Agent
from retrycontract.store.sealing import UnreadableError, seal, unseal

MAX_ADDRESS = 500
SHOWN_END: Final = 4  # characters of an address by which it is told from others of its host
MIN_HIDDEN: Final = 16  # a path must keep that many to itself before its end is shown
KEY_BYTES: Final = 32  # as long as what the hash gives
OLD_SECRET_HOLDS: Final = timedelta(hours=24)  # for the receiver's next deploy


class WebhookEndpointQuerySet(models.QuerySet["WebhookEndpoint"]):
    """Find endpoints."""

    def listening(self, agent: Agent, event: WebhookEvent) -> list[WebhookEndpoint]:
        """List the endpoints that are to be told of something that happened to a call of the agent."""
        found = self.filter(Q(agent=agent) | Q(agent=None), is_active=True).order_by("pk")
        return [endpoint for endpoint in found if event in endpoint.events]


class WebhookEndpoint(models.Model):
    """An address that is told of events by webhook: of one agent's calls, or of all."""

    public_id = models.CharField(max_length=40, unique=True, default=new_endpoint_id)
    agent = models.ForeignKey(Agent, null=True, blank=True, on_delete=models.PROTECT, related_name="endpoints")
    sealed_address = models.BinaryField()
    events = JSONText(default=list)
    is_active = models.BooleanField(default=True)
    gone_at = models.DateTimeField(null=True)
    sealed = models.BinaryField()
    created_at = models.DateTimeField()

    objects = WebhookEndpointQuerySet.as_manager()

    class Meta:
        ordering = ("pk",)
        constraints = (
            models.CheckConstraint(condition=Q(gone_at__isnull=True) | Q(is_active=False), name="endpoint_gone_is_off"),
        )

    def __str__(self) -> str:
        return f"{self.public_id} ({self.shortened})"

    # Mutators

    def new_secret(self, now: datetime) -> str:
        """Make a secret and seal it with those that still hold; returns its text, which is shown this once.

        The one before holds for a day more. Secrets that no known key opens are forgotten.
        """
        until = (now + OLD_SECRET_HOLDS).isoformat()
        try:
            # The secret that held until now gets an end; those before it keep theirs.
            kept = [(old, end or until) for old, end in self._secrets() if _holds(end, now)]
        except UnreadableError:
            kept = []
        text = secret_of(secrets.token_bytes(KEY_BYTES))
        self.sealed = seal({"secrets": [(text, None), *kept]})
        return text

    def give_up(self, now: datetime) -> bool:
        """Switch it off because its receiver is gone for good; False when it was off already."""
        on = WebhookEndpoint.objects.filter(pk=self.pk, is_active=True)
        return bool(on.update(is_active=False, gone_at=now))

    # Properties

    @property
    def address(self) -> str:
        """Open the address; raises UnreadableError."""
        return cast(str, unseal(bytes(self.sealed_address))["address"])

    @address.setter
    def address(self, address: str) -> None:
        self.sealed_address = seal({"address": address})

    @property
    def shortened(self) -> str:
        """Give of the address what may be shown: the path may be as good as a secret."""
        try:
            return shortened(self.address)
        except UnreadableError:
            return "unreadable address"

    def secrets_at(self, now: datetime) -> list[str]:
        """List the secrets that hold, the newest first; raises UnreadableError."""
        return [text for text, end in self._secrets() if _holds(end, now)]

    def _secrets(self) -> list[tuple[str, str | None]]:
        if not self.sealed:
            return []
        return [(text, end) for text, end in unseal(bytes(self.sealed))["secrets"]]


def shortened(address: str) -> str:
    """Give the scheme and the host of an address, and the end of what follows if that is long."""
    parts = urlsplit(address)
    rest = f"{parts.path}?{parts.query}" if parts.query else parts.path.removeprefix("/")
    end = rest[-SHOWN_END:] if len(rest) >= MIN_HIDDEN + SHOWN_END else ""
    return f"{parts.scheme}://{parts.netloc}/{'…' if rest else ''}{end}"


def _holds(end: str | None, now: datetime) -> bool:
    return end is None or now < datetime.fromisoformat(end)
