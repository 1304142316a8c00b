"""One's own account in the admin: nothing there tests or sets a password of one's own, or lifts what protects it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from retrycontract.store.models import Door, Event, FailedLogins, SecondFactor
from retrycontract.usecases.people.log_in import LoginTry, begin_factor, begin_login, note_failure
from tests.admin.conftest import post
from tests.factories import PASSWORD, make_user
from tests.usecases.conftest import configure

pytestmark = pytest.mark.django_db

NEW = "a much better battery"
DESK = "/settings/password/"
SET = {"usable_password": "true", "set-password": "", "password1": NEW, "password2": NEW}
UNSET = {"usable_password": "false", "unset-password": ""}


@pytest.mark.parametrize("path", ["password_change/", "password_change/done/"])
def test_the_admin_leads_to_the_one_page_where_ones_own_password_is_changed(admin: Client, path: str) -> None:
    assert admin.get(f"/admin/{path}")["Location"] == DESK


@pytest.mark.parametrize("old", ["a guess", PASSWORD])
def test_the_admin_neither_tests_nor_takes_an_old_password(admin: Client, old: str) -> None:
    form = {"old_password": old, "new_password1": NEW, "new_password2": NEW}
    response = post(admin, "password_change/", form)
    assert (response.status_code, response["Location"]) == (302, DESK)
    assert authenticate(username="ada", password=PASSWORD) is not None
    assert not Event.objects.exists()


def test_guesses_through_the_page_that_the_admin_leads_to_are_paused(admin: Client) -> None:
    page = admin.get("/admin/password_change/", follow=True).request["PATH_INFO"]
    form = {"old_password": "guess", "new_password1": NEW, "new_password2": NEW}
    assert [admin.post(page, form).status_code for _ in range(6)] == [422] * 5 + [429]
    assert Event.objects.filter(name="operator.locked_out").exists()


@pytest.mark.parametrize("key", ["{}", "0{}", "%20{}"])
@pytest.mark.parametrize("form", [SET, UNSET], ids=["set", "unset"])
def test_nobody_sets_their_own_password_without_the_old_one(
    admin: Client, ada: User, key: str, form: dict[str, str]
) -> None:
    path = f"auth/user/{key.format(ada.pk)}/password/"
    assert admin.get(f"/admin/{path}")["Location"] == DESK
    assert post(admin, path, form)["Location"] == DESK
    assert authenticate(username="ada", password=PASSWORD) is not None
    assert not Event.objects.exists()


def test_not_even_a_superuser_does(ada: User) -> None:
    root, browser = User.objects.create_superuser("root", password=PASSWORD), Client()
    browser.force_login(root)
    assert post(browser, f"auth/user/{root.pk}/password/", SET)["Location"] == DESK
    assert post(browser, f"auth/user/{ada.pk}/password/", SET)["Location"] != DESK
    assert authenticate(username="root", password=PASSWORD) is not None
    assert authenticate(username="ada", password=NEW) is not None


def test_ones_own_page_leads_to_the_desk_and_that_of_others_to_their_form(admin: Client, ada: User) -> None:
    mia = make_user("mia")
    own = admin.get(f"/admin/auth/user/{ada.pk}/change/").content.decode()
    assert f'<a href="{DESK}">Change your password</a>' in own
    assert f"auth/user/{ada.pk}/password/" not in own
    assert (
        f'href="/admin/auth/user/{mia.pk}/password/"'
        in admin.get(f"/admin/auth/user/{mia.pk}/change/").content.decode()
    )


@pytest.mark.parametrize("why", ["no password of theirs", "no password opens the desk"])
def test_who_comes_through_a_provider_alone_gets_no_password_here(ada: User, settings: Settings, why: str) -> None:
    if why == "no password of theirs":
        ada.set_unusable_password()
        ada.save()
    else:
        configure(settings, password_login=False)
    browser, before = Client(), User.objects.get(pk=ada.pk).password
    browser.force_login(ada)
    for path in ("password_change/", f"auth/user/{ada.pk}/password/"):
        for answered in (browser.get(f"/admin/{path}", follow=True), browser.post(f"/admin/{path}", SET, follow=True)):
            assert answered.status_code == 404
    assert User.objects.get(pk=ada.pk).password == before
    assert DESK not in browser.get(f"/admin/auth/user/{ada.pk}/change/").content.decode()


def take(admin: Client, action: str, *users: User) -> str:
    ticked = {"action": action, "_selected_action": [user.pk for user in users]}
    return admin.post("/admin/auth/user/", ticked, follow=True).content.decode()


def lock_out(user: User) -> None:
    login, now = LoginTry(user.username, "192.0.2.1"), timezone.now()
    for number in range(5):
        begin_login(login, now=now + timedelta(milliseconds=number))
        note_failure(login, now=now, door=Door.DASHBOARD)


def confirm(user: User) -> None:
    begin_factor(user, now=timezone.now())
    SecondFactor.objects.filter(operator=user).update(confirmed_at=timezone.now())


ACTIONS = {
    "let_in_again": (lock_out, FailedLogins, "1 operator may try again."),
    "take_second_factor_away": (confirm, SecondFactor, "1 operator may log in by password alone."),
}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("who", ["ada", "root"])
def test_what_protects_ones_own_account_or_a_superusers_is_lifted_by_somebody_else(
    admin: Client, ada: User, who: str, action: str
) -> None:
    mia, root = make_user("mia"), User.objects.create_superuser("root", password=PASSWORD)
    prepare, kept, said = ACTIONS[action]
    protected = {"ada": ada, "root": root}[who]
    for user in (protected, mia):
        prepare(user)
    page = take(admin, action, protected, mia)
    assert said in page
    assert f"Left as before: {who}." in page
    assert kept._default_manager.filter(operator=protected).exists()
    assert not kept._default_manager.filter(operator=mia).exists()


def test_the_admins_own_login_is_the_desks_and_takes_no_password(ada: User) -> None:
    browser, form = Client(), {"username": "ada", "password": PASSWORD}
    assert browser.post("/admin/login/", form)["Location"] == "/login/?next=/admin/"
    assert "_auth_user_id" not in browser.session


@pytest.mark.parametrize("path", ["password_reset/", "password_reset/done/", "reset/MQ/set-password/"])
def test_there_is_no_way_to_reset_a_password_by_mail(admin: Client, path: str) -> None:
    assert admin.get(f"/admin/{path}", follow=True).status_code == 404
