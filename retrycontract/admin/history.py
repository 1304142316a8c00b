"""What happened: calls, attempts, escalations, guidance and events. To be read; a call can be cancelled."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.safestring import SafeString

from retrycontract.admin.inlines import HistoryInline
from retrycontract.admin.pages import (
    HistoryPage,
    Page,
    agent_of,
    block,
    by,
    filled_json,
    json_block,
    line,
    output_block,
    shown,
)
from retrycontract.admin.trail import OF_ROW, named_by, trail_at
from retrycontract.contract.lifecycle import CallState
from retrycontract.store.fields import without_long_values
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
CONFIRMED = "confirmed"  # the field that says so
MOST_NAMED = 10  # of the calls that are to be cancelled


class AttemptInline(HistoryInline):
    """Show a call's attempts."""

    model = Attempt
    ordering = ("-number",)
    fields = readonly_fields = ("number", "state", "status", "is_valid", "submitted_at", "judged_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Leave what is long, and what is sealed, in the database."""
        return super().get_queryset(request).only("call", *self.fields)


class EscalationInline(HistoryInline):
    """Show a call's escalations."""

    model = Escalation
    ordering = ("-round",)
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
        if state not in list(CallState):
            return super().get_queryset(request)
        return without_long_values(Call.objects.in_states(state), *self.list_select_related)

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

    shown_tool = shown("tool_name", ordering="tool_name")
    shown_tool_call_id = shown("last_tool_call_id")
    shown_session = shown("session_id")
    shown_task = shown("task_id")
    shown_correlation = shown("correlation_id")
    shown_model = shown("model")
    shown_context = shown("context", json_block)

    # Of Django's rights staff have only this one here; the change is the use case's.
    @admin.action(description="Cancel the selected calls: their agents are told to stop", permissions=["view"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[Call]) -> HttpResponse | None:
        """Ask first, then call the use case for each; what has ended, or changed this moment, is left as it is."""
        calls = self.first_of((queryset & Call.objects.open()).select_related("agent"), request)
        if calls and CONFIRMED not in request.POST:
            shown = [(call.public_id, line(call.tool_name), line(call.agent.name)) for call in calls[:MOST_NAMED]]
            asked = {"calls": calls, "shown": shown, "more": len(calls) - len(shown), "confirmed": CONFIRMED}
            return self.page_of_action(request, "admin/cancel_calls.html", "Cancel calls", asked)
        cancelled, left = 0, len(request.POST.getlist(ACTION_CHECKBOX_NAME)) - len(calls)
        for call in self.in_time(calls, request):
            is_done = False
            with suppress(LostRaceError):
                is_done = cancel_call(call, **by(request))
            cancelled, left = cancelled + is_done, left + (not is_done)
        kept = f" {left} had ended, or changed this moment; they are as they were." if left > 0 else ""
        done = f"{cancelled} call{'s' * (cancelled != 1)} cancelled.{kept}"
        self.message_user(request, done, messages.WARNING if left > 0 else messages.SUCCESS)
        return None


@admin.register(Attempt)
class AttemptPage(HistoryPage):
    """Show attempts, redacted as they are stored; a sealed submission is never opened here."""

    agent = staticmethod(agent_of)
    list_display = (
        "pk", "call", "agent", "number", "state", "status", "is_valid", "deliveries", "submitted_at", "judged_at",
    )  # fmt: skip
    list_filter = unindexed = ("state", "status", "is_valid")
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

    shown_tool_call_id = shown("tool_call_id")
    shown_feedback = shown("feedback", block)
    shown_model = shown("model")
    shown_prompt = shown("prompt", block)
    shown_said = shown("said", block, title="the model's own words")
    shown_output = shown("output", output_block)
    shown_errors = shown("errors_json", filled_json, title="errors")


@admin.register(Escalation)
class EscalationPage(HistoryPage):
    """Show requests for a person."""

    agent = staticmethod(agent_of)
    list_display = ("public_id", "call", "agent", "round", "state", "opened_at", "closed_at")
    list_filter = unindexed = ("state",)
    list_select_related = ("call__agent",)
    searched = HistoryPage.searched | {"esc_": "public_id"}
    search_help_text = "Finds the exact id of an escalation or a call."
    fields = ("public_id", "call", "round", "state", "opened_at", "closed_at", "shown_text")

    shown_text = shown("text", block)


@admin.register(Guidance)
class GuidancePage(HistoryPage):
    """Show answers."""

    agent = staticmethod(agent_of)
    list_display = (
        "pk", "call", "agent", "operator", "decision", "granted", "given_at", "delivered_at", "acknowledged_at",
    )  # fmt: skip
    list_filter = unindexed = ("decision",)
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

    shown_rendered = shown("rendered", block, title="text")
    shown_text = shown("text", block)
    shown_arguments = shown("arguments", json_block)
    shown_patch = shown("patch", json_block)


class RowFilter(admin.SimpleListFilter):
    """Keep the events of the row whose History was asked for."""

    title, parameter_name = "what it is of", OF_ROW

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002 - Django's
        """Offer nothing but the way back: rows are chosen on their own pages."""
        return [(address, line(trail_at(address).title))] if (address := self.value()) else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002 - Django's
        return trail_at(address).keep(queryset) if (address := self.value()) else queryset


@admin.register(Event)
class EventAdmin(HistoryPage):
    """Show the audit trail."""

    list_display = ("at", "name", "about", "actor", "door", "call", "from_state", "to_state")
    read_at_once = ("data",)
    list_filter = (RowFilter, "door")
    unindexed = ("door",)
    list_select_related = ("call",)
    # Last, as every text begins with the empty one.
    searched = HistoryPage.searched | {"": "name"}
    search_help_text = "Finds the exact id of a call, and events by name, such as key.revoked."
    fields = ("at", "name", "about", "actor", "door", "call", "from_state", "to_state", "shown_data")

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Say in the title what all the events are of."""
        address, call = request.GET.get(OF_ROW), request.GET.get("q", "").strip()
        of = trail_at(address).title if address else f"call {call}" if call.startswith("call_") else ""
        titled = {"title": f"Events of {line(of)}"} if of else {}
        return super().changelist_view(request, (extra_context or {}) | titled)

    @admin.display(description="about")
    def about(self, event: Event) -> str:
        """Say what it is of, if no call."""
        return line(named_by(event))

    shown_data = shown("data", filled_json)


@admin.register(IdempotencyKey)
class IdempotencyKeyPage(HistoryPage):
    """Show which requests would be answered as before."""

    list_display = ("pk", "agent", "attempt", "created_at")
    list_select_related = ("agent", "attempt__call")
    searched: ClassVar[dict[str, str]] = {"call_": "attempt__call__public_id"}
    search_help_text = OF_CALL
    fields = ("agent", "attempt", "shown_answer", "created_at")

    shown_answer = shown("answer", json_block)


@admin.register(Rollup)
class RollupPage(Page):
    """Show what was counted in each hour."""

    list_display = ("hour", "namespace", "shown_tool", "measure", "label", "amount")
    list_filter = unindexed = ("measure",)
    ordering = ("-hour", "-pk")
    fields = ("hour", "namespace", "shown_tool", "measure", "label", "shard", "amount")

    shown_tool = shown("tool_name", title="tool")


@admin.register(Summary)
class SummaryPage(Page):
    """Show what hours and days came to."""

    list_display = ("at", "span", "namespace", "shown_tool", "judged", "valid")
    list_filter = ("span", "is_whole")
    ordering = ("-at", "-pk")
    fields = ("span", "at", "namespace", "shown_tool", "judged", "valid", "first_judged", "first_valid", "shown_counts")

    @admin.display(description="tool")
    def shown_tool(self, summary: Summary) -> str:
        """Show the name that an agent gave its tool; all tools together where there is none."""
        return "all" if summary.is_whole else line(summary.tool_name)

    @admin.display(description="counts")
    def shown_counts(self, summary: Summary) -> SafeString | str:
        """Show what was counted, also by place and source."""
        return json_block(summary.counts | summary.details)
