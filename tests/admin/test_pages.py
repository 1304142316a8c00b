"""Every model has its page; history can only be read; what models wrote is text."""

from __future__ import annotations

import re
from datetime import UTC
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin as django_admin
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.db.models import QuerySet
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from dashboard.navigation import Role
from retrycontract.admin import pages
from retrycontract.store.models import (
    Agent,
    AnswerRecord,
    ApiKey,
    Attempt,
    Call,
    ChannelTurn,
    Claim,
    Escalation,
    Event,
    FailedLogins,
    Guidance,
    GuidanceVersion,
    HeldAnswer,
    IdempotencyKey,
    LoggedResponse,
    Notice,
    OutboxMessage,
    Preferences,
    ProviderIdentity,
    Rollup,
    SavedReply,
    SecondFactor,
    Snooze,
    StandingHint,
    Summary,
    Tool,
    ToolVersion,
    WebhookDelivery,
    WebhookEndpoint,
    WorkerBeat,
)
from tests.admin.conftest import post
from tests.factories import RIGHT, make_agent, make_blocked, make_call, make_tool, make_user, submit

pytestmark = pytest.mark.django_db

HISTORY: list[type[Any]] = [Call, Attempt, LoggedResponse, Escalation, Guidance, GuidanceVersion, Event, ToolVersion]
HISTORY += [Preferences, ProviderIdentity, SecondFactor]
HISTORY += [IdempotencyKey, Rollup, Summary, OutboxMessage, WebhookDelivery, Notice, ChannelTurn, WorkerBeat]
HISTORY += [FailedLogins, Agent, ApiKey, WebhookEndpoint]
HISTORY += [Claim, Snooze, HeldAnswer, SavedReply, AnswerRecord, StandingHint]
MODELS: list[type[Any]] = [Tool, User, *HISTORY]
CANARY = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


def address(model: type[Any], page: str = "changelist", *arguments: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=arguments)


def every_page(client: Client) -> dict[str, str]:
    """Read the list of every model and the page of its newest row."""
    found = {}
    for model in MODELS:
        row = model._default_manager.order_by("-pk").first()
        for path in (address(model), address(model, "change", row.pk)):
            response = client.get(path)
            assert response.status_code == 200, path
            found[path] = response.content.decode()
    return found


def test_every_model_of_ours_has_a_page() -> None:
    assert set(apps.get_app_config("retrycontract").get_models()) <= set(django_admin.site._registry)


def test_every_page_opens(admin: Client, answered: Call) -> None:
    assert len(every_page(admin)) == 2 * len(MODELS)


def test_the_index_groups_the_pages_by_what_they_are_about(admin: Client) -> None:
    page = admin.get("/admin/").content.decode()
    titles = re.findall(r"<caption>\s*<a[^>]*>\s*([^<]+?)\s*</a>", page)
    assert titles == [
        "Who comes in",
        "What is checked",
        "What happened",
        "How people answer",
        "What goes out",
        "Who works",
    ]
    assert page.count('scope="row"') == len(MODELS)


@pytest.mark.parametrize("path", ["/admin/", "/admin/retrycontract/call/", "/admin/auth/user/add/"])
def test_the_admin_asks_for_a_login_at_the_desks_own_page(client: Client, path: str) -> None:
    page = client.get(path, follow=True)
    assert page.redirect_chain[-1][0] == f"/login/?next={path}"
    assert "dashboard/css/tokens.css" in page.content.decode()


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
@pytest.mark.parametrize("path", ["/admin/", "/admin/login/", "/admin/retrycontract/call/", "/admin/auth/user/add/"])
def test_who_is_no_administrator_is_refused(client: Client, role: Role, path: str) -> None:
    client.force_login(make_user("vera", role))
    assert client.get(path, follow=True).status_code == 403


@pytest.mark.parametrize(("role", "is_shown"), [(Role.OPERATOR, False), (Role.ADMIN, True)])
def test_the_desk_leads_to_the_admin_whom_it_lets_in(client: Client, role: Role, is_shown: bool) -> None:
    client.force_login(make_user("noah", role))
    assert ('href="/admin/"' in client.get("/").content.decode()) is is_shown


def test_the_login_leads_back_to_pages_of_ours_alone(admin: Client) -> None:
    assert admin.get("/admin/login/?next=/admin/retrycontract/call/")["Location"] == "/admin/retrycontract/call/"
    assert admin.get("/admin/login/?next=https://evil.example/")["Location"] == "/admin/"


