"""Bodies of hundreds of thousands of tiny values: what can never be taken is refused before they are made."""

from __future__ import annotations

import gc
import json
from time import thread_time
from typing import TYPE_CHECKING

import pytest

from retrycontract.contract.outputs.json_text import depth_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.api.conftest import Door

MANY = "[" + "[]," * 300_000 + "1]"
LISTED = "[" + "{}," * 300_000 + "{}]"


def seconds(work: Callable[..., object], *given: object) -> float:
    """Tell what some work takes of this thread."""
    begun = thread_time()
    work(*given)
    return thread_time() - begun


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


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
    to_make = min(seconds(json.loads, body) for _ in range(3))
    took = min(seconds(door.send, method, path, body) for _ in range(3))
    reply = door.send(method, path, body)
    assert (reply.status, reply.body["errors"][0]["code"]) == (422, code)
    assert took < 2 * to_make


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
def test_to_measure_how_deep_values_side_by_side_nest_takes_less_than_to_make_them(text: str) -> None:
    assert depth_of(text) == 2
    assert min(seconds(depth_of, text) for _ in range(3)) < min(seconds(json.loads, text) for _ in range(3))
