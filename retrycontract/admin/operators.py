"""Operators: who may come in, in which role."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.utils import flatten_fieldsets, unquote
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import AdminPasswordChangeForm, AdminUserCreationForm
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, User
from django.core.validators import MaxLengthValidator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from retrycontract.admin.pages import NOTHING, EditablePage, Page, among_writers, by, counted
from retrycontract.store.models import FailedLogins, Preferences, ProviderIdentity, SecondFactor
from retrycontract.usecases.people.admit import (
    MAX_PASSWORD,
    SHOWN,
    Role,
    admit_operator,
    change_operator,
    check_shown,
    end_sessions,
    role_of,
)
from retrycontract.usecases.people.log_in import free_operator, take_factor_away

if TYPE_CHECKING:
    _NewUser = AdminUserCreationForm[User]
    _NewPassword = AdminPasswordChangeForm[User]
    _Form = forms.Form
else:
    _NewUser, _NewPassword, _Form = AdminUserCreationForm, AdminPasswordChangeForm, object

ROLES = [(role.value, role.value.capitalize()) for role in Role]
CHANGEABLE = ("username", "first_name", "last_name", "email", "is_active")
# Importing UserAdmin registers Django's own pages; a role is not edited as a group.
admin.site.unregister([User, Group])


_hash_of_password: ContextVar[str] = ContextVar("hash_of_password")


@contextmanager
def hashed_before_writing(request: HttpRequest) -> Iterator[None]:
    """Make the hash of a new password before our turn to write: for half a second nobody else could."""
    given = request.POST.get("password1", "")
    token = _hash_of_password.set(make_password(given) if 0 < len(given) <= MAX_PASSWORD else "")
    try:
        with among_writers(request):
            yield
    finally:
        _hash_of_password.reset(token)


class HashedBefore(_Form):
    """Store the hash that was made before the form had its turn to write."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("password1", "password2"):
            self.fields[name].validators.append(MaxLengthValidator(MAX_PASSWORD))

    def set_password_and_save(self, user: User, commit: bool = True, **_: Any) -> User:
        """Do as Django does, without its own hash."""
        if self.cleaned_data["set_usable_password"]:
            user.password = _hash_of_password.get()
        else:
            user.set_unusable_password()
        if commit:
            user.save()
        return user


class NewPasswordForm(HashedBefore, _NewPassword):
    """Ask for a new password."""


class FitToShow(_Form):
    """Refuse what may not be shown."""

    def clean(self) -> dict[str, Any]:
        """Look at the names when each field has taken its value."""
        cleaned = super().clean() or self.cleaned_data
        check_shown({name: cleaned[name] for name in SHOWN if cleaned.get(name)})
        return cleaned


class NewOperatorForm(HashedBefore, FitToShow, _NewUser):
    """Ask for name, password and role."""

    role = forms.ChoiceField(choices=ROLES, initial=Role.OPERATOR.value)


class OperatorForm(FitToShow, forms.ModelForm):  # type: ignore[type-arg]  # the class takes no arguments at run time
    """Ask for what may be changed; the password has a page of its own."""

    role = forms.ChoiceField(choices=ROLES)

    class Meta:
        model = User
        fields = CHANGEABLE

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "role" in self.fields and self.instance.pk:
            self.initial["role"] = role_of(self.instance)


class RoleFilter(admin.SimpleListFilter):
    """Filter operators by role."""

    title = "role"
    parameter_name = "role"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002 - Django's
        return ROLES

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002 - Django's
        return queryset.filter(groups__name=self.value()) if self.value() else queryset


