"""The database itself refuses to change or delete history, whoever asks; only retention may forget."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from retrycontract.contract.decisions import Decision
from retrycontract.store.history import (
    GUARDED,
    REFUSED,
    forgetting,
    guard_history,
    is_left_open,
    missing_guards,
    unguard_history,
)
from retrycontract.store.models import Attempt, Call, Event, Guidance, GuidanceVersion
from retrycontract.usecases.answers.deliver_answer import acknowledge_guidance, mark_delivered
from retrycontract.usecases.calls.sweep import forget_calls
from tests.factories import answer, make_blocked, make_user

pytestmark = pytest.mark.django_db

CHANGES = {
    "an event's actor": "UPDATE retrycontract_event SET actor = 'nobody'",
    "an event's call": "UPDATE retrycontract_event SET call_id = NULL",
    "events": "DELETE FROM retrycontract_event",
    "a verdict": "UPDATE retrycontract_attempt SET is_valid = NOT is_valid",
    "what was sent": "UPDATE retrycontract_attempt SET output = '{}'",
    "the state of a judged attempt": "UPDATE retrycontract_attempt SET state = 'discarded'",
    "attempts": "DELETE FROM retrycontract_attempt",
    "an answer's words": "UPDATE retrycontract_guidance SET text = 'other'",
    "what an agent read": "UPDATE retrycontract_guidance SET rendered = 'other'",
    "a decision": "UPDATE retrycontract_guidance SET decision = 'accept'",
    "what was proposed": "UPDATE retrycontract_guidanceversion SET arguments = NULL, text = 'other'",
    "stages": "DELETE FROM retrycontract_guidanceversion",
    "answers": "DELETE FROM retrycontract_guidance",
}


@pytest.fixture
def answered() -> Call:
    """A call with events, judged attempts and an answer."""
    call = make_blocked()
    answer(call, make_user(), Decision.REJECT, text="No.")
    return call


def run(statement: str) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.mark.parametrize("statement", CHANGES.values(), ids=list(CHANGES))
def test_sql_that_changes_history_is_refused(answered: Call, statement: str) -> None:
    with pytest.raises(IntegrityError, match=REFUSED):
        run(statement)


@pytest.mark.parametrize("statement", CHANGES.values(), ids=list(CHANGES))
def test_without_the_triggers_the_same_sql_would_change_it(answered: Call, statement: str) -> None:
    unguard_history()
    before = stored()
    with transaction.atomic():
        run(statement)
        assert stored() != before
        transaction.set_rollback(True)  # what others refer to could not stay deleted anyway


def stored() -> list[dict[str, object]]:
    return [row for model in (Event, Attempt, Guidance, GuidanceVersion) for row in model._base_manager.values()]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("table", GUARDED)
def test_a_guarded_table_is_not_emptied_at_once(answered: Call, table: str) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("only PostgreSQL has TRUNCATE")
    with pytest.raises(IntegrityError, match=REFUSED):
        run(f"TRUNCATE {table} CASCADE")


def test_when_an_answer_was_taken_over_is_noted_later(answered: Call) -> None:
    guidance = Guidance.objects.get()
    mark_delivered(guidance, now=timezone.now())
    assert acknowledge_guidance(guidance, now=timezone.now())


def test_retention_forgets_and_shuts_the_door_behind_itself(answered: Call) -> None:
    assert forget_calls(now=timezone.now() + timedelta(days=91)) == 1
    assert not Attempt.objects.exists()
    with pytest.raises(IntegrityError, match=REFUSED):
        run(CHANGES["events"])


def test_forgetting_that_fails_shuts_the_door_as_well(answered: Call) -> None:
    with transaction.atomic(), suppress(ZeroDivisionError), forgetting():
        1 / 0  # noqa: B018 - it fails
    assert not is_left_open()
    with pytest.raises(IntegrityError, match=REFUSED):
        run(CHANGES["answers"])


def test_only_the_transaction_that_forgets_may(answered: Call) -> None:
    with transaction.atomic(), forgetting():
        assert is_left_open()
    assert not is_left_open()


def test_the_triggers_stand_after_all_migrations_and_are_missed_when_they_are_gone() -> None:
    assert missing_guards() == set()
    unguard_history()
    assert "retrycontract_event_kept" in missing_guards()
    guard_history()
    assert missing_guards() == set()


def test_the_trigger_that_keeps_a_table_from_being_emptied_is_missed_as_well() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("only PostgreSQL has TRUNCATE")
    run("DROP TRIGGER retrycontract_event_full ON retrycontract_event")
    assert missing_guards() == {"retrycontract_event_full"}
