"""The work on Blocked calls: who has one and until when, what is put off, and which comes next."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.call import views as call_page
from dashboard.navigation import may_answer
from dashboard.shared.responses import REFUSED, UNCHANGED, is_htmx
from dashboard.templatetags.desk import exact
from retrycontract.contract.lifecycle import CallState
from retrycontract.store.models import Call, Claim, Snooze
from retrycontract.usecases.calls.claim_call import (
    ClaimedError,
    NotBlockedError,
    UnusableTimeError,
    claim_call,
    claim_next,
    claim_of,
    release_claim,
    renew_claim,
    snooze_call,
    snooze_of,
    wake_call,
)

AFTERNOON: Final = 14  # hours of the clock
MORNING: Final = 9


@dataclass(frozen=True, slots=True)
class Work:
    """Hold what the page of a Blocked call says about the work on it."""

    call: Call
    operator: int
    claim: Claim | None
    snooze: Snooze | None

    @property
    def is_wanted(self) -> bool:
        """Tell whether there is work: the call waits for a person."""
        return self.call.state == CallState.BLOCKED

    @property
    def is_mine(self) -> bool:
        """Tell whether the operator who looks has it."""
        return self.claim is not None and self.claim.operator_id == self.operator

    @property
    def is_taken(self) -> bool:
        return self.claim is not None and not self.is_mine

    @property
    def version(self) -> str:
        """Name what is shown: equal names need no new part of the page."""
        claim = f"{self.claim.operator_id}-{self.claim.until:%H%M}" if self.claim else ""
        snooze = f"{self.snooze.until.timestamp():.0f}" if self.snooze else ""
        return f"{self.call.state}.{claim}.{snooze}"


@dataclass(frozen=True, slots=True)
class SnoozeChoice:
    """Offer a time to put a call off until."""

    name: str
    label: str
    until: datetime


def read_work(call: Call, operator: int, *, now: datetime) -> Work:
    """Read who has a call and until when it was put off; what does not wait for a person costs no query."""
    if call.state != CallState.BLOCKED:
        return Work(call, operator, None, None)
    return Work(call, operator, claim_of(call, now=now), snooze_of(call, now=now))


def snooze_choices(now: datetime) -> tuple[SnoozeChoice, ...]:
    """Offer times by the operator's clock; the afternoon only while it is to come."""
    local = timezone.localtime(now)
    # `fold` is of the hour that is now: where clocks change it would stand for another moment tomorrow.
    at = local.replace(minute=0, second=0, microsecond=0, fold=0)
    choices = [SnoozeChoice("hour", "In an hour", now + timedelta(hours=1))]
    if local.hour < AFTERNOON - 1:
        choices.append(SnoozeChoice("afternoon", "This afternoon", at.replace(hour=AFTERNOON)))
    # Times of one zone are added by the wall clock, so that nine stays nine when the clocks change.
    tomorrow = at.replace(hour=MORNING) + timedelta(days=1)
    return (*choices, SnoozeChoice("tomorrow", "Tomorrow morning", tomorrow))


DONE = "desk:done"  # tells our script to close the dialog and to ask for what has changed


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def claim(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show who has a call; POST takes it on, keeps it for longer, or gives it back."""
    found, operator, now = call_page.call_at(public_id), cast(User, request.user), timezone.now()
    if request.method == "POST":
        if not may_answer(operator):
            raise PermissionDenied
        if (action := request.POST.get("action")) == "renew":
            renew_claim(found, operator, now=now)
            return HttpResponse(status=UNCHANGED)
        if action == "release":
            release_claim(found, operator, now=now)
        else:
            try:
                claim_call(found, operator, now=now)
            except (ClaimedError, NotBlockedError):  # who came second sees who has it, or what became of the call
                found.refresh_from_db(fields=["state"])
    return _back(request, found)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def snooze(request: HttpRequest, public_id: str) -> HttpResponse:
    """Ask until when to put a call off; POST does it, or brings it back."""
    found, operator, now = call_page.call_at(public_id), cast(User, request.user), timezone.now()
    if not may_answer(operator):
        raise PermissionDenied
    if request.method != "POST":
        return _ask(request, found, now)
    if request.POST.get("action") == "wake":
        wake_call(found, operator, now=now)
        return _back(request, found)
    try:
        snooze_call(found, operator, until=_chosen(request, now), now=now, reason=request.POST.get("reason", ""))
    except (UnusableTimeError, NotBlockedError, ClaimedError) as error:
        return _ask(request, found, now, refused=_told(error))
    if is_htmx(request):
        return HttpResponse(status=UNCHANGED, headers={"HX-Trigger": DONE})
    messages.success(request, "Snoozed; it comes back by itself.")
    return redirect("dashboard:inbox")


@require_POST
@never_cache
def take_next(request: HttpRequest) -> HttpResponse:
    """Open and claim the call that waits longest and that nobody has; `beside` is the one at hand."""
    if not may_answer(request.user):
        raise PermissionDenied
    beside = Call.objects.filter(public_id=request.POST.get("beside", "")).first()
    found = claim_next(cast(User, request.user), now=timezone.now(), beside=beside)
    if found is None:
        messages.success(request, "Nothing else waits that nobody has.")
        return redirect("dashboard:inbox")
    return redirect("dashboard:call", public_id=found.public_id)


def _back(request: HttpRequest, found: Call) -> HttpResponse:
    """Show who has it now: the part alone to htmx, else the page, with everything that was typed."""
    now = timezone.now()
    work = read_work(found, cast(User, request.user).pk, now=now)
    if is_htmx(request):
        if request.GET.get("seen") == work.version:
            return HttpResponse(status=UNCHANGED)
        context = {"call": found, "work": work, "now": now, "may_answer": may_answer(request.user)}
        return render(request, "call/_work.html", context)
    if "decision" in request.POST and work.is_wanted:
        return call_page.preview(request, found.public_id)
    return redirect("dashboard:call", public_id=found.public_id)


def _ask(request: HttpRequest, found: Call, now: datetime, *, refused: str = "") -> HttpResponse:
    context = {"call": found, "choices": snooze_choices(now), "now": now, "refused": refused}
    context["typed_at"] = request.POST.get("at", "")
    if is_htmx(request):
        return render(request, "call/_snooze.html", context)
    return render(request, "call/snooze.html", context, status=REFUSED if refused else 200)


def _chosen(request: HttpRequest, now: datetime) -> datetime:
    """Give the chosen time; one of the operator's own is read by their clock."""
    choice = request.POST.get("until", "")
    for offered in snooze_choices(now):
        if offered.name == choice:
            return offered.until
    try:
        at = parse_datetime(request.POST.get("at", ""))
    except ValueError:
        at = None
    if at is None or timezone.is_aware(at):
        raise UnusableTimeError
    return timezone.make_aware(at)


def _told(error: UnusableTimeError | NotBlockedError | ClaimedError) -> str:
    match error:
        case ClaimedError():
            return f"{error.claim.operator.get_username()} has it until {exact(error.claim.until)}."
        case NotBlockedError():
            return f"It no longer waits for a person: it is {error.call.state}."
        case _:
            return str(error)
