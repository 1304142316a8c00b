"""Reading tools, and changing them only as they were read."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from retrycontract.store.models import Event, Tool, ToolVersion
from tests.api.conftest import PREFIX, Door, Reply
from tests.factories import DEPLOY, make_agent, make_tool

ABSENT = '"0123"'


def put(door: Door, body: dict[str, Any] | None = None, name: str = "deploy", **headers: str) -> Reply:
    sent = {header.replace("_", "-"): value for header, value in headers.items()}
    return door.send("PUT", f"/tools/{name}", {"input_schema": DEPLOY} | (body or {}), **sent)


def read(door: Door, path: str = "/tools/deploy", **headers: str) -> Reply:
    return door.send("GET", path, **{header.replace("_", "-"): value for header, value in headers.items()})


def etag(reply: Reply) -> str:
    tag: str = reply.headers["ETag"]
    return tag


def test_a_tool_is_read_as_it_was_registered(door: Door) -> None:
    put(door, {"description": "Deploys.", "strict": False, "max_attempts": 2, "expires_after": "2h"})
    reply = read(door)
    body = {name: value for name, value in reply.body.items() if not name.endswith("_at")}
    assert body == {
        "name": "deploy", "kind": "tool_call", "description": "Deploys.", "strict": False, "hold": False,
        "mode": None, "max_attempts": 2, "expires_after": 7_200, "on_expiry": None, "version": 1,
        "schema_hash": ToolVersion.hash_of(DEPLOY), "etag": etag(reply), "link": f"{PREFIX}/tools/deploy",
        "input_schema": DEPLOY,
    }  # fmt: skip


def test_a_new_tool_is_found_where_its_answer_says(door: Door) -> None:
    made = put(door, name=quote("files/read file ü", safe=""))
    assert made.status == 201
    assert read(door, made.headers["Location"].removeprefix(PREFIX)).body["name"] == "files/read file ü"
    assert "Location" not in put(door, name=quote("files/read file ü", safe="")).headers


def test_a_tool_may_be_named_as_the_lists_address(door: Door) -> None:
    put(door, name="import")
    assert read(door, "/tools/import").body["name"] == "import"


def test_a_tool_of_another_namespace_is_not_there(door: Door, stranger: Door) -> None:
    put(door)
    make_tool(make_agent("elsewhere"), "theirs")
    assert read(stranger).status == 200  # the namespace is shared
    assert (read(door, "/tools/theirs").status, read(door, "/tools/theirs").code) == (404, "not-found")
    assert [tool["name"] for tool in read(door, "/tools").body["tools"]] == ["deploy"]


CHANGES: list[dict[str, Any]] = [
    {"input_schema": {"type": "object"}}, {"description": "other"}, {"strict": False}, {"hold": True},
    {"mode": "observe"}, {"max_attempts": 1}, {"expires_after": "1h"}, {"on_expiry": "reject"},
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_every_change_makes_another_etag(door: Door, change: dict[str, Any]) -> None:
    before = etag(put(door))
    assert etag(put(door)) == etag(read(door)) == before
    after = etag(put(door, change))
    assert after != before
    assert etag(read(door)) == after


def test_the_same_schema_and_settings_again_have_the_same_etag(door: Door) -> None:
    first = etag(put(door))
    put(door, {"input_schema": {}, "strict": False})
    assert etag(put(door, {"strict": True})) == first


@pytest.mark.parametrize("known", ["{tag}", "W/{tag}", '"other", {tag}', "*", ' "a" ,W/"b",{tag}'])
def test_what_the_reader_knows_is_not_sent_again(door: Door, known: str) -> None:
    tag = etag(put(door))
    reply = read(door, If_None_Match=known.format(tag=tag))
    assert (reply.status, reply.text, etag(reply)) == (304, "", tag)


@pytest.mark.parametrize("known", [ABSENT, "", "nonsense", '"', "W/", '"\x00"', "{bare}"])
def test_what_the_reader_does_not_know_is_sent(door: Door, known: str) -> None:
    tag = etag(put(door))
    assert read(door, If_None_Match=known.format(bare=tag.strip('"'))).status == 200


@pytest.mark.parametrize("expected", ["{tag}", '"other", {tag}', "*"])
def test_a_tool_is_changed_as_it_was_read(door: Door, expected: str) -> None:
    tag = etag(put(door))
    assert put(door, {"strict": False}, If_Match=expected.format(tag=tag)).status == 200
    assert Tool.objects.get().strict is False


@pytest.mark.parametrize("expected", [ABSENT, "W/{tag}", "", "nonsense"])
def test_a_tool_that_is_otherwise_is_left_alone(door: Door, expected: str) -> None:
    tag = etag(put(door))
    reply = put(door, {"input_schema": {}, "strict": False}, If_Match=expected.format(tag=tag))
    assert (reply.status, reply.code, etag(reply)) == (412, "precondition-failed", tag)
    assert (Tool.objects.get().strict, ToolVersion.objects.count(), Event.objects.count()) == (True, 1, 1)


@pytest.mark.parametrize("expected", ["*", ABSENT])
def test_a_tool_that_is_not_there_cannot_be_changed(door: Door, expected: str) -> None:
    reply = put(door, If_Match=expected)
    assert (reply.status, reply.code) == (412, "precondition-failed")
    assert "ETag" not in reply.headers
    assert not Tool.objects.exists()


def test_a_tool_is_made_only_where_there_is_none(door: Door) -> None:
    assert put(door, If_None_Match="*").status == 201
    assert put(door, {"strict": False}, If_None_Match="*").status == 412
    assert Tool.objects.get().strict is True


def test_tools_are_listed_by_name_a_page_at_a_time(door: Door) -> None:
    names = ["a", "a b", "a/b", "b&c=d", "ü", "z"]
    for name in reversed(names):
        make_tool(door.agent, name)
    seen, path = [], "/tools?limit=2"
    while path:
        page = read(door, path)
        seen.append([tool["name"] for tool in page.body["tools"]])
        path = (page.body["next"] or "").removeprefix(PREFIX)
    assert sorted(name for page in seen for name in page) == sorted(names)
    assert [len(page) for page in seen] == [2, 2, 2]


def test_a_page_that_the_reader_knows_is_not_sent_again(door: Door) -> None:
    put(door)
    tag = etag(read(door, "/tools"))
    assert (read(door, "/tools", If_None_Match=tag).status, read(door, "/tools", If_None_Match=ABSENT).status) == (
        304,
        200,
    )
    put(door, {"strict": False})
    assert read(door, "/tools", If_None_Match=tag).status == 200


def test_the_etags_of_the_list_are_those_of_the_tools(door: Door) -> None:
    assert etag(put(door)) == read(door, "/tools").body["tools"][0]["etag"]


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "cursor=", "name=deploy", "cursor=%00"])
def test_a_page_that_cannot_be_is_refused(door: Door, query: str) -> None:
    assert (read(door, f"/tools?{query}").status, read(door, f"/tools?{query}").code) == (422, "invalid-request")
