"""What people are told of, and who works: to be read."""

from __future__ import annotations

from typing import ClassVar

from django.contrib import admin
from django.utils.safestring import SafeString

from retrycontract.admin.pages import HistoryInline, HistoryPage, Page, block, line
from retrycontract.store.models import ChannelTurn, Notice, OutboxMessage, WorkerBeat


class NoticeInline(HistoryInline):
    """Show which escalations a message tells of."""

    model = Notice
    fields = readonly_fields = ("escalation", "created_at")


@admin.register(OutboxMessage)
class MessagePage(HistoryPage):
    """Show messages, delivered or not."""

    list_display = ("public_id", "channel", "shown_subject", "created_at", "tries", "delivered_at", "given_up_at")
    list_filter = ("channel", ("delivered_at", admin.EmptyFieldListFilter), ("given_up_at", admin.EmptyFieldListFilter))
    searched: ClassVar[dict[str, str]] = {"msg_": "public_id"}
    search_help_text = "Finds the exact id of a message."
    fields = (
        "public_id", "channel", "shown_subject", "shown_text", "created_at", "tries", "last_tried_at", "shown_error",
        "delivered_at", "given_up_at",
    )  # fmt: skip
    readonly_fields = ("shown_subject", "shown_text", "shown_error")
    inlines = (NoticeInline,)

    @admin.display(description="subject")
    def shown_subject(self, message: OutboxMessage) -> str:
        """Show the subject, which names what agents sent."""
        return line(message.subject)

    @admin.display(description="text")
    def shown_text(self, message: OutboxMessage) -> SafeString | str:
        """Show the exact text."""
        return block(message.text)

    @admin.display(description="last error")
    def shown_error(self, message: OutboxMessage) -> str:
        """Show what a receiver said."""
        return line(message.last_error)


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

    list_display = ("channel", "free_at", "failures", "lease_until")
    fields = ("channel", "free_at", "failures", "lease_until")


@admin.register(WorkerBeat)
class BeatPage(Page):
    """Show signs of life."""

    list_display = ("name", "beat_at")
    fields = ("name", "beat_at")
    ordering = ("-beat_at",)
