"""One answer for all calls that made the same mistake, and the report of what became of each."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dashboard.inbox.group_answer import GROUP_DECISIONS, GroupForm, Report, WaitingGroup, read_goals, read_waiting
from dashboard.roles import may_answer
from dashboard.shared.responses import REFUSED, is_htmx
from retrycontract.store.models import Call, Mistake
from retrycontract.usecases.answers.answer_group import answer_group
from retrycontract.usecases.answers.give_guidance import RefusedAnswerError, draft_guidance

NONE_CHOSEN = "Choose at least one call."


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def group(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show the calls that made the mistake of this one; POST answers those that are chosen."""
    if not may_answer(request.user):
        raise PermissionDenied
    found = get_object_or_404(Call.objects.select_related("agent"), public_id=public_id)
    if not found.fingerprint:  # it shares its mistake with nobody
        return redirect("dashboard:call", public_id=public_id)
    only = request.POST.getlist("call") if request.method == "POST" else None
    waiting = read_waiting(Mistake.of(found), cast(User, request.user).pk, now=timezone.now(), only=only)
    if only is None:
        return _page(request, found, waiting, GroupForm(initial={}))
    return _posted(request, found, waiting, only)


def _posted(request: HttpRequest, found: Call, waiting: WaitingGroup, only: list[str]) -> HttpResponse:
    form = GroupForm(request.POST)
    drafted = _drafted(form, waiting)
    if is_htmx(request):
        return render(request, "call/_preview.html", drafted | {"form": form, "is_preview": True})
    if "preview" in request.POST:
        return _page(request, found, waiting, form, **drafted, is_preview=True)
    if not form.is_valid() or not only or "refused" in drafted:
        return _page(request, found, waiting, form, status=REFUSED, none_chosen=not only and NONE_CHOSEN, **drafted)
    return _answer(request, found, form, only)


def _answer(request: HttpRequest, found: Call, form: GroupForm, only: list[str]) -> HttpResponse:
    """Answer what was chosen; whatever is left keeps the words at hand."""
    operator, now, mistake = cast(User, request.user), timezone.now(), Mistake.of(found)
    report = Report.of(answer_group(mistake, operator, now=now, only=only, **form.answer), read_goals(only))
    waiting = read_waiting(mistake, operator.pk, now=timezone.now())
    return _page(request, found, waiting, form, report=report)


def _drafted(form: GroupForm, waiting: WaitingGroup) -> dict[str, Any]:
    """Draft the answer for one of the calls: the exact text, or what keeps it from being sent."""
    if waiting.first is None or not form.is_valid():
        return {}
    try:
        return {"draft": draft_guidance(waiting.first.call, **form.answer)}
    except RefusedAnswerError as refused:
        return {"refused": refused}


def _page(
    request: HttpRequest, found: Call, waiting: WaitingGroup, form: GroupForm, *, status: int = 200, **context: Any
) -> HttpResponse:
    shared = {"call": found, "waiting": waiting, "form": form, "decisions": GROUP_DECISIONS, "now": timezone.now()}
    return render(request, "inbox/group.html", shared | {"may_answer": True} | context, status=status)
