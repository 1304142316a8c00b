"""How people answer: who has what, what was put off, and the replies at hand. To be read; the desk changes it."""

from __future__ import annotations

from django.contrib import admin
from django.utils.safestring import SafeString

from retrycontract.admin.pages import HistoryPage, Page, block, line
from retrycontract.store.models import Claim, SavedReply, Snooze

OF_CALL = "Finds the exact id of a call."


class OfEscalationPage(HistoryPage):
    """Search what hangs on an escalation by its call."""

    list_select_related = ("escalation__call", "operator")
    searched = {"call_": "escalation__call__public_id"}  # noqa: RUF012 - declared by the parent
    search_help_text = OF_CALL


@admin.register(Claim)
class ClaimPage(OfEscalationPage):
    """Show who looks after what."""

    list_display = fields = ("escalation", "operator", "claimed_at", "until")


@admin.register(Snooze)
class SnoozePage(OfEscalationPage):
    """Show what was put off."""

    list_display = ("escalation", "operator", "snoozed_at", "until")
    fields = (*list_display, "shown_reason")
    readonly_fields = ("shown_reason",)

    @admin.display(description="reason")
    def shown_reason(self, snooze: Snooze) -> str:
        """Show why."""
        return line(snooze.reason)


@admin.register(SavedReply)
class SavedReplyPage(Page):
    """Show the replies at hand."""

    list_display = ("title", "operator", "position", "updated_at")
    list_select_related = ("operator",)
    fields = (*list_display, "shown_text")
    readonly_fields = ("shown_text",)

    @admin.display(description="text")
    def shown_text(self, reply: SavedReply) -> SafeString | str:
        """Show the text."""
        return block(reply.text)
