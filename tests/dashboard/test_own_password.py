"""A new password of one's own: who may take one, what it ends, and that guessing at the old one is slow."""

from __future__ import annotations

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from dashboard.navigation import Role
from retrycontract.store.models import Event, FailedLogins
from tests.dashboard.conftest import logged_in, text_of
from tests.factories import PASSWORD, make_user
from tests.usecases.conftest import configure

pytestmark = pytest.mark.django_db
PAGE = "/settings/password/"
NEW = "wrong donkey battery"


def form(**changed: str) -> dict[str, str]:
    return {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW} | changed


@pytest.mark.parametrize("role", list(Role))
def test_everybody_takes_a_new_password_of_their_own_and_stays_here_alone(role: Role) -> None:
    user = make_user("noor", role)
    here, there = logged_in(user), logged_in(user)
    assert f'href="{PAGE}"' in here.get("/settings/").content.decode()
    assert 'autocomplete="current-password"' in here.get(PAGE).content.decode()
    page = here.post(PAGE, form(), follow=True)
    assert "Your password is changed" in text_of(page)
    assert here.get("/").status_code == 200
    assert there.get("/").status_code == 302
    assert authenticate(username="noor", password=PASSWORD) is None
    assert authenticate(username="noor", password=NEW) == user
    [event] = Event.objects.all()
    assert (event.name, event.actor, event.door) == ("operator.changed", "noor", "dashboard")
    assert event.data == {"operator": "noor", "changed": ["password"]}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"old_password": "guess"}, "This is not your password."),
        ({"old_password": ""}, "This field is required."),
        ({"new_password2": "another donkey battery"}, "The two password fields didn’t match."),
        ({"new_password1": "short", "new_password2": "short"}, "at least 12 characters"),
        ({"new_password1": "password1234", "new_password2": "password1234"}, "too common"),
        ({"new_password1": "x" * 1_001, "new_password2": "x" * 1_001}, "at most 1000 characters"),
    ],
)
def test_a_password_that_is_refused_is_named_and_nothing_of_it_comes_back(
    desk: Client, mia: User, changed: dict[str, str], said: str
) -> None:
    page = desk.post(PAGE, form(**changed))
    assert page.status_code == 422
    assert said in text_of(page)
    assert not any(typed in page.content.decode() for typed in form(**changed).values() if len(typed) > 5)
    assert authenticate(username="mia", password=PASSWORD) == mia
    assert not Event.objects.exists()


def test_guessing_at_the_old_password_is_as_slow_as_at_the_login(desk: Client, mia: User) -> None:
    guesses = [desk.post(PAGE, form(old_password=f"guess {number}")).status_code for number in range(5)]
    assert guesses == [422] * 5
    refused = desk.post(PAGE, form())
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= 60
    assert "Too many passwords were wrong. Wait a minute" in text_of(refused)
    assert authenticate(username="mia", password=PASSWORD) == mia
    assert Client().post("/login/", {"username": "mia", "password": PASSWORD}).status_code == 429


def test_the_right_password_makes_good_what_was_mistyped(desk: Client) -> None:
    desk.post(PAGE, form(old_password="guess"))
    assert FailedLogins.objects.filter(failures__gt=0).exists()
    desk.post(PAGE, form(new_password2="another"))
    assert not FailedLogins.objects.filter(operator__isnull=False, failures__gt=0).exists()
    assert not FailedLogins.objects.filter(begun__gt=0).exists()


@pytest.mark.parametrize("why", ["no password of theirs", "no password opens the desk"])
def test_who_comes_through_a_provider_alone_is_offered_none(
    desk: Client, mia: User, settings: Settings, why: str
) -> None:
    if why == "no password of theirs":
        mia.set_unusable_password()
        mia.save()
        desk = logged_in(mia)
    else:
        configure(settings, password_login=False)
    assert PAGE not in desk.get("/settings/").content.decode()
    assert PAGE not in desk.get("/find/", {"q": "passw"}).content.decode()
    for answered in (desk.get(PAGE), desk.post(PAGE, form())):
        assert answered.status_code == 404
