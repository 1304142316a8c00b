"""Hostile schemas: each is refused with the pointer to its fault, or admitted and judged; nothing is fetched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone

from retrycontract.usecases.calls.sweep import judge_waiting
from tests.api.conftest import Door
from tests.api.hostile_schemas import ANY, every_hostile_schema
from tests.api.outbound import outbound
from tests.sampling import sampled

HOSTILE = {name: (schema, code) for name, schema, code in every_hostile_schema()}
VALUES: list[Any] = [{"a": "a" * 20_000 + "!"}, {"a": 10**30}, [[[[1]]]] * 50, {}, "a"]


@pytest.fixture
def quiet_door(door: Door) -> Iterator[Door]:
    with outbound() as heard:
        yield door
    assert heard == []


def test_the_table_is_large_enough() -> None:
    assert len(HOSTILE) >= 100


@pytest.mark.timeout(600)  # a hang guard: the dearest patterns run into the limit of the child that judges
@pytest.mark.parametrize(("schema", "code"), sampled(HOSTILE, one_in=4))
def test_a_hostile_schema_is_refused_or_judged_by(quiet_door: Door, schema: Any, code: str | None) -> None:
    reply = quiet_door.put("/tools/hostile", {"input_schema": schema})
    if reply.status == 400:  # deeper than a body may be, so that the schema is not looked at
        assert (reply.code, code) == ("bad-json", ANY)
        return
    if reply.status == 422:
        assert reply.code == "invalid-schema"
        (fault,) = reply.body["errors"]
        assert code in (ANY, fault["code"])
        return
    assert (reply.status, code in (ANY, None)) == (201, True)
    for number, value in enumerate(VALUES):
        sent = {"tool": "hostile", "tool_call_id": f"c{number}", "arguments": value}
        verdict = quiet_door.post("/calls", sent)
        if verdict.status == 202:  # dear: left to the worker
            judge_waiting(clock=timezone.now)
            verdict = quiet_door.get(f"/calls/{verdict.body['call_id']}/wait?for=verdict")
        assert verdict.body["status"] in ("valid", "retry"), verdict.text[:300]
