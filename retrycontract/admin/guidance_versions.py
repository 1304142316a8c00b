"""Answers at their stages: what was proposed, what was sent off, what the agent was handed."""

from __future__ import annotations

from typing import ClassVar

from django.contrib import admin
from django.utils.safestring import SafeString

from retrycontract.admin.pages import HistoryPage, block, json_block
from retrycontract.store.models import GuidanceVersion


@admin.register(GuidanceVersion)
class GuidanceVersionPage(HistoryPage):
    """Show answers as they were proposed, edited and delivered."""

    list_display = ("at", "stage", "guidance")
    list_filter = ("stage",)
    list_select_related = ("guidance__escalation",)
    searched: ClassVar[dict[str, str]] = {"": "guidance__call__public_id"}
    fields = ("guidance", "stage", "at", "shown_text", "shown_arguments", "shown_patch")
    readonly_fields = ("shown_text", "shown_arguments", "shown_patch")

    @admin.display(description="text")
    def shown_text(self, version: GuidanceVersion) -> SafeString | str:
        """Show the text."""
        return block(version.text)

    @admin.display(description="arguments")
    def shown_arguments(self, version: GuidanceVersion) -> SafeString | str:
        """Show corrected arguments."""
        return json_block(version.arguments)

    @admin.display(description="patch")
    def shown_patch(self, version: GuidanceVersion) -> SafeString | str:
        """Show the patch against the agent's own submission."""
        return json_block(version.patch)
