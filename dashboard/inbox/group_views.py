"""One answer for all calls that made the same mistake, and the report of what became of each."""

from __future__ import annotations

from typing import Any, Final, cast

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_http_methods

from dashboard.call.call_history import read_story
from dashboard.call.suggestions import AtHand, read_at_hand
from dashboard.call.undo import taken_back
from dashboard.inbox.group_answer import (
    GROUP_DECISIONS,
    NEAR_MISS,
    GroupForm,
    Report,
    WaitingGroup,
    corrector,
    read_goals,
    read_waiting,
)
from dashboard.inbox.groups import find_groups
from dashboard.navigation import may_answer
from dashboard.shared.responses import REFUSED, is_htmx
from dashboard.shared.sent import say_sent
from retrycontract.contract.decisions import Decision
from retrycontract.store.models import Call, Mistake
from retrycontract.store.models.claims import free_calls
from retrycontract.usecases.answers.answer_group import answer_group
from retrycontract.usecases.answers.give_guidance import RefusedAnswerError, draft_guidance
from retrycontract.usecases.calls.claim_call import claim_next

NONE_CHOSEN: Final = "Choose at least one call."
NO_FIX: Final = "No fix is suggested for the first of the ticked calls."
FILLS: Final = ("past", "reply", "suggestion")  # the buttons that fill in the form
LOOKED_AHEAD: Final = 25  # groups among which the next one is looked for


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@gzip_page
def group(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show the calls that made the mistake of this one; POST answers those that are chosen."""
    if not may_answer(request.user):
        raise PermissionDenied
    found = get_object_or_404(Call.objects.select_related("agent"), public_id=public_id)
    if not found.fingerprint:  # it shares its mistake with nobody
        return redirect("dashboard:call", public_id=public_id)
    only = request.POST.getlist("call") if request.method == "POST" else None
    waiting = read_waiting(
        Mistake.of(found), cast(User, request.user).pk, now=timezone.now(), only=only, alone="alone" in request.GET
    )
    if only is None:
        return _page(request, found, waiting, GroupForm(initial=taken_back(request, public_id)))
    if any(name in request.POST for name in FILLS):
        return _filled(request, found, waiting)
    return _posted(request, found, waiting, only)


def _filled(request: HttpRequest, found: Call, waiting: WaitingGroup) -> HttpResponse:
    """Show the form with what a button stands for put into it; a person still looks at it and sends it."""
    filling, at_hand = request.POST.copy(), _at_hand(request, waiting)
    if "suggestion" in filling:
        filling["decision"], filling["fix"] = Decision.CORRECTED, NEAR_MISS
    if (proposal := at_hand.proposal(filling.get("past", ""))) is not None:
        is_fix = proposal.guidance.decision is Decision.CORRECTED
        filling["decision"] = proposal.guidance.decision
        filling["fix"] = str(proposal.guidance.id) if is_fix else filling.get("fix", "")
        _add(filling, proposal.guidance.text)
    if (reply := at_hand.reply(filling.get("reply", ""))) is not None:
        _add(filling, reply.text)
    form = GroupForm(filling)
    return _page(request, found, waiting, form, **_drafted(form, waiting), is_preview=True, at_hand=at_hand)


def _add(filling: QueryDict, text: str) -> None:
    """Put words below those that stand there, once."""
    before = filling.get("text", "").rstrip()
    if text not in before:
        filling["text"] = f"{before}\n{text}" if before else text


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
    is_fix = form.answer["decision"] is Decision.CORRECTED
    correct = corrector(form.cleaned_data["fix"], mistake) if is_fix else None
    result = answer_group(
        mistake, operator, now=now, only=only, correct=correct, stands_days=form.stands_days, **form.answer
    )
    number = len(result.answered)
    if number:
        say_sent(request, result.held, f"Sent to {number} agent{'' if number == 1 else 's'}")
    if request.POST.get("then") == "next" and not result.left:
        return redirect(_following(operator, found) + "#main")
    waiting = read_waiting(mistake, operator.pk, now=timezone.now())
    return _page(request, found, waiting, form, report=Report.of(result, read_goals(only)))


def _following(operator: User, found: Call) -> str:
    """Give the page of the next group that waits, or else of the next call, which is claimed; at last the inbox."""
    now = timezone.now()
    for other in find_groups(free_calls(now), beyond=None, number=LOOKED_AHEAD):
        if other.size > 1:
            first = Call.objects.get(pk=other.keys[0])
            return reverse("dashboard:group", args=[first.public_id])
    following = claim_next(operator, now=now, beside=found)
    return reverse("dashboard:call", args=[following.public_id]) if following else reverse("dashboard:inbox")


def _drafted(form: GroupForm, waiting: WaitingGroup) -> dict[str, Any]:
    """Draft the answer for one of the calls: the exact text, or what keeps it from being sent."""
    if waiting.first is None or not form.is_valid():
        return {}
    call, answer = waiting.first.call, form.answer
    if answer["decision"] is Decision.CORRECTED:
        attempt = (waiting.chosen or waiting.choices)[0].attempt
        correct = corrector(form.cleaned_data["fix"], Mistake.of(call))
        answer["arguments"] = None if attempt is None else correct(attempt)
        if answer["arguments"] is None:
            return {"refused": RefusedAnswerError(NO_FIX)}
    try:
        return {"draft": draft_guidance(call, **answer)}
    except RefusedAnswerError as refused:
        return {"refused": refused}


def _at_hand(request: HttpRequest, waiting: WaitingGroup) -> AtHand:
    """Read what the operator may take for the answer: by the first call, since all made its mistake."""
    if waiting.first is None:
        return AtHand()
    return read_at_hand(read_story(waiting.first.call), cast(User, request.user), now=timezone.now())


def _page(
    request: HttpRequest, found: Call, waiting: WaitingGroup, form: GroupForm, *, status: int = 200, **context: Any
) -> HttpResponse:
    context.setdefault("at_hand", _at_hand(request, waiting))
    decisions = [choice for choice in GROUP_DECISIONS if choice[0] != Decision.CORRECTED or _has_fix(waiting, form)]
    shared = {"call": found, "waiting": waiting, "form": form, "decisions": decisions, "now": timezone.now()}
    return render(request, "inbox/group.html", shared | {"may_answer": True} | context, status=status)


def _has_fix(waiting: WaitingGroup, form: GroupForm) -> bool:
    """Tell whether a correction can be sent: the near misses', or one that worked before and was chosen."""
    return bool(waiting.with_fix) or form["decision"].value() == Decision.CORRECTED
