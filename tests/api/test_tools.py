"""Registering and importing tools, and trying schemas without storing anything."""

from __future__ import annotations

import os
import signal
import sys
from datetime import timedelta
from typing import Any

import pytest

from retrycontract.children.pool import Limits, bound_shared_pool, shared_pool
from retrycontract.store.models import Agent, ApiKey, Attempt, Call, Event, Tool, ToolVersion
from tests.api.conftest import Door
from tests.contract.quoted_secrets import GITHUB, REFUSED, WARNED, leaked
from tests.factories import DEPLOY, RIGHT, WRONG

QUERY: dict[str, Any] = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}


def test_a_new_tool_is_made(door: Door) -> None:
    reply = door.put("/tools/deploy", {"input_schema": DEPLOY, "description": "Deploys.", "max_attempts": 2})
    assert reply.status == 201
    assert reply.body == {
        "name": "deploy", "namespace": "deployer", "version": 1, "schema_hash": ToolVersion.hash_of(DEPLOY),
        "created": True, "changed": True, "max_attempts": 2, "warnings": [],
    }  # fmt: skip
    assert (Tool.objects.get().description, Tool.objects.get().max_attempts) == ("Deploys.", 2)


def test_the_same_tool_again_is_not_changed(door: Door) -> None:
    door.put("/tools/deploy", {"input_schema": DEPLOY})
    reply = door.put("/tools/deploy", {"input_schema": DEPLOY})
    assert (reply.status, reply.body["created"], reply.body["changed"], reply.body["version"]) == (200, False, False, 1)


def test_a_changed_schema_makes_a_version(door: Door) -> None:
    door.put("/tools/deploy", {"input_schema": DEPLOY})
    reply = door.put("/tools/deploy", {"input_schema": QUERY})
    assert (reply.status, reply.body["created"], reply.body["changed"], reply.body["version"]) == (200, False, True, 2)


SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"max_attempts": 1}, "blocked"),
    ({"mode": "observe"}, "observed"),
    ({"strict": False}, "retrying"),
]


@pytest.mark.parametrize(("setting", "state"), SETTINGS, ids=str)
def test_a_setting_counts_from_the_next_call(door: Door, setting: dict[str, Any], state: str) -> None:
    door.put("/tools/deploy", {"input_schema": DEPLOY, **setting})
    assert door.submit(WRONG).body["state"] == state


@pytest.mark.parametrize(("written", "seconds"), [("30m", 1800), (90, 90), ("7d", 604_800)])
def test_a_tool_says_how_long_its_calls_wait_and_what_then(door: Door, written: Any, seconds: int) -> None:
    door.put("/tools/deploy", {"input_schema": DEPLOY, "expires_after": written, "on_expiry": "reject"})
    tool = Tool.objects.get()
    assert (tool.expires_after, tool.on_expiry) == (timedelta(seconds=seconds), "reject")
    door.put("/tools/deploy", {"input_schema": DEPLOY})
    assert Tool.objects.get().on_expiry == "reject"


@pytest.mark.parametrize(
    ("setting", "detail"),
    [
        ({"expires_after": "soon"}, "must be a whole number of seconds, or a number with s, m, h or d"),
        ({"expires_after": "366d"}, "from 1s to 365d"),
        ({"expires_after": True}, "must be a whole number of seconds"),
        ({"on_expiry": "accept"}, "'expire' or 'reject'"),
    ],
    ids=str,
)
def test_a_wrong_expiry_is_refused_with_what_is_allowed(door: Door, setting: dict[str, Any], detail: str) -> None:
    reply = door.put("/tools/deploy", {"input_schema": DEPLOY, **setting})
    assert (reply.status, reply.body["errors"][0]["pointer"]) == (422, f"/{next(iter(setting))}")
    assert detail in reply.body["errors"][0]["detail"]
    assert not Tool.objects.exists()


@pytest.mark.parametrize("schema", [True, {}])
def test_a_schema_may_allow_everything(door: Door, schema: Any) -> None:
    assert door.put("/tools/deploy", {"input_schema": schema}).status == 201
    assert door.submit({"any": "thing"}).body["status"] == "valid"


