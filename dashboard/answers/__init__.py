"""The standing hints and saved replies: what agents are told without a person, and what it is good for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.call.diagnosis import rule_of
from dashboard.navigation import is_administrator, may_answer
from dashboard.shared.choices import is_place, unread
from dashboard.shared.forms import ReplyForm
from dashboard.shared.mistakes import MistakePattern, by_pattern
from dashboard.shared.responses import REFUSED
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.redaction.sanitizer import elide_middle
from retrycontract.store.fields import without_long_values
from retrycontract.store.models import Attempt, SavedReply, StandingHint
from retrycontract.store.models.answers import FIRST, LAST
from retrycontract.usecases.answers.reuse_answers import (
    MAX_TITLE,
    NotAllowedError,
    UnusableReplyError,
    delete_reply,
    replies_of,
    save_reply,
    switch_off_hint,
)
from retrycontract.usecases.tools.contracts import sanitizer

PAGE: Final = 30
SHOWN_MISTAKES: Final = 3
# Whose messages hold for every call; others may quote what this one sent.
QUOTING_NOTHING: Final = {ErrorCode.INVALID_JSON_SYNTAX, ErrorCode.UNKNOWN_FIELD}


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
    def mistakes(self) -> list[tuple[MistakePattern, str]]:
        """Give the mistake that it is for in words that hold for every call that makes it.

        They are read from the newest call that is known, whose own values are left out: the hint stands for all of
        them. Empty when all are forgotten.
        """
        source = self.hint.source
        made_by = self.told or (source.base if source is not None else None)
        patterns = [one for one in by_pattern(made_by.errors) if one.is_blocking] if made_by else []
        return [
            (one, rule_of(one.first) or (one.first.message if one.first.error_code in QUOTING_NOTHING else one.title))
            for one in patterns[:SHOWN_MISTAKES]
        ]


@require_safe
@never_cache
def hints(request: HttpRequest) -> HttpResponse:
    """List what agents are told, or what they were."""
    now, show, after = timezone.now(), request.GET.get("show", ""), request.GET.get("after", "")
    tab = HintTab(show) if show in list(HintTab) else HintTab.ON
    found = tab.hints(now).select_related("owner", "source__base", "source__call").order_by("-pk")
    found = without_long_values(found, "source__base", "source__call", but=("text", "source__base__errors_json"))
    if is_place(after):
        found = found.filter(pk__lt=int(after))
    listed = list(found[: PAGE + 1])
    newest = Attempt.objects.filter(standing_hint=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    shown = StandingHint.objects.filter(pk__in=[hint.pk for hint in listed[:PAGE]]).order_by()
    told = Attempt.objects.filter(pk__in=shown.values(told=Subquery(newest)))
    by_hint = {attempt.standing_hint_id: attempt for attempt in without_long_values(told, but=("errors_json",))}
    context = {
        "lines": [HintLine(hint, by_hint.get(hint.pk)) for hint in listed[:PAGE]],
        "following": listed[PAGE - 1].pk if len(listed) > PAGE else None,
        "tab": tab,
        "unread": unread(request.GET, {"show": show in list(HintTab), "after": is_place(after)}),
        "tabs": [(HintTab.ON, "On"), (HintTab.ENDED, "Ended")],
        "now": now,
        "may_answer": may_answer(request.user),
    }
    return render(request, "answers/hints.html", context)


@require_POST
@never_cache
def switch_off(request: HttpRequest, hint_id: int) -> HttpResponse:
    if not may_answer(request.user):
        raise PermissionDenied
    hint = get_object_or_404(StandingHint, pk=hint_id)
    if switch_off_hint(hint, cast(User, request.user), now=timezone.now()):
        messages.success(request, f"Agents are told it no longer when they call {hint.tool_name}.")
    return redirect("dashboard:hints")


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
