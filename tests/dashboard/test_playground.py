"""The playground: a verdict, the exact feedback in every provider's shape, and nothing stored or given away."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.playground import EXAMPLES, TITLES
from retrycontract.children.pool import Limits, bound_shared_pool
from retrycontract.contract.feedback.tool_result import RENDERERS
from retrycontract.usecases.tools.try_schema import dry_run
from tests.dashboard.conftest import HTMX, text_of
from tests.factories import DEPLOY, RIGHT, WRONG, make_agent, make_tool

pytestmark = pytest.mark.django_db
TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
MARK = "[REDACTED: GITHUB_TOKEN]"
SEALED = {"type": "object", "properties": {"key": {"const": TOKEN}}, "required": ["key"]}


def typed(schema: Any = None, output: Any = None, **more: str) -> dict[str, str]:
    """Give a form as it is sent."""
    texts = {"schema": DEPLOY if schema is None else schema, "output": WRONG if output is None else output}
    written = {name: text if isinstance(text, str) else json.dumps(text) for name, text in texts.items()}
    return {"name": "deploy", "kind": "tool_call", "attempt": "1", "max_attempts": "3", "strict": "on"} | written | more


def try_it(client: Client, *args: Any, **more: str) -> Any:
    return client.post("/playground/", typed(*args, **more))


def rows() -> int:
    return sum(model._default_manager.count() for model in apps.get_app_config("retrycontract").get_models())


def test_a_wrong_output_shows_the_exact_feedback_with_its_size(desk: Client) -> None:
    page = try_it(desk)
    run = dry_run(DEPLOY, json.dumps(WRONG), tool_name="deploy", strict=True, attempt=1, max_attempts=3)
    assert page.context["tried"].feedback == run.feedback
    text = text_of(page)
    for words in ("the model tries again", "attempt 1/3", "VAL-008", "/region",
                  f"{len(run.feedback)} characters, about {run.tokens_estimate} tokens"):  # fmt: skip
        assert words in text


def test_the_answer_stands_in_each_providers_shape(viewer: Client) -> None:
    page = try_it(viewer)
    answer = page.context["tried"].answer
    shapes = {shape.title: json.loads(shape.text) for shape in page.context["shapes"]}
    assert shapes == {TITLES[provider]: answer.render(provider) for provider in RENDERERS}
    assert all(title in text_of(page) for title in shapes)


def test_a_right_output_is_told_nothing(desk: Client) -> None:
    text = text_of(try_it(desk, output=RIGHT))
    assert "Valid The agent goes on; the model is told nothing." in text
    assert "As each provider takes it" not in text


def test_the_last_attempt_is_answered_as_blocked(desk: Client) -> None:
    page = try_it(desk, attempt="3")
    assert "a person is asked" in text_of(page)
    assert page.context["tried"].answer.metadata["status"] == "blocked"


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "objekt"}, "At /type:"),
        ({"properties": {"a": {"$ref": "https://x.example/y"}}}, "At /properties/a/$ref:"),
        ('{"type": "object"', "This is not JSON yet"),
        ("", "This field is required"),
    ],
    ids=["metaschema", "remote", "no JSON", "empty"],
)
def test_a_refused_schema_is_told_at_its_place_and_the_text_is_kept(desk: Client, schema: Any, said: str) -> None:
    page = try_it(desk, schema)
    assert (page.status_code, said in text_of(page)) == (422, True)
    assert page.context["form"]["schema"].value() == typed(schema)["schema"]
    assert page.context["form"]["output"].value() == json.dumps(WRONG)


@pytest.mark.parametrize(
    ("kind", "name", "output", "said"),
    [
        ("agent_response", "triage", f"Sure:\n```json\n{json.dumps(RIGHT)}\n```", "Valid"),
        ("extraction", "invoice", WRONG, "Validation failed for extraction 'invoice'"),
        ("source_file", "app.py", "def f(:\r\n", "Validation failed for file 'app.py'"),
        ("source_file", "notes", "x", "Valid"),
    ],
)
def test_an_output_is_checked_by_its_kind(desk: Client, kind: str, name: str, output: Any, said: str) -> None:
    schema = "true" if kind == "source_file" else DEPLOY
    assert said in text_of(try_it(desk, schema, output, kind=kind, name=name))


@pytest.mark.parametrize("field", ["kind", "attempt", "max_attempts", "tool", "name"])
def test_what_no_form_offers_is_refused(desk: Client, field: str) -> None:
    page = try_it(desk, **{field: "0\x01"})
    assert (page.status_code, "Nothing was checked" in text_of(page)) == (422, True)


@pytest.mark.parametrize("is_registered", [False, True])
def test_while_no_child_can_be_started_it_says_so_and_keeps_what_was_typed(
    desk: Client, monkeypatch: pytest.MonkeyPatch, is_registered: bool
) -> None:
    more = {"tool": str(make_tool(make_agent()).pk)} if is_registered else {}
    bound_shared_pool(Limits(jobs=7 + is_registered))  # a new pool, without a child
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    page = try_it(desk, **more)
    assert page.status_code == 422
    assert "cannot check outputs at the moment" in text_of(page)
    assert "europe" in page.content.decode()


def test_nothing_is_stored(desk: Client) -> None:
    before = rows()
    try_it(desk)
    assert rows() == before


def test_what_was_typed_comes_back_letter_by_letter(desk: Client) -> None:
    form = try_it(desk, '{ "type":"object"}', '{"a":   1}', strict="", attempt="2").context["form"]
    kept = [form[name].value() for name in ("schema", "output", "strict", "attempt")]
    assert kept == ['{ "type":"object"}', '{"a":   1}', False, "2"]


SECRETS: dict[str, dict[str, Any]] = {
    "in the output": {"output": WRONG | {"service": TOKEN}},
    "in an output that breaks off": {"output": json.dumps({"service": TOKEN})[:-2]},
    "in prose": {"output": f"My token is {TOKEN}, the rest is {json.dumps(RIGHT)}", "kind": "agent_response"},
    "in the schema": {"schema": SEALED, "output": {"key": "x"}},
    "in a schema that is none": {"schema": json.dumps(SEALED)[:-1]},
    "in a source file": {"schema": "true", "output": f'token = "{TOKEN}"\n', "kind": "source_file", "name": "a.py"},
    "in the name": {"name": TOKEN},
}


@pytest.mark.parametrize("given", SECRETS.values(), ids=list(SECRETS))
def test_secrets_that_were_pasted_come_back_redacted(desk: Client, given: dict[str, Any]) -> None:
    page = desk.post("/playground/", typed(**given))
    assert TOKEN not in page.content.decode()
    assert "[REDACTED: " in page.content.decode()
    assert "Secrets were taken out of what you pasted" in text_of(page)
    assert TOKEN not in desk.post("/playground/", typed(**given), headers=HTMX).content.decode()


REFUSED: dict[str, dict[str, Any]] = {
    "a type": {"schema": {"type": TOKEN}},
    "a place": {"schema": {"properties": {TOKEN: {"type": "x"}}}},
    "a name that comes twice": {"schema": f'{{"{TOKEN}": 1, "{TOKEN}": 2}}'},
    "a draft": {"schema": {"$schema": TOKEN}},
    "a language": {"schema": {"x-language": TOKEN}, "kind": "source_file"},
    "a kind": {"kind": TOKEN},
    "a tool": {"tool": TOKEN},
}


@pytest.mark.parametrize("given", REFUSED.values(), ids=list(REFUSED))
def test_a_refusal_quotes_no_secret(desk: Client, given: dict[str, Any]) -> None:
    for headers in ({}, HTMX):
        page = desk.post("/playground/", typed(**given), headers=headers)
        assert "Nothing was checked" in text_of(page)
        assert TOKEN not in page.content.decode()


def test_a_value_that_the_schema_calls_secret_comes_back_redacted(desk: Client) -> None:
    schema = {"type": "object", "properties": {"note": {"type": "string", "writeOnly": True}}}
    assert "orchid" not in try_it(desk, schema, {"note": "blue orchid"}).content.decode()


def test_a_registered_tool_is_taken_with_its_schema_kind_and_attempts(desk: Client) -> None:
    tool = make_tool(make_agent())
    tool.max_attempts = 5
    tool.save()
    page = desk.get(f"/playground/?tool={tool.pk}")
    form = page.context["form"]
    assert [form[name].value() for name in ("name", "kind", "max_attempts")] == ["deploy", "tool_call", "5"]
    assert json.loads(form["schema"].value()) == DEPLOY
    assert f'href="/playground/?tool={tool.pk}"' in desk.get(f"/tools/{tool.pk}/").content.decode()


def test_a_registered_schema_with_secrets_judges_as_it_was_written(desk: Client) -> None:
    tool = make_tool(make_agent(), schema=SEALED)
    begun = desk.get(f"/playground/?tool={tool.pk}").context["form"]
    assert MARK in begun["schema"].value()
    page = try_it(desk, begun["schema"].value(), {"key": TOKEN}, tool=str(tool.pk))
    assert (page.context["tried"].is_valid, TOKEN in page.content.decode()) == (True, False)
    wrong = try_it(desk, begun["schema"].value(), {"key": "x"}, tool=str(tool.pk))
    assert (wrong.context["tried"].is_valid, TOKEN in wrong.content.decode()) == (False, False)
    edited = try_it(desk, begun["schema"].value().replace("object", "array"), {"key": TOKEN}, tool=str(tool.pk))
    assert "Write the value where" in text_of(edited)


@pytest.mark.parametrize("tool", ["999999", "9" * 30, "x", "\u0663", "-1"])
def test_a_tool_that_is_not_there_breaks_nothing(desk: Client, tool: str) -> None:
    assert desk.get("/playground/", {"tool": tool}).status_code in (200, 404)


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_example_fails_as_something_to_learn_from(desk: Client, name: str) -> None:
    page = desk.get(f"/playground/?example={name}")
    assert "The model reads exactly this" in page.content.decode(), "it is judged at once"
    form = page.context["form"]
    sent = {field: form[field].value() for field in ("name", "kind", "schema", "output", "attempt", "max_attempts")}
    page = desk.post("/playground/", sent)
    assert (page.status_code, page.context["tried"].is_valid) == (200, False)


def test_the_verdict_alone_is_sent_while_somebody_types(desk: Client) -> None:
    part = desk.post("/playground/", typed(), headers=HTMX).content.decode()
    assert ("<html" in part, "The model reads exactly this" in part) == (False, True)


def test_the_number_of_queries_does_not_grow_with_the_tools(desk: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            desk.get("/playground/")
        return len(captured)

    make_tool(make_agent(), "one")
    queries()
    few = queries()
    for number in range(5):
        make_tool(make_agent(f"agent {number}"))
    assert queries() == few