@pytest.mark.parametrize(
    ("schema", "pointer", "code"),
    [
        ({"type": "objekt"}, "/type", "metaschema"),
        ({"properties": {"a": {"pattern": "(a"}}}, "/properties/a/pattern", "pattern"),
        ({"$ref": "https://example.com/s.json"}, "/$ref", "remote-ref"),
        ({"$ref": "#/$defs/a"}, "/$ref", "unresolved-ref"),
        ({"$schema": "https://example.com/draft"}, "/$schema", "unknown-draft"),
        ({"properties": {"a": {"x-sensitve": True}}}, "/properties/a/x-sensitve", "misspelt"),
        ({"properties": {"a": {"format": "Password"}}}, "/properties/a/format", "misspelt"),
        ({"parameters": {"type": "object"}}, "/parameters", "not-a-schema"),
        (None, "", "not-a-schema"),
        ([], "", "not-a-schema"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_at_its_fault(door: Door, schema: Any, pointer: str, code: str) -> None:
    for path, body in [("/tools/deploy", {}), ("/check", {"arguments": {}})]:
        reply = door.send("PUT" if "tools" in path else "POST", path, {"input_schema": schema, **body})
        assert (reply.status, reply.code) == (422, "invalid-schema")
        assert [(error["pointer"], error["code"]) for error in reply.body["errors"]] == [(pointer, code)]
    assert not Tool.objects.exists()


def test_a_tool_that_was_registered_with_a_slip_keeps_judging(door: Door) -> None:
    """Only new schemas are refused for it: the calls of the others would stop."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    door.put("/tools/deploy", {"input_schema": schema})
    slip = {"type": "object", "properties": {"a": {"type": "string", "x-sensitve": True}}}
    ToolVersion.objects.update(schema=slip)
    assert door.submit({"a": "b"}).body["status"] == "valid"
    assert door.submit({"a": 5}).body["status"] == "retry"


@pytest.mark.parametrize("name", ["%E2%80%A8", "x" * 301, "%00", "a%09b"])
def test_a_name_that_cannot_be_shown_is_refused(door: Door, name: str) -> None:
    assert door.put(f"/tools/{name}", {"input_schema": {}}).code == "invalid-name"


LISTS: dict[str, Any] = {
    "OpenAI chat": [
        {"type": "function", "function": {"name": "find", "description": "Finds.", "parameters": QUERY, "strict": True}}
    ],
    "OpenAI responses": [{"type": "function", "name": "find", "description": "Finds.", "parameters": QUERY}],
    "Anthropic": [{"name": "find", "description": "Finds.", "input_schema": QUERY}],
    "MCP": {"tools": [{"name": "find", "title": "Find", "description": "Finds.", "inputSchema": QUERY}]},
}


@pytest.mark.parametrize("tools", LISTS.values(), ids=list(LISTS))
def test_a_list_is_imported_as_its_provider_writes_it(door: Door, tools: Any) -> None:
    reply = door.post("/tools/import", tools)
    assert (reply.status, reply.body["refused"]) == (200, [])
    assert [(tool["name"], tool["created"], tool["version"]) for tool in reply.body["registered"]] == [
        ("find", True, 1)
    ]
    tool = Tool.objects.select_related("current_version").get()
    assert tool.current_version is not None
    assert (tool.description, tool.current_version.schema) == ("Finds.", QUERY)
    assert door.submit({}, tool="find").body["errors"][0]["error_code"] == "VAL-001"


def test_the_same_list_in_another_shape_changes_nothing(door: Door) -> None:
    for tools in LISTS.values():
        reply = door.post("/tools/import", tools)
    assert not reply.body["registered"][0]["changed"]
    assert (Tool.objects.count(), ToolVersion.objects.count(), Event.objects.count()) == (1, 1, 1)


def test_a_tool_that_cannot_be_registered_does_not_keep_the_others_out(door: Door) -> None:
    tools = [{"name": "good", "parameters": QUERY}, {"name": "bad", "parameters": {"type": "objekt"}}]
    body = door.post("/tools/import", tools).body
    assert [tool["name"] for tool in body["registered"]] == ["good"]
    assert [(tool["name"], tool["pointer"], tool["code"]) for tool in body["refused"]] == [
        ("bad", "/type", "metaschema")
    ]


@pytest.mark.parametrize(
    ("tools", "pointer"),
    [
        ({}, ""),
        ("tools", ""),
        (None, ""),
        ({"tools": {}}, "/tools"),
        ([1], "/0"),
        ([{"parameters": {}}], "/0/name"),
        ({"tools": [{"name": "good"}, {"name": ""}]}, "/tools/1/name"),
        ([{"name": "line\nbreak"}], "/0/name"),
        ([{}] * 2_001, ""),
    ],
    ids=["no list", "a text", "null", "tools of another type", "no object", "no name", "an empty name", "unprintable",
         "too many"],
)  # fmt: skip
def test_a_list_that_cannot_be_read_is_refused_at_its_fault(door: Door, tools: Any, pointer: str) -> None:
    reply = door.send("POST", "/tools/import", "null" if tools is None else tools if tools != "tools" else '"tools"')
    assert (reply.status, reply.code) == (422, "invalid-tool-list")
    assert [error["pointer"] for error in reply.body["errors"]] == [pointer]
    assert not Tool.objects.exists()


def rows() -> int:
    return sum(model.objects.count() for model in (Agent, ApiKey, Tool, ToolVersion, Call, Attempt, Event))


def test_a_dry_run_tells_what_a_model_would_read_and_stores_nothing(door: Door) -> None:
    before = rows()
    reply = door.post("/check", {"input_schema": DEPLOY, "arguments": WRONG, "tool": "deploy", "attempt": 2})
    assert (reply.status, reply.body["valid"]) == (200, False)
    assert reply.body["feedback"].startswith("Validation failed for tool 'deploy' (attempt 2/3):")
    assert reply.body["characters"] == len(reply.body["feedback"])
    assert reply.body["tokens_estimate"] == -(-reply.body["characters"] // 4)
    assert [error["field_path"] for error in reply.body["errors"]] == ["/region"]
    assert rows() == before


def test_a_dry_run_repeats_no_secret_in_the_tools_name(door: Door) -> None:
    token = "ghp_" + "aZ3kQ9xW7b" * 4
    reply = door.post("/check", {"input_schema": DEPLOY, "arguments": WRONG, "tool": token})
    assert "[REDACTED: GITHUB_TOKEN]" in reply.body["feedback"]
    assert token not in reply.body["feedback"]


def test_a_dry_run_of_a_valid_output_has_nothing_to_say(door: Door) -> None:
    body = door.post("/check", {"input_schema": DEPLOY, "raw": '{"service": "web", "region": "eu-west-1"}'}).body
    assert body == {
        "valid": True, "errors": [], "errors_left_out": 0, "feedback": "", "characters": 0, "tokens_estimate": 0,
    }  # fmt: skip


@pytest.mark.parametrize(("strict", "is_valid"), [(True, False), (False, True)])
def test_a_dry_run_may_be_lenient(door: Door, strict: bool, is_valid: bool) -> None:
    body = {"input_schema": {"type": "object", "properties": {}}, "arguments": RIGHT, "strict": strict}
    assert door.post("/check", body).body["valid"] is is_valid


def test_a_dry_run_shows_the_blocked_text_at_the_last_attempt(door: Door) -> None:
    body = {"input_schema": DEPLOY, "arguments": WRONG, "attempt": 9, "max_attempts": 2}
    feedback = door.post("/check", body).body["feedback"]
    assert "(attempt 2/2)" in feedback
    assert "Blocked" in feedback


SLIPS: dict[str, Any] = {
    "properties": {
        "q": {"type": "string", "format": "datetime", "pattern": "^(?!x)"},
        "file": {"contentEncoding": "base64", "contentMediaType": "image/png"},
    },
    "requird": ["q"],
}
TOLD = [
    {"pointer": "/properties/q/pattern", "detail": "Outputs are judged in a child process, and cut off when they take"},
    {
        "pointer": "/properties/file/contentEncoding",
        "detail": "Draft 2020-12 checks nothing by `contentEncoding`; draft 7 does, if `$schema` names it.",
    },
    {"pointer": "/properties/q/format", "detail": "Nothing checks the format `datetime`; did you mean `date-time`?"},
    {"pointer": "/requird", "detail": "`requird` is no keyword and does nothing; did you mean `required`?"},
]


def test_what_does_nothing_in_a_schema_or_is_dear_is_told(door: Door) -> None:
    reply = door.put("/tools/deploy", {"input_schema": SLIPS})
    listed = door.post(
        "/tools/import", [{"name": "other", "inputSchema": SLIPS}, {"name": "plain", "inputSchema": QUERY}]
    )
    for told in (reply.body["warnings"], listed.body["registered"][0]["warnings"]):
        assert [{**each, "detail": each["detail"][: len(TOLD[0]["detail"])]} for each in told[:1]] == TOLD[:1]
        assert told[1:] == TOLD[1:]
    assert listed.body["registered"][1]["warnings"] == []


def test_a_warning_keeps_the_secrets_of_a_schema(door: Door) -> None:
    token = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    told = door.put("/tools/deploy", {"input_schema": {"properties": {token: {"format": token}}}}).body["warnings"]
    assert len(told) == 1
    assert token not in str(told)


@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how long another process has worked")
def test_a_list_that_a_busy_machine_gave_no_time_is_to_be_sent_again_and_nothing_of_it_is_refused(door: Door) -> None:
    schema = {"type": "object", "properties": {"seldom": {"type": "string"}}}
    tools = [{"name": "deploy", "input_schema": schema}]
    bound_shared_pool(Limits(seconds=5, processes=2))
    try:
        pool = shared_pool()
        while len(pool._idle) < 2:
            pool.warm()
        for idle in pool._idle:  # the one that is asked first, and the one that is asked again
            os.kill(idle._child.pid, signal.SIGSTOP)
        reply = door.post("/tools/import", tools)
        assert (reply.status, reply.code, reply.headers["Retry-After"]) == (503, "busy", "1")
        reply = door.post("/tools/import", tools)
        assert (reply.status, reply.body["refused"]) == (200, [])
    finally:
        bound_shared_pool(Limits())


@pytest.mark.parametrize("keyword", [*REFUSED, *WARNED])
def test_what_is_said_of_a_schema_holds_no_part_of_its_secrets(door: Door, keyword: str) -> None:
    reply = door.put("/tools/deploy", {"input_schema": (REFUSED | WARNED)[keyword](f"a/{GITHUB}")})
    assert (reply.status, bool(reply.body.get("warnings"))) == ((422, False) if keyword in REFUSED else (201, True))
    assert leaked(GITHUB, str(reply.body), "") == []


def test_a_list_of_tools_is_refused_without_its_secrets(door: Door) -> None:
    reply = door.post("/tools/import", [{"name": "deploy", f"see {GITHUB}": {"type": "object", "properties": {}}}])
    assert reply.status == 422
    assert leaked(GITHUB, str(reply.body), "") == []


def test_a_tool_is_read_without_what_its_secret_fields_allow(door: Door) -> None:
    mark, secret = "[REDACTED: SENSITIVE]", "Tr0ub4dor" + "&3xy"
    schema = {"properties": {"f": {"writeOnly": True, "enum": [secret, "bb", None]}, "mode": {"enum": ["a", "b"]}}}
    assert door.put("/tools/note", {"input_schema": schema}).status == 201
    read = door.get("/tools/note").body["input_schema"]["properties"]
    assert read == {"f": {"writeOnly": True, "enum": [mark, mark, None]}, "mode": {"enum": ["a", "b"]}}
    tried = door.post("/check", {"input_schema": schema, "arguments": {"f": 1}})
    assert secret not in str(tried.body)
