"""The forms of the desk, and what was typed into one that could not be taken: nothing of it is lost."""

from __future__ import annotations

import hashlib
import logging
import math
import sys
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme

from dashboard.shared.responses import LOGIN_FIRST, is_htmx
from retrycontract.contract.decisions import DEFAULT_GRANT, MAX_GRANT, Decision, DecisionEntry
from retrycontract.contract.feedback.guidance import MAX_STANDING
from retrycontract.contract.outputs.json_text import JsonFault, parse_json
from retrycontract.contract.schemas.document import MAX_REASON, excerpt, shown_place
from retrycontract.store.models import Door
from retrycontract.store.models.answers import FIRST, LAST
from retrycontract.store.outages import outage
from retrycontract.usecases.answers.reuse_answers import LASTS as STANDS_FOR
from retrycontract.usecases.people.log_in import LoginTry, begin_login, check_factor, finish_login, note_failure

logger = logging.getLogger("retrycontract")

# Named one by one: a password or a code is never written into a page.
FIELDS: Final = {
    "text": "Your text",
    "arguments": "Your arguments",
    "schema": "Your schema",
    "output": "Your output",
    "description": "Your description",
}
TAKEN_FORMS: Final = "taken_forms"  # in the session
MOST_TAKEN: Final = 50  # keys and endpoints of one session: the pages behind them were left long ago
BAD_REQUEST: Final = 400
FORBIDDEN: Final = 403
FAILED: Final = 500
UNAVAILABLE: Final = 503
RELOAD_SECONDS: Final = 5
# What only a child process may check, while none can be started; it stands on the page all the same.
UNCHECKABLE: Final = (
    "The service cannot check outputs at the moment. What you typed is kept below; send it again in a minute."
)
# A form with one of these is typed anew: neither a password nor a code is written into a page.
UNREPEATABLE: Final = ("password", "old_password", "new_password", "code", "secret", "token")


