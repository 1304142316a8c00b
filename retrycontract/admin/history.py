"""What happened: calls, attempts, escalations, guidance and events. To be read; a call can be cancelled."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from retrycontract.admin.pages import HistoryInline, HistoryPage, Page, agent_of, block, by, json_block, line
from retrycontract.contract.lifecycle import CallState
from retrycontract.store.models import (
    Attempt,
    Call,
    Escalation,
    Event,
    Guidance,
    IdempotencyKey,
    LostRaceError,
    Rollup,
    Summary,
)
from retrycontract.usecases.calls.cancel_call import cancel_call

OF_CALL = "Finds the exact id of a call."


class AttemptInline(HistoryInline):
    """Show a call's attempts."""

    model = Attempt
    fields = readonly_fields = ("number", "state", "status", "is_valid", "submitted_at", "judged_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Leave what is long, and what is sealed, in the database."""
        return super().get_queryset(request).only("call", *self.fields)


class EscalationInline(HistoryInline):
    """Show a call's escalations."""

    model = Escalation
    fields = readonly_fields = ("public_id", "round", "state", "opened_at", "closed_at")


@admin.register(Call)
class CallAdmin(Page):
    """Show calls; the desk is where they are answered."""

    list_display = ("public_id", "shown_tool", "agent", "state", "attempts", "updated_at")
    list_filter = ("state", "kind", "agent")
    list_select_related = ("agent",)
    search_fields = ("public_id",)
    search_help_text = "Finds a part of a tool’s name, the beginning of an id, and words of goals and values."
    fieldsets = (
        (None, {"fields": ("public_id", "agent", "kind", "shown_tool", "tool", "version", "state")}),
        ("Attempts", {"fields": ("attempts_made", "attempts_allowed", "last_turn", "shown_tool_call_id")}),
        (
            "What the agent says of it",
            {"fields": ("shown_session", "shown_task", "shown_correlation", "shown_model", "shown_context")},
        ),
        ("Times", {"fields": ("created_at", "updated_at", "blocked_at", "expires_at")}),
    )
    readonly_fields = (
        "shown_tool", "shown_tool_call_id", "shown_session", "shown_task", "shown_correlation", "shown_model",
        "shown_context",
    )  # fmt: skip
    inlines = (AttemptInline, EscalationInline)
    actions = ("cancel",)

    @admin.display(ordering="attempts_made")
    def attempts(self, call: Call) -> str:
        """Say how many were made, and where more may come of how many."""
        is_whole = call.has_ended or call.attempts_made > call.attempts_allowed
        return str(call.attempts_made) if is_whole else f"{call.attempts_made} of {call.attempts_allowed}"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Call]:
        """Have an index find the calls of a state that is looked at."""
        state = request.GET.get("state__exact")
        return Call.objects.in_states(state) if state in list(CallState) else super().get_queryset(request)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search as the desk does: by what an index finds."""
        if not search_term:
            return super().get_search_results(request, queryset, search_term)
        return queryset & Call.objects.search(search_term.strip()), False

    def view_on_site(self, call: Call) -> str:
        """Lead to the call's page at the desk."""
        return reverse("dashboard:call", args=[call.public_id])

    @admin.display(description="tool name", ordering="tool_name")
    def shown_tool(self, call: Call) -> str:
        """Show the name that the model used."""
        return line(call.tool_name)

    @admin.display(description="last tool call id")
    def shown_tool_call_id(self, call: Call) -> str:
        """Show the id that the model's provider gave."""
        return line(call.last_tool_call_id)

    @admin.display(description="session id")
    def shown_session(self, call: Call) -> str:
        """Show the id that the agent gave."""
        return line(call.session_id)

    @admin.display(description="task id")
    def shown_task(self, call: Call) -> str:
        """Show the id that the agent gave."""
        return line(call.task_id)

    @admin.display(description="correlation id")
    def shown_correlation(self, call: Call) -> str:
        """Show the id that the agent gave."""
        return line(call.correlation_id)

    @admin.display(description="model")
    def shown_model(self, call: Call) -> str:
        """Show the model of the newest attempt that named one."""
        return line(call.model or "")

    @admin.display(description="context")
    def shown_context(self, call: Call) -> SafeString | str:
        """Show what the agent says of its task."""
        return json_block(call.context)

    # Of Django's rights staff have only this one here; the change is the use case's.
    @admin.action(description="Cancel the selected calls: their agents are told to stop", permissions=["view"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[Call]) -> None:
        """Call the use case for each; what has ended, or changed this moment, is left as it is."""
        cancelled = left = 0
        for call in queryset.select_related("agent"):
            try:
                done = cancel_call(call, **by(request))
            except LostRaceError:
                done = False
            cancelled, left = cancelled + done, left + (not done)
        kept = f" {left} had ended, or changed this moment; they are as they were." if left else ""
        self.message_user(
            request, f"{cancelled} calls cancelled.{kept}", messages.WARNING if left else messages.SUCCESS
        )


@admin.register(Attempt)
class AttemptPage(HistoryPage):
    """Show attempts, redacted as they are stored; a sealed submission is never opened here."""

    agent = staticmethod(agent_of)
    list_display = (
        "pk", "call", "agent", "number", "state", "status", "is_valid", "deliveries", "submitted_at", "judged_at",
    )  # fmt: skip
    list_filter = ("state", "status", "is_valid")
    list_select_related = ("call__agent",)
    search_help_text = OF_CALL
    fieldsets = (
        (None, {"fields": ("call", "number", "state", "status", "is_valid", "shown_tool_call_id", "turn")}),
        ("What the model read", {"fields": ("shown_feedback",)}),
        (
            "The model",
            {
                "fields": (
                    "shown_model",
                    "shown_prompt",
                    "shown_said",
                    "tokens_in",
                    "tokens_out",
                    "seconds",
                    "finish_reason",
                )
            },
        ),
        ("What the model sent, redacted", {"fields": ("shown_output", "is_parsed", "is_redacted", "output_hash")}),
        ("Errors", {"fields": ("shown_errors", "fingerprint", "shown_attempt", "shown_max")}),
        (
            "Judging",
            {"fields": ("submitted_at", "judged_at", "duration_us", "deliveries", "lease_until", "traceparent")},
        ),
    )
    readonly_fields = (
        "shown_tool_call_id", "shown_feedback", "shown_model", "shown_prompt", "shown_said", "shown_output",
        "shown_errors",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Leave what is sealed, and in lists what is long, in the database."""
        return super().get_queryset(request).defer("sealed", "output", "errors_json", "feedback", "prompt", "said")

    @admin.display(description="tool call id")
    def shown_tool_call_id(self, attempt: Attempt) -> str:
        """Show the id that the model's provider gave."""
        return line(attempt.tool_call_id)

    @admin.display(description="feedback")
    def shown_feedback(self, attempt: Attempt) -> SafeString | str:
        """Show the exact text."""
        return block(attempt.feedback)

    @admin.display(description="model")
    def shown_model(self, attempt: Attempt) -> str:
        """Show the model's name, as the agent told it."""
        return line(attempt.model or "")

    @admin.display(description="prompt")
    def shown_prompt(self, attempt: Attempt) -> SafeString | str:
        """Show what the model read before the attempt."""
        return block(attempt.prompt or "")

    @admin.display(description="the model's own words")
    def shown_said(self, attempt: Attempt) -> SafeString | str:
        """Show what the model said beside the output."""
        return block(attempt.said or "")

    @admin.display(description="output")
    def shown_output(self, attempt: Attempt) -> SafeString | str:
        """Show text as text, everything else as JSON."""
        return block(attempt.output) if isinstance(attempt.output, str) else json_block(attempt.output)

    @admin.display(description="errors")
    def shown_errors(self, attempt: Attempt) -> SafeString | str:
        return json_block(attempt.errors_json or None)


@admin.register(Escalation)
class EscalationPage(HistoryPage):
    """Show requests for a person."""

    agent = staticmethod(agent_of)
    list_display = ("public_id", "call", "agent", "round", "state", "opened_at", "closed_at")
    list_filter = ("state",)
    list_select_related = ("call__agent",)
    searched = HistoryPage.searched | {"esc_": "public_id"}
    search_help_text = "Finds the exact id of an escalation or a call."
    fields = ("public_id", "call", "round", "state", "opened_at", "closed_at", "shown_text")
    readonly_fields = ("shown_text",)

    @admin.display(description="text")
    def shown_text(self, escalation: Escalation) -> SafeString | str:
        """Show the history as it was written down."""
        return block(escalation.text)


@admin.register(Guidance)
class GuidancePage(HistoryPage):
    """Show answers."""

    agent = staticmethod(agent_of)
    list_display = (
        "pk", "call", "agent", "operator", "decision", "granted", "given_at", "delivered_at", "acknowledged_at",
    )  # fmt: skip
    list_filter = ("decision",)
    list_select_related = ("call__agent", "operator")
    # Last: every text begins with the empty one.
    searched = HistoryPage.searched | {"": "operator__username"}
    search_help_text = "Finds the exact id of a call, or an operator by name."
    fieldsets = (
        (None, {"fields": ("escalation", "call", "operator", "decision", "granted", "base")}),
        ("What the agent read", {"fields": ("shown_rendered",)}),
        ("What the operator wrote", {"fields": ("shown_text", "shown_arguments", "shown_patch")}),
        ("Times", {"fields": ("given_at", "delivered_at", "acknowledged_at")}),
    )
    readonly_fields = ("shown_rendered", "shown_text", "shown_arguments", "shown_patch")

    @admin.display(description="text")
    def shown_rendered(self, guidance: Guidance) -> SafeString | str:
        """Show the exact text."""
        return block(guidance.rendered)

    @admin.display(description="text")
    def shown_text(self, guidance: Guidance) -> SafeString | str:
        """Show the operator's words."""
        return block(guidance.text)

    @admin.display(description="arguments")
    def shown_arguments(self, guidance: Guidance) -> SafeString | str:
        return json_block(guidance.arguments)

    @admin.display(description="patch")
    def shown_patch(self, guidance: Guidance) -> SafeString | str:
        """Show the patch against the agent's own submission."""
        return json_block(guidance.patch)


@admin.register(Event)
class EventAdmin(HistoryPage):
    """Show the audit trail."""

    list_display = ("at", "name", "actor", "door", "call", "from_state", "to_state")
    list_filter = ("door",)
    list_select_related = ("call",)
    # Last, as every text begins with the empty one.
    searched = HistoryPage.searched | {"": "name"}
    search_help_text = "Finds the exact id of a call, and events by name, such as key.revoked."
    fields = ("at", "name", "actor", "door", "call", "from_state", "to_state", "shown_data")
    readonly_fields = ("shown_data",)

    @admin.display(description="data")
    def shown_data(self, event: Event) -> SafeString | str:
        return json_block(event.data or None)


@admin.register(IdempotencyKey)
class IdempotencyKeyPage(HistoryPage):
    """Show which requests would be answered as before."""

    list_display = ("pk", "agent", "attempt", "created_at")
    list_select_related = ("agent", "attempt__call")
    searched: ClassVar[dict[str, str]] = {"call_": "attempt__call__public_id"}
    search_help_text = OF_CALL
    fields = ("agent", "attempt", "shown_answer", "created_at")
    readonly_fields = ("shown_answer",)

    @admin.display(description="answer")
    def shown_answer(self, key: IdempotencyKey) -> SafeString | str:
        """Show the answer that is kept, where there is no attempt to make it from."""
        return json_block(key.answer)


@admin.register(Rollup)
class RollupPage(Page):
    """Show what was counted in each hour."""

    list_display = ("hour", "namespace", "shown_tool", "measure", "label", "amount")
    list_filter = ("measure",)
    ordering = ("-hour", "-pk")
    fields = ("hour", "namespace", "shown_tool", "measure", "label", "shard", "amount")
    readonly_fields = ("shown_tool",)

    @admin.display(description="tool")
    def shown_tool(self, rollup: Rollup) -> str:
        """Show the name that an agent gave its tool; none for tools that nobody registered."""
        return line(rollup.tool_name)


@admin.register(Summary)
class SummaryPage(Page):
    """Show what hours and days came to."""

    list_display = ("at", "span", "namespace", "shown_tool", "judged", "valid")
    list_filter = ("span", "is_whole")
    ordering = ("-at", "-pk")
    fields = ("span", "at", "namespace", "shown_tool", "judged", "valid", "first_judged", "first_valid", "shown_counts")
    readonly_fields = ("shown_tool", "shown_counts")

    @admin.display(description="tool")
    def shown_tool(self, summary: Summary) -> str:
        """Show the name that an agent gave its tool; all tools together where there is none."""
        return "all" if summary.is_whole else line(summary.tool_name)

    @admin.display(description="counts")
    def shown_counts(self, summary: Summary) -> SafeString | str:
        """Show what was counted, also by place and source."""
        return json_block(summary.counts | summary.details)
