"""Extractions over MCP: agents that are not ours validate, look at a sample and submit."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from anyio.to_thread import run_sync
from mcp import Client

from retrycontract.mcp.extractions import ExtractionStep, read_data
from tests.gateway.connections import Story, run_command, text_of, twin_of
from tests.gateway.test_over_http import both_protocols
from tests.gateway.test_over_http import run as run_over_http
from tests.serving.desk import Desk
from tests.serving.forked import forked
from tests.serving.service import AgentClient, Service

INVOICE = {
    "type": "object",
    "properties": {"total": {"$ref": "#/$defs/amount"}, "currency": {"enum": ["EUR", "CHF"]}},
    "required": ["total", "currency"],
    "$defs": {"amount": {"type": "number", "minimum": 0}},
}
RIGHT = {"total": 12.5, "currency": "CHF"}
WRONG = {"total": "much", "currency": "CHF"}
STEPS = ["validate_invoice", "example_invoice", "submit_invoice"]


def serve(story: Story, folder: Path, *options: str, **more: Any) -> str:
    file = folder / "extractions.json"
    file.write_text(json.dumps([{"name": "invoice", "inputSchema": INVOICE}]))
    return run_command(
        story, folder, *forked("-m", "retrycontract", "mcp", "--extractions", str(file), *options), **more
    )


@both_protocols
def test_only_what_fails_uses_an_attempt(tmp_path: Path, mode: str) -> None:
    async def story(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == ["check_tool_call", *STEPS]
        takes = tools["submit_invoice"].input_schema
        assert takes["properties"]["data"]["properties"]["total"] == {"$ref": "#/$defs/amount"}
        assert takes["$defs"] == INVOICE["$defs"]
        sample = await client.call_tool("example_invoice", {})
        assert not sample.is_error
        data = json.loads(text_of(sample).split("\n", 1)[1])["data"]
        assert text_of(await client.call_tool("validate_invoice", {"data": data})) == (
            "The data conforms. Call submit_invoice with the same data to end the extraction."
        )
        first = await client.call_tool("validate_invoice", {"data": WRONG})
        assert first.is_error
        assert text_of(first).startswith("Validation failed for extraction 'invoice' (attempt 1/3):")
        assert "/total (VAL-002)" in text_of(first)
        assert not (await client.call_tool("validate_invoice", {"data": RIGHT})).is_error
        second = await client.call_tool("submit_invoice", {"data": WRONG})
        assert "(attempt 2/3)" in text_of(second)
        done = await client.call_tool("submit_invoice", {"data": RIGHT})
        assert not done.is_error
        assert text_of(done) == "The data conforms, and the extraction has ended."
        assert twin_of(done)["call_id"] == twin_of(second)["call_id"]
        again = await client.call_tool("submit_invoice", {"data": WRONG})
        assert "(attempt 1/3)" in text_of(again), "another extraction has begun"

    serve(story, tmp_path, mode=mode)


@pytest.mark.parametrize("option", ["--lenient", "--observe"])
def test_a_validate_never_ends_the_extraction(tmp_path: Path, option: str) -> None:
    async def story(client: Client) -> None:
        more = {"data": RIGHT | {"undeclared": 1}}
        assert text_of(await client.call_tool("validate_invoice", more)).startswith("The data conforms. Call submit_")
        assert text_of(await client.call_tool("submit_invoice", more)).endswith("the extraction has ended.")

    serve(story, tmp_path, option)


def test_three_failures_end_in_blocked(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        for step in ("validate_invoice", "submit_invoice", "validate_invoice"):
            failed = await client.call_tool(step, {"data": WRONG})
        assert failed.is_error
        assert "This call is now Blocked" in text_of(failed)

    assert "Nobody is at a desk" in serve(story, tmp_path)


@both_protocols
def test_a_person_helps_an_extraction_out(service: Service, mode: str) -> None:
    agent = AgentClient(service, service.new_key(f"extractor-{mode}"))
    agent.register("invoice", INVOICE, kind="extraction", strict=False)
    agent.register("other", INVOICE)
    desk = Desk(service)
    desk.log_in()

    async def story(client: Client) -> None:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["check_tool_call", "get_guidance", *STEPS]
        resources = {resource.name: str(resource.uri) for resource in (await client.list_resources()).resources}
        assert set(resources) == {"tools", "calls", "invoice", "other"}
        schema = (await client.read_resource(resources["invoice"])).contents[0]
        assert json.loads(schema.text) == INVOICE  # type: ignore[union-attr]
        more = {"data": RIGHT | {"undeclared": 1}}
        assert not (await client.call_tool("validate_invoice", more)).is_error, "strictness is the service's"
        call: dict[str, Any] = {}
        for step in ("submit_invoice", "validate_invoice", "submit_invoice"):
            failed = await client.call_tool(step, {"data": WRONG, **call})
            call = {"call_id": twin_of(failed)["call_id"]}
        assert "This call is now Blocked" in text_of(failed)
        await run_sync(
            lambda: desk.answer(call["call_id"], decision="corrected", arguments=json.dumps(RIGHT), text="Read it.")
        )
        answer = await client.call_tool("get_guidance", call)
        assert twin_of(answer)["arguments"] == RIGHT
        assert "A person corrected your Blocked extraction 'invoice'." in text_of(answer)
        assert not (await client.call_tool("submit_invoice", {"data": RIGHT, **call})).is_error
        history = (await run_sync(lambda: agent.send("GET", f"/calls/{call['call_id']}"))).body
        assert [attempt["status"] for attempt in history["attempts"]] == ["retry", "retry", "blocked", "valid"]
        assert (history["kind"], history["state"]) == ("extraction", "valid")

    run_over_http(story, service, agent.key, mode=mode)


@pytest.mark.parametrize("name", ["invoice", "invoice lines", "rechnung/größe", "x" * 64, "a.b", "a_b"])
def test_every_name_is_one_that_clients_take(name: str) -> None:
    for step in ExtractionStep:
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", step.tool_name(name))


def test_names_that_differ_stay_different() -> None:
    names = ["a.b", "a_b", "a b", "x" * 64, "x" * 65]
    assert len({ExtractionStep.SUBMIT.tool_name(name) for name in names}) == len(names)


@pytest.mark.parametrize(
    ("arguments", "data", "call_id"),
    [
        ({"data": {"a": 1}}, {"a": 1}, None),
        ({"data": None, "call_id": "c"}, None, "c"),
        ({"total": 1, "call_id": "its own"}, {"total": 1, "call_id": "its own"}, None),
        ({"data": 1, "total": 2}, {"data": 1, "total": 2}, None),
        ({"data": 1, "call_id": 5}, 1, None),
        ({}, {}, None),
    ],
)
def test_the_data_is_found_where_models_put_it(arguments: dict[str, Any], data: Any, call_id: str | None) -> None:
    assert read_data(arguments) == (data, call_id)
