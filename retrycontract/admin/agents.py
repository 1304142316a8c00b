"""Agents and their keys."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AdminSplitDateTime
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from retrycontract.admin.pages import EditablePage, HistoryInline, Page, by
from retrycontract.store.models import Agent, ApiKey, Scope
from retrycontract.usecases.people.admit import (
    UnusableNameError,
    admit_agent,
    check_name,
    issue_key,
    rename_agent,
    revoke_key,
)


class AgentForm(forms.ModelForm):  # type: ignore[type-arg]  # the class takes no arguments at run time
    """Ask for name and namespace."""

    namespace = forms.CharField(
        max_length=200,
        required=False,
        help_text="Agents of one namespace share their tools. Left empty it is the name; it cannot be changed later.",
    )

    class Meta:
        model = Agent
        fields = ("name", "namespace")

    def clean_name(self) -> str:
        """Refuse names that cannot be shown."""
        name: str = self.cleaned_data["name"]
        try:
            check_name(name)
        except UnusableNameError as error:
            raise ValidationError(str(error)) from None
        return name


@admin.display(description="scopes", ordering="scopes")
def scopes_of(key: ApiKey) -> str:
    """Name what a key may do."""
    return ", ".join(sorted(key.granted))


class KeyInline(HistoryInline):
    """Show an agent's keys."""

    model = ApiKey
    may = staticmethod(scopes_of)
    fields = readonly_fields = ("prefix", "may", "created_at", "expires_at", "revoked_at", "last_used_at")


@admin.register(Agent)
class AgentPage(EditablePage):
    """Let agents in and rename them."""

    form = AgentForm
    list_display = ("name", "namespace", "created_at")
    search_fields = ("name", "namespace")
    date_hierarchy = "created_at"
    ordering = ("name",)
    fields = ("name", "namespace", "created_at")
    inlines = (KeyInline,)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Let staff let agents in."""
        return self.admin_site.has_permission(request)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:  # noqa: ARG002 - Django's
        """Keep the namespace once it has tools."""
        return ("created_at",) if obj is None else ("namespace", "created_at")

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:  # noqa: ARG002 - Django's signature
        """Show keys of agents that are there already."""
        return self.inlines if obj else ()

    def save_model(self, request: HttpRequest, obj: Agent, form: Any, change: bool) -> None:
        """Call the use case."""
        if change:
            rename_agent(obj, form.cleaned_data["name"], **by(request))
        else:
            made = admit_agent(obj.name, obj.namespace or None, **by(request))
            obj.pk, obj.namespace, obj.created_at = made.pk, made.namespace, made.created_at


SCOPES = {
    Scope.SUBMIT: "submit: send outputs, wait, take guidance, give up, try",
    Scope.READ: "read: calls, events, the log of responses, tools",
    Scope.TOOLS: "tools: register them",
}


class KeyForm(forms.ModelForm):  # type: ignore[type-arg]  # as above
    """Ask for whom a key is, what it may do and for how long."""

    scopes = forms.TypedMultipleChoiceField(
        coerce=Scope,
        choices=[(scope.value, label) for scope, label in SCOPES.items()],
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="With none of them chosen, the key may do everything.",
    )

    expires_at = forms.SplitDateTimeField(
        required=False, widget=AdminSplitDateTime, help_text="Left empty, the key holds until revoked."
    )

    class Meta:
        model = ApiKey
        fields = ("agent", "scopes", "expires_at")


class KeyStateFilter(admin.SimpleListFilter):
    """Filter keys by whether they open the door."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002 - Django's
        """Name the states."""
        return [("active", "Active"), ("revoked", "Revoked"), ("expired", "Expired")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002 - Django's
        """Keep the keys of the chosen state."""
        now = timezone.now()
        match self.value():
            case "active":
                return queryset.filter(revoked_at=None).exclude(expires_at__lte=now)
            case "revoked":
                return queryset.filter(revoked_at__isnull=False)
            case "expired":
                return queryset.filter(revoked_at=None, expires_at__lte=now)
        return queryset


class _KeyRequest(HttpRequest):
    """Carry the text of a key that was just made to the answer; it is stored nowhere."""

    key_text: str


@admin.register(ApiKey)
class ApiKeyPage(Page):
    """Make keys, shown once, and revoke them; the digest is never shown."""

    form = KeyForm
    list_display = ("prefix", "agent", "may", "created_at", "expires_at", "revoked_at", "last_used_at")
    list_filter = (KeyStateFilter,)
    list_select_related = ("agent",)
    search_fields = ("prefix", "agent__name")
    date_hierarchy = "created_at"
    raw_id_fields = ("agent",)
    actions = ("revoke",)
    may = staticmethod(scopes_of)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Let staff make keys."""
        return self.admin_site.has_permission(request)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:  # noqa: ARG002 - Django's signature
        """Show everything but the digest."""
        if obj is None:
            return ("agent", "scopes", "expires_at")
        return ("agent", "prefix", "may", "created_at", "expires_at", "revoked_at", "last_used_at")

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:  # noqa: ARG002 - Django's
        """Call the use case."""
        given = form.cleaned_data
        key, text = issue_key(obj.agent, expires_at=given["expires_at"], scopes=given["scopes"], **by(request))
        obj.pk, obj.prefix = key.pk, key.prefix
        cast(_KeyRequest, request).key_text = text

    def response_add(self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None) -> HttpResponse:  # noqa: ARG002 - Django's
        """Show the key, this once: no cookie and no session carries it."""
        context = self.admin_site.each_context(request) | {
            "title": f"A key for {obj.agent}",
            "key": obj,
            "text": cast(_KeyRequest, request).key_text,
            "opts": self.opts,
        }
        return TemplateResponse(request, "admin/key_issued.html", context)

    @admin.action(description="Revoke the selected keys: they open nothing any more", permissions=["add"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        """Call the use case for each."""
        revoked = sum(revoke_key(key, **by(request)) for key in queryset.select_related("agent"))
        self.message_user(request, f"{revoked} keys revoked.", messages.SUCCESS if revoked else messages.WARNING)
