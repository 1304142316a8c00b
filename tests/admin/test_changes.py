"""What can be changed in the admin goes through the use cases, and leaves events that name who did it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dashboard.navigation import Role, may_answer
from retrycontract.admin import pages
from retrycontract.contract.configuration import parse_duration
from retrycontract.store.models import Call, Door, Event, Tool
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.people.admit import role_of
from tests.admin.conftest import post
from tests.factories import PASSWORD, RIGHT, WRONG, make_agent, make_blocked, make_call, make_tool, make_user

pytestmark = pytest.mark.django_db

NEW_PASSWORD = "a much better battery"


def trail() -> list[tuple[str, dict[str, Any]]]:
    """Give what was done through the admin; all of it was done by ada."""
    events = list(Event.objects.filter(door=Door.ADMIN))
    assert {event.actor for event in events} <= {"ada"}
    return [(event.name, event.data) for event in events]


# Tools


def change_tool(admin: Client, tool: Tool, **settings: Any) -> Any:
    inline = {"versions-TOTAL_FORMS": 0, "versions-INITIAL_FORMS": 0}
    inline |= {"expires_after": "", "on_expiry": ""}
    return post(admin, f"retrycontract/tool/{tool.pk}/change/", inline | settings)


def test_the_settings_of_a_tool_can_be_changed_and_nothing_else(admin: Client) -> None:
    tool = make_tool(make_agent())
    response = change_tool(admin, tool, hold="on", mode="observe", max_attempts="5", name="stolen", namespace="other")
    assert response.status_code == 302
    tool.refresh_from_db()
    assert (tool.strict, tool.hold, tool.mode, tool.max_attempts) == (False, True, "observe", 5)
    assert (tool.name, tool.namespace) == ("deploy", "deployer")
    changes = {"strict": False, "hold": True, "mode": "observe", "max_attempts": 5}
    assert trail() == [("tool.changed", {"tool": "deploy", "namespace": "deployer", "changes": changes})]


@pytest.mark.parametrize(
    ("typed", "shown"), [("30m", "30m"), ("7200", "2h"), ("36h", "36h"), ("14d", "14d"), ("61", "61s")]
)
def test_how_long_a_tool_waits_is_typed_as_in_the_file(admin: Client, typed: str, shown: str) -> None:
    tool = make_tool(make_agent())
    change_tool(admin, tool, strict="on", mode="", max_attempts="", expires_after=typed, on_expiry="reject")
    tool.refresh_from_db()
    assert tool.expires_after == parse_duration(typed)
    assert tool.on_expiry == "reject"
    page = admin.get(f"/admin/retrycontract/tool/{tool.pk}/change/").content.decode()
    assert f'name="expires_after" value="{shown}"' in page
    change_tool(admin, tool, strict="on", mode="", max_attempts="", expires_after=shown, on_expiry="reject")
    assert [name for name, _ in trail()] == ["tool.changed"]


def test_empty_settings_mean_as_configured(admin: Client) -> None:
    tool = make_tool(make_agent())
    change_tool(admin, tool, strict="on", mode="observe", max_attempts="5")
    change_tool(admin, tool, strict="on", mode="", max_attempts="")
    tool.refresh_from_db()
    assert (tool.mode, tool.max_attempts) == (None, None)


def test_saving_without_a_change_leaves_no_event(admin: Client) -> None:
    tool = make_tool(make_agent())
    assert change_tool(admin, tool, strict="on", mode="", max_attempts="").status_code == 302
    assert trail() == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_attempts", "0"),
        ("max_attempts", "11"),
        ("mode", "sometimes"),
        ("expires_after", "soon"),
        ("expires_after", "400d"),
        ("on_expiry", "accept"),
    ],
)
def test_settings_out_of_range_are_refused(admin: Client, field: str, value: str) -> None:
    tool = make_tool(make_agent())
    response = change_tool(admin, tool, **({"strict": "on", "mode": "", "max_attempts": ""} | {field: value}))
    assert "errorlist" in response.content.decode()
    assert trail() == []


# Calls


CALLS = "/admin/retrycontract/call/"


def confirmed(admin: Client, page: str) -> str:
    """Send what the page that asks would send, and give the page behind it."""
    ticked = re.findall(r'name="_selected_action" value="(\d+)"', page)
    sent = {"action": "cancel", "_selected_action": ticked, "confirmed": "Cancel"}
    return admin.post(CALLS, sent, follow=True).content.decode()


def test_calls_are_cancelled_when_it_is_confirmed_as_if_their_agents_had_cancelled_them(admin: Client) -> None:
    blocked = make_blocked()
    ended = make_call(make_agent(), [RIGHT])
    page = admin.post(CALLS, {"action": "cancel", "_selected_action": [blocked.pk, ended.pk]}).content.decode()
    assert "One call is under way" in page
    assert blocked.public_id in page
    assert ended.public_id not in page
    assert trail() == []
    assert "1 call cancelled." in confirmed(admin, page)
    assert set(Call.objects.values_list("state", flat=True)) == {"cancelled", "valid"}
    assert blocked.escalations.get().state == "cancelled"
    assert [name for name, _ in trail()] == ["call.cancelled"]


def test_what_ended_before_it_was_confirmed_is_left(admin: Client) -> None:
    blocked = make_blocked()
    page = admin.post(CALLS, {"action": "cancel", "_selected_action": [blocked.pk]}).content.decode()
    cancel_call(blocked, now=timezone.now())
    assert "0 calls cancelled. 1 had ended" in confirmed(admin, page)


def test_of_a_whole_list_so_many_are_cancelled_at_once(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MOST_AT_ONCE", 12)
    agent = make_agent()
    for _ in range(14):
        make_call(agent, [WRONG])
    make_call(agent, [RIGHT])
    first = [Call.objects.earliest("pk").pk]
    page = admin.post(CALLS, {"action": "cancel", "_selected_action": first, "select_across": "1"}).content.decode()
    assert "An action is taken on 12 rows at once" in page
    assert "12 calls are under way" in page
    assert "and 2 more" in page
    assert "12 calls cancelled." in confirmed(admin, page)
    assert Call.objects.filter(state="cancelled").count() == 12


def test_an_action_ends_in_time_and_says_what_is_left(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "LONGEST_ACTION", -1.0)
    page = admin.post(CALLS, {"action": "cancel", "_selected_action": [make_blocked().pk]}).content.decode()
    shown = confirmed(admin, page)
    assert "An action goes on for -1 s. Rows that are left for another one: 1." in shown
    assert "0 calls cancelled." in shown
    assert not Call.objects.filter(state="cancelled").exists()


# Operators

NEW: dict[str, Any] = {
    "username": "noah",
    "role": "operator",
    "usable_password": "true",
    "password1": NEW_PASSWORD,
    "password2": NEW_PASSWORD,
}


@pytest.mark.parametrize("role", list(Role))
def test_an_operator_is_let_in_with_a_role(admin: Client, role: Role) -> None:
    response = post(admin, "auth/user/add/", NEW | {"role": role.value})
    assert response.status_code == 302
    user = authenticate(username="noah", password=NEW_PASSWORD)
    assert isinstance(user, User)
    assert (role_of(user), user.is_staff, user.is_superuser) == (role, role is Role.ADMIN, False)
    assert may_answer(user) is (role is not Role.VIEWER)
    assert trail() == [("operator.admitted", {"operator": "noah", "role": role.value})]


@pytest.mark.parametrize(
    "wrong",
    [{"username": "ada"}, {"password2": "another"}, {"password1": "short", "password2": "short"}, {"role": "root"}],
    ids=lambda wrong: "-".join(wrong),
)
def test_an_operator_who_cannot_be_made_is_refused_with_the_reason(admin: Client, wrong: dict[str, str]) -> None:
    response = post(admin, "auth/user/add/", NEW | wrong)
    assert "errorlist" in response.content.decode()
    assert User.objects.count() == 1


def edit(user: User, **fields: Any) -> dict[str, Any]:
    form = {"username": user.username, "first_name": "", "last_name": "", "email": "", "is_active": "on"}
    return form | {"role": role_of(user) or ""} | fields


def test_another_role_is_given_at_once(admin: Client) -> None:
    mia = make_user("mia")
    post(admin, f"auth/user/{mia.pk}/change/", edit(mia, role="admin"))
    mia.refresh_from_db()
    assert (role_of(mia), mia.is_staff, mia.is_superuser) == (Role.ADMIN, True, False)
    assert trail() == [("operator.role_given", {"operator": "mia", "role": "admin"})]


def test_who_is_switched_off_is_out_at_once(admin: Client) -> None:
    mia, browser = make_user("mia"), Client()
    browser.force_login(mia)
    form = edit(mia)
    del form["is_active"]
    post(admin, f"auth/user/{mia.pk}/change/", form)
    assert browser.get("/").status_code == 302
    assert authenticate(username="mia", password=PASSWORD) is None
    assert trail() == [("operator.changed", {"operator": "mia", "changed": ["is_active"]})]


def test_a_new_password_is_set_and_the_old_one_forgotten(admin: Client) -> None:
    mia = make_user("mia")
    form = {"usable_password": "true", "set-password": "", "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    assert post(admin, f"auth/user/{mia.pk}/password/", form).status_code == 302
    assert authenticate(username="mia", password=NEW_PASSWORD) == mia
    assert authenticate(username="mia", password=PASSWORD) is None
    assert trail() == [("operator.changed", {"operator": "mia", "changed": ["password"]})]


def test_nobody_changes_their_own_role_or_locks_themselves_out(admin: Client, ada: User) -> None:
    form = edit(ada, role="viewer", email="ada@example.com")
    del form["is_active"]
    post(admin, f"auth/user/{ada.pk}/change/", form)
    ada.refresh_from_db()
    assert (role_of(ada), ada.is_active, ada.is_staff) == (Role.ADMIN, True, True)
    assert ada.email == "ada@example.com"


@pytest.mark.parametrize("field", ["is_superuser", "is_staff", "groups", "user_permissions", "password"])
def test_nobody_gets_more_through_the_form_than_a_role(admin: Client, field: str) -> None:
    mia = make_user("mia")
    before = User.objects.filter(pk=mia.pk).values().get()
    post(admin, f"auth/user/{mia.pk}/change/", edit(mia) | {field: "1"})
    assert User.objects.filter(pk=mia.pk).values().get() == before
    assert role_of(mia) is Role.OPERATOR


def test_a_superuser_is_beyond_the_reach_of_who_is_none(admin: Client) -> None:
    root = User.objects.create_superuser("root", password=PASSWORD)
    assert post(admin, f"auth/user/{root.pk}/change/", edit(root, username="mine")).status_code == 403
    form = {"usable_password": "true", "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    assert post(admin, f"auth/user/{root.pk}/password/", form).status_code == 403
    assert admin.get(f"/admin/auth/user/{root.pk}/change/").status_code == 200
