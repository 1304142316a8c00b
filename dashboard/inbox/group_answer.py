"""One answer for all calls that made the same mistake, and the report of what became of each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_http_methods

from dashboard.call.diagnosis import Change
from dashboard.call.suggestions import AtHand, read_at_hand
from dashboard.call.views import taken_back
from dashboard.inbox.groups import Row, find_groups
from dashboard.inbox.waiting_group import WaitingGroup, changes_of, read_waiting, with_outputs
from dashboard.navigation import may_answer
from dashboard.shared.choices import state_word
from dashboard.shared.forms import GRANTS, LASTS, UNCHECKABLE, LargeForm
from dashboard.shared.responses import REFUSED, is_htmx, say_sent
from retrycontract.children.pool import ChildUnavailableError
from retrycontract.contract.decisions import DECISIONS, DEFAULT_GRANT, Decision
from retrycontract.contract.patches import PatchError, apply_patch
from retrycontract.store.models import AnswerRecord, Attempt, Call, Mistake
from retrycontract.store.models.escalations import free_calls
from retrycontract.usecases.answers.answer_group import Correct, GroupAnswer, Reason, answer_group
from retrycontract.usecases.answers.give_guidance import RefusedAnswerError, draft_guidance
from retrycontract.usecases.answers.reuse_answers import LASTS as STANDS_FOR
from retrycontract.usecases.answers.reuse_answers import proposed_arguments
from retrycontract.usecases.calls.claim_call import claim_next

SHOWN_FIXES: Final = 10  # of the others, below the text that the first will read
NEAR_MISS: Final = "near"  # the fix that each call's own errors suggest; others are records of what worked before
GROUP_DECISIONS: Final = [
    (name.value, "Suggested fix" if entry.takes_arguments else entry.title, entry.group)
    for name, entry in DECISIONS.items()
    if entry.group
]


class GroupForm(LargeForm):
    """Take one answer for many calls."""

    decision = forms.ChoiceField(choices=[choice[:2] for choice in GROUP_DECISIONS], initial=Decision.HINT.value)
    text = forms.CharField(required=False)
    grant = forms.ChoiceField(choices=GRANTS, initial=str(DEFAULT_GRANT), required=False)
    fix = forms.CharField(required=False, max_length=20, initial=NEAR_MISS)
    standing = forms.BooleanField(required=False)
    lasts = forms.ChoiceField(choices=LASTS, initial=str(STANDS_FOR.days), required=False)

    @property
    def answer(self) -> dict[str, Any]:
        """Give the answer as the use case takes it, but for what each call is corrected to."""
        cleaned = self.cleaned_data
        return {
            "decision": Decision(cleaned["decision"]),
            "text": cleaned["text"].replace("\r\n", "\n"),
            "grant": int(cleaned["grant"] or DEFAULT_GRANT),
        }

    @property
    def stands_days(self) -> int | None:
        """Give for how many days it is told to the next agents; None when it is not, or is no hint."""
        cleaned = self.cleaned_data
        is_told = cleaned.get("standing") and cleaned.get("decision") == Decision.HINT
        return int(cleaned.get("lasts") or STANDS_FOR.days) if is_told else None


@dataclass(frozen=True, slots=True)
class Report:
    """Say what was answered and what was not, and why."""

    answered: tuple[tuple[str, str], ...]  # id of the call, and its goal
    left: tuple[tuple[str, str, str], ...]  # the same, and why in words

    @classmethod
    def of(cls, result: GroupAnswer, goals: Mapping[str, str]) -> Report:
        """Put what the use case says into words; calls go by their goals where these are known."""
        left = []
        for call in result.left:
            match call.reason:
                case Reason.ANSWERED:
                    why = f"{call.detail} answered it first" if call.detail else "it needs no answer any more"
                case Reason.ENDED:
                    why = f"it ended meanwhile: {state_word(call.detail).lower()}"
                case Reason.CHANGED:
                    why = "its agent has made another mistake meanwhile"
                case Reason.REFUSED:
                    why = call.detail
                case Reason.CLAIMED:
                    why = f"{call.detail} has it"
                case Reason.UNKNOWN:
                    why = "there is no such call with this mistake"
            left.append((call.public_id, goals.get(call.public_id, ""), why))
        return cls(tuple((name, goals.get(name, "")) for name in result.answered), tuple(left))


def corrector(fix: str, mistake: Mistake) -> Correct:
    """Give what corrects each call: its own near misses, or the change that worked for the same mistake before."""
    # A record's key is a number; the near misses' fix has a name.
    if not fix.isdecimal():
        return proposed_arguments
    record = AnswerRecord.objects.about(mistake).filter(pk=int(fix[:18]), decision=Decision.CORRECTED).first()

    def patched(attempt: Attempt) -> Any:
        try:
            if record is None or not record.fits_other_calls or not attempt.is_parsed:
                return None
            return apply_patch(attempt.output, record.patch)
        except PatchError:
            return None

    return patched


def read_goals(public_ids: Collection[str]) -> dict[str, str]:
    """Read what the agents of some calls were trying to do, by the ids of the calls."""
    return {call.public_id: Row(call, {}).goal for call in Call.objects.filter(public_id__in=public_ids)}


NONE_CHOSEN: Final = "Choose at least one call."
NO_FIX: Final = "No fix is suggested for the first of the ticked calls."
FILLS: Final = ("past", "reply", "suggestion", "all")  # the buttons that fill in the form
LOOKED_AHEAD: Final = 25  # groups among which the next one is looked for


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@gzip_page
def group(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show the calls that made the mistake of this one; POST answers those that are chosen."""
    if not may_answer(request.user):
        raise PermissionDenied
    found = get_object_or_404(Call.objects.select_related("agent"), public_id=public_id)
    # What is answered is what the page showed: the agent of this call may have made another mistake since.
    mistake = Mistake.of(found, request.POST.get("mistake") or None)
    if not mistake.fingerprint:  # it shares its mistake with nobody
        return redirect("dashboard:call", public_id=public_id)
    before = taken_back(request, public_id) if request.method == "GET" else {}
    only = request.POST.getlist("call") if request.method == "POST" else before.pop("calls", None)
    waiting = read_waiting(
        mistake,
        cast(User, request.user).pk,
        now=timezone.now(),
        only=None if "all" in request.POST else only,
        alone="alone" in request.GET,
    )
    if request.method != "POST":
        return _page(request, found, mistake, waiting, GroupForm(initial=before))
    if any(name in request.POST for name in FILLS):
        # A person still looks at it and sends it
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
        return _page(
            request, found, mistake, waiting, form, **_drafted(form, waiting), is_preview=True, at_hand=at_hand
        )
    form = GroupForm(request.POST)
    drafted = _drafted(form, waiting)
    if is_htmx(request):
        return render(request, "call/_preview.html", drafted | {"form": form, "is_preview": True})
    if "preview" in request.POST:
        return _page(request, found, mistake, waiting, form, **drafted, is_preview=True)
    if not form.is_valid() or not only or "refused" in drafted:
        return _page(
            request, found, mistake, waiting, form, status=REFUSED, none_chosen=not only and NONE_CHOSEN, **drafted
        )
    return _answer(request, found, mistake, form, only)


