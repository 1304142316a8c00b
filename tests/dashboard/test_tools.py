"""The tools at the desk: how each fares, and a schema that is looked at before it is registered."""

from __future__ import annotations

import copy
import json
import re
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.tools.tool_figures import MOST_TOOLS, draw_heat
from retrycontract.contract.outputs import Kind
from retrycontract.store.models import Event, Tool, ToolVersion
from retrycontract.usecases.counts.read_insights import Heat
from retrycontract.usecases.tools.register_tool import register_tool
from tests.contract.quoted_secrets import GITHUB, REFUSED, WARNED, leaked
from tests.dashboard.conftest import text_of
from tests.factories import DEPLOY, RIGHT, WRONG, make_agent, make_call, make_tool

pytestmark = pytest.mark.django_db
TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
WIDER = copy.deepcopy(DEPLOY)
WIDER["properties"]["region"]["enum"].append("europe")


@pytest.fixture
def tool() -> Tool:
    """A tool with a failure and a success."""
    made = make_tool(make_agent())
    make_call(make_agent(), [WRONG, RIGHT])
    return made


def send(client: Client, tool: Tool, schema: Any, step: str, base: str | None = None) -> Any:
    """Send the editor's form; `base` is the revision that it was opened with, the present one unless given."""
    text = schema if isinstance(schema, str) else json.dumps(schema)
    revision = Tool.objects.select_related("current_version").get(pk=tool.pk).revision if base is None else base
    return client.post(f"/tools/{tool.pk}/schema/", {"schema": text, "step": step, "base": revision})


def test_the_list_begins_with_the_tool_that_fails_most(desk: Client, tool: Tool) -> None:
    make_tool(make_agent("other"), "a_quiet_one")
    text = text_of(desk.get("/tools/"))
    assert "deploy deployer 0% 50% 2 1 " in text.replace("deploydeployer", "deploy deployer")
    assert text.index("deploy") < text.index("a_quiet_one")
    assert "not called" in text


def test_a_list_that_is_cut_keeps_the_tool_that_fails_most(desk: Client, tool: Tool) -> None:
    at = timezone.now()
    Tool.objects.bulk_create(
        Tool(namespace="a", name=f"quiet-{number}", created_at=at, updated_at=at) for number in range(MOST_TOOLS)
    )
    assert f'href="/tools/{tool.pk}/?range=7d"' in desk.get("/tools/").content.decode()


def test_the_list_is_searched_by_a_part_of_the_name(desk: Client, tool: Tool) -> None:
    make_tool(make_agent(), "scale")
    page = desk.get("/tools/?q=PLO").content.decode()
    assert (f'href="/tools/{tool.pk}/?range=7d"' in page, ">scale<" in page) == (True, False)
    assert "No tool is called" in text_of(desk.get("/tools/?q=%00x"))


def test_no_tool_yet_is_said_with_what_to_do(desk: Client) -> None:
    assert "No tool is registered yet" in text_of(desk.get("/tools/"))


def test_the_page_says_where_it_fails_how_it_is_judged_and_what_failed_last(desk: Client, tool: Tool) -> None:
    text = text_of(desk.get(f"/tools/{tool.pk}/"))
    for words in ("Valid at first try 0%", "Where it fails", "/region", "VAL-008", "deployer, attempt 1",
                  "A Blocked call waits 7 days as configured", "Version 1"):  # fmt: skip
        assert words in text
    assert "Edit the schema" not in text, "an operator may not"


def test_a_slip_in_a_stored_schema_is_said_as_by_the_doctor(desk: Client, tool: Tool) -> None:
    assert "slip" not in text_of(desk.get(f"/tools/{tool.pk}/"))
    ToolVersion.objects.update(schema={"properties": {"a": {"x-sensitve": True}}})
    said = text_of(desk.get(f"/tools/{tool.pk}/"))
    assert re.search(r"has a slip at /properties/a/x-sensitve: .* Mend it and register the tool again\.", said)


def test_versions_are_compared_by_place(desk: Client, tool: Tool) -> None:
    register_tool(make_agent(), "deploy", WIDER, now=timezone.now())
    text = text_of(desk.get(f"/tools/{tool.pk}/"))
    assert "Version 2 present" in text
    assert "added /properties/region/enum/2" in text


