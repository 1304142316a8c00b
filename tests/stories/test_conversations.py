"""Two conversations of one agent never meet, however alike they number their tool calls."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from itertools import cycle, islice
from threading import Barrier
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from retrycontract.client import Client
from retrycontract.contract.decisions import Decision
from retrycontract.store.models import ApiKey, Attempt, Call
from tests.factories import answer, make_agent, make_tool, make_user
from tests.serving.desk import Desk
from tests.serving.service import Service
from tests.stories.conversations import TRANSFER, WAYS, Conversation, InThisProcess, Submit

if TYPE_CHECKING:
    from collections.abc import Iterator

EVERY_WAY = pytest.mark.parametrize("way", [*WAYS.values(), None], ids=[*WAYS, "sessions"])
PAIRS = 200  # without a session, in every way; some more have one
AT_ONCE = 8  # pairs that talk at the same time


@pytest.fixture
def client(db: None) -> Iterator[Client]:
    """A client of the service in this process."""
    agent = make_agent("payer")
    make_tool(agent, "transfer", TRANSFER)
    key = ApiKey.create_for(agent, timezone.now())[1]
    with Client("http://testserver", key, transport=InThisProcess()) as found:
        yield found


def budget_of(way: Submit | None) -> int:
    """Tell how many attempts a call has: one that nothing continues is Blocked by its first or never."""
    return 3 if way in (None, WAYS["call ids"]) else 1


@EVERY_WAY
def test_two_conversations_in_lockstep_are_answered_apart(client: Client, way: Submit | None) -> None:
    pair = [Conversation(client, name, way) for name in ("alice", "bob")]
    for _ in range(budget_of(way)):
        assert {conversation.attempt().status for conversation in pair} <= {"retry", "blocked"}
    operator = make_user()
    for call in Call.objects.blocked():
        sent = call.attempts.get(number=1).output
        answer(call, operator, Decision.CORRECTED, arguments=sent | {"amount": 10})
    assert [conversation.transferred() for conversation in pair] == [
        [{"amount": 10, "to": "alice"}], [{"amount": 10, "to": "bob"}],
    ]  # fmt: skip
    assert set(pair[0].calls).isdisjoint(pair[1].calls)
    assert Call.objects.count() == 2


def test_a_program_that_was_started_again_begins_new_calls(client: Client) -> None:
    """Its ids are those of the run before, which left calls open in every state."""
    for way in WAYS.values():
        before, after = Conversation(client, "alice", way), Conversation(client, "alice", way)
        for _ in range(3):
            before.attempt()
        assert after.attempt().attempt == 1
        assert set(after.calls).isdisjoint(before.calls)


@pytest.mark.parametrize("state", ["retrying", "blocked", "guided"])
def test_an_open_call_without_a_session_is_continued_by_its_call_id_only(client: Client, state: str) -> None:
    conversation = Conversation(client, "alice", WAYS["call ids"])
    for _ in range(1 if state == "retrying" else 3):
        outcome = conversation.attempt()
    if state == "guided":
        answer(Call.objects.get(), make_user())
    assert Call.objects.get().state == state
    last = Attempt.objects.latest("pk").tool_call_id
    stray = client.submit("transfer", last, {"amount": 10, "to": "bob"}, turn=10**6)
    assert (stray.status, stray.call_id != outcome.call_id) == ("valid", True)
    assert client.submit("transfer", last, {"amount": 1, "to": "alice"}, call_id=outcome.call_id).status == "valid"


def converse(client: Client, way: Submit | None, number: int) -> None:
    """Let two conversations talk in lockstep, each in a thread of its own, and a person answer both."""
    pair = [Conversation(client, f"{name}-{number}", way) for name in ("alice", "bob")]
    start = Barrier(2)

    def talk(conversation: Conversation) -> list[Any]:
        for _ in range(budget_of(way)):
            start.wait(120)
            conversation.attempt()
        return conversation.transferred()

    with ThreadPoolExecutor(2) as threads:
        transferred = list(threads.map(talk, pair))
    assert transferred == [[{"amount": 10, "to": conversation.to}] for conversation in pair]
    assert set(pair[0].calls).isdisjoint(pair[1].calls)
    assert len({*pair[0].calls, *pair[1].calls}) == 2


@pytest.mark.soak
def test_two_hundred_pairs_in_lockstep_are_answered_apart(judged_service: Service) -> None:
    """All under one key: those that name the calls, those that name nothing, those that count turns."""
    desk = Desk(judged_service)
    desk.log_in()
    ways = [*islice(cycle(WAYS.values()), PAIRS), *[None] * (PAIRS // 10)]
    key = judged_service.new_key("payer")
    with Client(judged_service.url, key) as client, ThreadPoolExecutor(AT_ONCE + 1) as pool:
        client.register_tool("transfer", TRANSFER)
        pairs = [pool.submit(converse, client, way, number) for number, way in enumerate(ways)]
        answered: set[str] = set()
        while wait(pairs, timeout=0.1).not_done:
            for call in client.calls(state="blocked"):
                if call.call_id not in answered:
                    answered.add(call.call_id)
                    correct(judged_service, key, desk, call.call_id)
        for pair in pairs:
            pair.result()
        assert len(answered) == len(list(client.calls())) == 2 * len(ways)


def correct(service: Service, key: str, desk: Desk, call_id: str) -> None:
    """Answer a call as its own first attempt has it, with a right amount."""
    path = f"/calls/{call_id}/"
    to = service.send("GET", f"/api/v1/calls/{call_id}", key=key).body["attempts"][0]["output"]["to"]
    desk.submit(path, "decision", {"decision": "corrected", "arguments": f'{{"amount": 10, "to": "{to}"}}'})
