"""The admin in a real browser: under the strict policy, in light and dark, with its scripts at work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from dashboard.navigation import Role
from retrycontract.store.models import Attempt, Call, Event, Tool
from tests.admin.conftest import make_everything
from tests.browser.scene import make_desk
from tests.browser.test_desk import picture
from tests.browser.test_every_page import check_every_width
from tests.factories import PASSWORD, make_agent, make_blocked, make_tool, make_user

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page
    from pytest_django.live_server_helper import LiveServer

    from tests.browser.conftest import NewPage
    from tests.browser.test_desk import Scheme

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LISTS: Final = (
    "call",
    "attempt",
    "escalation",
    "guidance",
    "event",
    "agent",
    "apikey",
    "tool",
    "toolversion",
    "notice",
)


@pytest.fixture(scope="session", autouse=True)
def static_folder() -> None:
    """The folder of collected files, empty: WhiteNoise warns when there is none."""
    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)


def log_in(page: Page, url: str) -> None:
    """Log in through the desk's page, on the way to the admin."""
    make_user("ada", Role.ADMIN)
    page.goto(f"{url}/admin/")
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Look after the service")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.soak)])
def test_every_page_keeps_the_policy_and_the_console_stays_silent(
    live_server: LiveServer, new_page: NewPage, scheme: str
) -> None:
    page = new_page(color_scheme=scheme, viewport={"width": 1280, "height": 800})  # type: ignore[arg-type]  # one of two
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    make_desk(timezone.now())
    log_in(page, live_server.url)
    picture(page, f"admin-index-{scheme}")
    rows = {"call": Call, "attempt": Attempt, "tool": Tool, "event": Event}
    for name in LISTS:
        page.goto(f"{live_server.url}/admin/retrycontract/{name}/")
        picture(page, f"admin-{name}-list-{scheme}")
    for name, model in rows.items():
        row = model._default_manager.order_by("-pk").first()
        assert row is not None
        page.goto(f"{live_server.url}/admin/retrycontract/{name}/{row.pk}/change/")
        picture(page, f"admin-{name}-{scheme}")
    user = User.objects.get(username="mia")
    for name, path in (
        ("user-list", "auth/user/"),
        ("user", f"auth/user/{user.pk}/change/"),
        ("user-add", "auth/user/add/"),
        ("user-password", f"auth/user/{user.pk}/password/"),
    ):
        page.goto(f"{live_server.url}/admin/{path}")
        picture(page, f"admin-{name}-{scheme}")
    assert complaints == []


@pytest.mark.soak
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_open_to_everybody_in_every_width(
    live_server: LiveServer, new_page: NewPage, scheme: Scheme
) -> None:
    page = new_page(color_scheme=scheme)
    make_desk(timezone.now())
    log_in(page, live_server.url)
    for path in every_address(make_everything(User.objects.get(username="ada"))):
        page.goto(live_server.url + path)
        check_every_width(page, f"every{path.replace('/', '-')}{scheme}")


def every_address(call: Call) -> Iterator[str]:
    """Give the pages that belong to no row, and of every model its list and the page of its newest row."""
    for name in ("index", "auth_user_add"):
        yield reverse(f"admin:{name}")
    yield reverse("admin:auth_user_password_change", args=[User.objects.get(username="mia").pk])
    yield reverse("admin:retrycontract_call_change", args=[call.pk])
    for model in admin.site._registry:
        place = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        yield reverse(f"{place}_changelist")
        yield reverse(f"{place}_change", args=[model._default_manager.latest("pk").pk])


def test_long_names_leave_the_columns_behind_them_in_sight(live_server: LiveServer, new_page: NewPage) -> None:
    page = new_page(viewport={"width": 1440, "height": 900})
    log_in(page, live_server.url)
    make_blocked(make_agent("an-agent-of-many-words-" * 4), tool="a_tool_of_many_words_" * 3)
    for name, last in (("call", "attempts"), ("tool", "strict")):
        page.goto(f"{live_server.url}/admin/retrycontract/{name}/")
        cell, box = page.locator(f".field-{last}").first.bounding_box(), page.locator(".results").bounding_box()
        assert cell is not None
        assert box is not None
        assert cell["x"] + cell["width"] <= box["x"] + box["width"], name


def test_what_the_desk_writes_is_only_read_here(live_server: LiveServer, page: Page) -> None:
    make_agent("release-bot")
    log_in(page, live_server.url)
    page.goto(f"{live_server.url}/admin/retrycontract/agent/?q=release-bot")
    expect(page.get_by_role("link", name=re.compile("^Add "))).to_have_count(0)
    page.get_by_role("link", name="release-bot", exact=True).click()
    expect(page.get_by_role("heading", name=re.compile("View agent"))).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^(Save|Delete)"))).to_have_count(0)


def test_a_tool_is_changed_on_the_page_that_lists_its_versions(live_server: LiveServer, page: Page) -> None:
    tool = make_tool(make_agent())
    log_in(page, live_server.url)
    page.goto(f"{live_server.url}/admin/retrycontract/tool/{tool.pk}/change/")
    expect(page.get_by_role("link", name="1", exact=True)).to_be_visible()
    page.get_by_label("Max attempts").fill("7")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".messagelist .success")).to_be_visible()
    tool.refresh_from_db()
    assert (tool.max_attempts, tool.versions.count()) == (7, 1)


def test_calls_are_cancelled_from_their_list(live_server: LiveServer, page: Page) -> None:
    call = make_blocked()
    log_in(page, live_server.url)
    page.goto(f"{live_server.url}/admin/retrycontract/call/?q={call.public_id}")
    page.locator("#action-toggle").check()
    page.locator("select[name=action]").select_option(label="Cancel the selected calls: their agents are told to stop")
    page.get_by_role("button", name="Go").click()
    expect(page.get_by_text("One call is under way and will be cancelled.")).to_be_visible()
    page.get_by_role("button", name="Cancel the call").click()
    expect(page.locator(".messagelist")).to_have_text("1 call cancelled.")
    call.refresh_from_db()
    assert call.state == "cancelled"