def test_failures_of_an_observed_tool_are_marked(desk: Client) -> None:
    tool = make_tool(make_agent())
    Tool.objects.update(mode="observe")
    make_call(make_agent(), [WRONG])
    text = text_of(desk.get(f"/tools/{tool.pk}/"))
    assert "Its failures below blocked nothing" in text
    assert "let through" in text
    assert "Observed" in text_of(desk.get("/tools/"))


def test_a_version_in_quarantine_is_shown_and_released(admin: Client, desk: Client, tool: Tool) -> None:
    assert tool.current_version is not None
    tool.current_version.quarantine(timezone.now())
    assert "quarantine" in text_of(desk.get("/tools/"))
    assert "Release version 1" not in text_of(desk.get(f"/tools/{tool.pk}/"))
    assert "Release version 1" in text_of(admin.get(f"/tools/{tool.pk}/"))
    admin.post(f"/tools/{tool.pk}/versions/1/release/")
    assert "quarantine" not in text_of(admin.get(f"/tools/{tool.pk}/"))
    event = Event.objects.get(name="version.released")
    assert (event.actor, event.door) == ("ada", "dashboard")
    assert admin.post(f"/tools/{tool.pk}/versions/9/release/").status_code == 404


def test_a_schema_is_tried_and_nothing_is_stored(admin: Client, tool: Tool) -> None:
    page = send(admin, tool, WIDER, "try")
    text = text_of(page)
    assert "failures that would be valid 1 of 1" in text
    assert "valid outputs that would fail 0 of 1" in text
    assert "added /properties/region/enum/2" in text
    assert json.dumps("europe") in page.content.decode().replace("&quot;", '"')
    assert tool.versions.count() == 1


def test_what_was_redacted_is_said_plainly(admin: Client, tool: Tool) -> None:
    make_call(make_agent(), [WRONG | {"service": TOKEN}])
    text = text_of(send(admin, tool, WIDER, "try"))
    assert "1 output could not be tried: secrets in them were taken out" in text
    assert TOKEN not in text


def test_a_schema_is_registered_by_whom_the_trail_names(admin: Client, tool: Tool) -> None:
    page = text_of(admin.get(send(admin, tool, WIDER, "save")["Location"]))
    assert "Version 2 is registered" in page
    event = Event.objects.filter(name="tool.registered").latest("pk")
    assert (event.actor, event.door, event.data["version"]) == ("ada", "dashboard", 2)
    assert "Version 1 is the present one" in text_of(admin.get(send(admin, tool, DEPLOY, "save")["Location"]))


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "objekt"}, "At /type:"),
        ({"properties": {"a": {"$ref": "https://x.example/y"}}}, "At /properties/a/$ref:"),
        ('{"type": "object"', "This is not JSON yet"),
        ('{"const": "[REDACTED: GITHUB_TOKEN]"}', "Write the value where"),
        ("", "This field is required"),
    ],
    ids=["metaschema", "remote", "no JSON", "redacted", "empty"],
)
@pytest.mark.parametrize("step", ["try", "save"])
def test_a_refusal_is_told_at_its_place_and_the_text_is_kept(
    admin: Client, tool: Tool, schema: Any, said: str, step: str
) -> None:
    page = send(admin, tool, schema, step)
    assert page.status_code == 422
    assert said in text_of(page)
    typed = schema if isinstance(schema, str) else json.dumps(schema)
    assert typed.replace('"', "&quot;") in page.content.decode()
    assert tool.versions.count() == 1


def test_a_version_that_came_meanwhile_is_not_replaced_unseen(admin: Client, tool: Tool) -> None:
    other, before = WIDER | {"title": "Other"}, tool.revision
    now = register_tool(make_agent(), "deploy", other, now=timezone.now()).tool.revision
    page = send(admin, tool, WIDER, "save", before)
    assert page.status_code == 409
    assert "Somebody changed this tool while you were writing; it has version 2 now" in text_of(page)
    assert f'value="{now}"' in page.content.decode()
    assert "removed /title" in text_of(page)
    assert send(admin, tool, WIDER, "save", now).status_code == 302


