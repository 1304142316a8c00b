"""A schema is tried on what failed, and what was right, before anybody is judged by it."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from retrycontract.contract.schemas.admission import InvalidSchema
from retrycontract.store.models import Attempt, Call, Event, Tool
from retrycontract.usecases.tools import try_schema
from retrycontract.usecases.tools.register_tool import register_tool
from retrycontract.usecases.tools.try_schema import MOST_EXAMPLES, last_failed, replay
from tests.factories import DEPLOY, RIGHT, WRONG, make_agent, make_call, make_tool, submit
from tests.usecases.conftest import NOON

pytestmark = pytest.mark.django_db
TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


def changed(**properties: Any) -> Any:
    schema = copy.deepcopy(DEPLOY)
    schema["properties"] |= properties
    return schema


WIDER = changed(region={"enum": ["eu-west-1", "us-east-1", "europe"]})
NARROWER = changed(service={"const": "api"})


@pytest.fixture
def tool() -> Tool:
    return make_tool(make_agent())


def test_what_failed_and_would_be_right_is_counted_and_shown(tool: Tool) -> None:
    for _ in range(MOST_EXAMPLES + 1):
        make_call(make_agent(), [WRONG, {"service": "web"}, RIGHT])
    found = replay(tool, WIDER)
    assert (found.failures, found.now_valid, found.still_wrong) == (12, 6, 6)
    assert (found.right, found.now_wrong, found.redacted, found.elsewhere) == (6, 0, 0, 0)
    assert len(found.mended) == MOST_EXAMPLES
    assert [str(error.error_code) for error in found.mended[0].errors] == ["VAL-008"]


def test_what_was_right_and_would_fail_is_counted_and_shown(tool: Tool) -> None:
    make_call(make_agent(), [WRONG, RIGHT])
    found = replay(tool, NARROWER)
    assert (found.now_valid, found.right, found.now_wrong) == (0, 1, 1)
    assert found.broken[0].attempt.number == 2
    assert [error.field_path for error in found.broken[0].errors] == ["/service"]


def test_what_was_redacted_is_not_tried(tool: Tool) -> None:
    make_call(make_agent(), [WRONG | {"service": TOKEN}, RIGHT | {"service": TOKEN}])
    found = replay(tool, WIDER)
    assert (found.failures, found.replayed, found.redacted, found.right) == (1, 0, 2, 0)


def test_a_schema_that_is_much_work_is_tried_on_the_newest_and_the_others_are_counted(
    tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        make_call(make_agent(), [WRONG, RIGHT])
    monkeypatch.setattr(try_schema, "REPLAY_SECONDS", 0.02)  # to compile the pattern takes more
    found = replay(tool, changed(service={"pattern": ".{0,20000}"}))
    assert (found.failures, found.replayed, found.right, found.untried) == (3, 1, 0, 5)


def test_a_failure_that_no_schema_caused_is_told_apart(tool: Tool) -> None:
    submit(make_agent(), RIGHT, callback_error="the quota is used up")
    found = replay(tool, WIDER)
    assert (found.failures, found.replayed, found.elsewhere) == (1, 0, 1)


@pytest.mark.parametrize("output", ["{", '"text"', "null", "[]", '{"service": "web", "region": "europe"}'])
def test_text_is_read_as_it_was_when_it_was_judged(tool: Tool, output: str) -> None:
    submit(make_agent(), output)
    found = replay(tool, DEPLOY)
    assert (found.failures, found.now_valid, found.still_wrong) == (1, 0, 1)


def test_each_failure_is_judged_by_the_version_that_judged_it(tool: Tool) -> None:
    make_call(make_agent(), [WRONG])
    register_tool(make_agent(), "deploy", WIDER, now=NOON)
    assert replay(Tool.objects.get(), WIDER).now_valid == 1


def test_nothing_is_stored_and_an_unusable_schema_is_refused(tool: Tool) -> None:
    make_call(make_agent(), [WRONG])
    before = (Event.objects.count(), Attempt.objects.count(), Call.objects.get().state)
    replay(tool, WIDER)
    with pytest.raises(InvalidSchema, match="/type"):
        replay(tool, {"type": "objekt"})
    assert (Event.objects.count(), Attempt.objects.count(), Call.objects.get().state) == before
    assert replay(make_tool(make_agent(), "unused"), WIDER).failures == 0


def test_the_last_failures_are_the_newest_of_their_calls(tool: Tool) -> None:
    make_call(make_agent(), [RIGHT])
    old = make_call(make_agent(), [WRONG, WRONG, RIGHT])
    new = make_call(make_agent(), [WRONG])
    assert [(one.call, one.number) for one in last_failed(tool, 5)] == [(new, 1), (old, 2)]
    assert [one.call for one in last_failed(tool, 1)] == [new]


def test_trying_costs_the_same_however_much_failed(tool: Tool) -> None:
    asked = []
    for times in (1, 8):
        for _ in range(times):
            make_call(make_agent(), [WRONG, RIGHT])
        with CaptureQueriesContext(connection) as queries:
            replay(tool, WIDER)
        asked.append(len(queries))
    assert asked[0] == asked[1]
