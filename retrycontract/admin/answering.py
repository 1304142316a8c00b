"""How people answer: who has what, what was put off, and the replies at hand. To be read; the desk changes it."""

from __future__ import annotations

from django.contrib import admin
from django.utils import timezone

from retrycontract.admin.history import OF_CALL
from retrycontract.admin.pages import HistoryPage, Page, agent_of, block, json_block, shown
from retrycontract.store.models import (
    AnswerRecord,
    Claim,
    EscalationState,
    HeldAnswer,
    SavedReply,
    Snooze,
    StandingHint,
)


class OfEscalationPage(HistoryPage):
    """Search what hangs on an escalation by its call."""

    agent = staticmethod(agent_of)
    list_select_related = ("escalation__call__agent", "operator")
    searched = {"call_": "escalation__call__public_id"}  # noqa: RUF012 - declared by the parent
    search_help_text = OF_CALL

    @admin.display(description="state", ordering="escalation__state")
    def state(self, row: Claim | Snooze | HeldAnswer) -> str:
        return EscalationState(row.escalation.state).label


@admin.register(Claim)
class ClaimPage(OfEscalationPage):
    """Show who looks after what."""

    list_display = ("escalation", "state", "agent", "operator", "claimed_at", "until")
    fields = ("escalation", "operator", "claimed_at", "until")


@admin.register(Snooze)
class SnoozePage(OfEscalationPage):
    """Show what was put off."""

    list_display = ("escalation", "state", "agent", "operator", "snoozed_at", "until")
    fields = ("escalation", "operator", "snoozed_at", "until", "shown_reason")

    shown_reason = shown("reason")


@admin.register(HeldAnswer)
class HeldAnswerPage(OfEscalationPage):
    """Show what was sent and no agent has seen."""

    list_display = ("escalation", "state", "agent", "operator", "decision", "held_at", "send_at")
    fields = (
        "escalation", "operator", "decision", "held_at", "send_at", "batch", "grant", "base_number", "stands_days",
        "shown_text", "shown_arguments",
    )  # fmt: skip

    shown_text = shown("text", block)
    shown_arguments = shown("arguments", json_block)


@admin.register(SavedReply)
class SavedReplyPage(Page):
    """Show the replies at hand."""

    list_display = ("title", "operator", "position", "updated_at")
    list_select_related = ("operator",)
    search_fields = ("title", "operator__username")
    fields = (*list_display, "shown_text")

    shown_text = shown("text", block)


@admin.register(AnswerRecord)
class AnswerRecordPage(Page):
    """Show what answers were good for."""

    list_display = ("shown_tool", "decision", "given", "tried", "worked", "last_given_at")
    list_filter = ("decision",)
    # Exact, here and below: a part of a name would be looked for in every row.
    search_fields = ("tool_name__exact", "namespace__exact")
    search_help_text = "Finds the exact name of a tool or of a namespace."
    fields = ("namespace", *list_display, "fingerprint", "shown_text", "shown_patch")

    shown_tool = shown("tool_name", title="tool")
    shown_text = shown("text", block)
    shown_patch = shown("patch", json_block)


@admin.register(StandingHint)
class StandingHintPage(Page):
    """Show what agents are told before a person is asked."""

    list_display = ("shown_tool", "state", "owner", "created_at", "expires_at", "off_at", "shown", "tried", "worked")
    list_select_related = ("owner",)
    search_fields = ("tool_name__exact", "namespace__exact", "owner__username")
    search_help_text = "Finds the exact name of a tool or of a namespace, and operators."
    fields = ("namespace", *list_display, "fingerprint", "source", "shown_text")

    @admin.display(description="state")
    def state(self, hint: StandingHint) -> str:
        """Say whether agents are told it now."""
        if hint.off_at is not None:
            return "Switched off"
        return "Expired" if hint.expires_at <= timezone.now() else "Active"

    shown_tool = shown("tool_name", title="tool")
    shown_text = shown("text", block)
