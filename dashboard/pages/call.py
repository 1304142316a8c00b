"""The page of one call: what happened, the answer, and what became of it."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.forms import DECISIONS, AnswerForm
from dashboard.pages.answers import LOGIN_FIRST, REFUSED, TOO_LATE, UNCHANGED, is_htmx
from dashboard.queue import next_blocked
from dashboard.roles import may_answer
from dashboard.story import Story, read_story, read_version
from dashboard.work import read_work
from retrycontract.contract.lifecycle import Decision
from retrycontract.store.models import Call, Escalation
from retrycontract.usecases.claim_call import claim_next
from retrycontract.usecases.give_guidance import (
    AlreadyAnsweredError,
    RefusedAnswerError,
    draft_guidance,
    give_guidance,
)


@login_not_required  # an answer that comes after the session ended must not lose what was typed
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def call(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show one call; POST answers it."""
    if not request.user.is_authenticated:
        return _session_ended(request)
    found = _get(public_id)
    if request.method == "POST":
        return _answer(request, found)
    if is_htmx(request):
        return _live(request, found)
    return _page(request, read_story(found))


@require_POST
@never_cache
def preview(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show exactly what the agent will read, or why the answer cannot be sent; for htmx alone, or in the page."""
    found = _get(public_id)
    if not may_answer(request.user):
        raise PermissionDenied
    story = read_story(found)
    form = AnswerForm(_with_suggestion(request, story) if "suggestion" in request.POST else request.POST)
    drafted = _drafted(form, found) | {"is_preview": True}
    if is_htmx(request):
        return render(request, "dashboard/_preview.html", drafted | {"form": form})
    return _page(request, story, form=form, **drafted)


def _answer(request: HttpRequest, found: Call) -> HttpResponse:
    """Give the answer; whatever keeps it from being sent, the page comes back with everything typed."""
    if not may_answer(request.user):
        raise PermissionDenied
    form = AnswerForm(request.POST)
    if not form.is_valid():
        return _page(request, read_story(found), form=form, status=REFUSED)
    escalation = get_object_or_404(Escalation, public_id=form.cleaned_data["escalation"], call=found)
    try:
        give_guidance(escalation, cast(User, request.user), now=timezone.now(), **form.answer)
    except RefusedAnswerError as refused:
        return _page(request, read_story(_get(found.public_id)), form=form, refused=refused, status=REFUSED)
    except AlreadyAnsweredError:
        return _page(request, read_story(_get(found.public_id)), form=form, status=TOO_LATE)
    return _after_answer(request, found)


def _after_answer(request: HttpRequest, found: Call) -> HttpResponse:
    """Go on: to the call that was answered, or to the next, with a way back."""
    here, goes_on = reverse("dashboard:call", args=[found.public_id]), request.POST.get("then") == "next"
    following = claim_next(cast(User, request.user), now=timezone.now(), beside=found) if goes_on else None
    words = 'Your <a href="{}">answer</a> is on its way to {}.' if following else "Your answer is on its way to {1}."
    messages.success(request, format_html(words, here, found.agent))
    return redirect("dashboard:call", public_id=(following or found).public_id)


def _live(request: HttpRequest, found: Call) -> HttpResponse:
    """Answer a poll: nothing when nothing changed, else everything but the form."""
    if request.GET.get("seen") == read_version(found):
        return HttpResponse(status=UNCHANGED)
    story = read_story(found)
    context = _story_context(request, story) | _asked(story, request.GET.get("form", "")) | {"is_poll": True}
    return render(request, "dashboard/_call_live.html", context)


def _page(
    request: HttpRequest, story: Story, *, form: AnswerForm | None = None, status: int = 200, **context: Any
) -> HttpResponse:
    shared = _story_context(request, story)
    escalation = story.open_escalation
    if form is None and shared["may_answer"] and escalation is not None:
        form = AnswerForm(
            initial={
                "escalation": escalation.public_id,
                "base": story.judged_number,
                "arguments": story.editable_arguments,
            }
        )
    shared |= _asked(story, form["escalation"].value() if form else "")
    return render(
        request, "dashboard/call.html", shared | {"form": form, "decisions": DECISIONS} | context, status=status
    )


def _asked(story: Story, escalation_id: str) -> dict[str, Any]:
    """Say which request the form on the page answers, and who answered it first."""
    return {
        "asked": escalation_id,
        "is_too_late": bool(escalation_id) and not story.is_open(escalation_id),
        "first_answer": story.answer_to(escalation_id),
    }


def _drafted(form: AnswerForm, found: Call) -> dict[str, Any]:
    """Draft what was typed: the exact text, or what keeps it from being sent."""
    if not form.is_valid():
        return {}
    try:
        return {"draft": draft_guidance(found, **form.answer)}
    except RefusedAnswerError as refused:
        return {"refused": refused}


def _with_suggestion(request: HttpRequest, story: Story) -> QueryDict:
    """Put the suggested arguments into what was typed; the person still looks at them and sends them."""
    typed = request.POST.copy()
    typed["decision"] = Decision.CORRECTED
    typed["arguments"] = story.suggested_arguments or typed.get("arguments", "")
    return typed


def _session_ended(request: HttpRequest) -> HttpResponse:
    """Ask for a login; what was typed is shown to be copied, since the answer was not sent."""
    if is_htmx(request):
        return HttpResponse(status=LOGIN_FIRST)
    context = {"text": request.POST.get("text", ""), "arguments": request.POST.get("arguments", "")}
    if request.method != "POST":
        return redirect_to_login(request.get_full_path())
    return render(request, "dashboard/session_ended.html", context, status=LOGIN_FIRST)


def _story_context(request: HttpRequest, story: Story) -> dict[str, Any]:
    now = timezone.now()
    return {
        "story": story,
        "call": story.call,
        "now": now,
        "work": read_work(story.call, cast(User, request.user).pk, now=now),
        "may_answer": may_answer(request.user),
        "next_blocked": next_blocked(now=now, beside=story.call),
    }


def _get(public_id: str) -> Call:
    return get_object_or_404(Call.objects.select_related("agent", "tool", "version"), public_id=public_id)
