"""Agents and their API keys."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from django.db import connection, models
from django.db.models import Case, F, Q, When
from django.db.models.functions import Greatest

from retrycontract.store.statements import Given, Statement
from retrycontract.store.transactions import note

KEY_PREFIX = "rc"
SEEN_EVERY = timedelta(minutes=1)  # writing at each request would double the cost of the cheapest ones
# A quiet stream asks each half a minute: every other time is noted, well before the last one is too old to count.
STREAM_NOTED = timedelta(seconds=40)
UNLIMITED = frozenset({"agent"})  # written in keys from when no scope was looked at


class Scope(StrEnum):
    """What a key may be used for."""

    SUBMIT = "submit"
    READ = "read"
    TOOLS = "tools"


class KeyState(StrEnum):
    """Whether a key opens the door, and why it doesn't."""

    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"


_FROM_NOW: Final = When(work_until__gt=Given("latest"), then=Given("moment"))
_BEGUN: Final = Case(
    _FROM_NOW, default=Greatest(F("work_until"), Given("moment")), output_field=models.FloatField()
)  # fmt: skip
CHARGE: Final = {"work_until": _BEGUN + Given("owed"), "work_seconds": F("work_seconds") + Given("seconds")}
CHARGED = Statement(lambda pk: Agent.objects.filter(pk=pk), "pk")
HAS_ROOM = Statement(
    lambda pk, room, latest: Agent.objects.filter(Q(work_until__lte=room) | Q(work_until__gt=latest), pk=pk),
    "pk", "room", "latest",
)  # fmt: skip


class Agent(models.Model):
    """A program that calls an LLM; sees its own calls only, and the tools of its namespace."""

    name = models.CharField(max_length=200, unique=True)
    namespace = models.CharField(max_length=200)
    created_at = models.DateTimeField()
    # The moment, in seconds of the epoch, at which all the checking done for the agent is worked off: a bucket that
    # empties steadily, in one number that several processes can add to.
    work_until = models.FloatField(default=0)
    work_seconds = models.FloatField(default=0)  # of processor time, in all
    streamed_at = models.DateTimeField(null=True)  # when a stream that tells of answers last asked, within a minute

    class Meta:
        ordering = ("name", "pk")

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def charge(agent_id: int, seconds: float, *, per_second: float, most: float, now: datetime) -> None:
        """Add processor seconds to an account, of which `per_second` are worked off; fewer than none are given back.

        More than `most` is never owed: an account that says so was charged before the clock was set back, and begins
        anew.
        """
        values = _charging(seconds, per_second, most, now)
        CHARGED.update(CHARGE, pk=agent_id, **values)

    @staticmethod
    def reserve(agent_id: int, seconds: float, *, per_second: float, room: float, most: float, now: datetime) -> bool:
        """Charge an account that owes no more than `room`, and tell whether it did: of many at once each sees the last.

        Seconds of the processor; `most` as in `charge`.
        """
        values = _charging(seconds, per_second, most, now)
        return bool(HAS_ROOM.update(CHARGE, pk=agent_id, room=now.timestamp() + room / per_second, **values))

    def lock(self) -> None:
        """Wait until no other transaction holds the agent; on SQLite the only writer is alone already."""
        if connection.features.has_select_for_update:
            AGENT_ALONE.rows(agent_id=self.pk)

    def note_stream(self, now: datetime) -> None:
        """Keep that the agent follows what happens to its calls; one note serves them all, however many there are."""
        if self.streamed_at is None or now - self.streamed_at > STREAM_NOTED:
            note(lambda: Agent.objects.filter(pk=self.pk).update(streamed_at=now))
            self.streamed_at = now


KEY_BY_DIGEST = Statement(
    lambda digest: ApiKey.objects.filter(digest=digest).select_related("agent").order_by("pk")[:1], "digest"
)


def _charging(seconds: float, per_second: float, most: float, now: datetime) -> dict[str, float]:
    """Give the values of `CHARGE`."""
    moment = now.timestamp()
    return {"moment": moment, "latest": moment + most / per_second, "owed": seconds / per_second, "seconds": seconds}


# FOR NO KEY UPDATE: rows that refer to the agent can still be inserted meanwhile, which FOR UPDATE would hold up.
AGENT_ALONE = Statement(
    lambda agent_id: Agent.objects.select_for_update(no_key=True).filter(pk=agent_id).order_by(), "agent_id"
)


class ApiKeyManager(models.Manager["ApiKey"]):
    """Find keys among all of them."""

    def authenticate(self, presented: str, now: datetime) -> ApiKey | None:
        """Get the key that was presented, if it is known, not revoked and not expired."""
        key = KEY_BY_DIGEST.first(digest=ApiKey.digest_of(presented))
        return key if key is not None and key.state_at(now) is KeyState.ACTIVE else None


class ApiKey(models.Model):
    """A bearer key: only its digest is stored, and a short prefix to recognise it by."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="keys")
    prefix = models.CharField(max_length=16)
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.CharField(max_length=200, blank=True, default="")  # words; none means all
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    objects = ApiKeyManager()

    class Meta:
        ordering = ("agent", "created_at", "pk")

    def __str__(self) -> str:
        return f"{self.agent}: {self.prefix}…"

    @classmethod
    def create_for(
        cls, agent: Agent, now: datetime, *, expires_at: datetime | None = None, scopes: Iterable[Scope] = ()
    ) -> tuple[ApiKey, str]:
        """Make a key and return it with its text, which is shown this once; without scopes it may do everything."""
        prefix = f"{KEY_PREFIX}_{secrets.token_hex(4)}"
        text = f"{prefix}_{secrets.token_urlsafe(32)}"
        key = cls.objects.create(
            agent=agent, prefix=prefix, digest=cls.digest_of(text), created_at=now, expires_at=expires_at,
            scopes=" ".join(sorted(set(scopes))),
        )  # fmt: skip
        return key, text

    @property
    def granted(self) -> frozenset[Scope]:
        """Tell what the key may be used for."""
        words = set(self.scopes.split())
        return frozenset(scope for scope in Scope if words <= UNLIMITED or scope in words)

    def state_at(self, now: datetime) -> KeyState:
        if self.revoked_at is not None:
            return KeyState.REVOKED
        return KeyState.EXPIRED if self.expires_at is not None and self.expires_at <= now else KeyState.ACTIVE

    @staticmethod
    def digest_of(text: str) -> str:
        """Hash a key's text; it is random, so a fast hash is enough."""
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()

    def touch(self, now: datetime) -> None:
        """Note that the key was used, at most once a minute."""
        if self.last_used_at is None or now - self.last_used_at >= SEEN_EVERY:
            note(lambda: ApiKey.objects.filter(pk=self.pk).update(last_used_at=now))
