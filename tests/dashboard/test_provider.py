"""Log-in through an identity provider: who comes in, and as whom."""

from __future__ import annotations

import logging
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone
from joserfc.jwk import RSAKey
from pytest_django import Settings

from dashboard.navigation import Role
from retrycontract.management.doctor.surroundings import provider as provider_findings
from retrycontract.store.models import Event, ProviderIdentity
from retrycontract.usecases.calls.sweep import tidy_queue
from retrycontract.usecases.people.admit import role_of
from tests.dashboard.conftest import HTMX, go, logged_in, reasons, refusal_of, text_of, told
from tests.factories import PASSWORD, make_user
from tests.serving.provider import CLIENT_ID, Provider
from tests.usecases.conftest import configure

pytestmark = pytest.mark.django_db


def test_the_first_log_in_makes_the_operator_and_the_next_one_finds_them(provider: Provider) -> None:
    client = Client()
    page = text_of(client.get("/login/"))
    assert "Log in with single sign-on or with a password User name" in page
    assert go(client, provider, next="/tools/")["Location"] == "/tools/"
    assert client.get("/tools/").status_code == 200
    noor = User.objects.get()
    assert (noor.username, noor.email, role_of(noor), noor.has_usable_password()) == (
        "noor", "noor@example.com", Role.OPERATOR, False,
    )  # fmt: skip
    provider.who |= {"preferred_username": "noor.new", "groups": ["heads", "desk"]}
    assert go(Client(), provider)["Location"] == "/"
    assert [(user.username, role_of(user)) for user in User.objects.all()] == [("noor", Role.ADMIN)]
    names = list(Event.objects.filter(name__startswith="operator.").order_by("pk").values_list("name", flat=True))
    logged = "operator.logged_in"
    assert names == ["operator.admitted", "operator.identity_linked", logged, "operator.role_given", logged]


def test_the_code_is_bound_to_who_began_and_to_what_was_asked(provider: Provider) -> None:
    go(Client(), provider)
    asked = provider.seen[0]
    assert (asked["response_type"], asked["code_challenge_method"], asked["client_id"]) == ("code", "S256", CLIENT_ID)
    assert asked["redirect_uri"] == "http://testserver/login/provider/answer/"
    assert min(len(asked[name]) for name in ("state", "nonce", "code_challenge")) >= 20


def test_an_answer_that_nobody_asked_for_or_that_came_twice_is_refused(provider: Provider) -> None:
    client = Client()
    back = provider.log_in(client.get("/login/provider/")["Location"])
    another = Client()
    assert "not accepted" in told(another, another.get(back))  # the state is not of this browser
    for planted in (re.sub("state=[^&]+", "state=planted", back), f"{back}&iss=https%3A%2F%2Fevil.example"):
        assert "not accepted" in told(client, client.get(planted))
    assert client.get(back)["Location"] == "/"
    assert "not accepted" in told(another, another.get(back))


def test_two_tabs_and_an_answer_that_is_loaded_again_lead_to_the_desk(provider: Provider) -> None:
    client = Client()
    first, second = (provider.log_in(client.get("/login/provider/")["Location"]) for _ in range(2))
    assert client.get(first)["Location"] == "/"
    asked, logged_in_as = len(provider.asked), client.session["_auth_user_id"]
    provider.who["sub"] = "u-2"
    for back in (second, first, f"{first}&error=access_denied"):
        assert client.get(back)["Location"] == "/"
    assert (len(provider.asked), client.session["_auth_user_id"]) == (asked, logged_in_as), "nothing is taken from it"
    assert client.get("/").status_code == 200


