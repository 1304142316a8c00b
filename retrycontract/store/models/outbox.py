"""The outbox: the messages to systems and people, and whose turn it is."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import or_
from typing import Final

from django.db import models
from django.db.models import Exists, F, OuterRef, Q

from retrycontract.store.fields import new_message_id
from retrycontract.store.models.endpoints import WebhookEndpoint
from retrycontract.store.models.escalations import Escalation

MAX_ERROR = 200  # characters kept of what went wrong with a message
QUICK_MS: Final = 1_000  # that a receiver takes to answer which keeps no courier from others
# So many times as long as its receiver took comes an endpoint after others, of so many that wait longest and as many
# that are quickest.
TIMES_TAKEN, MOST_COMPARED = 100, 200
REMEMBERED_FOR: Final = timedelta(days=30)  # what an endpoint was sent; within it, it can be sent again


class Channel(models.TextChoices):
    """Name the ways in which people are told, and the one in which systems are."""

    WEBHOOK = "webhook"
    EMAIL = "email"
    ENDPOINT = "endpoint"


TO_PEOPLE = (Channel.WEBHOOK.value, Channel.EMAIL.value)
# A message or a turn is an endpoint's, or a channel's to people.
OF_AN_ENDPOINT = Q(channel=Channel.ENDPOINT, endpoint__isnull=False)
HAS_ENDED = Q(delivered_at__isnull=False) | Q(given_up_at__isnull=False)
# What was written further ahead than that was written before this clock went back, and nothing waits for it.
AHEAD: Final = timedelta(minutes=1)
OF_PEOPLE = ~Q(channel=Channel.ENDPOINT) & Q(endpoint__isnull=True)


UNFINISHED = Q(delivered_at__isnull=True, given_up_at__isnull=True)


def _reasons_to_send(now: datetime) -> tuple[Q, ...]:
    """Give why a message is due: its time has come, or stands where the clock was before it went back.

    Each by itself is found in an index, also among a hundred thousand; joined by `or` they are not.
    """
    never_tried = Q(last_tried_at=None, due_at__gt=now + AHEAD)
    return Q(due_at__lte=now), Q(last_tried_at__gt=now + AHEAD), never_tried


def _comes_at(endpoint: WebhookEndpoint) -> datetime:
    turn: ChannelTurn | None = getattr(endpoint, "turn", None)
    if turn is None:  # it was never sent anything
        return datetime.min.replace(tzinfo=UTC)
    return turn.free_at + TIMES_TAKEN * timedelta(milliseconds=turn.took_ms or 0)


class OutboxMessageQuerySet(models.QuerySet["OutboxMessage"]):
    """Find messages."""

    def unfinished(self, channel: Channel) -> OutboxMessageQuerySet:
        """Keep what is still to be delivered, the least tried first."""
        return self.filter(UNFINISHED, channel=channel).order_by("tries", "pk")

    def next_endpoint(self, now: datetime, until: datetime, *, quick: bool = False) -> WebhookEndpoint | None:
        """Find an endpoint that is to be sent something now and whose turn is free: long free, or quick to answer.

        With `quick` only one whose receiver answered the last time within a second.
        """
        unfinished = self.filter(UNFINISHED, channel=Channel.ENDPOINT, endpoint=OuterRef("pk"))
        waiting = reduce(or_, (Q(Exists(unfinished.filter(reason))) for reason in _reasons_to_send(now)))
        taken = ChannelTurn.objects.taken(now, until).filter(endpoint=OuterRef("pk"))
        free = WebhookEndpoint.objects.filter(waiting, ~Exists(taken), is_active=True)
        free = free.filter(turn__took_ms__lte=QUICK_MS) if quick else free
        free = free.select_related("turn")
        compared = [*free.order_by(F("turn__free_at").asc(nulls_first=True), "pk")[:MOST_COMPARED]]
        if len(compared) == MOST_COMPARED:
            compared += free.order_by("turn__took_ms", "turn__free_at", "pk")[:MOST_COMPARED]
        return min(compared, key=_comes_at, default=None)

    def next_of(self, endpoint: WebhookEndpoint, now: datetime) -> OutboxMessage | None:
        """Find what an endpoint is to be sent now, the longest due first."""
        unfinished = self.filter(UNFINISHED, channel=Channel.ENDPOINT, endpoint=endpoint).order_by("due_at", "pk")
        found = (unfinished.filter(reason).first() for reason in _reasons_to_send(now))
        return next(filter(None, found), None)

    def outdated(self, endpoint: WebhookEndpoint, now: datetime) -> OutboxMessageQuerySet:
        """Keep what an endpoint was sent, or was not, so long ago that nobody asks any more; the oldest first."""
        ended = self.filter(HAS_ENDED, endpoint=endpoint)
        return ended.filter(created_at__lt=now - REMEMBERED_FOR).order_by("pk")

    def ended_before(self, moment: datetime) -> OutboxMessageQuerySet:
        """Keep what was made before a moment and is delivered or given up."""
        return self.filter(HAS_ENDED, created_at__lt=moment)

    def retried(self) -> OutboxMessageQuerySet:
        """Keep what was tried in vain and is to be tried again."""
        return self.filter(delivered_at=None, given_up_at=None, tries__gt=1).exclude(endpoint__is_active=False)

    def last_email(self) -> OutboxMessage | None:
        """Find the e-mail that was taken last."""
        return self.filter(channel=Channel.EMAIL, delivered_at__isnull=False).order_by("-delivered_at", "-pk").first()

    def given_up(self) -> OutboxMessageQuerySet:
        """Keep what could not be delivered, the newest first."""
        return self.filter(given_up_at__isnull=False).order_by("-given_up_at", "-pk")


class OutboxMessage(models.Model):
    """One message of one channel; id and text stay the same however often it is tried.

    Of a message to an endpoint the subject is the type and the text the body; each has its own time to be tried.
    """

    public_id = models.CharField(max_length=40, unique=True, default=new_message_id)
    channel = models.CharField(max_length=10, choices=Channel.choices)
    endpoint = models.ForeignKey(WebhookEndpoint, null=True, on_delete=models.PROTECT, related_name="messages")
    due_at = models.DateTimeField(null=True)
    subject = models.CharField(max_length=300)
    text = models.TextField()
    created_at = models.DateTimeField()
    tries = models.PositiveIntegerField(default=0)
    last_tried_at = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=MAX_ERROR, blank=True, default="")
    delivered_at = models.DateTimeField(null=True)
    given_up_at = models.DateTimeField(null=True)

    objects = OutboxMessageQuerySet.as_manager()

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.CheckConstraint(condition=Q(channel__in=Channel.values), name="outbox_channel_known"),
            models.CheckConstraint(
                condition=Q(delivered_at__isnull=True) | Q(given_up_at__isnull=True), name="outbox_one_end"
            ),
            models.CheckConstraint(
                condition=OF_AN_ENDPOINT & Q(due_at__isnull=False) | OF_PEOPLE & Q(due_at__isnull=True),
                name="outbox_endpoint_has_time",
            ),
        )
        indexes = (
            # What a channel still has to deliver.
            models.Index(
                fields=("channel", "tries"),
                name="outbox_unfinished",
                condition=UNFINISHED,
            ),
            # What retention forgets.
            models.Index(fields=("created_at",), name="outbox_ended", condition=HAS_ENDED),
            # What an endpoint is to be sent, and whether it is to be sent anything.
            models.Index(
                fields=("endpoint", "due_at"),
                name="outbox_due",
                condition=Q(delivered_at__isnull=True, given_up_at__isnull=True, endpoint__isnull=False),
            ),
            # What was tried, or is to be tried, at a time that this clock has not reached yet.
            models.Index(
                fields=("endpoint", "channel", "last_tried_at", "due_at"), name="outbox_tried", condition=UNFINISHED
            ),
        )

    def __str__(self) -> str:
        return self.public_id

    # Mutators

    def begin_try(self, now: datetime) -> None:
        """Count a try before it is made, so that one which takes the process down is counted, too."""
        OutboxMessage.objects.filter(pk=self.pk).update(tries=F("tries") + 1, last_tried_at=now)
        self.tries, self.last_tried_at = self.tries + 1, now

    def deliver(self, now: datetime, *, refused: str = "") -> None:
        """Note that the receiver took it, and for whom of several it did not."""
        taken = OutboxMessage.objects.filter(pk=self.pk)
        taken.update(delivered_at=now, given_up_at=None, last_error=refused[:MAX_ERROR])

    def fail(self, error: str, *, given_up_at: datetime | None, due_at: datetime | None = None) -> bool:
        """Note why it was not taken, and whether it is tried again; False when another try was taken meanwhile.

        `due_at` says when, for an endpoint's message.
        """
        unfinished = OutboxMessage.objects.filter(pk=self.pk, delivered_at=None, given_up_at=None)
        return bool(unfinished.update(last_error=error[:MAX_ERROR], given_up_at=given_up_at, due_at=due_at))

    def reopen(self, now: datetime) -> bool:
        """Have a message that has ended tried once more; False when it is to be tried anyway."""
        ended = OutboxMessage.objects.filter(pk=self.pk).exclude(delivered_at=None, given_up_at=None)
        due_at = now if self.channel == Channel.ENDPOINT else None
        return bool(ended.update(delivered_at=None, given_up_at=None, due_at=due_at))


class NoticeQuerySet(models.QuerySet["Notice"]):
    """Find notices."""

    def waiting(self, channel: Channel) -> NoticeQuerySet:
        """Keep what is in no message yet, the oldest first."""
        return self.filter(channel=channel, message=None).order_by("pk")


class Notice(models.Model):
    """An escalation that a channel is to be told of; written with it, in one transaction."""

    escalation = models.ForeignKey(Escalation, on_delete=models.CASCADE, related_name="notices")
    channel = models.CharField(max_length=10, choices=Channel.choices)
    message = models.ForeignKey(OutboxMessage, null=True, on_delete=models.CASCADE, related_name="notices")
    created_at = models.DateTimeField()

    objects = NoticeQuerySet.as_manager()

    class Meta:
        ordering = ("pk",)
        constraints = (
            models.UniqueConstraint(fields=("escalation", "channel"), name="notice_unique"),
            models.CheckConstraint(condition=Q(channel__in=TO_PEOPLE), name="notice_channel_known"),
        )
        indexes = (
            # What the next message of a channel is made of.
            models.Index(fields=("channel", "id"), name="notice_waiting", condition=Q(message__isnull=True)),
        )

    def __str__(self) -> str:
        return f"{self.escalation} by {self.channel}"


def _pauses(now: datetime, pause: timedelta) -> Q:
    ahead = OutboxMessage.objects.filter(UNFINISHED, channel=OuterRef("channel"), last_tried_at__gt=now + AHEAD)
    of_endpoint, of_people = ahead.filter(endpoint=OuterRef("endpoint")), ahead.filter(endpoint=None)
    is_of_now = Q(failures__gt=0) | Q(free_at__lte=now + pause + AHEAD)
    return Q(is_of_now, ~Exists(of_endpoint), ~Exists(of_people), free_at__gt=now)


class ChannelTurnQuerySet(models.QuerySet["ChannelTurn"]):
    """Take turns."""

    def pausing(self, now: datetime, pause: timedelta = timedelta()) -> ChannelTurnQuerySet:
        """Keep those by which nobody may send yet; `pause` is what they have between two messages that were taken."""
        return self.filter(_pauses(now, pause))

    def taken(self, now: datetime, until: datetime, pause: timedelta = timedelta()) -> ChannelTurnQuerySet:
        """Keep those that pause, or that a sender has leased, `until` the moment that a lease has from now at most."""
        return self.filter(_pauses(now, pause) | Q(lease_until__gt=now, lease_until__lte=until + AHEAD))

    def claim(
        self, channel: Channel, *, now: datetime, until: datetime, pause: timedelta = timedelta(),
        endpoint: WebhookEndpoint | None = None,
    ) -> ChannelTurn | None:  # fmt: skip
        """Lease a channel, or an endpoint's, or None when somebody else sends by it or it pauses."""
        turn, _ = self.get_or_create(channel=channel, endpoint=endpoint, defaults={"free_at": now})
        token = secrets.token_hex(16)
        # As it was looked at: whoever was faster has written another token.
        free = self.filter(pk=turn.pk, lease_token=turn.lease_token, free_at=turn.free_at)
        if self.taken(now, until, pause).filter(pk=turn.pk).exists() or not free.update(
            lease_token=token, lease_until=until
        ):
            return None
        return self.get(pk=turn.pk)


