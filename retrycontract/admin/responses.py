"""The log of agents' responses. To be read."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from retrycontract.admin.history import OF_CALL
from retrycontract.admin.pages import HistoryPage, agent_of, block, json_block, line
from retrycontract.store.models import GuidanceVersion, LoggedResponse


@admin.register(LoggedResponse)
class LoggedResponsePage(HistoryPage):
    """Show replies as the log has them: status, violations, and which correction each was."""

    agent = staticmethod(agent_of)
    list_display = ("judged_at", "call", "agent", "shown_task", "turn", "shown_status", "shown_correction")
    list_select_related = ("call__agent",)
    search_help_text = OF_CALL
    list_filter = ("is_valid", "is_parsed", "call__agent")
    fieldsets = (
        (None, {"fields": ("call", "shown_task", "turn", "shown_status", "shown_correction", "judged_at")}),
        ("What the model sent, redacted", {"fields": ("shown_output",)}),
        ("Violations", {"fields": ("shown_errors",)}),
    )
    readonly_fields = ("shown_task", "shown_status", "shown_correction", "shown_output", "shown_errors")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Leave what is sealed, and in lists what is long, in the database."""
        return super().get_queryset(request).defer("sealed", "output", "errors_json", "feedback")

    @admin.display(description="task id")
    def shown_task(self, response: LoggedResponse) -> str:
        """Show the id that the agent gave."""
        return line(response.call.task_id)

    @admin.display(description="status")
    def shown_status(self, response: LoggedResponse) -> str:
        """Show how the reply went."""
        return response.response_status.value

    @admin.display(description="correction attempt")
    def shown_correction(self, response: LoggedResponse) -> int:
        """Show which correction the reply was; 0 is the reply itself."""
        return response.correction_attempt

    @admin.display(description="raw response")
    def shown_output(self, response: LoggedResponse) -> SafeString | str:
        """Show text as text, everything else as JSON."""
        return block(response.output) if isinstance(response.output, str) else json_block(response.output)

    @admin.display(description="violations")
    def shown_errors(self, response: LoggedResponse) -> SafeString | str:
        """Show the violations as they are stored."""
        return json_block(response.errors_json or None)


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
