"""Tools, whose settings may be changed, and their versions, which may not."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from retrycontract.admin.inlines import HistoryInline
from retrycontract.admin.pages import EditablePage, Page, block, by, json_block, shown
from retrycontract.contract.configuration import RANGES, parse_duration
from retrycontract.store.models import Tool, ToolVersion
from retrycontract.usecases.tools.contracts import schema_to_show
from retrycontract.usecases.tools.register_tool import CHANGEABLE, change_tool

UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


class DurationField(forms.CharField):
    """Take a length of time as the configuration file does."""

    def prepare_value(self, value: Any) -> Any:
        """Show it in the largest unit that needs no fraction."""
        if not isinstance(value, timedelta):
            return value
        seconds = int(value.total_seconds())
        size, unit = next((size, unit) for size, unit in UNITS if seconds % size == 0)
        return f"{seconds // size}{unit}"

    def clean(self, value: Any) -> timedelta | None:
        text = super().clean(value)
        try:
            return parse_duration(text) if text else None
        except ValueError as error:
            raise ValidationError(f"It {error}.") from None


class ToolForm(forms.ModelForm):  # type: ignore[type-arg]  # the class takes no arguments at run time
    """Ask for what a registration may set besides the schema."""

    mode = forms.TypedChoiceField(
        choices=[("", "As configured"), ("enforce", "Enforce"), ("observe", "Observe: record, block nothing")],
        required=False,
        empty_value=None,
    )
    max_attempts = forms.IntegerField(
        min_value=RANGES["max_attempts"][0],
        max_value=RANGES["max_attempts"][1],
        required=False,
        help_text="Submissions in all, the first included; empty means as configured.",
    )

    expires_after = DurationField(
        required=False,
        help_text="How long a Blocked call waits: 30m, 12h, 7d; empty means as configured.",
    )
    on_expiry = forms.TypedChoiceField(
        choices=[("", "As configured"), ("expire", "Expire: a late answer reopens it"), ("reject", "Reject")],
        required=False,
        empty_value=None,
    )

    class Meta:
        model = Tool
        fields = CHANGEABLE


class VersionInline(HistoryInline):
    """Show a tool's versions."""

    model = ToolVersion
    fk_name = "tool"
    ordering = ("-number",)
    fields = readonly_fields = ("number", "created_at", "quarantined_at")


@admin.register(Tool)
class ToolAdmin(EditablePage):
    """Change how a tool is judged."""

    form = ToolForm
    list_display = ("shown_name", "namespace", "kind", "strict", "hold", "mode", "max_attempts", "updated_at")
    list_filter = ("kind", "strict", "hold", "mode")
    search_fields = ("name", "namespace")
    date_hierarchy = "created_at"
    ordering = ("namespace", "name")
    fieldsets = (
        (None, {"fields": ("shown_name", "namespace", "kind", "shown_description", "current_version")}),
        ("How it is judged", {"fields": CHANGEABLE}),
        ("Times", {"fields": ("created_at", "updated_at")}),
    )
    readonly_fields = (
        "shown_name", "namespace", "kind", "shown_description", "current_version", "created_at", "updated_at",
    )  # fmt: skip
    inlines = (VersionInline,)

    def view_on_site(self, tool: Tool) -> str:
        """Lead to the tool's page at the desk, which led here."""
        return reverse("dashboard:tool", args=[tool.pk])

    def save_model(self, request: HttpRequest, obj: Tool, form: Any, change: bool) -> None:  # noqa: ARG002 - Django's
        """Call the use case."""
        change_tool(obj, {name: form.cleaned_data[name] for name in CHANGEABLE}, **by(request))

    shown_name = shown("name", ordering="name")
    shown_description = shown("description", block)


@admin.register(ToolVersion)
class ToolVersionPage(Page):
    """Show schemas; the desk releases a version from quarantine."""

    list_display = ("shown_tool", "namespace", "number", "schema_hash", "created_at", "quarantined_at")
    list_filter = (("quarantined_at", admin.EmptyFieldListFilter),)
    list_select_related = ("tool",)
    search_fields = ("tool__name", "schema_hash__exact")
    fields = ("tool", "number", "schema_hash", "created_at", "quarantined_at", "shown_schema")

    namespace = shown("tool.namespace", ordering="tool__namespace")
    shown_tool = shown("tool.name", title="tool", ordering="tool__name")

    @admin.display(description="schema")
    def shown_schema(self, version: ToolVersion) -> SafeString | str:
        """Show the schema that the agent registered, without the secrets that its author left in it."""
        return json_block(schema_to_show(version.schema))
