"""Webhook endpoints: which systems are told of what."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AdminTextInputWidget
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from retrycontract.admin.pages import EditablePage, by
from retrycontract.contract.webhooks import WebhookEvent
from retrycontract.store.models import WebhookEndpoint
from retrycontract.store.models.outbox import MAX_ADDRESS
from retrycontract.usecases.notify.tend_endpoint import (
    CHANGEABLE,
    UnusableAddressError,
    add_endpoint,
    change_endpoint,
    check_address,
    rotate_secret,
)

EVENTS = [(event.value, event.value) for event in WebhookEvent]


class EndpointForm(forms.ModelForm):  # type: ignore[type-arg]  # the class takes no arguments at run time
    """Ask for whom, where and what."""

    address = forms.CharField(max_length=MAX_ADDRESS, required=False, widget=AdminTextInputWidget)
    events = forms.MultipleChoiceField(choices=EVENTS, widget=forms.CheckboxSelectMultiple)

    class Meta:
        model = WebhookEndpoint
        fields = ("agent", *CHANGEABLE)
        help_texts = {  # noqa: RUF012 - Django's own shape
            "agent": "Whose calls it is told of; left empty, those of all agents. It cannot be changed later.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["address"].help_text = (
            f"Now {self.instance.shortened}. Leave it empty to keep it, or type the new one whole."
            if self.instance.pk
            else "Where messages are posted to. It is stored encrypted, and shown shortened from now on."
        )

    def clean_address(self) -> str:
        """Refuse addresses that nothing can be sent to; an empty one keeps what is there."""
        address: str = self.cleaned_data["address"]
        if not address and self.instance.pk:
            return address
        try:
            check_address(address)
        except UnusableAddressError as error:
            raise ValidationError(str(error)) from None
        return address


class _SecretRequest(HttpRequest):
    """Carry the text of a secret that was just made to the answer; it is stored sealed."""

    secret_text: str


@admin.register(WebhookEndpoint)
class EndpointPage(EditablePage):
    """Add endpoints, change them, and make new secrets, which are shown once."""

    form = EndpointForm
    list_display = ("public_id", "shown_address", "agent", "shown_events", "is_active", "gone_at")
    list_filter = ("is_active",)
    list_select_related = ("agent",)
    search_fields = ("public_id", "agent__name")
    raw_id_fields = ("agent",)
    actions = ("rotate",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Let staff add endpoints."""
        return self.admin_site.has_permission(request)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Leave the sealed secrets in the database."""
        return super().get_queryset(request).defer("sealed")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:  # noqa: ARG002 - Django's signature
        """Show everything but the secrets."""
        if obj is None:
            return ("agent", "address", "events")
        return ("public_id", "agent", *CHANGEABLE, "gone_at", "created_at")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:  # noqa: ARG002 - Django's
        """Keep the agent: what was to be told to one is not told to another."""
        return () if obj is None else ("public_id", "agent", "gone_at", "created_at")

    def save_model(self, request: HttpRequest, obj: WebhookEndpoint, form: Any, change: bool) -> None:
        """Call the use case."""
        wanted = form.cleaned_data
        if change:
            change_endpoint(obj, {name: wanted[name] for name in CHANGEABLE}, **by(request))
            return
        made, text = add_endpoint(wanted["address"], wanted["events"], wanted["agent"], **by(request))
        obj.pk, obj.public_id = made.pk, made.public_id
        cast(_SecretRequest, request).secret_text = text

    def response_add(self, request: HttpRequest, obj: WebhookEndpoint, *_: Any, **__: Any) -> HttpResponse:
        """Show the secret, this once: no cookie and no session carries it."""
        return self._shown(request, obj, cast(_SecretRequest, request).secret_text)

    @admin.action(description="Make a new secret; the old one holds for 24 hours more", permissions=["change"])
    def rotate(self, request: HttpRequest, queryset: QuerySet[WebhookEndpoint]) -> HttpResponse | None:
        """Call the use case for one, and show its secret, this once."""
        chosen = list(queryset[:2])
        if len(chosen) != 1:
            self.message_user(request, "Choose one endpoint: each secret is shown by itself.", messages.WARNING)
            return None
        return self._shown(request, chosen[0], rotate_secret(chosen[0], **by(request)))

    def _shown(self, request: HttpRequest, endpoint: WebhookEndpoint, text: str) -> HttpResponse:
        context = self.admin_site.each_context(request) | {
            "title": f"The secret of {endpoint}",
            "endpoint": endpoint,
            "text": text,
            "opts": self.opts,
        }
        return TemplateResponse(request, "admin/secret_issued.html", context)

    @admin.display(description="address")
    def shown_address(self, endpoint: WebhookEndpoint) -> str:
        """Show where it leads, as far as that is no secret."""
        return endpoint.shortened

    @admin.display(description="events")
    def shown_events(self, endpoint: WebhookEndpoint) -> str:
        """List what it is told of."""
        return ", ".join(endpoint.events)
