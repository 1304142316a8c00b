"""A second factor: set up by its operator, asked for at the login, taken away by an administrator."""

from __future__ import annotations

import re
from datetime import timedelta
from io import StringIO

import pyotp
import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from retrycontract.store.models import Event, SecondFactor
from tests.dashboard.conftest import logged_in, text_of
from tests.factories import PASSWORD, make_user

pytestmark = pytest.mark.django_db
PAGE = "/settings/second-factor/"


def now_code(secret: str, ahead: int = 0) -> str:
    codes = pyotp.TOTP(secret)
    return codes.generate_otp(codes.timecode(timezone.now()) + ahead)


def set_up(operator: User) -> str:
    """Set up a second factor at the desk and return its secret; the code of now is used."""
    desk = logged_in(operator)
    assert desk.post(PAGE)["Location"] == PAGE
    shown = re.search(r'<code id="secret">([A-Z2-7 ]+)</code>', desk.get(PAGE).content.decode())
    assert shown is not None
    secret = shown[1].replace(" ", "")
    assert desk.post(PAGE, {"code": now_code(secret, -1)})["Location"] == PAGE
    return secret


def log_in(code: str | None, password: str = PASSWORD) -> int:
    sent = {"username": "mia", "password": password} | ({} if code is None else {"code": code})
    return Client().post("/login/", sent).status_code


def test_the_login_asks_for_a_code_once_one_was_confirmed(mia: User) -> None:
    assert log_in(None) == 302
    assert 'name="code"' not in Client().get("/login/").content.decode()
    secret = set_up(mia)
    assert 'name="code"' in Client().get("/login/").content.decode()
    assert log_in(None) == log_in("000000x") == 200
    assert log_in(now_code(secret)) == 302
    assert [event.actor for event in Event.objects.filter(name="operator.second_factor_on")] == ["mia"]


def test_a_code_opens_the_door_once(mia: User) -> None:
    secret = set_up(mia)
    code = now_code(secret)
    assert [log_in(code), log_in(code)] == [302, 200]


def test_a_secret_that_was_not_confirmed_is_not_asked_for(mia: User) -> None:
    desk = logged_in(mia)
    desk.post(PAGE)
    page = desk.post(PAGE, {"code": "nothing"})
    assert page.status_code == 422
    assert "This is not the code" in text_of(page)
    assert log_in(None) == 302


def test_a_wrong_code_is_answered_and_counted_as_a_wrong_password(mia: User) -> None:
    secret = set_up(mia)
    answers = []
    for password, code in ((PASSWORD, "000000x"), ("wrong", "000000x"), ("wrong", now_code(secret))):
        answers.append(text_of(Client().post("/login/", {"username": "mia", "password": password, "code": code})))
    assert len(set(answers)) == 1
    assert [log_in("000000x") for _ in range(3)] == [200, 200, 429]
    assert log_in(now_code(secret)) == 429


def test_a_confirmed_secret_is_never_shown_again_nor_replaced(mia: User) -> None:
    secret = set_up(mia)
    desk = logged_in(mia)
    page = desk.get(PAGE)
    assert "The login asks you for a code" in text_of(page)
    assert secret[:4] not in page.content.decode()
    assert desk.post(PAGE).status_code == 409
    assert desk.post(PAGE, {"code": now_code(secret)}).status_code == 422
    assert SecondFactor.objects.get().secret == secret


def test_begun_twice_the_second_secret_counts(mia: User) -> None:
    desk = logged_in(mia)
    desk.post(PAGE)
    first = SecondFactor.objects.get().secret
    desk.post(PAGE)
    assert SecondFactor.objects.get().secret != first
    assert desk.post(PAGE, {"code": now_code(first)}).status_code == 422


def test_the_secret_is_sealed_at_rest(mia: User) -> None:
    secret = set_up(mia)
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM retrycontract_secondfactor")
        (row,) = cursor.fetchall()
    assert secret.encode() not in b"".join(bytes(value) for value in row if isinstance(value, bytes | memoryview))
    assert secret not in repr(row)


def test_without_its_key_nobody_comes_in_until_it_is_taken_away(mia: User, settings: Settings) -> None:
    secret = set_up(mia)
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"encryption_keys": [Fernet.generate_key()]})
    assert log_in(now_code(secret)) == 200
    output = StringIO()
    call_command("free_operator", "mia", second_factor=True, stdout=output)
    assert output.getvalue() == "mia logs in by password alone.\n"
    assert log_in(None) == 302
    assert logged_in(mia).post(PAGE).status_code == 302


def test_what_is_not_there_is_not_taken_away(mia: User) -> None:
    output = StringIO()
    call_command("free_operator", "mia", second_factor=True, stdout=output)
    assert output.getvalue() == "mia has no second factor.\n"
    assert not Event.objects.filter(name="operator.second_factor_off").exists()


def test_everybody_has_their_own(mia: User) -> None:
    set_up(mia)
    bo = make_user("bo")
    page = logged_in(bo).get(PAGE)
    assert "A password alone opens your desk" in text_of(page)
    assert Client().post("/login/", {"username": "bo", "password": PASSWORD}).status_code == 302
    assert SecondFactor.objects.get().confirmed_at > timezone.now() - timedelta(minutes=1)


def test_the_secret_is_also_a_picture_for_the_telephone_and_without_inline_style(mia: User) -> None:
    desk = logged_in(mia)
    desk.post(PAGE)
    page = desk.get(PAGE).content.decode()
    drawn = re.search(r'<figure class="qr" role="img" aria-label="[^"]+">(<svg.*?</svg>)', page, re.DOTALL)
    assert drawn is not None
    assert "<path" in drawn[1]
    assert "style=" not in drawn[1]
