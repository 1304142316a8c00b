"""The page of one call: what happened, the answer, what became of it, and how it is taken back."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, Final, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.answers import keep_words
from dashboard.call import work as call_work
from dashboard.call.call_history import CallHistory, read_story, read_version
from dashboard.call.suggestions import AtHand, filled, is_asked, read_at_hand
from dashboard.inbox.views import next_blocked
from dashboard.navigation import may_answer
from dashboard.shared.choices import choices_for
from dashboard.shared.forms import UNAVAILABLE, UNCHECKABLE, AnswerForm
from dashboard.shared.json_lines import line_at, lines_of
from dashboard.shared.responses import PRESSES, REFUSED, TOO_LATE, UNCHANGED, is_htmx, say_sent
from dashboard.templatetags.desk import bare
from retrycontract.children.pool import ChildUnavailableError
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.lifecycle import CallState
from retrycontract.store.models import Attempt, Call, Escalation, HeldAnswer, Mistake
from retrycontract.usecases.answers.give_guidance import AlreadyAnsweredError, RefusedAnswerError, draft_guidance
from retrycontract.usecases.answers.reuse_answers import UnusableReplyError
from retrycontract.usecases.answers.send_answer import send_answer, take_back
from retrycontract.usecases.calls.claim_call import claim_next


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@gzip_page  # some pages hold a whole output; their tokens are masked anew each time, so lengths give nothing away
def call(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show one call; POST answers it."""
    found = call_at(public_id)
    if request.method == "POST":
        return _answer(request, found)
    if is_htmx(request):
        # Told without reading the attempts, for an open page asks again and again.
        if request.GET.get("seen") == read_version(found):
            return HttpResponse(status=UNCHANGED)
        story = _asked_story(request, found)
        context = _story_context(request, story) | _asked(story, request.GET.get("form", "")) | {"is_poll": True}
        if "beside" not in request.GET:
            return render(request, "call/_call_live.html", context)
        size = request.GET["beside"]
        context["size"] = int(size) if size.isdecimal() and len(size) < 9 else 1
        page = "dashboard:group" if context["size"] > 1 and context["may_answer"] else "dashboard:call"
        return render(request, "inbox/_pane.html", context | {"opens": reverse(page, args=[public_id])})
    return _page(request, _asked_story(request, found))


