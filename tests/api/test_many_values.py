"""Bodies of hundreds of thousands of tiny values: what can never be taken is refused before they are made."""

from __future__ import annotations

import gc
import json
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from retrycontract.contract.outputs.json_text import depth_of
from tests.contract.test_costs import steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.api.conftest import Door

MANY = "[" + "[]," * 300_000 + "1]"
LISTED = "[" + "{}," * 300_000 + "{}]"


def most_held(work: Callable[..., object], *given: object) -> int:
    """Tell how many bytes some work holds at its height."""
    tracemalloc.start()
    try:
        work(*given)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("method", "path", "body", "code"),
    [
        ("PUT", "/tools/deploy", f'{{"input_schema": {{"enum": {MANY}}}}}', "too-many-nodes"),
        ("PUT", "/tools/deploy", f'{{"input_schema": {LISTED}}}', "too-many-nodes"),
        ("PUT", "/tools/deploy", f'{{"input_schema": {{"a": "\\\\", "enum": {MANY}}}}}', "too-many-nodes"),
        ("POST", "/tools/import", LISTED, "tool-list"),
    ],
)
def test_more_values_than_any_schema_has_are_not_made(door: Door, method: str, path: str, body: str, code: str) -> None:
    reply = door.send(method, path, body)
    assert (reply.status, reply.body["errors"][0]["code"]) == (422, code)
    assert most_held(door.send, method, path, body) < most_held(json.loads, body) / 2


def test_commas_of_texts_part_no_values(door: Door) -> None:
    schema = {"type": "string", "description": ',"\\,' * 20_000}
    assert door.put("/tools/deploy", {"input_schema": schema}).status == 201


@pytest.mark.usefixtures("no_collector")
def test_a_refused_body_is_gone_without_a_collection(door: Door) -> None:
    body = '{"tool": "deploy", "argumets": [' + "[]," * 20_000 + "1]}"
    door.post("/calls", body)
    gc.collect()
    assert door.post("/calls", body).status == 422
    assert gc.collect() < 5_000


@pytest.mark.parametrize("text", [MANY, LISTED], ids=["lists", "objects"])
def test_to_measure_how_deep_values_side_by_side_nest_takes_no_step_for_each(text: str) -> None:
    assert depth_of(text) == 2
    assert steps(lambda: depth_of(text)) < 1_000
