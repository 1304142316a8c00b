"""The webhooks: which systems are told of what, their secrets, and the log of what they were sent."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from dashboard.roles import administrators_only
from dashboard.shared.responses import REFUSED, by
from dashboard.webhooks.endpoints import (
    ChangeForm,
    EndpointForm,
    EndpointLine,
    NewEndpointForm,
    list_endpoints,
    read_log,
)
from retrycontract.store.models import OutboxMessage, WebhookEndpoint
from retrycontract.usecases.notify.send_again import send_again
from retrycontract.usecases.notify.tend_endpoint import (
    UnusableAddressError,
    add_endpoint,
    change_endpoint,
    rotate_secret,
)


@require_GET
@never_cache
def webhooks(request: HttpRequest) -> HttpResponse:
    """List the endpoints."""
    administrators_only(request.user)
    return render(request, "webhooks/webhooks.html", {"lines": list_endpoints()})


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def new_webhook(request: HttpRequest) -> HttpResponse:
    """Ask for a new endpoint; POST adds it and shows its secret, this once: no cookie and no session carries it."""
    administrators_only(request.user)
    if request.method != "POST":
        return render(request, "webhooks/new_webhook.html", {"form": NewEndpointForm()})
    form = NewEndpointForm(request.POST)
    if form.is_valid():
        given = form.cleaned_data
        try:
            made, text = add_endpoint(given["address"], given["events"], given["agent"], **by(request))
        except UnusableAddressError as error:
            form.add_error("address", str(error))
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
    """Switch an endpoint on or off."""
    administrators_only(request.user)
    found, wanted = _get(endpoint_id), request.POST.get("switch") == "on"
    change_endpoint(found, {"address": "", "events": found.events, "is_active": wanted}, **by(request))
    said = "on: it is sent what waits for it, and told of what happens from now on"
    messages.success(request, f"The endpoint is {said if wanted else 'off: it is told of nothing'}.")
    return redirect("dashboard:webhook", endpoint_id=endpoint_id)


@require_POST
@never_cache
def rotate_webhook(request: HttpRequest, endpoint_id: str) -> HttpResponse:
    """Make a new secret and show it, this once."""
    administrators_only(request.user)
    found = _get(endpoint_id)
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
    context = {"line": EndpointLine(endpoint), "text": text, "is_new": is_new}
    return render(request, "webhooks/webhook_secret.html", context)


def _get(endpoint_id: str) -> WebhookEndpoint:
    return get_object_or_404(WebhookEndpoint.objects.select_related("agent", "turn"), public_id=endpoint_id)
