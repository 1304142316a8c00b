"""The inbox: what waits for a person."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from dashboard.pages.answers import UNCHANGED, is_htmx
from dashboard.queue import Queue, Tab, read_queue
from retrycontract.store.models import Call


@require_GET
@never_cache
def inbox(request: HttpRequest) -> HttpResponse:
    """Show what waits for a person, or another tab."""
    show, search, after = (request.GET.get(name, "") for name in ("show", "q", "after"))
    queue = read_queue(Tab(show) if show in list(Tab) else Tab.BLOCKED, search=search, after=after)
    if is_htmx(request) and request.GET.get("seen") == queue.version:
        return HttpResponse(status=UNCHANGED)
    template = "dashboard/_queue.html" if is_htmx(request) else "dashboard/inbox.html"
    return render(request, template, _queue_context(request, queue))


def _queue_context(request: HttpRequest, queue: Queue) -> dict[str, Any]:
    is_first_look = not queue.calls and not queue.search and not Call.objects.exists()
    address = request.build_absolute_uri("/").rstrip("/")
    return {"queue": queue, "now": timezone.now(), "is_first_look": is_first_look, "address": address}
