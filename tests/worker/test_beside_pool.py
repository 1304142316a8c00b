"""What a worker does beside its pool: it rings again for what waits, ever more rarely, and judges what is dear."""

from __future__ import annotations

import signal
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from retrycontract.store.models import Attempt, Call, WorkerBeat
from retrycontract.store.schema import database_schema
from retrycontract.usecases.calls.cancel_call import cancel_call
from tests.bombs import known
from tests.factories import WRONG, make_agent, make_blocked, make_tool, submit
from tests.serving.servers import Redis
from tests.serving.threads import eventually
from tests.worker.conftest import assert_what_is_short_goes_past_what_is_long, queue
from worker.beside_pool import LONGEST_PAUSE, DearJudges, Reminders, Sweeper
from worker.celery_doorbell import CeleryDoorbell

pytestmark = [pytest.mark.services, pytest.mark.usefixtures("shared_database")]

SILENT = "retrycontract.usecases.notify.doorbell.SilentDoorbell"


def waiting(*, since: float) -> Attempt:
    agent = make_agent()
    make_tool(agent)
    return submit(agent, WRONG, at=timezone.now() - timedelta(seconds=since))


@pytest.fixture
def quiet(bell: CeleryDoorbell, settings: Settings) -> None:
    """Nothing is rung for when it comes in: the sweep alone rings."""
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"doorbell": SILENT})


def rung(redis: Redis) -> int:
    return len(queue(redis))


@pytest.mark.usefixtures("quiet")
def test_what_waits_is_rung_for_again_and_what_just_came_is_not(own_redis: Redis) -> None:
    waiting(since=6)
    waiting(since=1)
    Sweeper().sweep()
    assert rung(own_redis) == 1


@pytest.mark.usefixtures("quiet")
def test_a_lease_that_ran_out_is_rung_for_and_one_that_holds_is_not(own_redis: Redis) -> None:
    now = timezone.now()
    for seconds in (-1, 20):
        attempt = waiting(since=6)
        assert Attempt.claim(attempt.pk, token="t", now=now, until=now + timedelta(seconds=seconds))
    Sweeper().sweep()
    assert rung(own_redis) == 1


@pytest.mark.usefixtures("quiet")
def test_the_sweep_expires_calls_and_signs(settings: Settings) -> None:
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"judge": "auto"})
    make_blocked()
    Call.objects.update(expires_at=timezone.now())
    Sweeper().sweep()
    assert Call.objects.get().state == "expired"
    assert WorkerBeat.objects.alive(timezone.now()).count() == 1


@pytest.mark.usefixtures("quiet")
def test_a_step_that_fails_keeps_no_other_from_going(caplog: pytest.LogCaptureFixture) -> None:
    assert not database_schema.missing()  # as a worker has seen when it begins
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE retrycontract_heldanswer RENAME TO elsewhere")
        try:
            Sweeper().sweep()
        finally:
            cursor.execute("ALTER TABLE elsewhere RENAME TO retrycontract_heldanswer")
    assert "send_held" in caplog.text
    assert WorkerBeat.objects.alive(timezone.now()).count() == 1


@pytest.mark.usefixtures("quiet")
def test_a_worker_is_heard_of_before_its_first_sweep(settings: Settings) -> None:
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"sweep_seconds": 3_600})
    sweeper = Sweeper()
    sweeper.start()
    try:
        eventually(lambda: WorkerBeat.objects.alive(timezone.now()).exists())
    finally:
        sweeper.stop()


@pytest.mark.usefixtures("quiet")
def test_the_sweep_forgets_what_ended_long_ago(settings: Settings) -> None:
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"judge": "auto"})
    cancel_call(make_blocked(), now=timezone.now() - timedelta(days=91))
    Sweeper().sweep()
    assert not Call.objects.exists()


@pytest.mark.usefixtures("quiet")
def test_without_redis_the_sweep_has_it_judged_in_another_way(own_redis: Redis) -> None:
    asked: list[bool] = []
    waiting(since=6)
    own_redis.stop(signal.SIGKILL)
    Sweeper(judge_alone=lambda: asked.append(True)).sweep()
    assert asked == [True]


@pytest.mark.parametrize("redis", ["there", "gone", "back"])
@pytest.mark.usefixtures("bell")
def test_dear_outputs_are_judged_beside_the_pool_with_redis_and_without(
    own_redis: Redis, settings: Settings, redis: str
) -> None:
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(
        update={"check_seconds": 0.5, "sweep_seconds": 60 if redis == "there" else 0.5}
    )
    if redis != "there":
        own_redis.stop(signal.SIGKILL)
    judges = DearJudges()
    judges.start()
    try:
        if redis == "back":
            own_redis.start()
        agent, bomb = make_agent(), known()[0]  # which none of them has done in that time
        make_tool(agent, schema=bomb.schema)
        attempts = [submit(agent, bomb.value).pk for _ in range(2)]
        eventually(lambda: Attempt.objects.filter(pk__in=attempts, status="retry").count() == 2)
    finally:
        judges.stop()
    assert redis == "gone" or rung(own_redis) == 0, "the pool hears nothing of them"


@pytest.mark.usefixtures("bell", "own_redis")
def test_what_takes_a_tenth_of_a_second_goes_past_what_takes_ten_beside_the_pool_too(settings: Settings) -> None:
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(
        update={"check_processes": 1, "check_seconds": 10, "sweep_seconds": 60}
    )
    judges = DearJudges()
    judges.start()
    try:
        assert_what_is_short_goes_past_what_is_long()
    finally:
        judges.stop(15)


@pytest.mark.usefixtures("bell")
def test_a_reminder_of_a_dear_output_goes_to_whom_it_concerns(own_redis: Redis, settings: Settings) -> None:
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"doorbell": SILENT})
    agent, bomb = make_agent(), known()[1]
    make_tool(agent, schema=bomb.schema)
    submit(agent, bomb.value, at=timezone.now() - timedelta(seconds=6))
    Sweeper().sweep()
    assert rung(own_redis) == 0
    assert CeleryDoorbell().is_dear_rung(0.1)


def test_reminders_come_ever_more_rarely_and_forget_what_no_longer_waits() -> None:
    now = 0.0
    reminders = Reminders(lambda: now, lambda: 0.5)
    moments = []
    for second in range(200):
        now = float(second)
        if reminders.due([1]):
            moments.append(second)
    assert moments == [0, 5, 15, 35, 75, 135, 195]
    assert moments[-1] - moments[-2] == LONGEST_PAUSE
    assert reminders.due([2]) == [2]
    assert reminders.due([1, 2]) == [1]
