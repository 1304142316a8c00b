"""A call in every state and of every kind, for pictures and for the axe."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User

from retrycontract.contract.decisions import Decision
from retrycontract.contract.webhooks import WebhookEvent
from retrycontract.store.models import (
    Agent,
    ApiKey,
    Call,
    Channel,
    ChannelTurn,
    Door,
    HeldAnswer,
    OutboxMessage,
    Tool,
    WebhookDelivery,
    WebhookEndpoint,
)
from retrycontract.usecases.answers.deliver_answer import acknowledge_guidance, mark_delivered
from retrycontract.usecases.answers.give_guidance import give_guidance
from retrycontract.usecases.answers.reuse_answers import save_reply, set_hint_from
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.calls.sweep import expire_overdue
from retrycontract.usecases.notify.tend_endpoint import add_endpoint
from retrycontract.usecases.tools.register_tool import ToolSettings, register_tool
from tests.browser.scene import DEPLOY, IMAGE
from tests.factories import answer, make_agent, make_blocked, make_call, submit
from tests.usecases.conftest import judge_all

WRONG: dict[str, Any] = {
    "service": "checkout",
    "image": IMAGE,
    "region": "europe",
    "replicas": "4",
    "env": {"LOG_LEVEL": "info", "DB_PASSWORD": "hunter2-correct-horse-9"},
}
RIGHT: dict[str, Any] = WRONG | {"region": "eu-west-1", "replicas": 4}
CLAIM: dict[str, Any] = {
    "type": "object",
    "properties": {"claimant": {"type": "string"}, "total_cents": {"type": "integer"}, "currency": {"enum": ["EUR"]}},
    "required": ["claimant", "total_cents", "currency"],
}
FILE = "import sys\n\ndef main(:\n    print(sys.argv)\n\nmain()\n"


def make_keys(agent: Agent, now: datetime) -> None:
    """Make keys that open the door, one that did until yesterday, and one that was taken away."""
    for passed, scopes in ((60, ""), (30, "submit"), (-1, "read"), (-20, "")):
        key, _ = ApiKey.create_for(agent, now - timedelta(days=40), expires_at=now + timedelta(days=passed))
        ApiKey.objects.filter(pk=key.pk).update(scopes=scopes, last_used_at=now - timedelta(minutes=passed + 21))
    ApiKey.objects.filter(pk=key.pk).update(revoked_at=now - timedelta(days=30))


def make_endpoint(now: datetime, address: str = "https://hooks.example/desk") -> WebhookEndpoint:
    """Make an endpoint with a log: a message that was taken at the second try, one that was not, one that waits."""
    made, _ = add_endpoint(address, list(WebhookEvent), now=now - timedelta(days=3), actor="ada", door=Door.DASHBOARD)
    body = json.dumps({"type": "call.blocked", "data": {"tool": "deploy_service", "round": 1}})
    for ago, tries, end in ((60, (503, 200), "delivered_at"), (40, (500, 500, None), "given_up_at"), (1, (), "")):
        at = now - timedelta(hours=ago)
        message = OutboxMessage.objects.create(
            channel=Channel.ENDPOINT, endpoint=made, subject="call.blocked", text=body, created_at=at, tries=len(tries),
            due_at=now + timedelta(minutes=7), **({end: at} if end else {}),
        )  # fmt: skip
        for status in tries:
            reason = "" if status == 200 else f"it answered {status}" if status else "nobody answered in 15 s"
            WebhookDelivery.objects.create(message=message, tried_at=at, status=status, reason=reason, duration_ms=84)
    ChannelTurn.objects.create(channel=Channel.ENDPOINT, endpoint=made, free_at=now + timedelta(minutes=5), failures=3)
    return made


def make_states(mia: User, now: datetime) -> dict[str, Call]:
    """Make them, with what worked before, replies and a standing hint at hand."""
    agent = make_agent("deploy-bot")
    for name in ("deploy_service", "deploy_late", "deploy_strict", "deploy_crashing"):
        register_tool(agent, name, DEPLOY, now=now)
    Tool.objects.filter(name="deploy_strict").update(on_expiry="reject")
    register_tool(agent, "deploy_shadow", DEPLOY, now=now, settings=ToolSettings(mode="observe"))
    register_tool(agent, "read_claim", CLAIM, now=now, settings=ToolSettings(kind="extraction"))
    register_tool(agent, "next_action", CLAIM, now=now, settings=ToolSettings(kind="agent_response"))
    register_tool(agent, "write_script", {"x-language": "python"}, now=now, settings=ToolSettings(kind="source_file"))

    def ago(minutes: float) -> datetime:
        return now - timedelta(minutes=minutes)

    def blocked(minutes: float, tool: str = "deploy_service", output: Any = None, **more: Any) -> Call:
        goal = {"goal": "Roll out checkout 4.12 to Europe"}
        return make_blocked(agent, output or WRONG, tool=tool, at=ago(minutes), context=goal, **more)

    for minutes, text, tried in ((900, "The region is eu-west-1, and replicas is a number.", RIGHT),
                                 (800, "The region is eu-west-1, and replicas is a number.", RIGHT),
                                 (700, "Look at the schema again, please.", WRONG)):  # fmt: skip
        earlier = blocked(minutes)
        answer(earlier, mia, text=text, at=ago(minutes - 4), is_read=True)
        submit(agent, tried, tool="deploy_service", call=earlier, at=ago(minutes - 5))
    corrected = blocked(600)
    answer(corrected, mia, Decision.CORRECTED, text="", arguments=masked(corrected), at=ago(598), is_read=True)
    submit(agent, RIGHT, tool="deploy_service", call=corrected, at=ago(597))
    save_reply(mia, "Regions", "Regions are eu-west-1, eu-central-1 and us-east-1.", now=now, position=1)
    save_reply(mia, "Ask again", "Ask the user instead of guessing.", now=now, position=2)
    save_reply(mia, "Digest", "Pin the image by digest, from the build's summary.", now=now)

    states = {"blocked": blocked(47), "guided": blocked(30), "retrying": blocked(26), "rejected": blocked(22)}
    answer(states["guided"], mia, text="The region is eu-west-1.", at=ago(29))
    retried = answer(states["retrying"], mia, text="The region is eu-west-1.", grant=3, at=ago(25))
    mark_delivered(retried, now=ago(25))
    acknowledge_guidance(retried, now=ago(24.5))
    submit(agent, WRONG | {"region": "eu-west-1"}, tool="deploy_service", call=states["retrying"], at=ago(24))
    answer(states["rejected"], mia, Decision.REJECT, text="The release was withdrawn.", at=ago(20))
    states["valid"] = corrected
    states["cancelled"] = blocked(19)
    cancel_call(states["cancelled"], now=ago(18))
    states["response"] = blocked(12, "next_action", {"claimant": "Ana", "total_cents": "4990"},
                                 kind="agent_response", task_id="claims", turn=3)  # fmt: skip
    states["extraction"] = blocked(
        11, "read_claim", {"claimant": "Ana", "total_cents": 4990, "currency": "EURO"}, kind="extraction"
    )
    states["file"] = blocked_file(agent, ago(10))
    states["unparsed"] = blocked(9, output='Sure! {"service": "checkout", "image": ')
    states["observed"] = submit(agent, WRONG, tool="deploy_shadow", at=ago(8)).call
    states["quarantined"] = blocked(7, "deploy_crashing", WRONG | {"region": "mars"})
    states["quarantined"].version.quarantine(ago(6))  # type: ignore[union-attr]  # its tool is known
    states |= {"expired": blocked(12_000, "deploy_late"), "expired-rejected": blocked(12_000, "deploy_strict")}
    late = blocked(12_000, "deploy_late", WRONG | {"region": "moon"})
    expire_overdue(now=ago(200))
    given = give_guidance(late.escalations.get(), mia, Decision.HINT, text="Sorry, late.", now=ago(100))
    mark_delivered(given, now=ago(99))
    states["late"] = late
    stood = blocked(6, "deploy_late", WRONG | {"region": "eu"})
    set_hint_from(answer(stood, mia, text="Write the region as the cloud does: eu-west-1.", at=ago(5)), mia, now=ago(5))
    states["told"] = make_call(agent, [WRONG | {"region": "eu"}, RIGHT], tool="deploy_late", at=ago(3))
    states["unsent"] = blocked(2, "deploy_late", WRONG | {"region": "earth"})
    HeldAnswer.objects.create(
        escalation=states["unsent"].escalations.get(), call=states["unsent"], operator=mia, batch="unsent", grant=2,
        decision=Decision.HINT, text="eu-west-1", rendered="The operator says: eu-west-1", held_at=ago(1), send_at=now,
    )  # fmt: skip
    submit(agent, RIGHT, tool="deploy_late", call=states["unsent"], at=ago(0.9))
    for call in states.values():
        call.refresh_from_db()
    return states


def blocked_file(agent: Agent, at: datetime) -> Call:
    """Make a call with a file that does not compile; files are judged by the worker."""
    call: Call | None = None
    for _ in range(3):
        call = submit(agent, FILE, tool="write_script", call=call, at=at, kind="source_file").call
        judge_all(now=at)
    assert call is not None
    return call


def masked(call: Call) -> Any:
    """Give the right arguments with the agent's secret as the mark that stands for it."""
    last = call.attempts.order_by("-number").first()
    assert last is not None
    return RIGHT | {"env": last.output["env"]}
