"""Guessing passwords is slow, whoever guesses and wherever; sessions end when they should."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from dashboard.navigation import Role
from retrycontract.config.service_settings import ServiceSettings
from retrycontract.store.models import Door, Event, FailedLogins
from retrycontract.usecases.calls.sweep import expire_overdue, forget_answers, forget_calls, tidy_queue
from retrycontract.usecases.people.log_in import LoginTry, begin_login, note_failure
from tests.dashboard.conftest import HTMX, logged_in, text_of
from tests.factories import PASSWORD, answer, make_blocked, make_user
from tests.serving.receivers import receiving
from tests.usecases.conftest import configure
from tests.usecases.outbox_desk import drain, tell_by

pytestmark = pytest.mark.django_db
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
HERE = "192.0.2.1"


def log_in(client: Client, name: str = "mia", password: str = PASSWORD, address: str = HERE) -> int:
    """Send the form of the login; 302 lets in."""
    return client.post("/login/", {"username": name, "password": password}, REMOTE_ADDR=address).status_code


def guess(times: int, **sent: str) -> list[int]:
    return [log_in(Client(), **({"password": f"guess {number}"} | sent)) for number in range(times)]


def test_a_long_name_that_is_refused_is_not_written_back_whole() -> None:
    page = Client().post("/login/", {"username": "mia" * 100_000, "password": "x"}).content
    assert b"mia" * 50 in page
    assert b"mia" * 51 not in page


def test_who_fails_five_times_must_wait_even_with_the_right_password() -> None:
    make_user("mia")
    assert guess(6) == [200] * 5 + [429]
    response = Client().post("/login/", {"username": "mia", "password": PASSWORD}, REMOTE_ADDR=HERE)
    assert response.status_code == 429
    assert 0 < int(response["Retry-After"]) <= 60
    assert "Too many logins failed. Wait a minute and try again" in text_of(response)


def test_another_address_and_another_name_are_let_in_meanwhile() -> None:
    make_user("mia")
    make_user("bo")
    guess(6)
    assert log_in(Client(), address="192.0.2.2") == 302
    assert log_in(Client(), name="bo") == 302


@pytest.mark.parametrize("sent", [{}, {"username": "mia"}, {"password": PASSWORD}, {"username": "mia", "password": ""}])
def test_a_form_that_is_not_filled_in_is_shown_again_and_is_no_guess(sent: dict[str, str]) -> None:
    make_user("mia")
    for _ in range(7):
        response = Client().post("/login/", sent, REMOTE_ADDR=HERE)
        assert response.status_code == 200
        assert "Type your user name and your password." in text_of(response)
    assert not FailedLogins.objects.exists()


@pytest.mark.parametrize("name", ["MIA", " mia ", "Mia"])
def test_another_spelling_of_the_name_gives_no_more_guesses(name: str) -> None:
    make_user("mia")
    assert guess(6, name=name)[-1] == 429
    assert log_in(Client()) == 429


@pytest.mark.parametrize(
    ("here", "next_door", "elsewhere"),
    [("2001:db8:1:2::7", "2001:db8:1:2:ffff::9", "2001:db8:1:3::7"), ("::ffff:9.9.9.3", "9.9.9.3", "9.9.9.4")],
    ids=["a network of IPv6", "two forms of one"],
)
def test_addresses_of_one_customer_count_as_one(here: str, next_door: str, elsewhere: str) -> None:
    make_user("mia")
    assert guess(5, address=here) == [200] * 5
    assert log_in(Client(), address=next_door) == 429
    assert log_in(Client(), address=elsewhere) == 302


def test_a_pause_is_over_when_the_clock_was_set_back() -> None:
    """No pause is longer than fifteen minutes: one that seems to be began by another clock."""
    operator, login = make_user("mia"), LoginTry("mia", HERE)
    for _ in range(5):
        assert begin_login(login, now=NOON) is None
        note_failure(login, now=NOON, door=Door.DASHBOARD)
    assert begin_login(login, now=NOON) == timedelta(minutes=1)
    assert begin_login(login, now=NOON - timedelta(minutes=5)) == timedelta(minutes=6)
    earlier = NOON - timedelta(hours=1)
    assert begin_login(login, now=earlier) is None
    note_failure(login, now=earlier, door=Door.DASHBOARD)
    assert begin_login(login, now=earlier) == timedelta(minutes=2), "the failures count on"
    assert FailedLogins.objects.filter(operator=operator).exists()


def test_what_was_begun_by_another_clock_is_waited_for_no_longer() -> None:
    make_user("mia")
    for _ in range(5):
        assert begin_login(LoginTry("mia", HERE), now=NOON) is None
    waiting = begin_login(LoginTry("mia", HERE), now=NOON)
    assert waiting is not None
    assert waiting <= timedelta(seconds=10)
    assert begin_login(LoginTry("mia", HERE), now=NOON - timedelta(hours=1)) is None


def test_a_name_is_guessed_at_from_many_addresses_only_so_often() -> None:
    make_user("mia")
    answers = [log_in(Client(), password="guess", address=f"198.51.100.{number}") for number in range(51)]
    assert answers == [200] * 50 + [429]


def test_a_success_makes_good_what_failed() -> None:
    make_user("mia")
    assert guess(4) == [200] * 4
    assert log_in(Client()) == 302
    assert guess(4) == [200] * 4
    assert not Event.objects.filter(name="operator.locked_out").exists()


def test_pauses_grow_to_a_quarter_of_an_hour() -> None:
    login, now, pauses = LoginTry("mia", HERE), NOON, []
    for _ in range(12):
        pause = begin_login(login, now=now)
        if pause is not None:
            pauses.append(pause.total_seconds() / 60)
            now += pause
            assert begin_login(login, now=now) is None
        note_failure(login, now=now, door=Door.DASHBOARD)
    assert pauses == [1, 2, 4, 8, 15, 15, 15]
    now += timedelta(days=1, seconds=1)
    assert [begin_login(login, now=now) for _ in range(5)] == [None] * 5


def test_one_password_over_many_names_from_one_address_is_slowed() -> None:
    make_user("mia")
    answers = [log_in(Client(), name=f"name-{number}", password="guess") for number in range(25)]
    assert answers == [200] * 20 + [429] * 5
    assert log_in(Client(), address="198.51.100.9") == 302


def test_whoever_gets_in_has_not_earned_guesses_at_others() -> None:
    make_user("mia")
    for number in range(19):
        log_in(Client(), name=f"name-{number}", password="guess")
    assert log_in(Client()) == 302
    assert log_in(Client(), name="name-20", password="guess") == 200
    assert log_in(Client(), name="name-21", password="guess") == 429


def test_the_right_password_is_let_in_after_logins_that_a_crash_cut_off() -> None:
    login, now = LoginTry("mia", HERE), NOON
    for _ in range(30):  # each begins and is never decided, as in a service that is killed every few seconds
        begin_login(login, now=now)
        now += timedelta(seconds=11)
    assert begin_login(login, now=now) is None
    assert not FailedLogins.objects.filter(failures__gt=0).exists()


def test_guesses_at_once_are_no_more_than_one_after_the_other() -> None:
    login = LoginTry("mia", HERE)
    begun = [begin_login(login, now=NOON) for _ in range(8)]
    assert begun == [None] * 5 + [timedelta(seconds=10)] * 3


def test_who_is_locked_out_is_written_down_by_the_name_of_an_operator_only() -> None:
    make_user("mia")
    guess(5)
    guess(5, name="my-secret-password")
    found = Event.objects.filter(name="operator.locked_out").order_by("pk")
    assert [event.data for event in found] == [{"failures": 5, "operator": "mia"}, {"failures": 5, "operator": None}]
    assert "my-secret" not in repr(list(FailedLogins.objects.values()))


def test_an_administrator_lets_somebody_in_again() -> None:
    mia, ada = make_user("mia"), make_user("ada", Role.ADMIN)
    guess(6)
    form = {"action": "let_in_again", "_selected_action": [mia.pk]}
    response = logged_in(ada).post("/admin/auth/user/", form, follow=True)
    assert "1 operator may try again." in text_of(response)
    assert log_in(Client()) == 302
    assert Event.objects.filter(name="operator.freed", actor="ada").count() == 1


def test_a_command_lets_somebody_in_again() -> None:
    make_user("mia")
    guess(6)
    said = StringIO()
    call_command("free_operator", "mia", stdout=said)
    call_command("free_operator", "mia", stdout=said)
    assert said.getvalue() == "mia may try again.\nNothing was held against mia.\n"
    assert log_in(Client()) == 302
    with pytest.raises(CommandError, match="There is no operator bo"):
        call_command("free_operator", "bo")


def test_a_login_begins_a_new_session() -> None:
    make_user("mia")
    client = Client()
    client.cookies["sessionid"] = "planted-by-somebody-else-00000000"
    assert log_in(client) == 302
    assert client.cookies["sessionid"].value != "planted-by-somebody-else-00000000"


def entered() -> Client:
    """Log mia in as a person does."""
    client = Client()
    assert log_in(client) == 302
    return client


def is_in(client: Client, **headers: str) -> bool:
    return client.get("/", headers=headers).status_code == 200


def backdate(name: str, hours: float) -> None:
    """Let every session seem to have begun, or to have been used, earlier."""
    for session in Session.objects.all():
        values = session.get_decoded()
        values[name] -= hours * 3_600
        Session.objects.filter(pk=session.pk).update(session_data=Session.objects.encode(values))


def test_a_session_ends_after_its_longest_time_however_busy(mia: User, settings: Settings) -> None:
    configure(settings, session_max_hours=10)
    client = entered()
    assert is_in(client)
    backdate("began_at", 9.9)
    assert is_in(client)
    backdate("began_at", 0.2)
    assert not is_in(client)
    assert not is_in(client)


def test_a_person_keeps_a_session_alive_and_an_open_page_does_not(mia: User) -> None:
    client = entered()
    backdate("seen_at", 6)
    Session.objects.update(expire_date=timezone.now() + timedelta(hours=6))
    before = Session.objects.get().expire_date
    assert is_in(client, **HTMX)
    assert Session.objects.get().expire_date == before
    assert is_in(client)
    assert Session.objects.get().expire_date > before + timedelta(hours=5)


def test_a_new_password_ends_the_sessions_of_the_old_one(mia: User) -> None:
    client = entered()
    assert is_in(client)
    mia.set_password("another horse battery")
    mia.save()
    assert not is_in(client)


def test_an_operator_who_is_switched_off_is_out_at_once(mia: User) -> None:
    client = entered()
    User.objects.filter(pk=mia.pk).update(is_active=False)
    assert not is_in(client)


def test_an_administrator_logs_somebody_out_everywhere(mia: User) -> None:
    clients = [entered(), entered()]
    ada = logged_in(make_user("ada", Role.ADMIN))
    response = ada.post(
        "/admin/auth/user/", {"action": "log_out_everywhere", "_selected_action": [mia.pk]}, follow=True
    )
    assert "2 sessions ended." in text_of(response)
    assert [is_in(client) for client in clients] == [False, False]
    assert is_in(ada)


def test_old_failures_are_locked_in_one_order_before_they_are_deleted() -> None:
    for number in range(3):
        begin_login(LoginTry(f"name {number}", f"192.0.2.{number}"), now=NOON)
    with CaptureQueriesContext(connection) as captured:
        begin_login(LoginTry("ada", "192.0.2.9"), now=NOON + timedelta(days=30))
    asked = [query["sql"] for query in captured.captured_queries]
    deleted = next(place for place, sql in enumerate(asked) if sql.startswith("DELETE"))
    assert any("ORDER BY" in sql and FailedLogins._meta.db_table in sql for sql in asked[:deleted])
    assert FailedLogins.objects.count() == 3


NUMBERS = [name for name, setting in ServiceSettings.model_fields.items() if setting.annotation in (int, float)]


@pytest.mark.parametrize("name", NUMBERS)
def test_the_service_works_with_the_largest_value_of_each_number(name: str, settings: Settings) -> None:
    most = next(limit.le for limit in ServiceSettings.model_fields[name].metadata if hasattr(limit, "le"))
    with receiving() as receiver:
        tell_by(settings, receiver)
        configure(settings, **{name: most})
        settings.SESSION_COOKIE_AGE = settings.RETRYCONTRACT.session_idle_minutes * 60
        mia = make_user("mia")
        client = entered()
        call = make_blocked()
        assert client.get(f"/calls/{call.public_id}/").status_code == 200
        answer(call, mia)
        drain(timezone.now())
        for sweep in (expire_overdue, tidy_queue, forget_answers, forget_calls):
            sweep(now=timezone.now())
        call_command("clearsessions")
        assert is_in(client)
