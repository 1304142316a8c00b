"""What people and systems are told, and who works: to be read; a message can be sent again."""

from __future__ import annotations

from typing import ClassVar

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from retrycontract.admin.inlines import HistoryInline
from retrycontract.admin.pages import HistoryPage, Page, block, by, counted, shown
from retrycontract.store.models import ChannelTurn, Notice, OutboxMessage, WebhookDelivery, WorkerBeat
from retrycontract.usecases.notify.drain_outbox import send_again


class NoticeInline(HistoryInline):
    """Show which escalations a message tells of."""

    model = Notice
    fields = readonly_fields = ("created_at", "escalation")


class DeliveryInline(HistoryInline):
    """Show the tries to hand a message to its endpoint."""

    model = WebhookDelivery
    fields = readonly_fields = ("tried_at", "status", "shown_reason", "duration_ms")

    shown_reason = shown("reason")


@admin.register(OutboxMessage)
class MessagePage(HistoryPage):
    """Show messages, delivered or not, and send them again."""

    list_display = (
        "public_id",
        "channel",
        "shown_subject",
        "endpoint",
        "created_at",
        "tries",
        "delivered_at",
        "given_up_at",
    )
    read_at_once = ("endpoint__sealed_address",)
    list_filter = ("channel", ("delivered_at", admin.EmptyFieldListFilter), ("given_up_at", admin.EmptyFieldListFilter))
    list_select_related = ("endpoint",)
    searched: ClassVar[dict[str, str]] = {"msg_": "public_id", "ep_": "endpoint__public_id"}
    search_help_text = "Finds the exact id of a message, or of an endpoint."
    fields = (
        "public_id", "channel", "endpoint", "shown_subject", "shown_text", "created_at", "due_at", "tries",
        "last_tried_at", "shown_error", "delivered_at", "given_up_at",
    )  # fmt: skip
    inlines = (NoticeInline, DeliveryInline)
    actions = ("send_again",)

    @admin.action(description="Send again: the same message, under the same id", permissions=["view"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[OutboxMessage]) -> None:
        """Call the use case for each."""
        tried = [send_again(each, **by(request)) for each in self.in_time(self.first_of(queryset, request), request)]
        sent, left = tried.count(True), tried.count(False)
        kept = f" {left} {'is' if left == 1 else 'are'} to be tried anyway." if left else ""
        said = f"{counted(sent, 'message')} {'is' if sent == 1 else 'are'} sent again.{kept}"
        self.message_user(request, said, messages.SUCCESS if sent else messages.WARNING)

    shown_subject = shown("subject")
    shown_text = shown("text", block)
    shown_error = shown("last_error")


@admin.register(WebhookDelivery)
class DeliveryPage(HistoryPage):
    """Show the log of deliveries to endpoints."""

    list_display = ("tried_at", "message", "shown_endpoint", "status", "shown_reason", "duration_ms")
    list_filter = (("status", admin.EmptyFieldListFilter),)
    list_select_related = ("message__endpoint",)
    read_at_once = ("message__endpoint__sealed_address",)
    searched: ClassVar[dict[str, str]] = {"msg_": "message__public_id", "ep_": "message__endpoint__public_id"}
    search_help_text = "Finds the exact id of a message, or of an endpoint."
    fields = ("message", "tried_at", "status", "shown_reason", "duration_ms")

    shown_endpoint = shown("message.endpoint", str)
    shown_reason = shown("reason")


@admin.register(Notice)
class NoticePage(HistoryPage):
    """Show which escalations are to be told of."""

    list_display = ("pk", "escalation", "channel", "message", "created_at")
    list_filter = ("channel", ("message", admin.EmptyFieldListFilter))
    list_select_related = ("escalation", "message")
    searched: ClassVar[dict[str, str]] = {"esc_": "escalation__public_id", "call_": "escalation__call__public_id"}
    search_help_text = "Finds the exact id of an escalation or a call."
    fields = ("escalation", "channel", "message", "created_at")


@admin.register(ChannelTurn)
class TurnPage(Page):
    """Show when a channel is free."""

    list_display = ("channel", "endpoint", "free_at", "failures", "lease_until")
    list_select_related = ("endpoint",)
    read_at_once = ("endpoint__sealed_address",)
    fields = ("channel", "endpoint", "free_at", "failures", "lease_until", "took_ms")


@admin.register(WorkerBeat)
class BeatPage(Page):
    """Show signs of life."""

    list_display = ("name", "beat_at")
    fields = ("name", "beat_at")
    ordering = ("-beat_at",)