def test_a_session_that_ended_keeps_the_schema(admin: Client, tool: Tool) -> None:
    Session.objects.all().delete()
    page = send(admin, tool, WIDER, "save")
    assert page.status_code == 401
    assert "Nothing was sent" in text_of(page)
    assert "europe" in page.content.decode()


def new(client: Client, **fields: Any) -> Any:
    given = {"agent": make_agent().pk, "name": "scale", "kind": "tool_call", "schema": json.dumps(DEPLOY)}
    return client.post("/tools/new/", given | fields)


def test_a_tool_is_registered_at_the_desk(admin: Client) -> None:
    assert new(admin, kind="extraction", description="Reads invoices").status_code == 302
    tool = Tool.objects.get()
    assert (tool.namespace, tool.name, tool.kind, tool.description) == (
        "deployer", "scale", Kind.EXTRACTION, "Reads invoices",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": "deploy"}, "has a tool of that name already"),
        ({"name": "a\x1fb"}, "Enter a valid value"),
        ({"name": ""}, "This field is required"),
        ({"schema": '{"type": 3}'}, "At /type:"),
        ({"kind": "source_file", "schema": '{"x-language": "klingon"}'}, "klingon"),
    ],
    ids=["taken", "control", "nameless", "schema", "language"],
)
def test_a_tool_that_cannot_be_is_refused_with_all_that_was_typed(
    admin: Client, tool: Tool, fields: dict[str, Any], said: str
) -> None:
    page = new(admin, description="What it does", **fields)
    assert page.status_code == 422
    assert said in text_of(page)
    assert "What it does" in page.content.decode()
    assert Tool.objects.count() == 1


def test_secrets_of_a_schema_are_not_shown_to_be_edited(admin: Client) -> None:
    tool = make_tool(make_agent(), schema={"properties": {"key": {"const": TOKEN}}})
    page = admin.get(f"/tools/{tool.pk}/schema/")
    assert TOKEN not in page.content.decode()
    assert "This schema holds secrets" in text_of(page)


def test_names_and_outputs_are_text(desk: Client) -> None:
    tool = make_tool(make_agent(), "<b>x\u202e", WIDER)
    make_call(make_agent(), [{"<script>y": "\u202e"}], tool="<b>x\u202e")
    for path in ("/tools/", f"/tools/{tool.pk}/", "/tools/?q=%3Cb%3Ex"):
        page = desk.get(path).content.decode()
        assert "<b>x" not in page
        assert "<script>y" not in page
        assert "\u202e" not in page


def test_a_heat_map_has_the_hottest_fields_and_says_how_many_others() -> None:
    heat = draw_heat([Heat(f"/f{n}", "VAL-001", 100 - n) for n in range(25)] + [Heat("/f0", "VAL-008", 1)])
    assert [row.place for row in heat.rows][:2] == ["/f0", "/f1"]
    assert (len(heat.rows), heat.hidden, [str(code) for code in heat.codes]) == (20, 5, ["VAL-001", "VAL-008"])
    assert [(cell.amount, cell.degree) for cell in heat.rows[0].cells] == [(100, 5), (1, 1)]
    assert draw_heat([]).rows == ()


@pytest.mark.parametrize("path", ["/tools/", "/tools/{}/"])
def test_a_page_costs_the_same_however_much_there_is(desk: Client, tool: Tool, path: str) -> None:
    asked = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            desk.get(path.format(tool.pk))
        asked.append(len(queries))
        for number in range(6):
            make_tool(make_agent(), f"tool-{number}")
            make_call(make_agent(), [{}, [], RIGHT], at=timezone.now() - timedelta(hours=number))
        register_tool(make_agent(), "deploy", WIDER, now=timezone.now())
    assert asked[0] == asked[1]