def test_history_can_only_be_read(admin: Client, answered: Call) -> None:
    for model in HISTORY:
        row = model._default_manager.order_by("-pk").first()
        before = model._default_manager.filter(pk=row.pk).values().get()
        assert admin.get(address(model, "add")).status_code == 403, model
        assert admin.get(address(model, "delete", row.pk)).status_code == 403, model
        assert admin.post(address(model, "delete", row.pk), {"post": "yes"}).status_code == 403, model
        assert admin.post(address(model, "change", row.pk), {"state": "valid", "name": "x"}).status_code == 403, model
        page = admin.get(address(model, "change", row.pk)).content.decode()
        assert not re.search(
            r'<(input|textarea|select)[^>]*name="(?!csrfmiddlewaretoken)\w+-?\d*-?(state|text|data)"', page
        ), model
        assert 'name="_save"' not in page, model
        admin.post(address(model), {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"})
        assert model._default_manager.filter(pk=row.pk).values().get() == before, model


@pytest.mark.parametrize("model", [Agent, Tool, User, WebhookEndpoint], ids=lambda model: model.__name__)
def test_nothing_that_history_names_can_be_deleted(admin: Client, answered: Call, model: type[Any]) -> None:
    row = model._default_manager.order_by("-pk").first()
    assert admin.post(address(model, "delete", row.pk), {"post": "yes"}).status_code == 403


def test_what_models_wrote_is_text_on_every_page(admin: Client, answered: Call) -> None:
    agent = make_agent()
    name = "<b>bold</b>\u202egnp"
    make_tool(agent, name)
    wrong = {"service": "<script>alert(1)</script>", "region": "\u202edesrever"}
    make_blocked(agent, wrong, tool=name, correlation_id="c\u202e", task_id="t\u202e", context={"<b>bold": "\u202e"})
    for path, page in every_page(admin).items():
        assert "<b>bold" not in page, path
        assert "<script>alert" not in page, path
        assert "\u202e" not in page, path
    page = admin.get(address(Attempt, "change", Attempt.objects.latest("pk").pk)).content.decode()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "\\u202edesrever" in page


def test_no_page_shows_a_secret(admin: Client, answered: Call, settings: Settings) -> None:
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"judge": "worker"})
    agent = make_agent()
    waiting = submit(agent, {"service": "web", "token": CANARY})
    key, text = ApiKey.create_for(agent, timezone.now())
    user = User.objects.get(username="ada")
    endpoint = WebhookEndpoint.objects.get()
    (secret,) = endpoint.secrets_at(timezone.now())
    hidden = [
        secret,
        bytes(endpoint.sealed).decode()[:40],
        CANARY,
        text,
        key.digest,
        user.password,
        user.password[-12:],
        bytes(waiting.sealed or b"").decode()[:40],
    ]
    for path, page in every_page(admin).items():
        for secret in hidden:
            assert secret not in page, path


def test_the_sealed_submission_is_not_even_read(admin: Client, answered: Call) -> None:
    attempt = Attempt.objects.latest("pk")
    with CaptureQueriesContext(
        connection,
    ) as queries:
        admin.get(address(Attempt))
        admin.get(address(Attempt, "change", attempt.pk))
        admin.get(address(Call, "change", attempt.call_id))
    assert not [query["sql"] for query in queries if '"retrycontract_attempt"."sealed"' in query["sql"]]


def test_no_list_counts_a_whole_table(admin: Client, answered: Call) -> None:
    with CaptureQueriesContext(connection) as queries:
        for model in MODELS:
            admin.get(address(model))
    counting = [query["sql"] for query in queries if "COUNT(" in query["sql"]]
    assert len(counting) == len(MODELS)
    assert [sql for sql in counting if f"LIMIT {pages.MAX_COUNTED + 1}" not in sql] == []


