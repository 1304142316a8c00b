"""The settings: how an operator wants their desk."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dashboard.roles import is_administrator
from dashboard.shared.responses import REFUSED
from dashboard.shared.service_facts import service_facts
from retrycontract.usecases.people.keep_preferences import UnknownTimeZoneError, keep_preferences, time_zones


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def settings(request: HttpRequest) -> HttpResponse:
    """Show the settings; POST saves them."""
    context = {"zones": time_zones(), "facts": service_facts(), "may_tend": is_administrator(request.user)}
    if request.method != "POST":
        return render(request, "account/settings.html", context)
    chosen = request.POST.get("time_zone", "").strip()
    try:
        keep_preferences(cast(User, request.user), time_zone=chosen, has_shortcuts="has_shortcuts" in request.POST)
    except UnknownTimeZoneError as error:
        context |= {"typed_zone": chosen, "refused": str(error)}
        return render(request, "account/settings.html", context, status=REFUSED)
    messages.success(request, "Your settings are saved.")
    return redirect("dashboard:settings")
