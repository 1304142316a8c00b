"""The forms of the desk."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.utils import timezone

from retrycontract.contract.decisions import DEFAULT_GRANT, MAX_GRANT, Decision, DecisionEntry
from retrycontract.contract.feedback.guidance import MAX_STANDING
from retrycontract.contract.outputs.json_text import JsonFault, parse_json
from retrycontract.store.models import Door
from retrycontract.store.models.replies import FIRST, LAST
from retrycontract.usecases.answers.set_hint import LASTS as STANDS_FOR
from retrycontract.usecases.people.log_in import LoginTry, begin_login, finish_login, note_failure
from retrycontract.usecases.people.second_factor import check_factor

GRANTS = [(str(number), str(number)) for number in range(1, MAX_GRANT + 1)]
LASTS = [("7", "7 days"), ("30", "30 days"), ("90", "90 days"), ("365", "a year")]  # the longest that may stand
KEYS = [("", "None"), *((str(key), str(key)) for key in range(FIRST, LAST + 1))]


class LoginForm(AuthenticationForm):
    """Ask for name, password and second factor, and make those wait who failed too often."""

    code = forms.CharField(required=False, max_length=10)
    pause: timedelta | None = None

    def clean(self) -> dict[str, Any]:
        """Count the login before the password is looked at."""
        if self.errors:  # nothing was guessed
            raise forms.ValidationError("Type your user name and your password.")
        address = self.request.META.get("REMOTE_ADDR", "") if self.request else ""
        login, now = LoginTry(self.cleaned_data.get("username", ""), address), timezone.now()
        self.pause = begin_login(login, now=now)
        if self.pause is not None:
            raise forms.ValidationError(_told_to_wait(self.pause))
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


class AnswerForm(forms.Form):
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
            cleaned["value"], self.fault = parse_json(cleaned.get("arguments") or "")
            if self.fault is not None:
                self.add_error("arguments", _told(self.fault))
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
        """Give for how many days it is to stand; None when it is not."""
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


def _told_to_wait(pause: timedelta) -> str:
    minutes = math.ceil(pause.total_seconds() / 60)
    wait = f"{minutes} minutes" if minutes > 1 else "a minute"
    return f"Too many logins failed. Wait {wait} and try again; an administrator can let you in at once."


def _told(fault: JsonFault) -> str:
    """Say what keeps the text from being JSON; the reason names line and column where there are any."""
    place = f" (at {fault.pointer})" if fault.pointer else ""
    return f"This is not JSON yet: {fault.reason}{place}."