def _add(filling: QueryDict, text: str) -> None:
    """Put words below those that stand there, once."""
    before = filling.get("text", "").rstrip()
    if text not in before:
        filling["text"] = f"{before}\n{text}" if before else text


def _answer(request: HttpRequest, found: Call, mistake: Mistake, form: GroupForm, only: list[str]) -> HttpResponse:
    """Answer what was chosen; whatever is left keeps the words at hand."""
    operator, now = cast(User, request.user), timezone.now()
    is_fix = form.answer["decision"] is Decision.CORRECTED
    correct = corrector(form.cleaned_data["fix"], mistake) if is_fix else None
    result = answer_group(
        mistake, operator, now=now, only=only, correct=correct, stands_days=form.stands_days, **form.answer
    )
    number = len(result.answered)
    if number:
        say_sent(request, result.held, f"for {number} call{'' if number == 1 else 's'}", number=number)
    # Whoever has calls left reads why, before anything else comes.
    if request.POST.get("then") == "next" and not result.left:
        return redirect(_following(operator, found) + "#main")
    # What was left out stays so, and what has come meanwhile was not chosen yet.
    waiting = read_waiting(mistake, operator.pk, now=timezone.now(), only=[call.public_id for call in result.left])
    if not waiting.chosen:
        rest = request.POST.copy()
        rest["decision"] = Decision.HINT
        form = GroupForm(rest)
    return _page(request, found, mistake, waiting, form, report=Report.of(result, read_goals(only)))


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
    """Draft the answer for one of the calls: the exact text, or what keeps it from being sent.

    Of a correction `fixes` are what it changes in the others, each in its own output.
    """
    if waiting.first is None or not form.is_valid():
        return {}
    call, answer, fixes, more = waiting.first.call, form.answer, list[tuple[Row, tuple[Change, ...]]](), 0
    if answer["decision"] is Decision.CORRECTED:
        first, *others = waiting.looked_at
        correct = corrector(form.cleaned_data["fix"], Mistake.of(call))
        answer["arguments"] = None if first.attempt is None else correct(first.attempt)
        if answer["arguments"] is None:
            return {"refused": RefusedAnswerError(NO_FIX)}
        rows = {one.attempt.pk: one.row for one in others[:SHOWN_FIXES] if one.attempt is not None}
        shown = with_outputs([one.attempt for one in others[:SHOWN_FIXES] if one.attempt is not None])
        fixes = [(rows[attempt.pk], changes_of(attempt, correct)) for attempt in shown]
        more = len(others) - len(fixes)
    try:
        return {"draft": draft_guidance(call, **answer), "is_group": True, "fixes": fixes, "more_fixes": more}
    except RefusedAnswerError as refused:
        return {"refused": refused.with_traceback(None)}
    except ChildUnavailableError:
        return {"refused": RefusedAnswerError(UNCHECKABLE)}


def _at_hand(request: HttpRequest, waiting: WaitingGroup) -> AtHand:
    """Read what the operator may take for the answer: by the first call, since all made its mistake."""
    if waiting.first is None:
        return AtHand()
    first = waiting.looked_at[0]
    return read_at_hand(first.row.call, first.attempt, cast(User, request.user), now=timezone.now())


def _page(
    request: HttpRequest,
    found: Call,
    mistake: Mistake,
    waiting: WaitingGroup,
    form: GroupForm,
    *,
    status: int = 200,
    **context: Any,
) -> HttpResponse:
    context.setdefault("at_hand", _at_hand(request, waiting))
    # The near misses' correction can be sent, or one that worked before and was chosen.
    has_fix = bool(waiting.with_fix) or form["decision"].value() == Decision.CORRECTED
    decisions = [choice for choice in GROUP_DECISIONS if has_fix or choice[0] != Decision.CORRECTED]
    shared = {"call": found, "mistake": mistake.fingerprint, "waiting": waiting, "form": form, "decisions": decisions}
    return render(
        request, "inbox/group.html", shared | {"may_answer": True, "now": timezone.now()} | context, status=status
    )
