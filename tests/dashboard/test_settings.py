"""How an operator wants the desk."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from retrycontract.store.models import Preferences
from tests.dashboard.conftest import logged_in, text_of
from tests.factories import make_blocked, make_user
from tests.usecases.conftest import configure

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.test import Client
    from pytest_django import Settings

pytestmark = pytest.mark.django_db
SUMMER = datetime(2026, 7, 1, 10, 30, tzinfo=UTC)


def exact_times(client: Client) -> list[str]:
    """Give what the inbox says on hover of its times."""
    return re.findall(r'<time [^>]*title="([^"]+)"', client.get("/").content.decode())


def test_times_are_written_in_utc_for_who_told_no_zone(desk: Client) -> None:
    make_blocked(at=SUMMER)
    assert "2026-07-01 10:30:00 UTC" in exact_times(desk)


def test_the_browsers_zone_holds_until_another_is_chosen(desk: Client) -> None:
    make_blocked(at=SUMMER)
    desk.cookies["zone"] = "Asia/Tokyo"
    assert "2026-07-01 19:30:00 JST" in exact_times(desk)
    assert desk.post("/settings/", {"time_zone": "Europe/Zurich"}).status_code == 302
    assert "2026-07-01 12:30:00 CEST" in exact_times(desk)
    desk.post("/settings/", {"time_zone": ""})
    assert "2026-07-01 19:30:00 JST" in exact_times(desk)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "a" * 5000, "\x00"])
def test_a_zone_that_does_not_exist_is_none(desk: Client, zone: str) -> None:
    make_blocked(at=SUMMER)
    desk.cookies["zone"] = zone.replace("\x00", "%00")
    assert "2026-07-01 10:30:00 UTC" in exact_times(desk)
    response = desk.post("/settings/", {"time_zone": zone})
    assert response.status_code == 422
    assert "There is no time zone" in text_of(response)
    assert not Preferences.objects.exists()


def test_one_operators_zone_is_not_anothers(desk: Client) -> None:
    make_blocked(at=SUMMER)
    other = logged_in(make_user("noah"))
    other.post("/settings/", {"time_zone": "Asia/Tokyo"})
    assert "2026-07-01 19:30:00 JST" in exact_times(other)
    assert "2026-07-01 10:30:00 UTC" in exact_times(desk)


def test_single_keys_are_on_until_they_are_turned_off(desk: Client, mia: User) -> None:
    assert "data-shortcuts" in desk.get("/").content.decode()
    desk.post("/settings/", {"time_zone": ""})
    assert Preferences.objects.get(operator=mia).has_shortcuts is False
    assert "data-shortcuts" not in desk.get("/").content.decode()
    desk.post("/settings/", {"time_zone": "", "has_shortcuts": "on"})
    assert "data-shortcuts" in desk.get("/").content.decode()


def test_the_settings_say_how_the_service_is_set_and_no_secret(desk: Client, settings: Settings) -> None:
    configure(
        settings, retention_days=30.0, notify_webhook_url="https://hooks.example/hush-hush-hush-T000",
        email_from="a@b.example", notify_email=["ops@example.com"], email_host="smtp.example",
        email_password="hush-hush",
    )  # fmt: skip
    page = desk.get("/settings/")
    for words in (
        "Calls that ended are kept 30 days",
        "by webhook to https://hooks.example/",
        "by e-mail to ops@example.com",
    ):
        assert words in text_of(page)
    assert "hush" not in page.content.decode()
    configure(settings, retention_days=0.0, notify_webhook_url="", notify_email=[])
    text = text_of(desk.get("/settings/"))
    assert ("are kept for good" in text, text.count("nobody")) == (True, 2)
    assert 'href="/settings/webhooks/"' not in page.content.decode(), "an operator may not"