class ChannelTurn(models.Model):
    """Say who may send by a channel, or to an endpoint, and when: one sender at a time, with a pause in between."""

    channel = models.CharField(max_length=10, choices=Channel.choices)
    endpoint = models.OneToOneField(WebhookEndpoint, null=True, on_delete=models.CASCADE, related_name="turn")
    free_at = models.DateTimeField()
    failures = models.PositiveIntegerField(default=0)
    lease_token = models.CharField(max_length=40, blank=True, default="")
    lease_until = models.DateTimeField(null=True)
    took_ms = models.PositiveIntegerField(null=True)  # the last try

    objects = ChannelTurnQuerySet.as_manager()

    class Meta:
        ordering = ("channel", "pk")
        constraints = (
            models.CheckConstraint(condition=Q(channel__in=Channel.values), name="turn_channel_known"),
            models.CheckConstraint(condition=OF_AN_ENDPOINT | OF_PEOPLE, name="turn_of_an_endpoint"),
            models.UniqueConstraint(fields=("channel",), condition=OF_PEOPLE, name="turn_unique_channel"),
        )

    def __str__(self) -> str:
        return self.channel if self.endpoint is None else f"{self.channel} {self.endpoint}"

    def release(self, *, free_at: datetime, failures: int, took_ms: int | None = None) -> bool:
        """Give the channel back until `free_at`; False when the lease had run out and somebody else has it."""
        mine = ChannelTurn.objects.filter(pk=self.pk, lease_token=self.lease_token)
        said = {"free_at": free_at, "failures": failures, "took_ms": self.took_ms if took_ms is None else took_ms}
        return bool(mine.update(lease_token="", lease_until=None, **said))


class WebhookDelivery(models.Model):
    """One try to hand a message to its endpoint: when, what was answered or why not, and how long it took."""

    message = models.ForeignKey(OutboxMessage, on_delete=models.CASCADE, related_name="deliveries")
    tried_at = models.DateTimeField()
    status = models.PositiveSmallIntegerField(null=True)
    reason = models.CharField(max_length=MAX_ERROR, blank=True, default="")
    duration_ms = models.PositiveIntegerField()

    class Meta:
        ordering = ("-pk",)
        verbose_name_plural = "webhook deliveries"
        constraints = (
            models.CheckConstraint(
                condition=Q(status__isnull=True) | Q(status__range=(100, 999)), name="delivery_status_is_http"
            ),
        )

    def __str__(self) -> str:
        return f"{self.message}: {self.status or 'no answer'}"
