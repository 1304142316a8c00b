"""The worker thread: it judges what is queued, sweeps what was left behind, and outlives what goes wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from retrycontract.contract.webhooks import WebhookEvent
from retrycontract.front.waiting import bells
from retrycontract.store.models import Attempt, Call, Door, OutboxMessage, WorkerBeat
from retrycontract.store.schema import database_schema
from retrycontract.store.sealing import seal
from retrycontract.usecases.notify.tend_endpoint import add_endpoint
from tests.bombs import known
from tests.factories import RIGHT, WRONG, make_agent, make_blocked, make_tool, submit
from tests.serving.receivers import Receiver, receiving
from tests.serving.threads import eventually
from tests.worker.conftest import assert_what_is_short_goes_past_what_is_long
from worker import embedded

pytestmark = pytest.mark.usefixtures("shared_database")

LONG = 60.0  # a sweep that never comes in a test: only the bell can wake the thread


def configure(settings: Settings, **changes: object) -> None:
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"judge": "worker", **changes})


@pytest.fixture
def run_worker(settings: Settings) -> Iterator[Callable[[float], None]]:
    """Start the worker thread with a pause between sweeps; it ends with the test."""

    def start(sweep_seconds: float) -> None:
        configure(settings, sweep_seconds=sweep_seconds, doorbell="worker.embedded.EmbeddedDoorbell")
        embedded.start()

    yield start
    embedded.stop()


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("retrycontract-worker")]


def is_judged(attempt: Attempt) -> Callable[[], bool]:
    return lambda: Attempt.objects.get(pk=attempt.pk).state == "judged"


def test_a_queued_attempt_wakes_the_thread(run_worker: Callable[[float], None]) -> None:
    run_worker(LONG)
    agent = make_agent()
    make_tool(agent)
    eventually(is_judged(submit(agent, WRONG)))


def test_what_nobody_rang_for_is_found_by_the_sweep(settings: Settings, run_worker: Callable[[float], None]) -> None:
    configure(settings, doorbell="retrycontract.usecases.notify.doorbell.SilentDoorbell")
    agent = make_agent()
    make_tool(agent)
    attempt = submit(agent, WRONG)
    run_worker(0.05)
    eventually(is_judged(attempt))


def test_a_lease_that_a_dead_worker_left_is_taken_over(run_worker: Callable[[float], None], settings: Settings) -> None:
    configure(settings)
    agent = make_agent()
    make_tool(agent)
    attempt = submit(agent, WRONG)
    now = timezone.now()
    assert Attempt.claim(attempt.pk, token="dead", now=now, until=now + timedelta(seconds=0.2))
    run_worker(0.05)
    eventually(is_judged(attempt))
    assert Attempt.objects.get().deliveries == 2


def test_blocked_calls_expire(run_worker: Callable[[float], None], settings: Settings) -> None:
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"judge": "auto"})
    call = make_blocked()
    Call.objects.update(expires_at=timezone.now())
    run_worker(0.05)
    eventually(lambda: Call.objects.get().state == "expired")
    assert call.escalations.get().state == "expired"


def test_the_verdict_rings_for_the_agent(run_worker: Callable[[float], None]) -> None:
    run_worker(LONG)
    agent = make_agent()
    make_tool(agent)
    before = bells.ticket()
    eventually(is_judged(submit(agent, WRONG)))
    eventually(lambda: bells.ticket() > before)


def test_an_attempt_that_crashes_its_checker_does_not_stop_the_thread(
    run_worker: Callable[[float], None], settings: Settings
) -> None:
    run_worker(LONG)
    agent = make_agent()
    make_tool(agent)
    configure(settings, doorbell="retrycontract.usecases.notify.doorbell.SilentDoorbell")
    broken = submit(agent, WRONG)
    # What no release has written: reading it raises.
    Attempt.objects.filter(pk=broken.pk).update(sealed=seal({}))
    configure(settings, doorbell="worker.embedded.EmbeddedDoorbell")
    eventually(is_judged(submit(agent, RIGHT)))
    assert Attempt.objects.get(pk=broken.pk).state == "leased"


def test_a_database_that_fails_does_not_stop_the_thread(
    run_worker: Callable[[float], None], caplog: pytest.LogCaptureFixture
) -> None:
    agent = make_agent()
    make_tool(agent)
    rename("retrycontract_attempt", "elsewhere")
    run_worker(0.05)
    eventually(lambda: "The worker thread failed" in caplog.text)
    rename("elsewhere", "retrycontract_attempt")
    eventually(is_judged(submit(agent, WRONG)))


def test_a_step_of_the_sweep_that_fails_keeps_no_other_from_going(
    run_worker: Callable[[float], None], settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    configure(settings, judge="auto")
    make_blocked()
    rename("retrycontract_heldanswer", "elsewhere")
    try:
        run_worker(0.05)
        eventually(lambda: "send_held" in caplog.text and WorkerBeat.objects.alive(timezone.now()).exists())
        embedded.stop()
    finally:
        rename("elsewhere", "retrycontract_heldanswer")
    assert "The worker thread failed" not in caplog.text


def rename(table: str, name: str) -> None:
    database_schema.missing()  # as a service has seen when it begins: what is missing later is a fault
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} RENAME TO {name}")


def test_what_is_quick_waits_for_no_output_that_takes_seconds(
    run_worker: Callable[[float], None], settings: Settings
) -> None:
    configure(settings, check_processes=2)
    run_worker(LONG)
    bomb = known()[0]
    dear = []
    for name in ("a", "b", "c"):
        agent = make_agent(name)
        make_tool(agent, schema=bomb.schema)
        dear.append(submit(agent, bomb.value).pk)
    leased = Attempt.objects.filter(pk__in=dear, state="leased")
    eventually(lambda: leased.count() == 2)
    quick = make_agent()
    make_tool(quick)
    eventually(is_judged(submit(quick, WRONG)))
    assert leased.count() == 2
    embedded.stop()
    eventually(lambda: not threads())  # what is in a child is finished, which a busy machine takes longer for
    assert Attempt.objects.get(pk=dear[2]).state == "queued", "none is begun while it stops"


@pytest.mark.parametrize("per_minute", [30, 0], ids=["metered", "unmetered"])
def test_what_takes_a_tenth_of_a_second_waits_for_no_output_that_takes_two(
    run_worker: Callable[[float], None], settings: Settings, per_minute: int
) -> None:
    configure(settings, check_processes=1, work_seconds_per_minute=per_minute, check_seconds=10)
    run_worker(LONG)
    assert_what_is_short_goes_past_what_is_long()
    embedded.stop()
    eventually(lambda: not threads())


def test_there_is_a_thread_for_each_child_and_two_more_however_often_it_is_started(
    run_worker: Callable[[float], None],
) -> None:
    for _ in range(3):
        run_worker(LONG)
    assert len(threads()) == settings.RETRYCONTRACT.children + 2
    embedded.stop()
    embedded.stop()
    assert threads() == []


def test_what_waits_when_the_thread_stops_is_found_at_the_next_start(run_worker: Callable[[float], None]) -> None:
    run_worker(LONG)
    embedded.stop()
    agent = make_agent()
    make_tool(agent)
    attempt = submit(agent, WRONG)
    run_worker(0.05)
    eventually(is_judged(attempt))


def test_the_thread_keeps_nothing_from_the_database_open(
    run_worker: Callable[[float], None], file_database: Path
) -> None:
    run_worker(0.05)
    agent = make_agent()
    make_tool(agent)
    eventually(is_judged(submit(agent, WRONG)))
    embedded.stop()
    connection.close()
    assert not file_database.with_name(f"{file_database.name}-wal").exists()  # the last one that leaves clears it away


def test_people_are_told_and_a_receiver_that_hangs_keeps_no_attempt_waiting(
    settings: Settings, run_worker: Callable[[float], None]
) -> None:
    with receiving(Receiver(seconds=3)) as receiver:
        configure(settings, judge="auto", notify_webhook_url=receiver.url, allow_private_webhooks=True)
        call = make_blocked()
        run_worker(0.05)
        eventually(lambda: receiver.posts)
        attempt = submit(call.agent, WRONG)
        eventually(is_judged(attempt), within=2)
        assert OutboxMessage.objects.get().delivered_at is None
        eventually(lambda: OutboxMessage.objects.get().delivered_at)
    assert len(receiver.posts) == 1


def test_a_system_that_hangs_keeps_neither_people_nor_other_systems_waiting(
    settings: Settings, run_worker: Callable[[float], None]
) -> None:
    with receiving(Receiver(seconds=4)) as hanging, receiving() as quick, receiving() as chat:
        configure(settings, notify_webhook_url=chat.url, allow_private_webhooks=True)
        for receiver in (hanging, quick):
            add_endpoint(receiver.url, list(WebhookEvent), now=timezone.now(), actor="ada", door=Door.COMMAND)
        run_worker(0.05)
        configure(settings, judge="auto")
        make_blocked()
        eventually(lambda: hanging.posts)
        make_blocked()
        eventually(lambda: len(quick.posts) == 2 and chat.posts)
        assert len(hanging.posts) == 1
        eventually(lambda: len(hanging.posts) == 2)


def test_however_many_systems_are_slow_quick_ones_are_told_at_once(
    settings: Settings, run_worker: Callable[[float], None]
) -> None:
    slow = [Receiver(seconds=4) for _ in range(8)]
    with ExitStack() as open_ones, receiving() as quick:
        configure(settings, allow_private_webhooks=True)
        for receiver in (quick, *(open_ones.enter_context(receiving(each)) for each in slow)):
            add_endpoint(receiver.url, list(WebhookEvent), now=timezone.now(), actor="ada", door=Door.COMMAND)
        run_worker(0.05)
        configure(settings, judge="auto")
        for each in range(1, 7):
            make_blocked()
            eventually(lambda told=each: len(quick.posts) >= told, within=3.5 if each > 1 else 20)  # type: ignore[misc]
        # Else it would have been their turn as often.
        assert sum(len(receiver.posts) for receiver in slow) < 8 * 6 / 2


def test_an_outbox_that_fails_does_not_stop_its_thread(
    settings: Settings, run_worker: Callable[[float], None], caplog: pytest.LogCaptureFixture
) -> None:
    with receiving() as receiver:
        configure(settings, judge="auto", notify_webhook_url=receiver.url, allow_private_webhooks=True)
        make_blocked()
        rename("retrycontract_notice", "elsewhere")
        run_worker(0.05)
        eventually(lambda: "The courier's thread failed" in caplog.text)
        rename("elsewhere", "retrycontract_notice")
        eventually(lambda: receiver.posts)
