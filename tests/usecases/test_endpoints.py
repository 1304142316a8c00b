"""Systems are told by signed webhooks: out of the same transaction, in turns, over days, and never with a secret."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from pytest_django import Settings

from retrycontract.contract.lifecycle import Decision
from retrycontract.contract.webhook_events import WebhookEvent
from retrycontract.contract.webhook_signature import verify
from retrycontract.store.models import (
    Agent,
    Call,
    Door,
    Event,
    OutboxMessage,
    WebhookDelivery,
    WebhookEndpoint,
)
from retrycontract.usecases.cancel_call import cancel_call
from retrycontract.usecases.drain_endpoints import LEASE, drain_endpoints
from retrycontract.usecases.send_again import send_again
from retrycontract.usecases.sweep import expire_overdue
from retrycontract.usecases.tell_endpoints import tell_endpoints
from retrycontract.usecases.tend_endpoint import add_endpoint, change_endpoint, rotate_secret
from tests.factories import RIGHT, answer, make_agent, make_blocked, make_user, submit
from tests.receivers import Post, Receiver, receiving
from tests.usecases.conftest import NOON, Send, configure, fail

pytestmark = pytest.mark.django_db

SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
BY: dict[str, Any] = {"actor": "ada", "door": Door.ADMIN}
BLOCKED = [WebhookEvent.CALL_BLOCKED]


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    """A receiver on loopback, which the settings allow."""
    configure(settings, allow_private_webhooks=True, public_url="https://desk.example", webhook_timeout_seconds=5.0)
    with receiving() as found:
        yield found


def listen(
    receiver: Receiver, *, agent: Agent | None = None, events: list[WebhookEvent] | None = None
) -> tuple[WebhookEndpoint, str]:
    chosen = list(WebhookEvent) if events is None else events
    return add_endpoint(receiver.url, chosen, agent, now=NOON, **BY)


def move(endpoint: WebhookEndpoint, address: str) -> None:
    change_endpoint(endpoint, {"address": address, "events": endpoint.events, "is_active": True}, now=NOON, **BY)


def drain(at: datetime = NOON) -> int:
    """Do what the courier does at one moment; gives how many tries it made."""
    tries = 0
    while drain_endpoints(now=at, clock=lambda: at, chance=lambda: 0.0):
        tries += 1
    return tries


def drain_over(start: datetime, length: timedelta, step: timedelta = MINUTE) -> None:
    moment = start
    while moment < start + length:
        drain(moment)
        moment += step


def is_verified(post: Post, secret: str, at: datetime) -> bool:
    return verify([secret], post.headers, post.raw, now=at.timestamp())


def blocked(count: int = 1, **more: Any) -> list[Call]:
    return [make_blocked(at=NOON, **more) for _ in range(count)]


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


# When the receiver is not well


@pytest.mark.parametrize("illness", ["closed", "refusing", "redirecting", "slow"])
def test_a_receiver_that_is_down_for_an_hour_is_told_everything_once(
    settings: Settings, receiver: Receiver, illness: str
) -> None:
    endpoint, secret = listen(receiver, events=BLOCKED)
    with receiving() as elsewhere:
        match illness:
            case "closed":
                move(endpoint, "http://127.0.0.1:1/")  # nothing listens on tcpmux here
            case "redirecting":
                receiver.status, receiver.location = 307, elsewhere.url
            case "slow":
                receiver.seconds = 0.4
                configure(settings, webhook_timeout_seconds=0.1)
            case _:
                receiver.status = 503
        first = blocked(2)
        drain_over(NOON, HOUR)
        later = [make_blocked(at=NOON + HOUR)]
        assert not OutboxMessage.objects.filter(delivered_at__isnull=False).exists()
        assert elsewhere.posts == []
    tried = len(receiver.posts)
    move(endpoint, receiver.url)
    configure(settings, webhook_timeout_seconds=5.0)
    receiver.status, receiver.location, receiver.seconds = 200, "", 0
    drain_over(NOON + HOUR, 4 * HOUR)
    after = receiver.posts[tried:]
    assert [post.body["data"]["call_id"] for post in after].count(later[0].public_id) == 1
    assert sorted(post.body["data"]["call_id"] for post in after) == sorted(c.public_id for c in first + later)
    assert {post.id for post in receiver.posts} == {post.id for post in after}
    assert len({(post.id, post.raw) for post in receiver.posts}) == 3  # the same id and body over all tries
    assert all(is_verified(post, secret, datetime.fromtimestamp(moment_of(post), NOON.tzinfo)) for post in after)
    assert drain(NOON + 10 * DAY) == 0


def moment_of(post: Post) -> int:
    return int(post.headers["webhook-timestamp"])


def test_tries_follow_the_schedule_for_three_days_and_are_signed_anew(receiver: Receiver) -> None:
    _, secret = listen(receiver, events=BLOCKED)
    receiver.status = 500
    blocked()
    drain_over(NOON, MINUTE, SECOND)
    drain_over(NOON + MINUTE, 5 * DAY)
    tried = [timedelta(seconds=moment_of(post)) - timedelta(seconds=NOON.timestamp()) for post in receiver.posts]
    assert tried[:3] == [timedelta(), 5 * SECOND, 6 * MINUTE]
    assert [round(moment / HOUR) for moment in tried[3:]] == [1, 3, 8, 18, 28, 38, 48, 58, 68, 78]
    assert len({post.headers["webhook-signature"] for post in receiver.posts}) == len(tried)
    assert all(is_verified(post, secret, NOON + moment) for post, moment in zip(receiver.posts, tried, strict=True))
    message = OutboxMessage.objects.get()
    assert message.given_up_at is not None
    assert Event.objects.get(name="notification.given_up").data["tries"] == len(tried)


def test_one_that_is_down_does_not_hold_up_the_others(receiver: Receiver) -> None:
    with receiving(Receiver(status=500)) as down:
        listen(down, events=BLOCKED)
        listen(receiver, events=BLOCKED)
        blocked(5)
        drain()
        assert (len(down.posts), len(receiver.posts)) == (1, 5)
        drain_over(NOON, 30 * MINUTE)
        assert len(down.posts) < 12  # with the pauses that it is left alone for


def test_receivers_that_are_well_are_served_in_turn(receiver: Receiver) -> None:
    with receiving() as other:
        listen(other, events=BLOCKED)
        blocked(3)
        listen(receiver, events=BLOCKED)
        blocked(3)
        for second in range(4):
            drain_endpoints(now=NOON + second * SECOND, clock=lambda at=second: NOON + at * SECOND)  # type: ignore[misc]
    assert (len(other.posts), len(receiver.posts)) == (2, 2)


def test_a_message_that_is_always_refused_lets_the_next_pass(receiver: Receiver) -> None:
    listen(receiver, events=BLOCKED)
    receiver.status = 400
    blocked()
    drain()
    receiver.status = 200
    blocked()
    drain(NOON + 5 * SECOND)
    assert OutboxMessage.objects.filter(delivered_at=None).count() == 0


@pytest.mark.parametrize("status", [429, 503])
def test_a_receiver_that_asks_for_patience_gets_it(receiver: Receiver, status: int) -> None:
    listen(receiver, events=BLOCKED)
    receiver.status, receiver.retry_after = status, "7200"
    blocked(2)
    drain()
    receiver.status = 200
    drain_over(NOON, 2 * HOUR - MINUTE)
    assert len(receiver.posts) == 1
    assert drain(NOON + 2 * HOUR) == 2


def test_a_receiver_that_is_gone_is_switched_off_for_all_to_see(
    receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint, _ = listen(receiver, events=BLOCKED)
    receiver.status = 410
    blocked(2)
    drain_over(NOON, HOUR)
    endpoint.refresh_from_db()
    assert (endpoint.is_active, endpoint.gone_at) == (False, NOON)
    assert len(receiver.posts) == 1
    assert Event.objects.get(name="endpoint.gone").data == {"endpoint": endpoint.public_id}
    assert "its receiver is gone" in caplog.text
    blocked()
    assert endpoint.messages.count() == 2  # it is told nothing new
    receiver.status = 200
    change_endpoint(
        endpoint, {"address": endpoint.address, "events": endpoint.events, "is_active": True}, now=NOON, **BY
    )
    endpoint.refresh_from_db()
    assert endpoint.gone_at is None
    assert drain(NOON + HOUR) == 1  # what waited; what was refused as gone is over


@pytest.mark.parametrize("address", ["https://127.0.0.1/x", "https://[::1]/x", "https://169.254.169.254/x"])
def test_private_addresses_are_refused_when_sending(settings: Settings, address: str) -> None:
    endpoint, _ = add_endpoint(address, BLOCKED, now=NOON, **BY)
    blocked()
    drain()
    delivery = WebhookDelivery.objects.get(message__endpoint=endpoint)
    assert delivery.status is None
    assert delivery.reason.endswith("which is not of the public internet")


# The log, and sending again


def test_every_try_is_in_the_log_with_its_reason_and_no_secret(receiver: Receiver) -> None:
    listen(receiver, events=BLOCKED)
    receiver.status, receiver.answer = 500, b"ghp_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5\x1b[31m " + b"x" * 3_000
    blocked()
    later = iter([NOON + timedelta(milliseconds=1_234)])
    drain_endpoints(now=NOON, clock=lambda: next(later), chance=lambda: 0.0)
    receiver.status = 202
    drain(NOON + MINUTE)
    taken, refused = WebhookDelivery.objects.all()
    assert (refused.tried_at, refused.status, refused.duration_ms) == (NOON, 500, 1_234)
    assert refused.reason.startswith("the webhook answered 500: [REDACTED: ")
    assert len(refused.reason) <= 200
    assert "\x1b" not in refused.reason
    assert (taken.tried_at, taken.status, taken.reason) == (NOON + MINUTE, 202, "")


def test_a_message_is_sent_again_under_the_same_id(receiver: Receiver) -> None:
    listen(receiver, events=BLOCKED)
    blocked()
    drain()
    message = OutboxMessage.objects.get()
    assert send_again(message, now=NOON + DAY, **BY)
    assert not send_again(message, now=NOON + DAY, **BY)  # it is to be tried already
    assert drain(NOON + DAY) == 1
    first, second = receiver.posts
    assert (first.id, first.raw) == (second.id, second.raw)
    assert message.deliveries.count() == 2
    assert Event.objects.get(name="message.sent_again").data == {"message": message.public_id, "channel": "endpoint"}


def test_a_month_later_nobody_asks_any_more(receiver: Receiver) -> None:
    listen(receiver, events=BLOCKED)
    blocked(2)
    drain()
    make_blocked(at=NOON + 31 * DAY)
    drain(NOON + 31 * DAY)
    assert OutboxMessage.objects.count() == WebhookDelivery.objects.count() == 1


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


class DyingCourier:
    """A courier whose process is killed."""

    def deliver(self, _: OutboxMessage) -> None:
        """Die."""
        raise KeyboardInterrupt


def test_a_sender_that_dies_is_replaced_after_its_lease(receiver: Receiver, settings: Settings) -> None:
    listen(receiver, events=BLOCKED)
    blocked()
    configure(settings, courier="tests.usecases.test_endpoints.DyingCourier")
    with pytest.raises(KeyboardInterrupt):
        drain()
    configure(settings, courier="retrycontract.delivery.courier.Courier")
    assert drain(NOON + LEASE / 2) == 0
    assert drain(NOON + LEASE) == 1
    assert OutboxMessage.objects.get().tries == 2