@pytest.mark.parametrize("step", ["try", "save"])
def test_what_does_nothing_in_a_schema_is_told_beside_it(admin: Client, tool: Tool, step: str) -> None:
    reply = send(admin, tool, {"properties": {"<b>": {"maxlength": 3, "pattern": "^(?!x)"}}}, step)
    page = reply if step == "try" else admin.get(reply.url)
    text = text_of(page)
    assert "At /properties/<b>/maxlength: `maxlength` is no keyword and does nothing; did you mean `maxLength`?" in text
    assert "Outputs are judged in a child process, and cut off when they take too long: The pattern '^(?!x)'" in text
    assert "<b>" not in page.content.decode().partition("</head>")[2].replace("<bdi>", "")


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        (json.dumps(WIDER, indent=2), "It is described in line"),
        (json.dumps(WIDER), "The schema describes it;"),  # laid out in another way: no line is sure
        ('{"type": "object"}', "The schema describes no such field;"),
        ("{", "The schema describes no such field;"),
    ],
)
def test_the_way_back_to_the_insights_stays_however_often_a_schema_is_tried(
    admin: Client, tool: Tool, schema: str, says: str
) -> None:
    address = f"/tools/{tool.pk}/schema/?field=/region&back=range%3D30d%26by%3Dtokens"
    page = admin.get(address)
    for _ in range(2):
        body = page.content.decode()
        assert 'href="/insights/?range=30d&amp;by=tokens"' in body
        action = unescape(re.findall(r'action="(/tools/[^"]*)"', body)[0])
        page = admin.post(action, {"schema": schema.replace("\n", "\r\n"), "base": tool.revision, "step": "try"})
        assert says in text_of(page)
    # A mistake of the whole output has no field, and a way back all the same.
    assert "Back to the insights" in text_of(admin.get(f"/tools/{tool.pk}/schema/?back=range%3D30d"))
    assert "Back to the insights" not in text_of(admin.get(f"/tools/{tool.pk}/schema/"))


# The page gives back what was typed, to whom typed it: what it says of that is looked at, and not the field.
FIELD = re.compile(r"<textarea.*?</textarea>", re.DOTALL)


@pytest.mark.parametrize("keyword", REFUSED)
def test_what_is_said_of_a_typed_schema_holds_no_part_of_its_secrets(admin: Client, keyword: str) -> None:
    page = new(admin, schema=json.dumps(REFUSED[keyword](f"a/{GITHUB}")))
    assert page.status_code == 422
    assert leaked(GITHUB, FIELD.sub("", page.content.decode()), "") == []


@pytest.mark.parametrize("keyword", WARNED)
def test_a_warning_at_the_desk_holds_no_part_of_a_secret(admin: Client, keyword: str) -> None:
    page = new(admin, schema=json.dumps(WARNED[keyword](f"a/{GITHUB}")))
    told = "".join(map(str, get_messages(page.wsgi_request)))
    assert (page.status_code, bool(told)) == (302, True)
    assert leaked(GITHUB, told, "") == []


def test_a_typed_text_that_is_no_json_is_told_without_its_secrets(admin: Client) -> None:
    page = FIELD.sub("", new(admin, schema=f'{{"{GITHUB}": 1, "{GITHUB}": 2}}').content.decode())
    assert "appears twice" in page
    assert leaked(GITHUB, page, "") == []


def test_no_page_and_no_copy_says_what_a_secret_field_allows(admin: Client, tmp_path: Path) -> None:
    secret, made = "Tr0ub4dor" + "&3xy", make_agent()
    schema = {"properties": {"f": {"x-sensitive": True, "enum": [secret, "bb"]}, "password": {"const": secret}}}
    tool = make_tool(made, "note", schema)
    call = make_call(made, [{"f": "no", "password": "no"}], tool="note")
    paths = [
        f"/tools/{tool.pk}/",
        f"/tools/{tool.pk}/schema/",
        f"/calls/{call.public_id}/",
        f"/playground/?tool={tool.pk}",
    ]
    version = tool.current_version
    assert version is not None
    for path in [*paths, f"/admin/retrycontract/toolversion/{version.pk}/change/"]:
        page = admin.get(path)
        assert page.status_code == 200, path
        assert secret not in unescape(page.content.decode()), path
    call_command("export", str(tmp_path / "copy"), verbosity=0)
    copy = (tmp_path / "copy").read_text()
    assert secret not in copy
    assert '"note"' in copy
