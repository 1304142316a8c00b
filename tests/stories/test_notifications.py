"""A call gets stuck while nobody looks: people are told outside of the desk, follow the link, and answer."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serving import running
from tests.serving.desk import Desk
from tests.serving.receivers import Mailbox, Receiver, receiving, taking_mail
from tests.serving.service import AgentClient, Service
from tests.serving.threads import eventually

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"region": {"enum": ["eu-west-1", "us-east-1"]}, "token": {"type": "string"}},
    "required": ["region"],
}
CANARY = "sk-proj-canaryT3BlbkFJabcdefghijklmnopqrstuv1234567890"
WRONG = {"region": "europe", "token": CANARY}


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    """The chat's webhook."""
    with receiving() as found:
        yield found


@pytest.fixture(scope="module")
def mailbox() -> Iterator[Mailbox]:
    """The people's mail server."""
    with taking_mail() as found:
        yield found


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, receiver: Receiver, mailbox: Mailbox) -> Iterator[Service]:
    """A service that tells people by both ways, set up by its environment alone."""
    folder = tmp_path_factory.mktemp("told")
    secret = folder / "webhook"
    secret.write_text(f"{receiver.url}\n")
    environment = {
        "RETRYCONTRACT_PUBLIC_URL": "http://desk.example/",
        "RETRYCONTRACT_NOTIFY_WEBHOOK_URL_FILE": str(secret),
        "RETRYCONTRACT_ALLOW_PRIVATE_WEBHOOKS": "true",
        "RETRYCONTRACT_NOTIFY_EMAIL": "ana@example.com, bo@example.com",
        "RETRYCONTRACT_NOTIFY_PAUSE_SECONDS": "1",
        "RETRYCONTRACT_EMAIL_HOST": "127.0.0.1",
        "RETRYCONTRACT_EMAIL_PORT": str(mailbox.port),
        "RETRYCONTRACT_EMAIL_SECURITY": "none",
        "RETRYCONTRACT_EMAIL_FROM": "desk@desk.example",
        "RETRYCONTRACT_SWEEP_SECONDS": "0.1",
    }
    with running(Service(folder / "data", environment)) as service:
        yield service


def blocked(service: Service, name: str, **settings: Any) -> tuple[AgentClient, str]:
    agent = AgentClient(service, service.new_key(name))
    agent.register("deploy", SCHEMA, max_attempts=1, **settings)
    return agent, agent.submit("deploy", "call_1", WRONG)["call_id"]


def test_people_are_told_by_webhook_and_email_and_the_link_leads_to_the_call(
    told: Service, receiver: Receiver, mailbox: Mailbox
) -> None:
    agent, call_id = blocked(told, "night-shift")
    eventually(lambda: any(call_id in post.text for post in receiver.posts))
    eventually(lambda: any(call_id.encode() in raw for raw in mailbox.raw))
    assert not [raw for raw in mailbox.raw if b"ana@" in raw or b"bo@" in raw], "nobody reads who else is told"
    text = next(post.text for post in receiver.posts if call_id in post.text)
    assert text.startswith("*Blocked:* `deploy` of agent `night-shift` waits for an answer after 1 attempt.")
    link = re.search(r"http://desk\.example(/calls/\S+)", text)
    assert link is not None
    desk = Desk(told)
    desk.log_in()
    assert "night-shift" in desk.get(link.group(1))
    desk.answer(call_id, text="Use eu-west-1.")
    assert agent.submit("deploy", "call_2", {"region": "eu-west-1"}, call_id=call_id)["status"] == "valid"


def test_no_secret_leaves_the_house(told: Service, receiver: Receiver, mailbox: Mailbox, tmp_path: Path) -> None:
    _, call_id = blocked(told, "canary")
    eventually(lambda: any(call_id in post.text for post in receiver.posts))
    eventually(lambda: any(call_id.encode() in raw for raw in mailbox.raw))
    sent = "".join(post.text for post in receiver.posts) + b"".join(mailbox.raw).decode()
    assert "REDACTED" in sent
    assert CANARY not in sent
    assert "canaryPathSecret" not in sent + told.log
    at_rest = b"".join(path.read_bytes() for path in told.data_dir.glob("retrycontract.sqlite3*"))
    assert b"canaryPathSecret" not in at_rest


@pytest.mark.soak
def test_a_receiver_that_is_down_costs_the_agent_nothing_and_gets_the_message_later(
    told: Service, receiver: Receiver
) -> None:
    receiver.status, receiver.seconds = 503, 2
    started = time.monotonic()
    _, call_id = blocked(told, "unlucky")
    assert time.monotonic() - started < 30
    eventually(lambda: any(call_id in post.text for post in receiver.posts))
    receiver.status, receiver.seconds = 200, 0
    tries = [post for post in receiver.posts if call_id in post.text]
    eventually(lambda: len([post for post in receiver.posts if call_id in post.text]) > len(tries), within=30)
    assert len({post.id for post in receiver.posts if call_id in post.text}) == 1


def test_who_waits_hears_that_nobody_answered_in_time(told: Service) -> None:
    agent, call_id = blocked(told, "impatient", expires_after="1s", on_expiry="reject")
    answer = agent.send("GET", f"/calls/{call_id}/wait?for=guidance", headers={"Prefer": "wait=20"})
    assert (answer.status, answer.body["state"], answer.body["guidance"]) == (200, "rejected", None)
    assert answer.body["expiry"].startswith("No one answered your Blocked call of tool 'deploy' within 1 second, so")
    assert "No person has said no." in answer.body["expiry"]
