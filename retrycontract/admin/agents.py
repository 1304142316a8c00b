"""Agents, their keys, the webhook endpoints that are told of their calls, and their logged responses. To be read."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from retrycontract.admin.history import OF_CALL
from retrycontract.admin.inlines import HistoryInline
from retrycontract.admin.pages import (
    LONGEST_KEY,
    MAX_COUNTED,
    HistoryPage,
    Page,
    agent_of,
    block,
    filled_json,
    json_block,
    output_block,
    shown,
)
from retrycontract.contract.outputs import Kind
from retrycontract.store.fields import SqlLiteral
from retrycontract.store.models import Agent, ApiKey, Call, GuidanceVersion, LoggedResponse, WebhookEndpoint


@admin.display(description="scopes", ordering="scopes")
def scopes_of(key: ApiKey) -> str:
    return ", ".join(sorted(key.granted))


@admin.display(description="state")
def state_of(key: ApiKey) -> str:
    """Say whether a key opens the door now."""
    return key.state_at(timezone.now()).value


class KeyInline(HistoryInline):
    """Show an agent's keys."""

    model = ApiKey
    state, may = staticmethod(state_of), staticmethod(scopes_of)
    fields = readonly_fields = ("prefix", "state", "may", "created_at", "expires_at", "revoked_at", "last_used_at")


@admin.register(Agent)
class AgentPage(Page):
    """Show agents with their keys."""

    list_display = ("name", "namespace", "created_at")
    search_fields = ("name", "namespace")
    date_hierarchy = "created_at"
    ordering = ("name",)
    fields = ("name", "namespace", "created_at")
    inlines = (KeyInline,)


class KeyStateFilter(admin.SimpleListFilter):
    """Filter keys by whether they open the door."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002 - Django's
        return [("active", "Active"), ("revoked", "Revoked"), ("expired", "Expired")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002 - Django's
        now = timezone.now()
        match self.value():
            case "active":
                # `exclude` keeps keys without a date, which never expire; a filter by a later date would drop them.
                return queryset.filter(revoked_at=None).exclude(expires_at__lte=now)
            case "revoked":
                return queryset.filter(revoked_at__isnull=False)
            case "expired":
                return queryset.filter(revoked_at=None, expires_at__lte=now)
        return queryset


@admin.register(ApiKey)
class ApiKeyPage(Page):
    """Show keys by how they begin; the digest is never shown."""

    state, may = staticmethod(state_of), staticmethod(scopes_of)
    list_display = ("prefix", "state", "agent", "may", "created_at", "expires_at", "revoked_at", "last_used_at")
    list_filter = (KeyStateFilter,)
    list_select_related = ("agent",)
    search_fields = ("prefix", "agent__name")
    date_hierarchy = "created_at"
    fields = ("agent", "prefix", "state", "may", "created_at", "expires_at", "revoked_at", "last_used_at")


@admin.register(WebhookEndpoint)
class EndpointPage(Page):
    """Show which systems are told of what; addresses are shortened, secrets are not even read."""

    list_display = ("public_id", "is_active", "agent", "shown_address", "shown_events", "created_at", "gone_at")
    read_at_once = ("sealed_address", "events")
    list_filter = ("is_active",)
    list_select_related = ("agent",)
    search_fields = ("public_id", "agent__name")
    fields = list_display

    shown_address = shown("shortened", title="address")  # where it leads, as far as that is no secret

    @admin.display(description="events")
    def shown_events(self, endpoint: WebhookEndpoint) -> str:
        return ", ".join(endpoint.events)


@admin.register(LoggedResponse)
class LoggedResponsePage(HistoryPage):
    """Show replies as the log has them: status, violations, and which correction each was."""

    agent = staticmethod(agent_of)
    list_display = ("judged_at", "call", "agent", "shown_task", "turn", "shown_status", "correction_attempt")
    list_select_related = ("call__agent",)
    search_help_text = OF_CALL
    list_filter = ("is_valid", "is_parsed", "call__agent")
    ordering = ("-call_id", "number")  # the log's own
    fieldsets = (
        (None, {"fields": ("call", "shown_task", "turn", "shown_status", "correction_attempt", "judged_at")}),
        ("What the model sent, redacted", {"fields": ("shown_output",)}),
        ("Violations", {"fields": ("shown_errors",)}),
    )

    def bounded(self, rows: QuerySet[Any], request: HttpRequest) -> QuerySet[Any]:
        """Find the calls first, by an index of their own: among all attempts there may be next to no response."""
        calls = Call.objects.filter(kind=SqlLiteral(Kind.AGENT_RESPONSE.value)).order_by("-pk")
        agent = request.GET.get("call__agent__id__exact", "")
        if agent.isascii() and agent.isdigit() and len(agent) <= LONGEST_KEY:
            calls = calls.filter(agent=int(agent))
        return rows.filter(call__in=calls.values("pk")[: MAX_COUNTED + 1])

    shown_task = shown("call.task_id")
    shown_status = shown("response_status", title="status")
    shown_output = shown("output", output_block, title="raw response")
    shown_errors = shown("errors_json", filled_json, title="violations")


@admin.register(GuidanceVersion)
class GuidanceVersionPage(HistoryPage):
    """Show answers as they were proposed, edited and delivered."""

    list_display = ("at", "stage", "guidance")
    list_filter = ("stage",)
    list_select_related = ("guidance__escalation",)
    searched: ClassVar[dict[str, str]] = {"": "guidance__call__public_id"}
    fields = ("guidance", "stage", "at", "shown_text", "shown_arguments", "shown_patch")

    shown_text = shown("text", block)
    shown_arguments = shown("arguments", json_block)
    shown_patch = shown("patch", json_block)
