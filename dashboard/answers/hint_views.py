"""The standing hints: what agents are told without a person, what it is good for, and its off switch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from dashboard.roles import may_answer
from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.store.models import Attempt, StandingHint
from retrycontract.usecases.answers.set_hint import switch_off_hint

PAGE: Final = 30
SHOWN_ERRORS: Final = 3
MAX_DIGITS: Final = 18


class HintTab(StrEnum):
    """Name the tabs."""

    ON = "on"
    ENDED = "ended"

    def hints(self, now: datetime) -> QuerySet[StandingHint]:
        """Give the tab's hints, the newest first."""
        active = StandingHint.objects.active(now)
        return active if self is HintTab.ON else StandingHint.objects.exclude(pk__in=active.order_by().values("pk"))


@dataclass(frozen=True, slots=True)
class HintLine:
    """Show one hint."""

    hint: StandingHint
    told: Attempt | None = None  # the newest attempt that made the mistake and was told it

    @property
    def errors(self) -> tuple[ValidationError, ...]:
        """Give the mistake that it is for, as the newest call that is known made it; empty when all are forgotten."""
        source = self.hint.source
        made_by = self.told or (source.base if source is not None else None)
        wrong = [error for error in made_by.errors if error.severity is ErrorSeverity.ERROR] if made_by else []
        return tuple(wrong[:SHOWN_ERRORS])


@require_GET
@never_cache
def hints(request: HttpRequest) -> HttpResponse:
    """List what agents are told, or what they were."""
    now, show, after = timezone.now(), request.GET.get("show", ""), request.GET.get("after", "")
    tab = HintTab(show) if show in list(HintTab) else HintTab.ON
    found = tab.hints(now).select_related("owner", "source__base", "source__call").order_by("-pk")
    if after.isascii() and after.isdigit() and len(after) <= MAX_DIGITS:
        found = found.filter(pk__lt=int(after))
    listed = list(found[: PAGE + 1])
    context = {
        "lines": _lines(listed[:PAGE]),
        "following": listed[PAGE - 1].pk if len(listed) > PAGE else None,
        "tab": tab,
        "tabs": [(HintTab.ON, "On"), (HintTab.ENDED, "Ended")],
        "now": now,
        "may_answer": may_answer(request.user),
    }
    return render(request, "answers/hints.html", context)


def _lines(hints: Sequence[StandingHint]) -> list[HintLine]:
    newest = Attempt.objects.filter(standing_hint=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    found = StandingHint.objects.filter(pk__in=[hint.pk for hint in hints]).order_by()
    told = Attempt.objects.filter(pk__in=found.values(told=Subquery(newest))).defer("sealed")
    by_hint = {attempt.standing_hint_id: attempt for attempt in told}
    return [HintLine(hint, by_hint.get(hint.pk)) for hint in hints]


@require_POST
@never_cache
def switch_off(request: HttpRequest, hint_id: int) -> HttpResponse:
    """Tell agents a hint no longer."""
    if not may_answer(request.user):
        raise PermissionDenied
    hint = get_object_or_404(StandingHint, pk=hint_id)
    if switch_off_hint(hint, cast(User, request.user), now=timezone.now()):
        messages.success(request, f"Agents are told it no longer when they call {hint.tool_name}.")
    return redirect("dashboard:hints")
