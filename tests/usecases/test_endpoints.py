"""What systems are told by webhooks: which events, at whose endpoints, and signed with which secrets."""

from __future__ import annotations

import pytest
from django.db import transaction

from retrycontract.contract.decisions import Decision
from retrycontract.contract.webhooks import WebhookEvent
from retrycontract.store.models import Door, Event, OutboxMessage
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.calls.sweep import expire_overdue
from retrycontract.usecases.notify.tend_endpoint import change_endpoint, rotate_secret, tell_endpoints
from tests.factories import RIGHT, answer, make_agent, make_blocked, make_user, submit
from tests.serving.receivers import Receiver
from tests.usecases.conftest import NOON, Send, fail
from tests.usecases.endpoint_desk import BLOCKED, BY, DAY, HOUR, SECOND, drain, is_verified, listen
from tests.usecases.endpoint_desk import receiver as receiver
from tests.usecases.outbox_desk import blocked

pytestmark = pytest.mark.django_db


# What is told, and to whom


def test_a_message_is_small_signed_and_leads_to_the_rest(receiver: Receiver) -> None:
    endpoint, secret = listen(receiver, events=BLOCKED)
    (call,) = blocked(session_id="s-1", tool_call_id="toolu_x", task_id="t-1", correlation_id="c-1")
    assert drain() == 1
    (post,) = receiver.posts
    assert is_verified(post, secret, NOON)
    assert post.headers["content-type"] == "application/json"
    assert post.id == endpoint.messages.get().public_id
    assert post.body == {
        "type": "call.blocked",
        "timestamp": "2030-01-01T12:00:00.000Z",
        "data": {
            "call_id": call.public_id,
            "agent": "deployer",
            "tool": "deploy",
            "tool_call_id": "toolu_x",
            "session_id": "s-1",
            "task_id": "t-1",
            "correlation_id": "c-1",
            "state": "blocked",
            "attempts": 3,
            "round": 1,
            "links": {
                "self": f"https://desk.example/api/v1/calls/{call.public_id}",
                "guidance": f"https://desk.example/api/v1/calls/{call.public_id}/guidance",
                "desk": f"https://desk.example/calls/{call.public_id}/",
            },
        },
    }


def test_everything_that_happens_to_a_call_is_told(receiver: Receiver) -> None:
    listen(receiver)
    guided, solved, expired, cancelled = blocked(4)
    answer(guided, make_user(), Decision.HINT, at=NOON, grant=2)
    submit(solved.agent, RIGHT, call=solved, at=NOON)
    cancel_call(cancelled, now=NOON)
    expire_overdue(now=NOON + 8 * DAY)
    drain(NOON + 8 * DAY)
    told = {(post.body["type"], post.body["data"]["call_id"]): post.body["data"] for post in receiver.posts}
    assert set(told) == {("call.blocked", call.public_id) for call in (guided, solved, expired, cancelled)} | {
        ("guidance.given", guided.public_id),
        ("call.resolved", solved.public_id),
        ("call.expired", expired.public_id),
        ("call.cancelled", cancelled.public_id),
    }
    given = told["guidance.given", guided.public_id]
    assert (given["state"], given["decision"], given["granted"]) == ("guided", "hint", 2)
    assert told["call.expired", expired.public_id]["on_expiry"] == "expire"


def test_the_words_of_an_answer_are_read_by_its_link_and_not_sent(receiver: Receiver) -> None:
    listen(receiver)
    (call,) = blocked()
    answer(call, make_user(), Decision.CORRECTED, arguments=RIGHT, text="wordsOfMia", at=NOON)
    drain()
    sent = b"".join(post.raw for post in receiver.posts)
    assert b"guidance.given" in sent
    assert b"wordsOfMia" not in sent
    assert b"eu-west-1" not in sent


def test_both_ways_to_judge_tell_once(send: Send, receiver: Receiver) -> None:
    listen(receiver)
    fail(send, 4)
    assert list(OutboxMessage.objects.values_list("subject", flat=True)) == ["call.blocked"]


def test_an_endpoint_hears_what_it_listens_to_and_of_its_own_agent_alone(receiver: Receiver) -> None:
    everyones, _ = listen(receiver, events=BLOCKED)
    own, _ = listen(receiver, agent=make_agent("deployer"))
    others, _ = listen(receiver, agent=make_agent("other"))
    off, _ = listen(receiver)
    change_endpoint(off, {"address": off.address, "events": off.events, "is_active": False}, now=NOON, **BY)
    (call,) = blocked()
    cancel_call(call, now=NOON)
    heard = {one.public_id: sorted(one.messages.values_list("subject", flat=True)) for one in (everyones, own)}
    assert heard == {everyones.public_id: ["call.blocked"], own.public_id: ["call.blocked", "call.cancelled"]}
    assert not OutboxMessage.objects.filter(endpoint__in=[others, off]).exists()


def test_what_is_rolled_back_is_not_told(receiver: Receiver) -> None:
    listen(receiver)
    call = make_blocked(at=NOON)
    OutboxMessage.objects.all().delete()
    with transaction.atomic():
        tell_endpoints(WebhookEvent.CALL_BLOCKED, call, now=NOON)
        transaction.set_rollback(True)
    assert drain() == 0


# Secrets of endpoints


def test_after_a_rotation_both_secrets_sign_for_a_day(receiver: Receiver) -> None:
    endpoint, old = listen(receiver, events=BLOCKED)
    new = rotate_secret(endpoint, now=NOON, **BY)
    assert old != new
    for moment, is_old_good in ((NOON, True), (NOON + DAY - SECOND, True), (NOON + DAY, False)):
        make_blocked(at=moment)
        drain(moment)
        post = receiver.posts[-1]
        assert is_verified(post, new, moment)
        assert is_verified(post, old, moment) is is_old_good
        assert len(post.headers["webhook-signature"].split(" ")) == 1 + is_old_good
    assert [event.name for event in Event.objects.filter(door=Door.ADMIN)] == [
        "endpoint.added",
        "endpoint.secret_rotated",
    ]


def test_rotating_twice_keeps_what_was_promised(receiver: Receiver) -> None:
    endpoint, first = listen(receiver)
    second = rotate_secret(endpoint, now=NOON, **BY)
    third = rotate_secret(endpoint, now=NOON + 2 * HOUR, **BY)
    endpoint.refresh_from_db()
    assert endpoint.secrets_at(NOON + 3 * HOUR) == [third, second, first]
    assert endpoint.secrets_at(NOON + 25 * HOUR) == [third, second]
    assert endpoint.secrets_at(NOON + 26 * HOUR) == [third]
