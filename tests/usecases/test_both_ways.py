"""At the door and through a worker the same submissions leave the same history, to the letter."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django import Settings

from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.store.models import Agent, Call
from retrycontract.usecases.tools.register_tool import ToolSettings, register_tool
from tests.factories import RIGHT, WRONG, make_agent, submit
from tests.usecases.conftest import NOON, configure, judge_all, send_and_judge

pytestmark = pytest.mark.django_db

SECRET = "ghp_" + "aZ3kQ9xW7bN2mL5vR8tY1cF4hJ6dS0gPuE9i"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "service": {"type": "string"},
        "region": {"enum": ["eu-west-1", "us-east-1"]},
        "replicas": {"type": "integer", "minimum": 1},
        "password": {"type": "string", "minLength": 8},
    },
    "required": ["service", "region"],
}
CHAINS: dict[str, list[dict[str, Any]]] = {
    "valid at once": [{"output": RIGHT}],
    "valid as text": [{"output": '{"service": "web", "region": "eu-west-1"}'}],
    "one failure": [{"output": WRONG}],
    "right on the second try": [{"output": WRONG}, {"output": RIGHT}],
    "three failures": [{"output": WRONG}] * 3,
    "a failure while Blocked": [{"output": WRONG}] * 4,
    "right while Blocked": [{"output": WRONG}] * 3 + [{"output": RIGHT}],
    "right while Blocked, held": [{"output": WRONG, "tool": "held"}] * 3 + [{"output": RIGHT, "tool": "held"}],
    "observed": [{"output": WRONG, "tool": "observed"}],
    "one attempt allowed": [{"output": WRONG, "tool": "impatient"}],
    "not strict": [{"output": RIGHT | {"more": 1}, "tool": "lenient"}],
    "an undeclared field": [{"output": RIGHT | {"more": 1}}],
    "no JSON": [{"output": '{"service": "web", "region": '}],
    "a number too large, parsed": [{"output": {"service": "web", "replicas": 10**400}}],
    "a number too large, as text": [{"output": '{"service": "web", "replicas": 1e400}'}],
    "cut off": [{"output": '{"service": "web", "reg', "finish_reason": "length"}],
    "fenced": [{"output": "```json\n{}\n```"}],
    "empty": [{"output": ""}],
    "not a number": [{"output": '{"service": "web", "region": "eu-west-1", "replicas": NaN}'}],
    "a lone surrogate": [{"output": '{"service": "\\ud800", "region": "eu-west-1"}'}],
    "NUL": [{"output": {"service": "\x00", "region": "eu-west-1"}}],
    "nothing": [{"output": None}],
    "a list": [{"output": [1, 2]}],
    "a secret in a value": [{"output": WRONG | {"service": SECRET}}],
    "a secret under a telling name": [{"output": WRONG | {"password": "hunter2"}}],
    "a secret in a key": [{"output": WRONG | {SECRET: 1}}],
    "a secret in broken text": [{"output": f'{{"service": "{SECRET}", '}],
    "rejected by the agent's callback": [{"output": RIGHT, "callback_error": "the service does not exist"}],
    "rejected by callback and schema": [{"output": WRONG, "callback_error": "the service does not exist"}],
    "an unknown tool": [{"output": RIGHT, "tool": "deplyo"}],
    "an unknown tool with a secret for a name": [{"output": RIGHT, "tool": SECRET}] * 2,
    "the right tool after an unknown one": [{"output": RIGHT, "tool": "deplyo"}, {"output": RIGHT}],
    "the right tool, wrongly": [{"output": RIGHT, "tool": "deplyo"}, {"output": WRONG}],
    "two unknown tools": [{"output": RIGHT, "tool": "deplyo"}, {"output": RIGHT, "tool": "nothing_like_it"}],
    "three unknown tools": [{"output": RIGHT, "tool": name} for name in ("one", "two", "three")],
    "an unknown tool and two failures": [{"output": RIGHT, "tool": "deplyo"}, {"output": WRONG}, {"output": WRONG}],
    "a context": [{"output": WRONG, "context": {"goal": f"deploy with {SECRET}", "trace_url": "https://t.example/1"}}],
    "a context that comes late": [{"output": WRONG}, {"output": WRONG, "context": {"goal": "deploy"}}],
    "turns": [{"output": WRONG, "turn": 3}, {"output": WRONG}, {"output": WRONG, "turn": 5}],
}
LONGER = {name: chain for name, chain in CHAINS.items() if len(chain) > 1}


def make_tools(agent: Agent) -> None:
    register_tool(agent, "deploy", SCHEMA, now=NOON)
    for name, settings in {
        "held": ToolSettings(hold=True),
        "observed": ToolSettings(mode="observe"),
        "impatient": ToolSettings(max_attempts=1),
        "lenient": ToolSettings(strict=False),
    }.items():
        register_tool(agent, name, SCHEMA, now=NOON, settings=settings)


def run(agent: Agent, chain: list[dict[str, Any]]) -> Call:
    """Send a chain of attempts for one call, each after the verdict of the one before."""
    make_tools(agent)
    call: Call | None = None
    for number, fields in enumerate(chain):
        fields = {"tool": "deploy", "tool_call_id": f"id_{number}", "session_id": "s", "at": NOON} | fields
        call = send_and_judge(agent, fields.pop("output"), call=call, **fields).call
    assert call is not None
    return call


def history(call: Call) -> dict[str, Any]:
    """Give everything that is stored of a call, but for keys, times and ids of ours."""
    ours = {"_state", "id", "public_id", "agent_id", "tool_id", "version_id", "call_id"}
    ours |= {
        "created_at",
        "updated_at",
        "blocked_at",
        "expires_at",
        "judged_at",
        "opened_at",
        "duration_us",
        "deliveries",
    }

    def kept(row: object) -> dict[str, Any]:
        return {name: value for name, value in vars(row).items() if name not in ours and not name.startswith("_")}

    stored = Call.objects.select_related("tool", "version").get(pk=call.pk)
    moves = list(call.events.exclude(name="attempt.queued").values("name", "to_state", "data"))
    for move in moves:
        move["data"].pop("tool", None)  # told when the attempt comes in
    return {
        "call": kept(Call.objects.get(pk=call.pk)),
        "tool": (str(stored.tool), str(stored.version)),
        "attempts": [kept(attempt) for attempt in call.attempts.order_by("number")],
        "escalations": [kept(escalation) for escalation in call.escalations.order_by("round")],
        "events": moves,
    }


@pytest.mark.parametrize("chain", CHAINS.values(), ids=list(CHAINS))
def test_both_ways_store_the_same(settings: Settings, chain: list[dict[str, Any]]) -> None:
    configure(settings, judge="auto")
    at_the_door = history(run(make_agent("door"), chain))
    configure(settings, judge="worker")
    by_the_worker = history(run(make_agent("worker"), chain))
    assert at_the_door == by_the_worker


@pytest.mark.parametrize("chain", LONGER.values(), ids=list(LONGER))
def test_attempts_that_come_before_the_first_verdict_are_told_the_same(
    settings: Settings, chain: list[dict[str, Any]]
) -> None:
    """A worker that is late finds all attempts of a call at once; each is answered as if it had come alone."""
    configure(settings, judge="auto")
    at_the_door = history(run(make_agent("door"), chain))
    configure(settings, judge="worker")
    agent = make_agent("worker")
    make_tools(agent)
    call: Call | None = None
    for number, fields in enumerate(chain):
        fields = {"tool": "deploy", "tool_call_id": f"id_{number}", "session_id": "s", "at": NOON} | fields
        call = submit(agent, fields.pop("output"), call=call, **fields).call
    assert call is not None
    judge_all()
    assert history(call)["attempts"] == at_the_door["attempts"]


@pytest.mark.parametrize("judge", ["auto", "worker"])
def test_overrides_of_the_configuration_file_count_in_both_ways(settings: Settings, judge: str) -> None:
    settings.CONTRACT = RetryConfiguration(overrides=(("deploy", {"max_attempts": 1}),))
    configure(settings, judge=judge)
    call = run(make_agent(), [{"output": WRONG}])
    assert (call.state, call.attempts_allowed) == ("blocked", 1)
