"""The doorbell rings after the commit; whatever it does, the work is stored."""

from __future__ import annotations

import pytest
from django.db import connection, transaction
from django.utils import timezone
from pytest_django import Settings

from retrycontract.contract.decisions import Decision
from retrycontract.store.models import Attempt, Call
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.calls.judge_attempt import judge_attempt
from retrycontract.usecases.calls.sweep import judge_waiting
from retrycontract.usecases.notify.doorbell import SilentDoorbell, ring_after_commit
from tests.bombs import known
from tests.factories import WRONG, answer, make_agent, make_blocked, make_tool, make_user, submit
from tests.usecases.conftest import configure

pytestmark = pytest.mark.usefixtures("shared_database")

RINGS: list[tuple[str, object]] = []


class NotingDoorbell:
    """Note every ring, and whether the transaction was over."""

    def attempt_queued(self, attempt_id: int, *, is_dear: bool = False) -> None:
        assert not connection.in_atomic_block
        RINGS.append(("dear" if is_dear else "attempt", attempt_id))

    def call_changed(self, call_id: str, agent_id: int, verdict: bytes | None = None) -> None:  # noqa: ARG002
        assert not connection.in_atomic_block
        assert agent_id == Call.objects.get(public_id=call_id).agent_id
        RINGS.append(("call", call_id))


class BrokenDoorbell:
    """Raise at every ring."""

    def attempt_queued(self, _: int, *, is_dear: bool = False) -> None:  # noqa: ARG002
        raise ConnectionError("the bell is broken")

    def call_changed(self, _: str, __: int, verdict: bytes | None = None) -> None:  # noqa: ARG002
        raise ConnectionError("the bell is broken")


@pytest.fixture
def rings(settings: Settings) -> list[tuple[str, object]]:
    configure(settings, doorbell=f"{__name__}.NotingDoorbell")
    RINGS.clear()
    return RINGS


def test_a_queued_attempt_rings_for_a_worker(settings: Settings, rings: list[tuple[str, object]]) -> None:
    configure(settings, judge="worker")
    agent = make_agent()
    make_tool(agent)
    attempt = submit(agent, WRONG)
    assert rings == [("attempt", attempt.pk)]


def test_what_takes_seconds_rings_for_those_who_wait_for_children(
    settings: Settings, rings: list[tuple[str, object]]
) -> None:
    configure(settings, judge="worker")
    agent, bomb = make_agent(), known()[1]
    make_tool(agent, schema=bomb.schema)
    first = submit(agent, bomb.value)
    second, other = submit(agent, bomb.value, call=first.call), submit(agent, bomb.value)
    assert rings == [("dear", attempt.pk) for attempt in (first, second, other)]
    rings.clear()
    assert judge_attempt(first.pk, clock=timezone.now, dear=False) is False
    assert judge_attempt(first.pk, clock=timezone.now, dear=True)
    assert ("dear", second.pk) in rings, "the next one of its call, or of its agent"


def test_a_verdict_rings_for_its_agent_and_for_the_next_attempt(
    settings: Settings, rings: list[tuple[str, object]]
) -> None:
    configure(settings, judge="worker")
    agent = make_agent()
    make_tool(agent)
    first = submit(agent, WRONG)
    second = submit(agent, WRONG, call=first.call)
    rings.clear()
    judge_waiting(clock=timezone.now)
    call_id = first.call.public_id
    assert rings == [("attempt", second.pk), ("call", call_id), ("call", call_id)]


def test_an_answer_and_a_cancel_ring_for_the_agent(rings: list[tuple[str, object]]) -> None:
    call = make_blocked()
    rings.clear()
    answer(call, make_user(), Decision.HINT)
    cancel_call(Call.objects.select_related("agent").get(), now=timezone.now())
    assert rings == [("call", call.public_id)] * 2


def test_nothing_rings_for_what_was_rolled_back(rings: list[tuple[str, object]]) -> None:
    agent = make_agent()
    make_tool(agent)
    with transaction.atomic():
        submit(agent, WRONG)
        transaction.set_rollback(True)
    assert rings == []
    assert not Attempt.objects.exists()


def test_outside_of_a_transaction_it_rings_at_once(rings: list[tuple[str, object]]) -> None:
    call = make_blocked()
    rings.clear()
    ring_after_commit(call=call)
    assert rings == [("call", call.public_id)]


@pytest.mark.parametrize("bell", [f"{__name__}.BrokenDoorbell", "nowhere.Doorbell"], ids=["raises", "does not exist"])
@pytest.mark.parametrize("judge", ["auto", "worker"])
def test_a_bell_that_fails_costs_nothing(
    settings: Settings, caplog: pytest.LogCaptureFixture, bell: str, judge: str
) -> None:
    configure(settings, judge=judge, doorbell=bell)
    agent = make_agent()
    make_tool(agent)
    submit(agent, WRONG)
    judge_waiting(clock=timezone.now)
    assert Attempt.objects.get().status == "retry"
    assert "doorbell could not be rung" in caplog.text


def test_a_silent_bell_rings_nobody(settings: Settings) -> None:
    configure(settings, judge="worker", doorbell=f"{SilentDoorbell.__module__}.SilentDoorbell")
    agent = make_agent()
    make_tool(agent)
    submit(agent, WRONG)
    assert judge_waiting(clock=timezone.now) == 1


def test_nothing_is_rung_before_the_commit(rings: list[tuple[str, object]]) -> None:
    agent = make_agent()
    make_tool(agent)
    with transaction.atomic():
        submit(agent, WRONG)
        assert rings == []
    assert len(rings) == 1