def test_a_number_that_counting_stopped_at_is_shown_as_such(admin: Client) -> None:
    rows = [{"actor": "ada", "name": "agent.renamed", "door": "admin", "at": timezone.now(), "data": {}}] * 2
    Event.objects.bulk_create(Event(**row) for row in rows * (pages.MAX_COUNTED // 2))
    count = Event.objects.count()
    assert f"{count} results" in admin.get(address(Event)).content.decode() or count > pages.MAX_COUNTED
    Event.record("agent.renamed", actor="ada", door="admin", at=timezone.now())
    assert "5,000+ results" in admin.get(address(Event)).content.decode()


@pytest.mark.parametrize("model", [Call, Attempt, Escalation, Guidance, Event], ids=lambda model: model.__name__)
def test_history_is_searched_by_exact_words_that_an_index_finds(
    admin: Client, answered: Call, model: type[Any]
) -> None:
    other = make_blocked(make_agent("other"))
    with CaptureQueriesContext(connection) as queries:
        page = admin.get(address(model), {"q": f" {answered.public_id} "}).content.decode()
    assert answered.public_id in page
    assert other.public_id not in page
    table = model._meta.db_table
    asked = [query["sql"] for query in queries if f'FROM "{table}"' in query["sql"]]
    assert asked
    assert not [sql for sql in asked if "LIKE '%" in sql or (" OR " in sql and model is not Call)]


@pytest.mark.parametrize(
    ("model", "words", "rows"),
    [
        (Escalation, "{escalation}", 1),
        (Escalation, "something else", 0),
        (Guidance, "ada", 1),
        (Guidance, "noah", 0),
        (Event, "guidance.given", 1),
        (Event, "guidance", 0),
        (Attempt, "toolu_1", 0),
        (Call, "dep", 1),
        (SavedReply, "region", 1),
        (SavedReply, "nothing", 0),
        (StandingHint, "deploy", 1),
        (StandingHint, "depl", 0),
        (Claim, "{call}", 1),
        (Claim, "call_other", 0),
    ],
)
def test_a_search_finds_what_its_help_says(
    admin: Client, answered: Call, model: type[Any], words: str, rows: int
) -> None:
    found = words.format(escalation=answered.escalations.get().public_id, call=answered.public_id)
    page = admin.get(address(model), {"q": found}).content.decode()
    assert len(re.findall(r'<th class="field-|<td class="field-pk|<th class="field-pk', page)) == rows


@pytest.mark.parametrize("model", [Claim, Snooze, HeldAnswer, Escalation], ids=lambda model: model.__name__)
def test_a_list_of_the_desks_work_shows_state_agent_and_time(admin: Client, answered: Call, model: type[Any]) -> None:
    page = admin.get(address(model)).content.decode()
    assert re.search(r'class="field-state[^>]*>\w+<', page)
    assert re.search(r'class="field-agent[^>]*>deployer<', page)
    assert re.search(r'class="field-\w+_at nowrap">', page)


def test_lists_can_be_filtered(admin: Client, answered: Call) -> None:
    valid = make_call(make_agent(), [RIGHT])
    for query, shown in (({"state__exact": "valid"}, valid), ({"state__exact": "guided"}, answered)):
        page = admin.get(address(Call), query).content.decode()
        assert {call.public_id for call in (valid, answered) if call.public_id in page} == {shown.public_id}
    assert admin.get(address(Event), {"door__exact": "dashboard"}).content.decode().count("guidance.given") == 1
    for state, count in (("active", 1), ("revoked", 0), ("expired", 0)):
        assert admin.get(address(ApiKey), {"state": state}).content.decode().count('"field-prefix') == count


def queries_of_lists(admin: Client) -> dict[type[Any], int]:
    found = {}
    for model in MODELS:
        with CaptureQueriesContext(connection) as queries:
            admin.get(address(model))
        found[model] = len(queries)
    return found


def test_lists_cost_the_same_however_long_they_are(admin: Client, answered: Call) -> None:
    before = queries_of_lists(admin)
    for number in range(3):
        make_blocked(make_agent(f"agent-{number}"))
    assert queries_of_lists(admin) == before


def test_what_a_list_shows_is_read_with_its_rows(
    admin: Client, answered: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = queries_of_lists(admin)
    monkeypatch.setattr(QuerySet, "defer", lambda rows, *_: rows)
    assert queries_of_lists(admin) == found


def test_pages_carry_no_inline_script_or_style(admin: Client, answered: Call) -> None:
    for path, page in (every_page(admin) | {"index": admin.get("/admin/").content.decode()}).items():
        assert "<style" not in page, path
        assert " style=" not in page, path
        assert not re.search(r"<script(?![^>]* src=)", page), path
        assert not re.search(r"<[^>]* on\w+=", page), path


def test_every_heading_of_a_table_has_words(admin: Client, answered: Call) -> None:
    for path, page in every_page(admin).items():
        headings = re.findall(r"<th[ >].*?</th>", page, re.DOTALL)
        assert [one for one in headings if not re.sub(r"<(?!input[^>]* aria-label=)[^>]*>", "", one).strip()] == [], (
            path
        )


def test_the_rows_of_a_row_lead_to_their_own_pages(admin: Client, answered: Call) -> None:
    page = admin.get(address(Call, "change", answered.pk)).content.decode()
    rows = [*answered.attempts.order_by("-number"), *answered.escalations.order_by("-round")]
    assert re.findall(r'<th scope="row"><a\s+href="([^"]+)"', page) == [
        address(type(row), "change", row.pk) for row in rows
    ]


def test_the_policy_of_the_pages_is_as_strict_as_everywhere(admin: Client) -> None:
    policy = admin.get("/admin/")["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "script-src 'self'" in policy


def test_pages_are_never_stored_by_browsers(admin: Client, answered: Call) -> None:
    assert "no-store" in admin.get(address(Attempt, "change", Attempt.objects.latest("pk").pk))["Cache-Control"]


def test_a_call_and_a_tool_lead_to_their_pages_at_the_desk(admin: Client, answered: Call) -> None:
    page = admin.get(address(Call, "change", answered.pk)).content.decode()
    assert f'href="/calls/{answered.public_id}/"' in page
    tool = Tool.objects.latest("pk")
    assert f'href="/tools/{tool.pk}/"' in admin.get(address(Tool, "change", tool.pk)).content.decode()


@pytest.mark.parametrize(
    ("model", "query"),
    [(Call, "q={call}"), (Attempt, "q={call}"), (Guidance, "q={call}"), (Tool, "of=retrycontract.tool.{tool}")],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_the_history_of_a_row_is_the_audit_trail(admin: Client, answered: Call, model: type[Any], query: str) -> None:
    row = model._default_manager.latest("pk")
    target = admin.get(address(model, "history", row.pk))["Location"]
    assert target == f"/admin/retrycontract/event/?{query.format(call=answered.public_id, tool=row.pk)}"


def test_the_log_of_django_stays_empty(admin: Client, ada: User) -> None:
    row = make_tool(make_agent())
    inline = {"versions-TOTAL_FORMS": 0, "versions-INITIAL_FORMS": 0, "expires_after": "", "on_expiry": ""}
    post(admin, f"retrycontract/tool/{row.pk}/change/", {"mode": "observe"} | inline)
    assert Tool.objects.get().mode == "observe"
    assert not apps.get_model("admin", "LogEntry").objects.exists()


def test_the_checks_of_django_find_nothing_wrong_with_the_pages() -> None:
    call_command("check", "admin", fail_level="WARNING")


def test_the_list_of_calls_says_of_how_many_attempts_only_where_more_may_come(admin: Client) -> None:
    call = make_blocked()
    assert ">3 of 3<" in admin.get("/admin/retrycontract/call/").content.decode()
    submit(make_agent(), RIGHT, call=call)
    page = admin.get("/admin/retrycontract/call/").content.decode()
    assert (">4<" in page, ">4 of 3<" in page) == (True, False)
    assert "Finds a part of a tool’s name" in page


def test_times_are_written_as_the_desk_writes_them(admin: Client, answered: Call) -> None:
    pages = every_page(admin)
    at = answered.updated_at.astimezone(UTC)
    for part in ("changelist", "change"):
        body = pages[address(Call, part, *([answered.pk] if part == "change" else []))]
        assert f"{at:%Y-%m-%d %H:%M:%S} UTC" in body
    american = re.compile(r"\b(?:[ap]\.m\.|noon|midnight)|\b[A-Z][a-z]{2,8}\.? \d{1,2}, \d{4}")
    assert {path: american.findall(body) for path, body in pages.items() if american.search(body)} == {}


@pytest.mark.parametrize("year", ["99999", "0", "-1"])
def test_a_year_that_there_is_not_is_taken_out_of_the_address(admin: Client, answered: Call, year: str) -> None:
    response = admin.get(f"/admin/retrycontract/call/?created_at__year={year}", follow=True)
    assert (response.status_code, response.redirect_chain) == (200, [("/admin/retrycontract/call/?e=1", 302)])