def _asked_story(request: HttpRequest, found: Call) -> CallHistory:
    whole, attempt, after = request.GET.get("whole", ""), request.GET.get("attempt", ""), request.GET.get("after", "")
    return read_story(found, whole=whole, attempt=attempt, after=after)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def preview(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show exactly what the agent will read, or why the answer cannot be sent; for htmx alone, or in the page."""
    found = call_at(public_id)
    if request.method != "POST":  # the page that a browser without scripts was shown is loaded anew
        return redirect("dashboard:call", public_id=public_id)
    if not may_answer(request.user):
        raise PermissionDenied
    if is_asked(request.POST):
        story = read_story(found)
        at_hand = read_at_hand(story.call, story.newest_judged, cast(User, request.user), now=timezone.now())
        form = AnswerForm(filled(request.POST, story, at_hand))
        return _form_again(request, story, form, {"is_preview": True, "is_filled": True})
    form = AnswerForm(request.POST)
    drafted = _drafted(form, found) | {"is_preview": True}
    if is_htmx(request):
        return render(request, "call/_preview.html", drafted | {"form": form})
    return _page(request, read_story(found), form=form, **drafted)


def _form_again(request: HttpRequest, story: CallHistory, form: AnswerForm, context: dict[str, Any]) -> HttpResponse:
    """Show the form after it was filled in or kept, within its page where no script asked."""
    context |= _drafted(form, story.call)
    if not is_htmx(request):
        return _page(request, story, form=form, **context)
    at_hand = read_at_hand(story.call, story.newest_judged, cast(User, request.user), now=timezone.now())
    shared = _story_context(request, story) | _offered(story, at_hand)
    return render(request, "call/_answer_fields.html", shared | {"form": form} | context)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def keep_reply(request: HttpRequest, public_id: str) -> HttpResponse:
    """Keep the typed words as a reply of one's own; the form comes back as it was."""
    found, operator, now = call_at(public_id), cast(User, request.user), timezone.now()
    if request.method != "POST":
        return redirect("dashboard:call", public_id=public_id)
    if not may_answer(operator):
        raise PermissionDenied
    context: dict[str, Any] = {"is_preview": True}
    try:
        context["kept_reply"] = keep_words(operator, request.POST.get("text", ""), now=now)
    except UnusableReplyError as error:
        context["not_kept"] = str(error)
    return _form_again(request, read_story(found), AnswerForm(request.POST), context)


def _answer(request: HttpRequest, found: Call) -> HttpResponse:
    """Give the answer; whatever keeps it from being sent, the page comes back with everything typed."""
    if not may_answer(request.user):
        raise PermissionDenied
    form = AnswerForm(_with_fix(request.POST, found) if "send_fix" in request.POST else request.POST)
    if not form.is_valid():
        return _page(request, read_story(found), form=form, status=REFUSED)
    escalation = get_object_or_404(Escalation, public_id=form.cleaned_data["escalation"], call=found)
    # What is right now, and held for a person, made no mistake that others could be told of.
    newest = Attempt.objects.newest_judged([found])
    is_mistaken = form.stands and newest.filter(fingerprint__gt="").exists()
    stands_days = form.stands_days if is_mistaken else None
    try:
        sent = send_answer(
            escalation, cast(User, request.user), now=timezone.now(), stands_days=stands_days, **form.answer
        )
    except RefusedAnswerError as refused:
        return _page(
            request,
            read_story(call_at(found.public_id)),
            form=form,
            refused=refused.with_traceback(None),
            faults=_placed(form, refused),
            status=REFUSED,
        )
    except AlreadyAnsweredError:
        return _page(request, read_story(call_at(found.public_id)), form=form, status=TOO_LATE)
    except ChildUnavailableError:
        story = read_story(call_at(found.public_id))
        return _page(request, story, form=form, refused=RefusedAnswerError(UNCHECKABLE), status=UNAVAILABLE)
    goes_on = "next" in (request.POST.get("then"), request.POST.get("send_fix"))
    # After the answer was sent: a call is not taken on by somebody whose answer comes back refused.
    following = claim_next(cast(User, request.user), now=timezone.now(), beside=found) if goes_on else None
    here = reverse("dashboard:call", args=[found.public_id])
    to = format_html('<a href="{}">{}</a>' if following else "{1}", here, bare(found.agent.name))
    say_sent(request, sent, format_html("to {}{}", to, said_to_stand(stands_days)))
    if form.stands and stands_days is None:
        messages.warning(
            request, "It is not told to the next agents, though: there is no mistake that it could be for."
        )
    # A fragment of its own: else the browser carries the form's to the next page, and lands below its head.
    return redirect(reverse("dashboard:call", args=[(following or found).public_id]) + "#main")


def _with_fix(typed: QueryDict, found: Call) -> QueryDict:
    """Put the suggested fix in the place of what was typed: one key sends it, and it can be taken back."""
    story = read_story(found)
    fixed = typed.copy()
    fixed["suggestion"] = "use"
    return filled(fixed, story, AtHand())


def said_to_stand(days: int | None) -> str:
    """Say until when the next agents are told an answer, too; nothing where they are not."""
    if days is None:
        return ""
    until = timezone.localtime(timezone.now() + timedelta(days=days)).strftime("%Y-%m-%d")
    return f". Agents that make the same mistake are told it until {until}."


def _page(
    request: HttpRequest, story: CallHistory, *, form: AnswerForm | None = None, status: int = 200, **context: Any
) -> HttpResponse:
    shared = _story_context(request, story)
    escalation = story.open_escalation
    if form is None and shared["may_answer"] and escalation is not None:
        form = AnswerForm(
            initial={
                "escalation": escalation.public_id,
                "base": story.judged_number,
                "arguments": "" if story.is_heavy else story.editable_arguments,
            }
            | taken_back(request, story.call.public_id)
        )
    shared |= _asked(story, form["escalation"].value() if form else "")
    if form is not None:
        operator = cast(User, request.user)
        shared |= _offered(story, read_at_hand(story.call, story.newest_judged, operator, now=timezone.now()))
        alike = (
            Mistake.of(story.call).calls.exclude(pk=story.call.pk) if story.call.fingerprint else Call.objects.none()
        )
        shared |= {"alike": alike.order_by()[: MOST_ALIKE + 1].count(), "most_alike": MOST_ALIKE}
    return render(request, "call/call.html", shared | {"form": form} | context, status=status)


def _offered(story: CallHistory, at_hand: AtHand) -> dict[str, Any]:
    return {"choices": choices_for(story.call.kind), "at_hand": at_hand}


def _asked(story: CallHistory, escalation_id: str) -> dict[str, Any]:
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
        # Without where it was raised: frames hold the page, the page holds it, and all would wait for the collector.
        return {"refused": refused.with_traceback(None), "faults": _placed(form, refused)}
    except ChildUnavailableError:
        return {"refused": RefusedAnswerError(UNCHECKABLE)}


def _placed(form: AnswerForm, refused: RefusedAnswerError) -> list[tuple[ValidationError, int]]:
    """Give the first of what is wrong with corrected arguments, each with its line in the text that was typed."""
    lines = lines_of(form.cleaned_data["arguments"]) if refused.errors else {}
    return [(error, line_at(lines, error.field_path)) for error in refused.errors[:MOST_FAULTS]]


def _story_context(request: HttpRequest, story: CallHistory) -> dict[str, Any]:
    now = timezone.now()
    return {
        "story": story,
        "call": story.call,
        "now": now,
        "work": call_work.read_work(story.call, cast(User, request.user).pk, now=now),
        "may_answer": may_answer(request.user),
        "next_blocked": next_blocked(now=now, beside=story.call),
    }


def call_at(public_id: str) -> Call:
    """Read the call of an address; raises Http404."""
    return get_object_or_404(Call.objects.select_related("agent", "tool", "version"), public_id=public_id)


MOST_FAULTS: Final = 50  # shown of what is wrong with a correction: nobody reads thousands
MOST_ALIKE: Final = 100  # counted, as many as one answer goes to
TAKEN_BACK: Final = "taken_back"  # in the session: what was typed, until its form is shown again


@require_POST
@never_cache
def undo(request: HttpRequest, batch: str) -> HttpResponse:
    """Take back what was sent by one press; the page of the call or of the group shows it as it was typed."""
    if not may_answer(request.user):
        raise PermissionDenied
    taken = take_back(batch, cast(User, request.user))
    if not taken:
        messages.warning(request, "Nothing to take back: your answer was sent, or you have taken it back already.")
        return redirect("dashboard:inbox")
    first = taken[0]
    if all(held.has_missed for held in taken):
        messages.success(request, "Dismissed: it was not sent, and its agent needs it no more.")
        return redirect("dashboard:inbox")
    typed: dict[str, Any] = {"decision": first.decision, "text": first.text, "grant": str(first.grant or 1)}
    if first.arguments is not None:
        typed["arguments"] = json.dumps(first.arguments, ensure_ascii=False, indent=2)
    if first.stands_days is not None:
        typed |= {"standing": True, "lasts": str(first.stands_days)}
    alike = _still_alike(taken)
    # The page of the group is that of a call which still waits with the mistake: others may have gone on meanwhile.
    shown = alike[0] if alike else next(held for held in taken if not held.has_missed)
    request.session[TAKEN_BACK] = typed | {
        "call": shown.call.public_id,
        "calls": [held.call.public_id for held in alike],
    }
    # The first answers of a press may go out before the last is taken back.
    number = request.session.get(PRESSES, {}).get(batch, len(taken))
    if (sent := number - len(taken)) > 0:
        messages.warning(request, f"{sent} of {number} had gone out; {len(taken)} taken back.")
    else:
        messages.success(request, "Taken back: no agent saw it.")
    if gone := len(taken) - len(alike):
        said = (
            f"{gone} of the {len(taken)} calls {'has' if gone == 1 else 'have'} made another mistake or ended meanwhile"
        )
        messages.warning(request, f"{said}, and {'is' if gone == 1 else 'are'} not ticked.")
    page = "dashboard:group" if len(taken) > 1 and alike else "dashboard:call"
    return redirect(page, public_id=shown.call.public_id)


def _still_alike(taken: list[HeldAnswer]) -> list[HeldAnswer]:
    """Keep what is about calls that still wait with the mistake for which it was written; a single one as it is."""
    if len(taken) == 1:
        return taken
    judged = Attempt.objects.filter(call__in=[held.call_id for held in taken])
    made: dict[Any, str] = {
        (one.call_id, one.number): one.fingerprint for one in judged.only("call", "number", "fingerprint")
    }
    return [
        held
        for held in taken
        if held.call.state == CallState.BLOCKED and held.call.fingerprint == made.get((held.call_id, held.base_number))
    ]


def taken_back(request: HttpRequest, public_id: str) -> dict[str, Any]:
    """Give what was typed for a call and taken back, once; empty where there is nothing."""
    if request.session.get(TAKEN_BACK, {}).get("call") != public_id:
        return {}
    return cast(dict[str, Any], request.session.pop(TAKEN_BACK))