class TypedKept:
    """Tell who has no session any more so, and give back every word that came with a form; no refusal is empty."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        if isinstance(response, HttpResponseNotAllowed) and not response.content:
            response.content = render_to_string("405.html", {"allowed": response["Allow"]})
        return response

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponse], _args: object, _kwargs: object
    ) -> HttpResponse | None:
        """Answer scripts and forms of the desk; who only looks is led to the login."""
        is_desk = request.resolver_match is not None and request.resolver_match.app_name == "dashboard"
        if not is_desk or request.user.is_authenticated or not getattr(view, "login_required", True):
            return None
        if is_htmx(request):
            return HttpResponse(status=LOGIN_FIRST)
        return _give_back(request, "account/session_ended.html", LOGIN_FIRST) if request.method == "POST" else None


def out_of_date(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001 - as Django calls it
    """Refuse a form whose token does not fit; what was typed is shown to be copied."""
    return _give_back(request, "account/out_of_date.html", FORBIDDEN)


def unreadable(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001 - as Django calls it
    """Refuse a form or an address that cannot be read, without reading it again."""
    return HttpResponse(
        render_to_string("400.html", {"fields": settings.DATA_UPLOAD_MAX_NUMBER_FIELDS}), status=BAD_REQUEST
    )


def failed(request: HttpRequest) -> HttpResponse:
    """Answer what raised: 503 while the database is away, with every word that came; else the page that says 500."""
    error = sys.exception()
    is_outage = error is not None and outage.failed(error)
    if not is_outage and not isinstance(error, (OperationalError, InterfaceError)):
        # Django's own view would read the form once more for its token, and what raised may be the reading.
        return HttpResponse(render_to_string("500.html"), status=FAILED)
    if not is_outage:
        reason = type(error.__cause__).__name__ if error else ""
        logger.warning("A page could not be made without the database", extra={"reason": reason})
    was_sent = request.method == "POST" and not any(name.startswith(UNREPEATABLE) for name in request.POST)
    sent = [(name, value) for name, values in request.POST.lists() for value in values] if was_sent else []
    context = {
        "was_sent": was_sent, "fields": sent, "typed": _typed(request) if was_sent else [],
        "address": request.get_full_path() if request.method in ("GET", "POST") else "/", "seconds": RELOAD_SECONDS,
    }  # fmt: skip
    # Without a request: the processors of a page's context read the session, which lies in the database.
    page = render_to_string("unavailable.html", context)
    response = HttpResponse(page, status=UNAVAILABLE, headers={"Retry-After": str(RELOAD_SECONDS)})
    response._has_been_logged = True  # type: ignore[attr-defined] # noqa: SLF001 - Django's line would hold the whole traceback
    return response


def is_repeated(request: HttpRequest) -> bool:
    """Tell whether a form that has made something is sent again, as when the page that answered it is reloaded."""
    return _form_of(request) in request.session.get(TAKEN_FORMS, [])


def note_taken(request: HttpRequest) -> None:
    """Remember that a form has made something; what it made is not kept."""
    if form := _form_of(request):
        taken = request.session.get(TAKEN_FORMS, [])
        request.session[TAKEN_FORMS] = [*taken, form][-MOST_TAKEN:]


def _form_of(request: HttpRequest) -> str:
    """Name the page that a form came from: its token is masked anew for each, and sent again as it was."""
    token = request.POST.get("csrfmiddlewaretoken", "")
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()[:16] if token else ""


def _typed(request: HttpRequest) -> list[tuple[str, str]]:
    # Beside a hint the editor mostly holds what the agent sent; who had begun to correct it gets that back as well.
    is_corrected = request.POST.get("decision", Decision.CORRECTED) == Decision.CORRECTED
    titles = FIELDS if is_corrected else FIELDS | {"arguments": "What stood in the editor"}
    return [(title, request.POST[name]) for name, title in titles.items() if request.POST.get(name)]


def _give_back(request: HttpRequest, template: str, status: int) -> HttpResponse:
    # The address of the form itself may take nothing but forms
    referer = request.headers.get("Referer", "")
    page = urlsplit(referer)._replace(scheme="", netloc="").geturl()
    is_ours = url_has_allowed_host_and_scheme(referer, {request.get_host()}) and page.startswith("/")
    return render(
        request,
        template,
        {"typed": _typed(request), "came_from": page if is_ours else reverse("dashboard:inbox")},
        status=status,
    )


GRANTS = [(str(number), str(number)) for number in range(1, MAX_GRANT + 1)]
LASTS = [("7", "7 days"), ("30", "30 days"), ("90", "90 days"), ("365", "a year")]  # the longest that may stand
KEYS = [("", "None"), *((str(key), str(key)) for key in range(FIRST, LAST + 1))]


def wait_first(what: str, pause: timedelta) -> str:
    """Say to who guessed too often how long to wait."""
    minutes = math.ceil(pause.total_seconds() / 60)
    wait = f"{minutes} minutes" if minutes > 1 else "a minute"
    return f"Too many {what}. Wait {wait} and try again; an administrator can let you in at once."


class LoginForm(AuthenticationForm):
    """Ask for name, password and second factor, and make those wait who failed too often."""

    code = forms.CharField(required=False, max_length=10)
    pause: timedelta | None = None

    def get_invalid_login_error(self) -> forms.ValidationError:
        """Refuse in our own words, the same whatever was wrong."""
        said = "That name, password or code is not right. Capitals and small letters differ."
        return forms.ValidationError(said, code="invalid_login")

    def clean(self) -> dict[str, Any]:
        """Count the login before the password is looked at."""
        if not settings.RETRYCONTRACT.password_login:
            raise forms.ValidationError("Nobody logs in by password here.")
        if self.errors:  # nothing was guessed
            raise forms.ValidationError("Type your user name and your password.")
        address = self.request.META.get("REMOTE_ADDR", "") if self.request else ""
        login, now = LoginTry(self.cleaned_data.get("username", ""), address), timezone.now()
        # So that guesses that come at once are no more than guesses that come one by one.
        self.pause = begin_login(login, now=now)
        if self.pause is not None:
            raise forms.ValidationError(wait_first("logins failed", self.pause))
        try:
            cleaned = super().clean()
            if not check_factor(self.get_user(), self.cleaned_data.get("code", ""), now=now):
                raise self.get_invalid_login_error()  # as for a wrong password: that one is right is nobody's business
        except forms.ValidationError:
            note_failure(login, now=now, door=Door.DASHBOARD)
            raise
        finish_login(login, self.get_user(), now=now, door=Door.DASHBOARD)
        return cleaned


def _entry_of(cleaned: Mapping[str, Any]) -> DecisionEntry:
    """Read the table for what was chosen; an unknown choice has its own error and stands for a hint until then."""
    return Decision(cleaned.get("decision") or Decision.HINT).entry


class LargeForm(forms.Form):
    """Take what may be megabytes, and leave none of it to the collector of garbage, which stops everybody.

    Django's own form and its fields as they are shown hold each other, as do a form and an error that knows where it
    was raised.
    """

    def __getitem__(self, name: str) -> forms.BoundField:
        """Give a field as it is shown, anew each time."""
        return self.fields[name].get_bound_field(self, name)

    def add_error(self, field: str | None, error: Any) -> None:
        """Note an error without the place where it was raised."""
        if isinstance(error, forms.ValidationError):
            error.with_traceback(None).__context__ = None
        super().add_error(field, error)


class AnswerForm(LargeForm):
    """Take an operator's answer; whether it can be sent is the use case's to say."""

    decision = forms.ChoiceField(choices=[(name, name) for name in Decision], initial=Decision.HINT.value)
    text = forms.CharField(required=False)
    grant = forms.ChoiceField(choices=GRANTS, initial=str(DEFAULT_GRANT), required=False)
    arguments = forms.CharField(required=False, strip=False)
    escalation = forms.CharField(required=False, widget=forms.HiddenInput)
    # The attempt that was newest when the page was read: the answer is about that one, whatever came since.
    base = forms.IntegerField(required=False, min_value=1, max_value=2**31 - 1, widget=forms.HiddenInput)

    # Let the answer stand for the next agent that makes the mistake, and for how many days.
    standing = forms.BooleanField(required=False)
    lasts = forms.ChoiceField(choices=LASTS, initial=str(STANDS_FOR.days), required=False)
    fault: JsonFault | None = None

    def clean(self) -> dict[str, Any]:
        """Parse the corrected arguments as strictly as an agent's output is parsed."""
        cleaned = super().clean() or self.cleaned_data
        if _entry_of(cleaned).takes_arguments:
            # As strictly as a model's output: what lax parsers let pass would be refused when it is submitted.
            cleaned["value"], self.fault = parse_json(cleaned.get("arguments") or "")
            if self.fault is not None:
                # The reason names line and column where there are any
                fault = self.fault
                place = f" (at {shown_place(fault.pointer)})" if fault.pointer else ""
                self.add_error("arguments", f"This is not JSON yet: {excerpt(fault.reason, MAX_REASON)}{place}.")
        length = len(cleaned.get("text", "").strip())
        if self.stands and length > MAX_STANDING:
            self.add_error(
                "standing",
                f"What agents are told next time has {MAX_STANDING} characters at most, and this has {length}: "
                "shorten it, or send it without letting it stand.",
            )
        return cleaned

    @property
    def stands(self) -> bool:
        """Tell whether the answer is to stand: only words can, what was corrected fits one output."""
        return bool(self.cleaned_data.get("standing")) and _entry_of(self.cleaned_data).may_stand

    @property
    def stands_days(self) -> int | None:
        return int(self.cleaned_data.get("lasts") or STANDS_FOR.days) if self.stands else None

    @property
    def answer(self) -> dict[str, Any]:
        """Give the answer as the use case takes it."""
        cleaned = self.cleaned_data
        return {
            "decision": Decision(cleaned["decision"]),
            "text": cleaned["text"].replace("\r\n", "\n"),
            "arguments": cleaned.get("value"),
            "grant": int(cleaned["grant"] or DEFAULT_GRANT),
            "base_number": cleaned["base"],
        }


class ReplyForm(forms.Form):
    """Take a reply to keep; whether it can be kept is the use case's to say."""

    title = forms.CharField(required=False)
    text = forms.CharField(required=False)
    position = forms.ChoiceField(choices=KEYS, required=False)
    shared = forms.BooleanField(required=False)

    @property
    def reply(self) -> dict[str, Any]:
        """Give the reply as the use case takes it."""
        cleaned = self.cleaned_data
        return {
            "title": cleaned["title"],
            "text": cleaned["text"].replace("\r\n", "\n"),
            "position": int(cleaned["position"]) if cleaned["position"] else None,
        }
