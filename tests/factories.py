"""Plain functions that make what tests need, through the same use cases that the service uses."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from dashboard.navigation import Role, give_role
from retrycontract.contract.decisions import Decision
from retrycontract.contract.schemas.telling_costs import SECOND
from retrycontract.store.models import Agent, Attempt, Call, Guidance, Tool
from retrycontract.usecases.answers.deliver_answer import mark_delivered
from retrycontract.usecases.answers.give_guidance import give_guidance
from retrycontract.usecases.calls.continue_call import NewAttempt
from retrycontract.usecases.calls.submit_attempt import submit_attempt
from retrycontract.usecases.tools.contracts import MOST_COMPILING, PinnedContract, pinned
from retrycontract.usecases.tools.register_tool import ToolSettings, register_tool

PASSWORD = "correct horse battery"
DEPLOY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "service": {"type": "string"},
        "region": {"enum": ["eu-west-1", "us-east-1"]},
        "replicas": {"type": "integer", "minimum": 1},
    },
    "required": ["service", "region"],
    "additionalProperties": False,
}
WRONG: dict[str, Any] = {"service": "web", "region": "europe"}
RIGHT: dict[str, Any] = {"service": "web", "region": "eu-west-1"}
_numbers = count(1)


def make_user(name: str = "mia", role: Role = Role.OPERATOR) -> User:
    """Make somebody who can log in with PASSWORD."""
    user = User.objects.create_user(name, password=PASSWORD)
    give_role(user, role)
    return user


def make_agent(name: str = "deployer", *, now: datetime | None = None) -> Agent:
    """Make an agent, or get the one of that name."""
    agent, _ = Agent.objects.get_or_create(name=name, defaults={"namespace": name, "created_at": now or timezone.now()})
    return agent


def make_tool(agent: Agent, name: str = "deploy", schema: Any = None, *, hold: bool = False, **settings: Any) -> Tool:
    """Register a tool."""
    chosen = DEPLOY if schema is None else schema
    return register_tool(agent, name, chosen, now=timezone.now(), settings=ToolSettings(hold=hold, **settings)).tool


def use_often(tool: Tool) -> PinnedContract:
    """Use a tool until its schema is compiled in this process, which for a large one takes several calls."""
    assert tool.current_version is not None
    contract = pinned(tool, tool.current_version, tool.kind)
    while contract.weight.compiling <= MOST_COMPILING * SECOND and not contract.use():
        pass
    return contract


def submit(
    agent: Agent,
    output: Any,
    *,
    tool: str = "deploy",
    call: Call | None = None,
    at: datetime | None = None,
    is_bounded: bool = False,
    **more: Any,
) -> Attempt:
    """Submit one attempt: a new call, or the next attempt of a call."""
    new = NewAttempt(
        tool=tool,
        output=output,
        call_id=call.public_id if call else None,
        **({"tool_call_id": f"toolu_{next(_numbers)}", "session_id": f"session-{next(_numbers)}"} | more),
    )
    return submit_attempt(agent, new, now=at or timezone.now(), is_bounded=is_bounded)


def make_call(agent: Agent, outputs: Sequence[Any], *, at: datetime | None = None, **more: Any) -> Call:
    """Make a call with one attempt for each output, twenty seconds apart; the last one at `at`."""
    last = at or timezone.now()
    call: Call | None = None
    for before, output in zip(reversed(range(len(outputs))), outputs, strict=True):
        call = submit(agent, output, call=call, at=last - timedelta(seconds=20 * before), **more).call
    assert call is not None
    return Call.objects.select_related("agent", "tool", "version").get(pk=call.pk)


def make_blocked(agent: Agent | None = None, output: Any = None, **more: Any) -> Call:
    """Make a call that is Blocked after three failures."""
    agent = agent or make_agent()
    if not Tool.objects.filter(namespace=agent.namespace, name=more.get("tool", "deploy")).exists():
        make_tool(agent, more.get("tool", "deploy"))
    call = make_call(agent, [WRONG if output is None else output] * 3, **more)
    assert call.state == "blocked", call.state
    return call


def answer(
    call: Call,
    operator: User,
    decision: Decision = Decision.HINT,
    *,
    text: str = "Use eu-west-1.",
    at: datetime | None = None,
    is_read: bool = False,
    **more: Any,
) -> Guidance:
    """Answer the open escalation of a call, and if `is_read` hand the answer to its agent."""
    escalation = call.escalations.open().get()
    given = give_guidance(escalation, operator, decision, now=at or timezone.now(), text=text, **more)
    if is_read:
        mark_delivered(given, now=at or timezone.now())
    return given
