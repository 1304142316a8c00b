"""The desk's stream of events: says that something changed, and pages ask what; polls find it as well, only later."""

from __future__ import annotations

from typing import Final

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from dashboard.shared.responses import UNCHANGED
from retrycontract.front.pending import PENDING
from retrycontract.store.models import Event
from retrycontract.usecases.notify.doorbell import DESK_BELL

MEDIA_TYPE: Final = "text/event-stream"
MAX_DIGITS: Final = 18


@login_not_required  # a redirect would be an error in the browser's console; 204 tells it to come no more
@require_GET
@never_cache
def live(request: HttpRequest) -> HttpResponse:
    """Write a frame when anything happened to a call since the event `after`; the front of house asks again."""
    if not request.user.is_authenticated:
        return HttpResponse(status=UNCHANGED)
    after, newest = request.GET.get("after", ""), Event.objects.newest_id()
    is_known = after.isascii() and after.isdigit() and len(after) <= MAX_DIGITS
    has_news = is_known and int(after) < newest
    response = HttpResponse("data: changed\n\n" if has_news else "", content_type=MEDIA_TYPE)
    response[PENDING.decode()] = f"{DESK_BELL}; {reverse('dashboard:live')}?after={newest}"
    return response
