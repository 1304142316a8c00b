"""The replies that an operator has at hand: kept, named, put on keys and deleted."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.roles import is_administrator, may_answer
from dashboard.shared.forms import ReplyForm
from dashboard.shared.responses import REFUSED
from retrycontract.contract.redaction.sanitizer import elide_middle
from retrycontract.store.models import SavedReply
from retrycontract.store.models.replies import FIRST, LAST
from retrycontract.usecases.answers.save_reply import (
    MAX_TITLE,
    NotAllowedError,
    UnusableReplyError,
    delete_reply,
    replies_of,
    save_reply,
)
from retrycontract.usecases.tools.contracts import sanitizer


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def replies(request: HttpRequest) -> HttpResponse:
    """Show what is at hand; POST keeps another reply."""
    if request.method == "POST":
        return _save(request, None)
    return _list(request, ReplyForm() if may_answer(request.user) else None)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def reply(request: HttpRequest, reply_id: int) -> HttpResponse:
    """Show one reply to change it; POST saves it."""
    found = _get(request, reply_id)
    if request.method == "POST":
        return _save(request, found)
    kept = {"title": found.title, "text": found.text, "position": str(found.position or "")}
    return _one(request, found, ReplyForm(initial=kept))


@require_POST
@never_cache
def delete(request: HttpRequest, reply_id: int) -> HttpResponse:
    """Delete a reply."""
    found = _get(request, reply_id)
    try:
        delete_reply(found, cast(User, request.user), now=timezone.now())
    except NotAllowedError:
        raise PermissionDenied from None
    messages.success(request, f"“{found.title}” is deleted.")
    return redirect("dashboard:replies")


def keep_words(operator: User, text: str, *, now: datetime) -> SavedReply:
    """Keep the words of an answer, named by how they begin, on the next key that is free; raises UnusableReplyError."""
    taken = {kept.position for kept in replies_of(operator)}
    free = next((key for key in range(FIRST, LAST + 1) if key not in taken), None)
    text = sanitizer().redact_text(text.replace("\r\n", "\n").strip())  # before it is cut: half a secret is not known
    title = elide_middle(text.partition("\n")[0], MAX_TITLE)
    return save_reply(operator, title, text, now=now, position=free)


def _save(request: HttpRequest, found: SavedReply | None) -> HttpResponse:
    form, operator = ReplyForm(request.POST), cast(User, request.user)
    refused = ""
    if form.is_valid():
        try:
            save_reply(operator, now=timezone.now(), reply=found, shared=form.cleaned_data["shared"], **form.reply)
        except NotAllowedError:
            raise PermissionDenied from None
        except UnusableReplyError as error:
            refused = str(error)
        else:
            messages.success(request, "The reply is saved.")
            return redirect("dashboard:replies")
    refused = refused or "Choose a key from the list."
    if found is None:
        return _list(request, form, status=REFUSED, refused=refused)
    return _one(request, found, form, status=REFUSED, refused=refused)


def _list(request: HttpRequest, form: ReplyForm | None, *, status: int = 200, **context: Any) -> HttpResponse:
    user, may_share = cast(User, request.user), is_administrator(request.user)
    shelves: tuple[list[SavedReply], list[SavedReply]] = ([], [])
    for kept in replies_of(user):
        shelves[kept.is_shared].append(kept)
    shared = {"own": shelves[0], "shared": shelves[1], "form": form, "may_share": may_share}
    return render(request, "answers/replies.html", shared | context, status=status)


def _one(
    request: HttpRequest, found: SavedReply, form: ReplyForm, *, status: int = 200, **context: Any
) -> HttpResponse:
    return render(request, "answers/reply.html", {"reply": found, "form": form} | context, status=status)


def _get(request: HttpRequest, reply_id: int) -> SavedReply:
    """Give a reply that the operator may change."""
    user = cast(User, request.user)
    if not may_answer(user):
        raise PermissionDenied
    found = get_object_or_404(SavedReply.objects.filter(Q(operator=user) | Q(operator=None)), pk=reply_id)
    if found.is_shared and not is_administrator(user):
        raise PermissionDenied
    return found
