"""Reading the tools of a namespace: page by page, one with its schema, and nobody else's."""

from __future__ import annotations

import pytest

from tests.api.conftest import Door
from tests.factories import DEPLOY, make_agent, make_tool

TOKEN = "ghp_" + "aZ3kQ9xW7bN2mL5vR8tY1cF4hJ6dS0gPuE9i"


def names(reply: object) -> list[str]:
    return [tool["name"] for tool in reply.body["tools"]]  # type: ignore[attr-defined]


def test_tools_are_listed_by_name_page_by_page(door: Door) -> None:
    for name in ("c", "a", "b/ä"):
        door.put(f"/tools/{name}", {"input_schema": DEPLOY, "max_attempts": 2})
    first = door.get("/tools?limit=2")
    assert names(first) == ["a", "b/ä"]
    assert first.body["tools"][0] | {"created_at": "", "updated_at": "", "schema_hash": "", "etag": ""} == {
        "name": "a", "kind": "tool_call", "description": "", "strict": True, "hold": False, "mode": None,
        "max_attempts": 2, "expires_after": None, "on_expiry": None, "version": 1, "schema_hash": "", "etag": "",
        "created_at": "", "updated_at": "", "link": "/api/v1/tools/a",
    }  # fmt: skip
    rest = door.get(first.body["next"].removeprefix("/api/v1"))
    assert (names(rest), rest.body["next"]) == (["c"], None)


def test_one_kind_is_listed_alone(door: Door) -> None:
    door.put("/tools/call", {"input_schema": DEPLOY})
    door.put("/tools/invoice", {"input_schema": DEPLOY, "kind": "extraction"})
    assert names(door.get("/tools?kind=extraction")) == ["invoice"]


@pytest.mark.parametrize("name", ["deploy", "a/b", "größe", "import"])
def test_a_tool_is_read_with_its_schema(door: Door, name: str) -> None:
    door.put(f"/tools/{name}", {"input_schema": DEPLOY, "expires_after": "30m"})
    found = next(tool for tool in door.get("/tools").body["tools"] if tool["name"] == name)
    reply = door.get(found["link"].removeprefix("/api/v1"))
    assert (reply.status, reply.body["input_schema"], reply.body["expires_after"]) == (200, DEPLOY, 1800)


def test_a_secret_in_a_schema_is_not_given_out(door: Door) -> None:
    door.put("/tools/deploy", {"input_schema": {"type": "object", "description": f"Send {TOKEN}."}})
    assert TOKEN not in door.get("/tools/deploy").text


def test_tools_of_another_namespace_are_not_there(door: Door) -> None:
    make_tool(make_agent("somebody-else"))
    assert names(door.get("/tools")) == []
    assert door.get("/tools/deploy").status == 404


@pytest.mark.parametrize("asked", ["limit=0", "limit=101", "kind=nothing", "sort=name"])
def test_what_is_asked_wrongly_is_refused(door: Door, asked: str) -> None:
    assert door.get(f"/tools?{asked}").status == 422
