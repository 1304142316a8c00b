"""The pages of the desk: each one use-case call, or one read."""

from __future__ import annotations

import math
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.templatetags.static import static
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.middleware import HtmxDetails

from dashboard.forms import DECISIONS, AnswerForm, LoginForm
from dashboard.queue import Queue, Tab, next_blocked, read_queue
from dashboard.roles import may_answer
from dashboard.sessions import begin_session
from dashboard.story import Story, read_story, read_version
from retrycontract.contract.lifecycle import Decision
from retrycontract.store.models import Call, Escalation
from retrycontract.usecases.give_guidance import (
    AlreadyAnsweredError,
    RefusedAnswerError,
    draft_guidance,
    give_guidance,
)


class HtmxHttpRequest(HttpRequest):
    """Name what the htmx middleware adds to a request."""

    htmx: HtmxDetails


class Login(LoginView):
    """Let an operator in, unless too many logins failed."""

    template_name = "dashboard/login.html"
    redirect_authenticated_user = True
    authentication_form = LoginForm

    def form_valid(self, form: Any) -> HttpResponse:
        """Log in, and note when."""
        response = super().form_valid(form)
        begin_session(self.request)
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        """Show the form again; to who must wait, say so to programs, too."""
        response = super().form_invalid(form)
        if form.pause is not None:
            response.status_code = TOO_MANY
            response["Retry-After"] = str(math.ceil(form.pause.total_seconds()))
        return response


UNCHANGED = 204  # htmx swaps nothing
REFUSED = 422
TOO_LATE = 409
LOGIN_FIRST = 401
TOO_MANY = 429


@require_GET
@never_cache
def inbox(request: HttpRequest) -> HttpResponse:
    """Show what waits for a person, or another tab."""
    show, search, after = (request.GET.get(name, "") for name in ("show", "q", "after"))
    queue = read_queue(Tab(show) if show in list(Tab) else Tab.BLOCKED, search=search, after=after)
    if _is_htmx(request) and request.GET.get("seen") == queue.version:
        return HttpResponse(status=UNCHANGED)
    template = "dashboard/_queue.html" if _is_htmx(request) else "dashboard/inbox.html"
    return render(request, template, _queue_context(request, queue))


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
    if _is_htmx(request):
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
    if _is_htmx(request):
        return render(request, "dashboard/_preview.html", drafted | {"form": form})
    return _page(request, story, form=form, **drafted)


@login_not_required
@never_cache
def login(request: HttpRequest) -> HttpResponse:
    """Let an operator in; a poll that was sent here is told that its session has ended."""
    if _is_htmx(request):
        return HttpResponse(status=LOGIN_FIRST)
    return cast(HttpResponse, Login.as_view()(request))


@login_not_required
@require_GET
def favicon(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - a view's signature
    """Lead browsers that guess the address to the icon."""
    return HttpResponseRedirect(static("dashboard/favicon.svg"))


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
    messages.success(request, f"Your answer is on its way to {found.agent}.")
    return redirect("dashboard:call", public_id=found.public_id)


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
    if _is_htmx(request):
        return HttpResponse(status=LOGIN_FIRST)
    context = {"text": request.POST.get("text", ""), "arguments": request.POST.get("arguments", "")}
    if request.method != "POST":
        return redirect_to_login(request.get_full_path())
    return render(request, "dashboard/session_ended.html", context, status=LOGIN_FIRST)


def _queue_context(request: HttpRequest, queue: Queue) -> dict[str, Any]:
    is_first_look = not queue.calls and not queue.search and not Call.objects.exists()
    address = request.build_absolute_uri("/").rstrip("/")
    return {"queue": queue, "now": timezone.now(), "is_first_look": is_first_look, "address": address}


def _story_context(request: HttpRequest, story: Story) -> dict[str, Any]:
    return {
        "story": story,
        "call": story.call,
        "now": timezone.now(),
        "may_answer": may_answer(request.user),
        "next_blocked": next_blocked(beside=story.call),
    }


def _get(public_id: str) -> Call:
    return get_object_or_404(Call.objects.select_related("agent", "tool", "version"), public_id=public_id)


def _is_htmx(request: HttpRequest) -> bool:
    return bool(cast(HtmxHttpRequest, request).htmx)
