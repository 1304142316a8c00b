"""Registering tools: versions, settings, refusals, lists, and the audit trail."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from retrycontract.contract.schemas.admission import InvalidSchema
from retrycontract.contract.schemas.tool_lists import read_tool_list
from retrycontract.store.models import Event, Tool, ToolVersion
from retrycontract.usecases.counts.keep_count import WorkUsedUpError
from retrycontract.usecases.tools.register_tool import (
    ListTakesLongError,
    Registration,
    ToolSettings,
    import_tools,
    register_tool,
)
from retrycontract.usecases.tools.try_schema import dry_run
from tests.factories import DEPLOY, RIGHT, WRONG, make_agent
from tests.usecases.conftest import configure

pytestmark = pytest.mark.django_db

OTHER: dict[str, Any] = {"type": "object", "properties": {"q": {"type": "string"}}}


def register(schema: Any = None, **settings: Any) -> Any:
    agent = make_agent()
    chosen = DEPLOY if schema is None else schema
    return register_tool(agent, "deploy", chosen, now=timezone.now(), settings=ToolSettings(**settings))


def test_the_first_registration_makes_tool_and_version() -> None:
    done = register()
    assert (done.is_new_tool, done.is_new_version, done.version.number) == (True, True, 1)
    assert done.tool.current_version == done.version


def test_the_same_schema_again_changes_nothing() -> None:
    register()
    done = register(dict(reversed(DEPLOY.items())))
    assert (done.is_new_tool, done.is_new_version, done.version.number) == (False, False, 1)
    assert Event.objects.count() == 1


def test_a_changed_schema_makes_a_version_and_the_old_one_stays() -> None:
    old = register().version
    new = register(OTHER).version
    assert (new.number, Tool.objects.get().current_version) == (2, new)
    assert ToolVersion.objects.get(pk=old.pk).schema == DEPLOY


def test_an_old_schema_becomes_current_again_under_its_number() -> None:
    register()
    register(OTHER)
    done = register()
    assert (done.version.number, done.is_new_version) == (1, False)
    assert Tool.objects.get().current_version == done.version
    assert Event.objects.count() == 3


def test_settings_that_are_not_given_stay_as_they_are() -> None:
    register(hold=True, max_attempts=5, description="Deploys.")
    register(mode="observe")
    tool = Tool.objects.get()
    assert (tool.hold, tool.max_attempts, tool.mode, tool.description) == (True, 5, "observe", "Deploys.")
    register(hold=False)
    assert not Tool.objects.get().hold


def test_agents_of_one_namespace_share_their_tools_and_others_do_not() -> None:
    first = make_agent("first")
    second = make_agent("second")
    second.namespace = first.namespace
    tools = [register_tool(agent, "deploy", DEPLOY, now=timezone.now()).tool for agent in (first, second)]
    assert tools[0] == tools[1]
    assert register_tool(make_agent("third"), "deploy", DEPLOY, now=timezone.now()).tool != tools[0]


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"type": "objekt"}, "/type"),
        ({"properties": {"a": {"$ref": "https://example.com/s"}}}, "/properties/a/$ref"),
        ({"$ref": "#/$defs/none"}, "/$ref"),
        ("no schema", ""),
        (None, ""),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_and_nothing_is_stored(schema: Any, pointer: str) -> None:
    with pytest.raises(InvalidSchema) as refused:
        register_tool(make_agent(), "deploy", schema, now=timezone.now())
    assert refused.value.pointer == pointer
    assert not Tool.objects.exists()
    assert not Event.objects.exists()


def test_of_a_list_everything_that_can_be_is_registered() -> None:
    tools = [{"name": "good", "parameters": OTHER}, {"name": "bad", "parameters": {"type": "objekt"}}]
    result = import_tools(make_agent(), read_tool_list(tools), now=timezone.now())
    assert [done.tool.name for done in result.registered] == ["good"]
    assert [(name, fault.pointer) for name, fault in result.refused] == [("bad", "/type")]


def test_a_list_that_changes_nothing_is_read_in_one_query() -> None:
    agent = make_agent()
    tools = [{"name": f"tool {number}", "description": "Ships it.", "parameters": OTHER} for number in range(20)]
    first = import_tools(agent, read_tool_list(tools), now=timezone.now())
    with CaptureQueriesContext(connection) as queries:
        again = import_tools(agent, read_tool_list(tools), now=timezone.now())
    about = [each["sql"] for each in queries if "retrycontract_tool" in each["sql"]]
    assert len(about) == 1, about
    assert [(done.tool.pk, done.version.pk) for done in again.registered] == [
        (done.tool.pk, done.version.pk) for done in first.registered
    ]
    assert not any(done.is_new_tool or done.is_new_version for done in again.registered)
    assert Event.objects.count() == 20


CHANGES: list[tuple[dict[str, Any], ToolSettings, str]] = [
    ({"parameters": DEPLOY}, ToolSettings(), "schema"),
    ({"description": "Else."}, ToolSettings(), "description"),
    ({}, ToolSettings(strict=False), "strict"),
    ({}, ToolSettings(max_attempts=7), "max_attempts"),
]


@pytest.mark.parametrize(("change", "settings", "what"), CHANGES, ids=[what for *_, what in CHANGES])
def test_of_a_list_what_differs_in_anything_is_stored(change: Any, settings: ToolSettings, what: str) -> None:
    agent = make_agent()
    tools = [{"name": f"tool {number}", "description": "Ships it.", "parameters": OTHER} for number in range(3)]
    before = [done.tool.revision for done in import_tools(agent, read_tool_list(tools), now=timezone.now()).registered]
    tools[1] |= change
    after = import_tools(agent, read_tool_list(tools), settings=settings, now=timezone.now()).registered
    assert [done.tool.revision for done in after] == [done.tool.revision for done in map(_stored, after)]
    assert after[1].tool.revision != before[1]
    assert after[1].is_new_version == (what == "schema")


def _stored(done: Registration) -> Registration:
    return replace(done, tool=Tool.objects.select_related("current_version").get(pk=done.tool.pk))


def test_of_a_tool_that_stands_twice_in_a_list_the_last_description_stays() -> None:
    agent = make_agent()
    tools = [{"name": "deploy", "description": text, "parameters": OTHER} for text in ("Ships it.", "Sends it.")]
    for listed in (tools, tools, tools[::-1]):
        import_tools(agent, read_tool_list(listed), now=timezone.now())
        assert Tool.objects.get().description == listed[-1]["description"]


def test_a_list_that_takes_long_goes_on_where_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrycontract.usecases.tools.register_tool.LONGEST_IMPORT", 0.1)
    agent = make_agent()
    listed = [{"name": f"tool {number}", "parameters": wide(1000 + number)} for number in range(40)]
    listed += [{"name": f"bad {number}", "parameters": {**wide(number), "type": "objekt"}} for number in range(40)]
    tools = read_tool_list(listed)
    with pytest.raises(ListTakesLongError):
        import_tools(agent, tools, now=timezone.now())
    for _ in range(100):
        with suppress(ListTakesLongError):
            result = import_tools(agent, tools, now=timezone.now())
            break
    assert len(result.registered) == Tool.objects.count() == 40
    assert sum(done.is_new_tool for done in result.registered) < 40
    assert len(result.refused) == 40


def test_a_dry_run_tells_the_verdict_and_the_text_and_stores_nothing() -> None:
    right = dry_run(DEPLOY, RIGHT, tool_name="deploy", strict=True, attempt=1, max_attempts=3)
    wrong = dry_run(DEPLOY, WRONG, tool_name="deploy", strict=True, attempt=3, max_attempts=3)
    assert (right.is_valid, right.feedback) == (True, "")
    assert not wrong.is_valid
    assert "(attempt 3/3)" in wrong.feedback
    assert "Blocked" in wrong.feedback
    assert not Tool.objects.exists()


def wide(number: int) -> dict[str, Any]:
    """Give a schema that takes milliseconds to admit."""
    properties = {f"p{at}": {"type": "string", "pattern": f"^a{at}"} for at in range(150)}
    return {"title": f"{number}", "properties": properties}


def test_a_list_ends_where_the_agent_has_used_up_its_work(settings: Settings) -> None:
    configure(settings, work_seconds_per_minute=1e-5, work_burst_seconds=1e-8)
    agent = make_agent()
    # So many take more than the tenth of a second that is charged at a time.
    tools = [{"name": f"tool {number}", "parameters": wide(number)} for number in range(300)]
    with pytest.raises(WorkUsedUpError):
        import_tools(agent, read_tool_list(tools), now=timezone.now())
    assert not Tool.objects.exists()


def test_a_schema_that_is_refused_is_charged_for_as_well() -> None:
    agent = make_agent()
    with pytest.raises(InvalidSchema):
        register_tool(agent, "deploy", {"type": "objekt"}, now=timezone.now())
    agent.refresh_from_db()
    assert agent.work_until > timezone.now().timestamp() - 60


def test_a_dry_run_of_a_schema_that_is_refused_is_charged_for_as_well() -> None:
    agent = make_agent()
    with pytest.raises(InvalidSchema):
        dry_run({"type": "objekt"}, {}, tool_name="x", strict=True, attempt=1, max_attempts=3, agent=agent)
    agent.refresh_from_db()
    assert agent.work_until > timezone.now().timestamp() - 60
