"""How webhooks are delivered: in turns, over days, again where a receiver or the sender was down, with a log."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from pytest_django import Settings

from retrycontract.store.models import Channel, ChannelTurn, Event, OutboxMessage, WebhookDelivery, WebhookEndpoint
from retrycontract.store.models.outbox import MOST_COMPARED
from retrycontract.usecases.notify.drain_outbox import LEASE, drain_endpoints, send_again
from retrycontract.usecases.notify.tend_endpoint import add_endpoint, change_endpoint
from tests.factories import make_blocked
from tests.serving.receivers import Post, Receiver, receiving
from tests.usecases.conftest import NOON, configure
from tests.usecases.endpoint_desk import BLOCKED, BY, DAY, HOUR, SECOND, drain, drain_over, is_verified, listen
from tests.usecases.endpoint_desk import receiver as receiver
from tests.usecases.outbox_desk import MINUTE, blocked

pytestmark = pytest.mark.django_db


def move(endpoint: WebhookEndpoint, address: str) -> None:
    change_endpoint(endpoint, {"address": address, "events": endpoint.events, "is_active": True}, now=NOON, **BY)


# When the clock goes back


@pytest.mark.parametrize("back", [HOUR, 9 * HOUR, 400 * DAY])
@pytest.mark.parametrize("status", [200, 500])
def test_nothing_waits_until_a_clock_that_went_back_has_caught_up(
    receiver: Receiver, back: timedelta, status: int
) -> None:
    listen(receiver, events=BLOCKED)
    receiver.status = status
    blocked()
    drain_over(NOON, HOUR)
    tried, now = len(receiver.posts), NOON + HOUR - back
    drain(now)
    blocked()  # of a moment that is to come
    for second in range(10):
        drain(now + second * SECOND)
    assert len(receiver.posts) - tried == 1, "what failed is tried at once, and then its receiver is left alone again"
    receiver.status = 200
    drain_over(now + MINUTE, 12 * HOUR, 10 * MINUTE)
    assert not OutboxMessage.objects.filter(delivered_at=None).exists()


def test_a_sender_that_died_before_a_clock_went_back_holds_no_turn(receiver: Receiver) -> None:
    endpoint, _ = listen(receiver, events=BLOCKED)
    blocked()
    ChannelTurn.objects.claim(Channel.ENDPOINT, endpoint=endpoint, now=NOON + HOUR, until=NOON + HOUR + LEASE)
    assert [drain(NOON + HOUR - 5 * SECOND), drain(NOON)] == [0, 1]


# Whose turn it is


def test_a_receiver_that_takes_a_second_waits_for_one_that_takes_ten_and_not_for_all(receiver: Receiver) -> None:
    for path in ("quick", *(f"slow{number}" for number in range(8))):
        add_endpoint(f"{receiver.url}{path}", BLOCKED, now=NOON, **BY)
    now, delays = NOON, list[timedelta]()

    def told() -> datetime:
        return now + (1.2 if "quick" in receiver.posts[-1].path else 10) * SECOND

    for number in range(60):
        make_blocked(at=NOON + 3 * number * SECOND)
        while now < NOON + 3 * (number + 1) * SECOND and drain_endpoints(now=now, clock=told, chance=lambda: 0.0):
            ended = told()
            if "quick" in receiver.posts[-1].path:
                delays.append(now - (NOON + 3 * len(delays) * SECOND))
            now = ended
        now = max(now, NOON + 3 * (number + 1) * SECOND)
    assert len(delays) >= 55
    assert max(delays[45:]) < 15 * SECOND, "at first nobody knows how long each takes"
    assert len(receiver.posts) - len(delays) >= 10, "slow ones have their turn"


def test_a_quick_receiver_is_found_among_hundreds_of_slow_ones_that_wait_longer() -> None:
    ago = {f"ep_{number}": 10_000 for number in range(MOST_COMPARED + 5)} | {"ep_quick": 900}
    made = WebhookEndpoint.objects.bulk_create(
        WebhookEndpoint(public_id=name, sealed_address=b"", sealed=b"", created_at=NOON) for name in ago
    )
    for endpoint, took in zip(made, ago.values(), strict=True):
        of = {"channel": Channel.ENDPOINT, "endpoint": endpoint}
        ChannelTurn.objects.create(**of, free_at=NOON - (took // 1000) * SECOND, took_ms=took)
        OutboxMessage.objects.create(**of, due_at=NOON, subject="call.blocked", text="{}", created_at=NOON)
    found = OutboxMessage.objects.next_endpoint(NOON, NOON + LEASE)
    assert found is not None
    assert found.public_id == "ep_quick"


# When a receiver, or the sender, is not well


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
    drain_over(NOON + MINUTE, 10 * MINUTE)
    drain_over(NOON + 11 * MINUTE, 5 * DAY, 10 * MINUTE)
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
    # It was added while the settings allowed such addresses, or its name led elsewhere then.
    configure(settings, allow_private_webhooks=True)
    endpoint, _ = add_endpoint(address, BLOCKED, now=NOON, **BY)
    configure(settings, allow_private_webhooks=False)
    blocked()
    drain()
    delivery = WebhookDelivery.objects.get(message__endpoint=endpoint)
    assert delivery.status is None
    assert delivery.reason.endswith("which is not of the public internet")


class DyingCourier:
    """A courier whose process is killed."""

    def deliver(self, _: OutboxMessage) -> None:
        """Die."""
        raise KeyboardInterrupt


def test_a_sender_that_dies_is_replaced_after_its_lease(receiver: Receiver, settings: Settings) -> None:
    listen(receiver, events=BLOCKED)
    blocked()
    configure(settings, courier="tests.usecases.test_endpoint_delivery.DyingCourier")
    with pytest.raises(KeyboardInterrupt):
        drain()
    configure(settings, courier="retrycontract.delivery.courier.Courier")
    assert drain(NOON + LEASE / 2) == 0
    assert drain(NOON + LEASE) == 1
    assert OutboxMessage.objects.get().tries == 2


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
