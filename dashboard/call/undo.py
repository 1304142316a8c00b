"""Taking an answer back: said with every answer that is held, and what was typed comes back to its form."""

from __future__ import annotations

import json
from typing import Any, Final, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from dashboard.navigation import may_answer
from retrycontract.store.models import HeldAnswer
from retrycontract.usecases.answers.send_answer import take_back

TAKEN_BACK: Final = "taken_back"  # in the session: what was typed, until its form is shown again


@require_POST
@never_cache
def undo(request: HttpRequest, batch: str) -> HttpResponse:
    """Take back what was sent by one press; the page of the call or of the group shows it as it was typed."""
    if not may_answer(request.user):
        raise PermissionDenied
    taken = take_back(batch, cast(User, request.user))
    if not taken:
        messages.warning(request, "Too late: your answer was sent.")
        return redirect("dashboard:inbox")
    first = taken[0]
    if all(held.has_missed for held in taken):
        messages.success(request, "Put away: it was not sent, and its agent needs it no more.")
        return redirect("dashboard:inbox")
    request.session[TAKEN_BACK] = _typed(first) | {"call": first.call.public_id}
    page = "dashboard:call" if len(taken) == 1 else "dashboard:group"
    messages.success(request, f"Taken back: {'no agent' if len(taken) > 1 else 'the agent'} saw it.")
    return redirect(page, public_id=first.call.public_id)


def taken_back(request: HttpRequest, public_id: str) -> dict[str, Any]:
    """Give what was typed for a call and taken back, once; empty where there is nothing."""
    if request.session.get(TAKEN_BACK, {}).get("call") != public_id:
        return {}
    return cast(dict[str, Any], request.session.pop(TAKEN_BACK))


def _typed(held: HeldAnswer) -> dict[str, Any]:
    typed: dict[str, Any] = {"decision": held.decision, "text": held.text, "grant": str(held.grant or 1)}
    if held.arguments is not None:
        typed["arguments"] = json.dumps(held.arguments, ensure_ascii=False, indent=2)
    if held.stands_days is not None:
        typed |= {"standing": True, "lasts": str(held.stands_days)}
    return typed