@admin.register(User)
class OperatorPage(EditablePage, UserAdmin):  # type: ignore[type-arg]  # as above
    """Let operators in, change them, switch them off; history names them, so they are never deleted."""

    form = OperatorForm
    add_form, change_password_form = NewOperatorForm, NewPasswordForm
    list_display = ("username", "email", "shown_role", "is_active", "last_login")
    list_filter = (RoleFilter, "is_active")
    search_fields = ("username", "email", "first_name", "last_name")
    ordering = ("username",)
    filter_horizontal = ()
    actions = ("let_in_again", "log_out_everywhere", "take_second_factor_away")
    add_fieldsets = ((None, {"fields": ("username", "role", "usable_password", "password1", "password2")}),)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Let staff let operators in."""
        return self.admin_site.has_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Keep superusers from those who are none."""
        is_above = isinstance(obj, User) and obj.is_superuser and not cast(User, request.user).is_superuser
        return super().has_change_permission(request, obj) and not is_above

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Leave one's own role and access out, so that nobody locks themselves out."""
        if obj is None:
            return self.add_fieldsets
        is_own = obj.pk == request.user.pk or not self.has_change_permission(request, obj)
        access = ("shown_role",) if is_own else ("is_active", "role")
        password = "own_password_link" if obj.pk == request.user.pk else "password_link"
        return (
            (None, {"fields": ("username", "first_name", "last_name", "email", password)}),
            ("Access", {"fields": access}),
            ("Times", {"fields": ("last_login", "date_joined")}),
        )

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """Keep the role out of forms that do not show it: a declared field is taken from a request all the same."""
        form = super().get_form(request, obj, change=change, **kwargs)
        if "role" not in flatten_fieldsets(self.get_fieldsets(request, obj)):
            form.base_fields.pop("role", None)
        return form

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002 - Django's signature
        """List what the form only shows."""
        return ("shown_role", "password_link", "own_password_link", "last_login", "date_joined")

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Call the use case."""
        role = Role(form.cleaned_data["role"]) if "role" in form.cleaned_data else None
        if change:
            change_operator(obj, [name for name in form.changed_data if name in CHANGEABLE], role, **by(request))
        else:
            admit_operator(obj, role or Role.OPERATOR, **by(request))

    def save_related(self, *_: Any) -> None:
        """Leave the groups to the role."""

    def add_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Take our place among the writers first, as every form does."""
        with hashed_before_writing(request):
            return super().add_view(request, *args, **kwargs)

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:  # noqa: A002 - Django's signature
        """Set somebody's new password, in one transaction with its event; one's own takes the old one, at the desk."""
        # Asked of the row, since Django finds it by "02" and " 2" as well.
        operator = self.get_object(request, unquote(id))
        if operator is not None and operator.pk == request.user.pk:
            return HttpResponseRedirect(reverse("dashboard:password"))
        with hashed_before_writing(request):
            return super().user_change_password(request, id, form_url)

    def log_change(self, request: HttpRequest, obj: User, message: Any) -> Any:
        """Note a new password: Django's own view stores it, and calls this."""
        if any("password" in str(part).lower() for part in message):
            change_operator(obj, ["password"], **by(request))

    @admin.action(description="Unlock after too many failed logins", permissions=["view"])
    def let_in_again(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Call the use case for each."""
        freed = sum(free_operator(operator, **by(request)) for operator in self.unlocked_by(request, queryset))
        self.message_user(request, f"{counted(freed, 'operator')} may try again.")

    @admin.action(description="Log out everywhere", permissions=["view"])
    def log_out_everywhere(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Call the use case for each."""
        ended = sum(end_sessions(operator, **by(request)) for operator in queryset)
        self.message_user(request, f"{counted(ended, 'session')} ended.")

    @admin.action(description="Take the second factor away", permissions=["view"])
    def take_second_factor_away(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Call the use case for each."""
        freed = sum(take_factor_away(operator, **by(request)) for operator in self.unlocked_by(request, queryset))
        self.message_user(request, f"{counted(freed, 'operator')} may log in by password alone.")

    def unlocked_by(self, request: HttpRequest, operators: QuerySet[User]) -> list[User]:
        """Give those whose protection somebody may lift, and name the others.

        With a session that was left open one could guess on at its owner's password, and do without their second
        factor; with an administrator's, at a superuser's.
        """
        is_theirs = {
            each: each.pk != request.user.pk and self.has_change_permission(request, each) for each in operators
        }
        if left := sorted(each.get_username() for each, may in is_theirs.items() if not may):
            told = f"Left as before: {', '.join(left)}. Another administrator does this for you, and a superuser for a"
            self.message_user(request, f"{told} superuser.", messages.WARNING)
        return [each for each, may in is_theirs.items() if may]

    @admin.display(description="role")
    def shown_role(self, user: User) -> str:
        return role_of(user) or ("superuser" if user.is_superuser else "none")

    @admin.display(description="password")
    def password_link(self, user: User) -> SafeString:
        """Lead to the form of a new password; nothing of the old one is shown."""
        return format_html(
            '<a href="{}">Set a new password</a>', reverse("admin:auth_user_password_change", args=[user.pk])
        )

    @admin.display(description="password")
    def own_password_link(self, user: User) -> SafeString | str:
        """Lead who has a password for the desk to the page that asks for it first."""
        if not (settings.RETRYCONTRACT.password_login and user.has_usable_password()):
            return NOTHING
        return format_html('<a href="{}">Change your password</a>', reverse("dashboard:password"))


@admin.register(FailedLogins)
class FailedLoginsPage(Page):
    """Show who failed to log in; names that nobody has are not kept."""

    list_display = ("pk", "operator", "failures", "last_at", "locked_until")
    search_fields = ("operator__username",)
    list_select_related = ("operator",)
    fields = ("operator", "failures", "last_at", "locked_until")


@admin.register(Preferences)
class PreferencesPage(Page):
    """Show how operators want their desk; they choose it there."""

    list_display = ("operator", "time_zone", "has_shortcuts")
    search_fields = ("operator__username",)
    list_select_related = ("operator",)
    fields = ("operator", "time_zone", "has_shortcuts")


@admin.register(SecondFactor)
class SecondFactorPage(Page):
    """Show who is asked for a code; the secret is never shown."""

    list_display = ("operator", "created_at", "confirmed_at")
    search_fields = ("operator__username",)
    list_select_related = ("operator",)
    fields = ("operator", "created_at", "confirmed_at")


@admin.register(ProviderIdentity)
class ProviderIdentityPage(Page):
    """Show who operators are at the identity provider."""

    list_display = ("operator", "issuer", "subject", "linked_at")
    list_select_related = ("operator",)
    fields = ("operator", "issuer", "subject", "linked_at")
