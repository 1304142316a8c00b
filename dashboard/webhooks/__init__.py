"""The webhooks: which systems are told of what, their secrets, and the log of what they were sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.navigation import administrators_only
from dashboard.shared.choices import Search, read_page
from dashboard.shared.forms import is_repeated, note_taken
from dashboard.shared.responses import REFUSED, by
from retrycontract.contract.outputs.json_text import parse_json
from retrycontract.contract.webhooks import WebhookEvent
from retrycontract.store.models import Agent, OutboxMessage, WebhookDelivery, WebhookEndpoint
from retrycontract.store.models.endpoints import MAX_ADDRESS
from retrycontract.usecases.notify.drain_outbox import send_again
from retrycontract.usecases.notify.tend_endpoint import (
    TooManyEndpointsError,
    UnusableAddressError,
    add_endpoint,
    change_endpoint,
    rotate_secret,
)


@require_safe
@never_cache
def webhooks(request: HttpRequest) -> HttpResponse:
    administrators_only(request.user)
    more = max(WebhookEndpoint.objects.count() - MOST_ENDPOINTS, 0)
    return render(request, "webhooks/webhooks.html", {"lines": list_endpoints(), "more": more, "now": timezone.now()})


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def new_webhook(request: HttpRequest) -> HttpResponse:
    """Ask for a new endpoint; POST adds it and shows its secret, this once: no cookie and no session carries it."""
    administrators_only(request.user)
    if request.method != "POST":
        return render(request, "webhooks/new_webhook.html", {"form": NewEndpointForm()})
    form = NewEndpointForm(request.POST)
    if is_repeated(request):
        messages.warning(request, "No other endpoint was added: the form was sent a second time.")
        return redirect("dashboard:webhooks")
    if form.is_valid():
        given = form.cleaned_data
        try:
            made, text = add_endpoint(given["address"], given["events"], given["agent"], **by(request))
        except UnusableAddressError as error:
            form.add_error("address", str(error))
        except TooManyEndpointsError as error:
            form.add_error("agent", str(error))
        else:
            return _shown_once(request, made, text)
    return render(request, "webhooks/new_webhook.html", {"form": form}, status=REFUSED)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def webhook(request: HttpRequest, endpoint_id: str) -> HttpResponse:
    """Show one endpoint with its log; POST changes it."""
    administrators_only(request.user)
    found = _get(endpoint_id)
    if request.method != "POST":
        return _page(request, found, ChangeForm(initial={"events": found.events}))
    form = ChangeForm(request.POST)
    if form.is_valid():
        try:
            change_endpoint(found, form.cleaned_data | {"is_active": found.is_active}, **by(request))
        except UnusableAddressError as error:
            form.add_error("address", str(error))
        else:
            messages.success(request, "The endpoint is changed. What waits for it goes where it leads now.")
            return redirect("dashboard:webhook", endpoint_id=endpoint_id)
    return _page(request, found, form, status=REFUSED)


@require_POST
@never_cache
def switch_webhook(request: HttpRequest, endpoint_id: str) -> HttpResponse:
    administrators_only(request.user)
    found, wanted = _get(endpoint_id), request.POST.get("switch") == "on"
    # An empty address keeps the present one, which nobody is shown.
    said = "on: it is sent what waits for it, and told of what happens from now on"
    try:
        change_endpoint(found, {"address": "", "events": found.events, "is_active": wanted}, **by(request))
    except TooManyEndpointsError as error:
        messages.warning(request, str(error))
    else:
        messages.success(request, f"The endpoint is {said if wanted else 'off: it is told of nothing'}.")
    return redirect("dashboard:webhook", endpoint_id=endpoint_id)


@require_POST
@never_cache
def rotate_webhook(request: HttpRequest, endpoint_id: str) -> HttpResponse:
    """Make a new secret and show it, this once."""
    administrators_only(request.user)
    found = _get(endpoint_id)
    if is_repeated(request):
        messages.warning(request, "No other secret was made: the form was sent a second time.")
        return redirect("dashboard:webhook", endpoint_id=endpoint_id)
    return _shown_once(request, found, rotate_secret(found, **by(request)), is_new=False)


@require_POST
@never_cache
def redeliver(request: HttpRequest, endpoint_id: str, message_id: str) -> HttpResponse:
    """Send a message once more: the same id, the same text."""
    administrators_only(request.user)
    messages_of = OutboxMessage.objects.filter(endpoint__public_id=endpoint_id)
    if send_again(get_object_or_404(messages_of, public_id=message_id), **by(request)):
        messages.success(request, f"{message_id} is sent again.")
    else:
        messages.warning(request, f"{message_id} is to be tried anyway.")
    return redirect("dashboard:webhook", endpoint_id=endpoint_id)


def _page(request: HttpRequest, found: WebhookEndpoint, form: EndpointForm, *, status: int = 200) -> HttpResponse:
    log, following = read_log(found, request.GET.get("after", ""))
    context = {"line": EndpointLine(found), "form": form, "log": log, "following": following, "now": timezone.now()}
    return render(request, "webhooks/webhook.html", context, status=status)


def _shown_once(request: HttpRequest, endpoint: WebhookEndpoint, text: str, *, is_new: bool = True) -> HttpResponse:
    note_taken(request)
    context = {"line": EndpointLine(endpoint), "text": text, "is_new": is_new}
    return render(request, "webhooks/webhook_secret.html", context)


def _get(endpoint_id: str) -> WebhookEndpoint:
    return get_object_or_404(WebhookEndpoint.objects.select_related("agent", "turn"), public_id=endpoint_id)


MOST_ENDPOINTS: Final = 200
PAGE: Final = 20  # messages of a log
SHOWN_ID: Final = 6  # the end of an id, which is drawn by lot; its beginning is the time
EVENTS: Final = {
    WebhookEvent.CALL_BLOCKED: "the attempts ran out, a person is asked",
    WebhookEvent.GUIDANCE_GIVEN: "a person answered",
    WebhookEvent.CALL_RESOLVED: "the agent got it right while it was Blocked",
    WebhookEvent.CALL_EXPIRED: "nobody answered in time",
    WebhookEvent.CALL_CANCELLED: "the agent gave the call up",
}
_IN_ORDER: Final = list(EVENTS)


@dataclass(frozen=True, slots=True)
class EndpointLine:
    """Show an endpoint."""

    endpoint: WebhookEndpoint

    @property
    def place(self) -> str:
        """Say where it leads, as far as that is no secret."""
        return self.endpoint.shortened

    @property
    def id_end(self) -> str:
        """Give the end of its id, which tells it from others of one host."""
        return self.endpoint.public_id[-SHOWN_ID:]

    @property
    def events(self) -> list[str]:
        return [event.value for event in _IN_ORDER if event in self.endpoint.events]

    @property
    def failures(self) -> int:
        """Tell how many tries have failed in a row."""
        try:
            return self.endpoint.turn.failures
        except ObjectDoesNotExist:  # nothing was sent yet
            return 0

    @property
    def state(self) -> tuple[str, str]:
        """Give the state of a call whose colour and shape fit, and a word."""
        if self.endpoint.gone_at is not None:
            return "rejected", "Gone"
        if not self.endpoint.is_active:
            return "cancelled", "Off"
        return ("blocked", "Failing") if self.failures else ("valid", "On")


@dataclass(frozen=True, slots=True)
class MessageLine:
    """Show a message with every try to deliver it, the newest first."""

    message: OutboxMessage
    tries: tuple[WebhookDelivery, ...]

    @property
    def has_ended(self) -> bool:
        """Tell whether nobody tries it any more, so that it can be sent again."""
        return self.message.delivered_at is not None or self.message.given_up_at is not None

    @property
    def state(self) -> tuple[str, str]:
        """Give the state of a call whose colour and shape fit, and a word."""
        if self.message.delivered_at is not None:
            return "valid", "Delivered"
        if self.message.given_up_at is not None:
            return "expired", "Given up"
        return ("blocked", "To be retried") if self.message.tries else ("pending", "Waits")

    @property
    def body(self) -> Any:
        return parse_json(self.message.text)[0]


def list_endpoints() -> list[EndpointLine]:
    """List the endpoints, the oldest first."""
    found = WebhookEndpoint.objects.select_related("agent", "turn").defer("sealed")
    return [EndpointLine(endpoint) for endpoint in found[:MOST_ENDPOINTS]]


def read_log(endpoint: WebhookEndpoint, after: str) -> tuple[list[MessageLine], str]:
    """List messages of an endpoint, the newest first, and say after which the next page begins."""
    page = read_page(Search(endpoint.messages.prefetch_related("deliveries"), Q()), after, size=PAGE)
    return [MessageLine(message, tuple(message.deliveries.all())) for message in page.rows], page.following


class EndpointForm(forms.Form):
    """Ask where and of what an endpoint is told; whether the address will do is the use case's to say."""

    address = forms.CharField(max_length=MAX_ADDRESS, error_messages={"required": "Write where messages are to go."})
    events = forms.TypedMultipleChoiceField(
        coerce=WebhookEvent, choices=[(event.value, what) for event, what in EVENTS.items()], initial=_IN_ORDER,
        error_messages={"required": "Choose at least one: it would be told nothing."},
    )  # fmt: skip


class NewEndpointForm(EndpointForm):
    """Ask for an endpoint; whose calls it is told of cannot be changed later."""

    agent = forms.ModelChoiceField(Agent.objects.order_by("name"), required=False, empty_label="All agents")


class ChangeForm(EndpointForm):
    """Ask what is to change; an address is shown to nobody, so that an empty one keeps what is there."""

    address = forms.CharField(max_length=MAX_ADDRESS, required=False)