def test_who_cancels_at_the_provider_reads_so(
    provider: Provider, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    configure(settings, oidc_name="Company ID")
    client = Client()
    client.get("/login/provider/")
    page = told(client, client.get("/login/provider/answer/?error=access_denied&error_description=<b>call+me</b>"))
    assert "You cancelled the log-in at Company ID" in page
    assert "call me" not in page
    assert "cancelled" not in text_of(client.get("/login/"))
    for error in ("server_error", "my s3cret"):
        assert "answer was not accepted" in told(client, client.get("/login/provider/answer/", {"error": error}))
    sent = ("access_denied", "server_error", "an error without a known name")
    assert reasons(caplog) == [f"the provider sent {error} back" for error in sent]


def test_a_provider_that_is_another_or_away_says_so_without_a_traceback(
    provider: Provider, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    provider.told = {"issuer": "https://evil.example"}
    page = Client().get("/login/provider/")
    assert page.status_code == 503
    assert "does not answer as it should" in text_of(page)
    assert [finding.level.value for finding in provider_findings()] == ["FAIL"]
    configure(settings, oidc_issuer="http://127.0.0.1:9")
    with caplog.at_level(logging.WARNING):
        assert Client().get("/login/provider/").status_code == 503
    assert "ConnectionError" in str([getattr(record, "reason", "") for record in caplog.records])
    assert [finding.level.value for finding in provider_findings()] == ["FAIL"]


@pytest.mark.parametrize("sub", ["a\0b", "\ud83d", {"id": 7}, "x" * 300])
def test_a_person_whose_name_there_cannot_be_kept_is_refused(provider: Provider, sub: Any) -> None:
    provider.who["sub"] = sub
    client = Client()
    go(client, provider)
    assert client.get("/").status_code == 302
    assert not User.objects.exists()


def test_a_new_key_of_the_provider_is_fetched(provider: Provider) -> None:
    assert go(Client(), provider)["Location"] == "/"
    provider.key = RSAKey.generate_key(2048, {"kid": "k1"})
    assert "not accepted" in refusal_of(Client(), provider)  # the old name for a new key is no rotation
    from dashboard.account.provider import _registered

    _registered.cache_clear()
    assert go(Client(), provider)["Location"] == "/"


@pytest.mark.parametrize(
    ("groups", "role"),
    [
        (["desk", "heads"], "admin"), ("desk", "operator"), (["cn=all,dc=x"], "viewer"), (["DESK"], None), ([], None),
        (None, None), ([7], None), (7, None), (True, None), ({"desk": {}}, "operator"), ([["desk"]], None),
        (["g" * 36] * 1_000 + ["desk"], "operator"),
    ],
)  # fmt: skip
def test_groups_give_roles_and_who_has_none_stays_out(provider: Provider, groups: Any, role: str | None) -> None:
    provider.who["groups"] = groups
    client = Client()
    answer = go(client, provider)
    assert [role_of(user) for user in User.objects.all()] == ([role] if role else [])
    assert answer["Location"] == "/" if role else "None of your groups" in told(client, answer)


def test_who_has_lost_every_group_is_logged_out_everywhere_when_they_log_in_again(provider: Provider) -> None:
    earlier = Client()
    go(earlier, provider)
    provider.who["groups"] = []
    for _ in range(2):
        assert "None of your groups" in refusal_of(Client(), provider)
    assert earlier.get("/")["Location"] == "/login/?next=/"
    noor = User.objects.get()
    assert (role_of(noor), noor.is_staff) == (None, False)
    assert list(Event.objects.order_by("pk").values_list("name", "actor"))[-2:] == [
        ("operator.role_taken", "provider"), ("operator.logged_out", "provider"),
    ]  # fmt: skip
    provider.who["groups"] = ["desk"]
    assert go(earlier, provider)["Location"] == "/"
    assert role_of(User.objects.get()) is Role.OPERATOR


def test_a_superuser_and_everybody_else_stay_logged_in_when_somebody_has_lost_every_group(provider: Provider) -> None:
    root, other = Client(), logged_in(make_user("mia"))
    go(root, provider)
    User.objects.filter(username="noor").update(is_superuser=True)
    provider.who["groups"] = []
    assert "None of your groups" in refusal_of(Client(), provider)
    assert (root.get("/").status_code, other.get("/").status_code) == (200, 200)


def test_groups_that_only_userinfo_tells_count(provider: Provider) -> None:
    provider.userinfo = {"sub": "u-1", "groups": ["heads"]}
    del provider.who["groups"]
    assert go(Client(), provider)["Location"] == "/"
    assert role_of(User.objects.get()) is Role.ADMIN


def test_more_groups_than_a_token_may_hold_count_where_userinfo_tells_them(provider: Provider) -> None:
    groups = ["g" * 200] * 5_000 + ["desk"]
    provider.lies, provider.userinfo = {"groups": None}, {"sub": "u-1", "groups": groups}
    assert go(Client(), provider)["Location"] == "/"
    provider.lies = {"groups": groups}
    assert "ask an administrator" in refusal_of(Client(), provider)


def test_nobody_becomes_an_operator_by_having_their_name_or_address(provider: Provider) -> None:
    User.objects.create_user("Noor", "noor@example.com", PASSWORD)
    assert "connect in the settings" in refusal_of(Client(), provider)
    assert not ProviderIdentity.objects.exists()


def test_an_operator_connects_and_logs_in_there_from_then_on(provider: Provider) -> None:
    noor = make_user("noor")
    desk = logged_in(noor)
    assert desk.get("/login/provider/")["Location"] == "/"  # a link of another site connects nothing
    assert desk.get("/login/provider/", {"connect": "guessed"})["Location"] == "/"
    shown = re.search(r"/login/provider/\?connect=(\w+)", desk.get("/settings/").content.decode())
    assert shown is not None
    assert go(desk, provider, connect=shown[1])["Location"] == "/settings/"
    assert "/login/provider/?connect" not in desk.get("/settings/").content.decode()
    fresh = Client()
    assert go(fresh, provider)["Location"] == "/"
    assert fresh.session["_auth_user_id"] == str(noor.pk)


def test_who_is_switched_off_stays_out(provider: Provider) -> None:
    go(Client(), provider)
    User.objects.update(is_active=False)
    assert "switched off here" in refusal_of(Client(), provider)


CHARACTERS = "holds more than letters, digits and @ . + - _"
SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.mark.parametrize(
    ("name", "email", "said"),
    [
        ("<b>", None, f"preferred_username {CHARACTERS}"), ("a b", None, f"preferred_username {CHARACTERS}"),
        ("CORP\\bob", "b b@x.y", f"preferred_username {CHARACTERS}; email {CHARACTERS}"),
        ("x" * 200, None, "preferred_username is too long"), ("a\0b", None, f"preferred_username {CHARACTERS}"),
        (SECRET, None, "preferred_username holds what looks like a secret"), ("", None, "does not say your name"),
        (["bob"], None, f"preferred_username {CHARACTERS}"),
    ],
)  # fmt: skip
def test_a_name_that_cannot_be_shown_makes_no_operator_and_the_claim_and_its_rule_are_told(
    provider: Provider, caplog: pytest.LogCaptureFixture, name: Any, email: Any, said: str
) -> None:
    provider.who |= {"preferred_username": name, "email": email}
    client = Client()
    go(client, provider)
    page = client.get("/login/")
    assert said in text_of(page)
    assert "<b>" not in page.content.decode()
    assert not User.objects.exists()
    (reason,) = reasons(caplog)
    assert said in reason
    assert not name or str(name) not in reason


@pytest.mark.parametrize(
    ("name", "email", "operator", "address"),
    [
        ("CORP\\bob", "bob@corp.example", "bob@corp.example", "bob@corp.example"),
        ("Bob Ross", "bob@corp", "bob@corp", ""), ("bob", "bob@corp", "bob", ""), ("bob", "a@b.c", "bob", ""),
        ("bob", f"{SECRET}@corp.example", "bob", ""), ("bob", "x" * 300 + "@corp.example", "bob", ""),
        ("bob", ["bob@corp.example"], "bob", ""), ("ｂｏｂ", None, "bob", ""), (7, None, "7", ""),
    ],
)  # fmt: skip
def test_what_is_no_address_is_left_out_and_a_good_one_is_the_name_where_the_name_is_none(
    provider: Provider, caplog: pytest.LogCaptureFixture, name: Any, email: Any, operator: str, address: str
) -> None:
    provider.who |= {"preferred_username": name, "email": email}
    go(Client(), provider)
    assert [(user.username, user.email) for user in User.objects.all()] == [(operator, address)]
    left_out = [getattr(record, "claim", "") for record in caplog.records if record.levelname == "WARNING"]
    assert left_out == ([] if not email or address else ["email"])


def test_an_address_in_the_place_of_a_name_takes_nobody_elses(provider: Provider) -> None:
    make_user("Bob@corp.example")
    provider.who |= {"preferred_username": "CORP\\bob", "email": "bob@corp.example"}
    assert "is here already" in refusal_of(Client(), provider)
    assert not ProviderIdentity.objects.exists()


def test_an_address_that_was_not_verified_is_not_kept(provider: Provider) -> None:
    provider.who["email_verified"] = False
    go(Client(), provider)
    assert User.objects.get().email == ""


def test_the_way_back_leads_to_no_other_site(provider: Provider) -> None:
    assert go(Client(), provider, next="https://evil.example/")["Location"] == "/"


def test_a_secret_in_the_way_back_is_not_kept(provider: Provider) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    client = Client()
    client.get("/login/provider/", {"next": f"/tools/?q={secret}"})
    assert client.session["provider_next"].startswith("/tools/")
    assert secret not in client.session["provider_next"]


def test_logging_out_offers_to_log_out_there_too(provider: Provider) -> None:
    client = Client()
    go(client, provider)
    out = client.post("/logout/")
    assert "/login/provider/leave/" in client.get(out["Location"]).content.decode()
    leads = client.get("/login/provider/leave/")["Location"]
    assert leads.startswith(f"{provider.issuer}/leave?post_logout_redirect_uri=http%3A%2F%2Ftestserver%2Flogin%2F")
    assert client.get("/").status_code == 302


def test_passwords_can_be_switched_off_for_desk_and_admin(provider: Provider, settings: Settings) -> None:
    make_user("ada", Role.ADMIN)
    configure(settings, password_login=False)
    client = Client()
    for path in ("/login/", "/admin/login/"):
        page = client.get(path, follow=True).content.decode()
        assert "Log in with single sign-on" in page
        assert 'type="password"' not in page
        sent = client.post(path, {"username": "ada", "password": PASSWORD}, follow=True)
        assert "sessionid" not in client.cookies or client.get("/").status_code == 302, sent.content
    assert client.post("/login/", {"username": "ada", "password": PASSWORD}).status_code == 403


def test_without_a_provider_nothing_of_it_is_there() -> None:
    assert Client().get("/login/provider/").status_code == 404
    assert "single sign-on" not in text_of(Client().get("/login/"))
    assert list(provider_findings()) == []


def test_a_second_factor_can_be_a_duty_of_who_comes_by_password(provider: Provider, settings: Settings) -> None:
    configure(settings, require_second_factor=True)
    make_user("mia", Role.ADMIN)
    desk = Client()
    desk.post("/login/", {"username": "mia", "password": PASSWORD})
    for path in ("/", "/calls/", "/settings/", "/admin/", "/audit/"):
        assert desk.get(path)["Location"] == "/settings/second-factor/", path
    assert desk.post("/agents/new/", {"name": "a"})["Location"] == "/settings/second-factor/"
    assert desk.get("/", headers=HTMX).status_code == 401
    assert "asks everybody for a second factor" in text_of(desk.get("/settings/second-factor/"))
    assert desk.post("/logout/").status_code == 302
    there = Client()
    go(there, provider)
    assert there.get("/").status_code == 200


def test_sessions_that_ended_are_cleared_away(provider: Provider) -> None:
    Client().get("/login/provider/")
    now = timezone.now()
    assert (Session.objects.get().expire_date - now).total_seconds() <= 600
    tidy_queue(now=now)
    assert Session.objects.exists()
    tidy_queue(now=now + timedelta(minutes=11))
    assert not Session.objects.exists()
