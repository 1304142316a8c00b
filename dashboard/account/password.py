"""A new password of one's own, which takes the old one."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.models import User
from django.core.validators import MaxLengthValidator
from django.forms import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from dashboard.navigation import has_password
from dashboard.shared.forms import wait_first
from dashboard.shared.responses import REFUSED, TOO_MANY, by
from retrycontract.store.models import Door
from retrycontract.usecases.people.admit import MAX_PASSWORD, change_operator
from retrycontract.usecases.people.log_in import LoginTry, begin_login, note_failure, note_success


class OwnPasswordForm(PasswordChangeForm):
    """Ask for the old password and twice for the new one; who guesses at the old one waits as at the login."""

    error_messages = PasswordChangeForm.error_messages | {"password_incorrect": "This is not your password."}
    pause: timedelta | None = None

    def __init__(self, user: User, data: Any = None, *, address: str = "") -> None:
        super().__init__(user, data)
        self._login = LoginTry(user.get_username(), address)
        for field in self.fields.values():
            field.validators.append(MaxLengthValidator(MAX_PASSWORD))

    def clean_old_password(self) -> str:
        """Count the guess before the password is looked at."""
        now = timezone.now()
        self.pause = begin_login(self._login, now=now)
        if self.pause is not None:
            raise ValidationError(wait_first("passwords were wrong", self.pause))
        try:
            typed = super().clean_old_password()
        except ValidationError:
            note_failure(self._login, now=now, door=Door.DASHBOARD)
            raise
        note_success(self._login)
        return typed


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def password(request: HttpRequest) -> HttpResponse:
    """Ask for a new password; POST stores it, and ends all sessions of the operator but this one."""
    operator = cast(User, request.user)
    if not has_password(operator):
        raise Http404
    if request.method != "POST":
        return render(request, "account/password.html", {"form": OwnPasswordForm(operator)})
    form = OwnPasswordForm(operator, request.POST, address=request.META.get("REMOTE_ADDR", ""))
    if not form.is_valid():
        response = render(request, "account/password.html", {"form": form}, status=REFUSED)
        if form.pause is not None:
            response.status_code = TOO_MANY
            response["Retry-After"] = str(math.ceil(form.pause.total_seconds()))
        return response
    changed = User.objects.get(pk=operator.pk)
    changed.set_password(form.cleaned_data["new_password1"])
    change_operator(changed, ["password"], **by(request))
    # What each session holds of the password fits the old one: only this one is told the new.
    update_session_auth_hash(request, changed)
    messages.success(request, "Your password is changed. Wherever else you were logged in, you are logged out.")
    return redirect("dashboard:settings")
