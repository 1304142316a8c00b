"""The inbox: what waits for a person."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET

from dashboard.inbox.filters import Filters, read_options
from dashboard.inbox.queue import Queue, Tab, answered_today, read_queue
from dashboard.navigation import may_answer
from dashboard.shared.responses import UNCHANGED, is_htmx
from retrycontract.store.models import Call


@require_GET
@never_cache
@gzip_page  # a page of 45 kB is 7 kB; its form's token is masked anew each time, so that lengths give nothing away
def inbox(request: HttpRequest) -> HttpResponse:
    """Show what waits for a person, or another tab."""
    show, now = request.GET.get("show", ""), timezone.now()
    tab = Tab(show) if show in list(Tab) else Tab.OPEN
    queue = read_queue(
        tab,
        Filters.of(request.GET),
        operator=cast(User, request.user).pk,
        now=now,
        after=request.GET.get("after", ""),
    )
    context = _context(request, queue) | {"now": now, "may_answer": may_answer(request.user)}
    context["answered_today"] = answered_today(cast(User, request.user).pk, now)
    if not is_htmx(request):
        return render(request, "inbox/inbox.html", context | {"options": read_options()})
    if request.GET.get("seen") == queue.version:
        return HttpResponse(status=UNCHANGED)
    return render(request, "inbox/_queue.html", context)


def _context(request: HttpRequest, queue: Queue) -> dict[str, Any]:
    is_first_look = not queue.calls and not queue.filters.is_any and not Call.objects.exists()
    address = request.build_absolute_uri("/").rstrip("/")
    return {"queue": queue, "filters": queue.filters, "is_first_look": is_first_look, "address": address}
