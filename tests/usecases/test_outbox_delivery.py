"""Being told: what is in the outbox goes out of it at least once, and never too often."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, Literal

import pytest
from pytest_django import Settings

from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.store.models import Channel, ChannelTurn, Event, Notice, OutboxMessage
from retrycontract.usecases.notify.drain_outbox import LEASE, UndeliveredError, drain_outbox
from tests.factories import make_agent, make_blocked
from tests.file_database import all_at_once
from tests.serving.receivers import Mailbox, Receiver, receiving, taking_mail
from tests.usecases.conftest import NOON, configure
from tests.usecases.outbox_desk import CANARY, MINUTE, blocked, drain, mail_to, tell_by
from tests.usecases.outbox_desk import receiver as receiver

pytestmark = pytest.mark.django_db


# Out: one message, then a pause


def test_a_delivered_message_is_not_sent_again(receiver: Receiver) -> None:
    blocked()
    assert [drain(NOON + MINUTE * minutes) for minutes in range(10)] == [1] + [0] * 9
    assert len(receiver.posts) == 1


def test_a_burst_becomes_one_message_and_then_at_most_one_a_minute(receiver: Receiver) -> None:
    blocked()
    assert drain() == 1
    for second in range(1, 181):
        if second <= 100:
            blocked()
        drain(NOON + timedelta(seconds=second))
    texts = [post.text.splitlines()[0] for post in receiver.posts]
    assert texts[0].startswith("*Blocked:* `deploy`")
    assert texts[1:] == [
        "*60 calls are Blocked* and wait for an answer, the first since 2030-01-01 12:00 UTC.",
        "*40 calls are Blocked* and wait for an answer, the first since 2030-01-01 12:00 UTC.",
    ]
    assert "• 60 × `deploy` of agent `deployer`: `/region`" in receiver.posts[1].text
    assert len({post.id for post in receiver.posts}) == 3


def test_email_and_webhook_go_their_own_ways(receiver: Receiver, settings: Settings) -> None:
    with taking_mail() as mailbox:
        mail_to(settings, mailbox)
        receiver.status = 500
        (call,) = blocked()
        assert drain() == 1
    (mail,) = mailbox.mails
    assert mail["Subject"] == "Blocked: deploy of agent deployer waits for an answer"
    assert f"https://desk.example/calls/{call.public_id}/" in mail.get_content()
    assert "`" not in mail.get_content()
    states = {message.channel: message.delivered_at for message in OutboxMessage.objects.all()}
    assert states == {"email": NOON, "webhook": None}


@pytest.mark.parametrize(("mode", "named"), [("balanced", "bo@example.com"), ("strict", "[REDACTED: ")])
def test_a_recipient_that_is_refused_among_others_is_a_warning_and_is_kept_until_the_next_message(
    settings: Settings, caplog: pytest.LogCaptureFixture, mode: Literal["balanced", "strict"], named: str
) -> None:
    settings.CONTRACT = RetryConfiguration(sanitizer_mode=mode)
    with taking_mail(Mailbox(refuses=f"550 no such user {CANARY}".encode(), refused=b"bo@")) as mailbox:
        mail_to(settings, mailbox, "bo@example.com")
        blocked()
        assert [drain(), drain(NOON + MINUTE)] == [1, 0]
        [record] = [record for record in caplog.records if "its recipients" in record.message]
        message = OutboxMessage.objects.get()
        assert (record.levelname, record.reason) == ("WARNING", message.last_error)  # type: ignore[attr-defined]
        assert message.last_error.startswith(named)
        assert "(550): no such user" in message.last_error
        assert CANARY not in message.last_error
        assert ("bo@example.com" in str(record.__dict__)) is (mode == "balanced")
        mailbox.refuses = b""
        blocked()
        assert drain(NOON + 2 * MINUTE) == 1
        assert OutboxMessage.objects.latest("pk").last_error == ""
        assert mailbox.recipients == ["ana@example.com", "ana@example.com", "bo@example.com"]


# When the clock goes back

BACK = pytest.mark.parametrize("back", [timedelta(hours=1), timedelta(hours=9), timedelta(days=400)])


@BACK
def test_nobody_waits_for_a_pause_until_a_clock_that_went_back_has_caught_up(
    receiver: Receiver, back: timedelta
) -> None:
    blocked()
    assert drain() == 1
    blocked()
    assert [drain(NOON - back), drain(NOON - back)] == [1, 0]
    blocked()
    assert [drain(NOON - back + timedelta(seconds=second)) for second in (30, 61)] == [0, 1]
    assert len(receiver.posts) == 3


@BACK
@pytest.mark.parametrize("tries", [1, 6])
def test_a_message_that_failed_is_tried_again_after_a_clock_went_back_and_then_with_pauses(
    receiver: Receiver, back: timedelta, tries: int
) -> None:
    receiver.status = 500
    blocked()
    for hour in range(tries):
        drain(NOON + 60 * MINUTE * hour)
    tried = len(receiver.posts)
    now = NOON + 60 * MINUTE * (tries - 1) - back
    for second in range(10):
        drain(now + timedelta(seconds=second))
    assert (tried, len(receiver.posts)) == (tries, tries + 1)
    receiver.status = 200
    drain(now + 120 * MINUTE)
    assert not OutboxMessage.objects.filter(delivered_at=None).exists()


def test_a_sender_that_died_before_a_clock_went_back_holds_no_turn(receiver: Receiver) -> None:
    blocked()
    ChannelTurn.objects.claim(Channel.WEBHOOK, now=NOON, until=NOON + LEASE)
    assert [drain(NOON - timedelta(seconds=5)), drain(NOON - 60 * MINUTE)] == [0, 1]


# When the receiver is not well


@pytest.mark.parametrize("illness", ["closed", "refusing", "redirecting"])
def test_a_receiver_that_is_down_for_an_hour_gets_every_message_once(settings: Settings, illness: str) -> None:
    with receiving() as receiver:
        tell_by(settings, receiver)
        if illness == "closed":
            configure(settings, notify_webhook_url="http://127.0.0.1:1/")  # nothing listens on tcpmux here
        receiver.status, receiver.location = (302, "/x") if illness == "redirecting" else (503, "")
        first, *_ = blocked()
        for minute in range(61):
            if minute in (10, 20, 30):
                blocked()
            drain(NOON + MINUTE * minute)
        assert not OutboxMessage.objects.filter(delivered_at__isnull=False).exists()
        assert 5 <= OutboxMessage.objects.order_by("pk")[0].tries <= 12
        ids = set(OutboxMessage.objects.values_list("public_id", flat=True))
        before = len(receiver.posts)
        tell_by(settings, receiver)
        receiver.status = 200
        for minute in range(61, 240):
            drain(NOON + MINUTE * minute)
        after = receiver.posts[before:]
    assert len(after) == len({post.id for post in after})  # what was taken is never sent again
    assert ids <= {post.id for post in after}  # under the ids that it was tried with before
    assert {post.id for post in receiver.posts} == {post.id for post in after}
    told = "\n".join(post.text for post in after)
    assert told.count(first.public_id) == 1
    assert not OutboxMessage.objects.filter(delivered_at=None).exists()
    assert not Notice.objects.filter(message=None).exists()
    assert not OutboxMessage.objects.exclude(last_error="").exists()


def test_a_failed_message_stays_the_same(receiver: Receiver) -> None:
    receiver.status = 500
    blocked()
    drain()
    blocked()
    drain(NOON + MINUTE)
    drain(NOON + 3 * MINUTE)
    assert len(receiver.posts) == 3
    assert len({(post.id, post.text) for post in receiver.posts}) == 1


def test_tries_become_rarer_and_go_on_for_days(receiver: Receiver) -> None:
    receiver.status = 500
    blocked()
    tries = []
    moment = NOON
    while moment < NOON + timedelta(days=4):
        before = len(receiver.posts)
        drain(moment)
        if len(receiver.posts) > before:
            tries.append(moment - NOON)
        moment += timedelta(seconds=15) if moment < NOON + MINUTE * 30 else 10 * MINUTE
    pauses = [later - earlier for earlier, later in pairwise(tries)]
    assert pauses[:4] == [timedelta(seconds=seconds) for seconds in (15, 30, 60, 120)]
    assert max(pauses) <= timedelta(hours=1, minutes=10)
    assert timedelta(days=3) <= tries[-1] <= timedelta(days=3, hours=1, minutes=10)


@pytest.mark.parametrize(("chance", "seconds"), [(0.0, 7.5), (0.5, 11.25), (1.0, 15.0)])
def test_chance_spreads_the_tries(receiver: Receiver, chance: float, seconds: float) -> None:
    receiver.status = 500
    blocked()
    drain_outbox(now=NOON, clock=lambda: NOON, chance=lambda: chance)
    assert ChannelTurn.objects.get().free_at == NOON + timedelta(seconds=seconds)


def test_a_message_that_nobody_takes_is_given_up_for_all_to_see(
    receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.status, receiver.answer = 410, b"no_service"
    blocked(2)
    for hours in range(80):
        drain(NOON + timedelta(hours=hours))
    message = OutboxMessage.objects.given_up().get()
    assert message.given_up_at == NOON + timedelta(days=3)
    assert message.last_error == "the webhook answered 410: no_service"
    assert message.tries == len(receiver.posts)
    event = Event.objects.get(name="notification.given_up")
    assert event.data == {
        "channel": "webhook", "message": message.public_id, "tries": message.tries, "escalations": 2,
    }  # fmt: skip
    assert "by its channel nobody was told" in caplog.text
    receiver.status = 200
    assert drain(NOON + timedelta(days=10)) == 0


def test_a_message_that_is_refused_again_and_again_does_not_hold_up_the_next(receiver: Receiver) -> None:
    receiver.status = 400
    blocked()
    moment = NOON
    for _ in range(5):
        drain(moment)
        moment += timedelta(hours=1)
    blocked()
    receiver.status = 200
    drain(moment)
    drain(moment + MINUTE)
    assert [post.text.splitlines()[0][:9] for post in receiver.posts] == ["*Blocked:"] * 7
    assert len({post.id for post in receiver.posts[:6]}) == 2
    assert receiver.posts[5].id != receiver.posts[4].id
    assert receiver.posts[6].id == receiver.posts[4].id


def test_of_an_answer_only_a_few_redacted_words_are_kept(receiver: Receiver) -> None:
    receiver.status, receiver.answer = 500, f"key {CANARY}\n\x1b[31m".encode() + b"x" * 3_000
    blocked()
    drain()
    error = OutboxMessage.objects.get().last_error
    assert error.startswith("the webhook answered 500: key [REDACTED: ")
    assert "\x1b" not in error
    assert len(error) <= 200


def test_the_secret_of_the_address_is_in_no_error_and_no_log(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    with receiving() as receiver:
        tell_by(settings, receiver)
    blocked()
    drain()
    assert OutboxMessage.objects.get().last_error.startswith("the webhook cannot be reached: ConnectionRefusedError")
    assert "canaryPathSecret" not in OutboxMessage.objects.get().last_error + caplog.text


class BrokenCourier:
    """A courier with a bug."""

    def deliver(self, message: OutboxMessage) -> None:
        """Fail."""
        raise KeyError(message)


def test_a_courier_that_crashes_is_a_failure_like_any_other(settings: Settings, receiver: Receiver) -> None:
    configure(settings, courier="tests.usecases.test_outbox_delivery.BrokenCourier")
    blocked()
    assert drain() == 0
    assert OutboxMessage.objects.get().last_error == "the courier failed (KeyError)"


class DyingCourier:
    """A courier whose process is killed after the receiver took the message."""

    sent: ClassVar[list[str]] = []

    def deliver(self, message: OutboxMessage) -> None:
        """Send, then die."""
        self.sent.append(message.public_id)
        raise KeyboardInterrupt


def test_a_sender_that_dies_is_replaced_after_its_lease_with_the_same_id(
    settings: Settings, receiver: Receiver
) -> None:
    configure(settings, courier="tests.usecases.test_outbox_delivery.DyingCourier")
    blocked()
    with pytest.raises(KeyboardInterrupt):
        drain()
    configure(settings, courier="retrycontract.delivery.courier.Courier")
    assert drain(NOON + LEASE / 2) == 0
    assert receiver.posts == []
    assert drain(NOON + LEASE) == 1
    assert [post.id for post in receiver.posts] == DyingCourier.sent
    assert OutboxMessage.objects.get().tries == 2


class SlowCourier:
    """A courier that is so slow that another sender takes over, and then fails."""

    def deliver(self, message: OutboxMessage) -> None:
        """Let somebody else deliver it meanwhile."""
        OutboxMessage.objects.filter(pk=message.pk).update(delivered_at=NOON + LEASE)
        ChannelTurn.objects.update(lease_token="another")
        raise UndeliveredError("too slow")


def test_who_lost_the_lease_changes_nothing(settings: Settings, receiver: Receiver) -> None:
    configure(settings, courier="tests.usecases.test_outbox_delivery.SlowCourier")
    blocked()
    assert drain() == 0
    message = OutboxMessage.objects.get()
    assert (message.delivered_at, message.last_error) == (NOON + LEASE, "")
    assert ChannelTurn.objects.get().lease_token == "another"


def test_senders_that_come_at_once_send_one_message_once(
    file_database: Path, settings: Settings, receiver: Receiver
) -> None:
    receiver.seconds = 0.2
    blocked(3)
    done = all_at_once(drain, [NOON] * 6)
    assert sorted(done) == [0, 0, 0, 0, 0, 1]
    assert len(receiver.posts) == 1


def test_a_channel_that_is_unset_keeps_what_waits(receiver: Receiver, settings: Settings) -> None:
    receiver.status = 500
    blocked()
    drain()
    configure(settings, notify_webhook_url="")
    assert drain(NOON + timedelta(days=30)) == 0
    tell_by(settings, receiver)
    receiver.status = 200
    assert drain(NOON + timedelta(days=30)) == 1


class BusyCourier:
    """A courier during whose work others go on."""

    states: ClassVar[list[str]] = []

    def deliver(self, message: OutboxMessage) -> None:
        """Let another connection write, as it could not while a transaction of ours is open."""
        self.states += all_at_once(lambda name: make_blocked(make_agent(name), at=NOON).state, [message.public_id])


def test_others_write_while_a_message_is_sent(file_database: Path, receiver: Receiver, settings: Settings) -> None:
    configure(settings, courier="tests.usecases.test_outbox_delivery.BusyCourier")
    blocked()
    assert drain() == 1
    assert BusyCourier.states == ["blocked"]
