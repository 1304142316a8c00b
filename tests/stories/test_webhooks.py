"""A system listens: it is told of a Blocked call and of its answer, believes what is signed, and misses nothing."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from retrycontract.contract.webhooks import verify
from tests.serving import running
from tests.serving.desk import Desk
from tests.serving.receivers import Post, Receiver, receiving
from tests.serving.service import AgentClient, Service
from tests.serving.threads import eventually

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"region": {"enum": ["eu-west-1", "us-east-1"]}}}
CANARY = "sk-proj-canaryT3BlbkFJabcdefghijklmnopqrstuv1234567890"


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    """The system that listens."""
    with receiving() as found:
        yield found


@pytest.fixture(scope="module")
def telling(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that may reach this machine."""
    environment = {"RETRYCONTRACT_ALLOW_PRIVATE_WEBHOOKS": "true", "RETRYCONTRACT_SWEEP_SECONDS": "0.1"}
    with running(Service(tmp_path_factory.mktemp("telling") / "data", environment)) as service:
        yield service


@pytest.fixture(scope="module")
def secret(telling: Service, receiver: Receiver) -> str:
    """Add the endpoint at the desk, and give the secret that it shows."""
    desk = Desk(telling)
    desk.log_in("ada", telling.new_operator("ada", "admin"))
    form = {"agent": "", "address": receiver.url, "events": ["call.blocked", "guidance.given"]}
    page = desk.submit("/settings/webhooks/new/", "address", form)
    found = re.search(r"whsec_[\w+/=]+", page)
    assert found is not None
    return found.group(0)


def told(receiver: Receiver, call_id: str, kind: str) -> list[Post]:
    return [post for post in receiver.posts if (post.body["data"]["call_id"], post.body["type"]) == (call_id, kind)]


def blocked(service: Service, name: str) -> tuple[AgentClient, str]:
    agent = AgentClient(service, service.new_key(name))
    agent.register("deploy", SCHEMA, max_attempts=1)
    return agent, agent.submit("deploy", "call_1", {"region": CANARY})["call_id"]


def test_a_listener_follows_a_call_from_block_to_answer(telling: Service, receiver: Receiver, secret: str) -> None:
    agent, call_id = blocked(telling, "night-shift")
    eventually(lambda: told(receiver, call_id, "call.blocked"))
    desk = Desk(telling)
    desk.log_in()
    desk.answer(call_id, text="Use eu-west-1.")
    eventually(lambda: told(receiver, call_id, "guidance.given"))
    for post in receiver.posts:
        assert verify([secret], post.headers, post.raw, now=time.time())
        assert not verify([secret], post.headers, post.raw + b" ", now=time.time())
        assert CANARY.encode() not in post.raw
    link = told(receiver, call_id, "guidance.given")[0].body["data"]["links"]["guidance"]
    given = agent.send("GET", link.removeprefix("/api/v1"))
    assert given.body["operator_text"] == "Use eu-west-1."


def test_a_listener_that_was_down_hears_of_it_under_the_same_id(
    telling: Service, receiver: Receiver, secret: str
) -> None:
    receiver.status = 503
    _, call_id = blocked(telling, "unlucky")
    eventually(lambda: told(receiver, call_id, "call.blocked"))
    tried = len(told(receiver, call_id, "call.blocked"))
    receiver.status = 200
    eventually(lambda: len(told(receiver, call_id, "call.blocked")) > tried)
    posts = told(receiver, call_id, "call.blocked")
    assert len({(post.id, post.raw) for post in posts}) == 1
    assert verify([secret], posts[-1].headers, posts[-1].raw, now=time.time())
