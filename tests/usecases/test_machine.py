"""Whatever agents, workers and people do in whatever order, a call keeps the rules of a simple model.

`make test` has a few lives of twenty steps, `make soak` two hundred of fifty. Two thousand take a quarter of an hour:
`RETRYCONTRACT_LIVES=2000 make soak ARGS="--timeout 0 tests/usecases/test_machine.py"`.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, transaction
from hypothesis import Phase
from hypothesis import settings as hypothesis_settings
from hypothesis.stateful import rule
from hypothesis.stateful import run_state_machine_as_test as live

from retrycontract.store.history import forgetting
from retrycontract.store.models import Attempt, Call, Rollup
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.counts.recount import recount
from tests.factories import RIGHT, answer, make_agent, make_tool, make_user, submit
from tests.usecases.conftest import NOON, judge_all
from tests.usecases.expected_calls import LEASE
from tests.usecases.life import HOLD, WAYS, Life

pytestmark = [pytest.mark.django_db, pytest.mark.hypothesis]

HAPPENED = ("calls", "judged", "valid", "escalation", "guidance")
SELDOM = (
    "tried",
    "worked",
    "renewed",
    "api_error",
    "accepted",
    "rejected",
    "cancelled",
    "expired",
    "observed",
    "unavailable",
)
Birth = Callable[[type[Life]], Life]
Ways = dict[str, Any]


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> Ways:
    """The settings of a life, by where its attempts are judged."""
    seconds = {"answer_hold_seconds": HOLD.total_seconds(), "lease_seconds": LEASE.total_seconds()}
    found = {way: settings.RETRYCONTRACT.model_copy(update=seconds | {"judge": way}) for way in WAYS}
    monkeypatch.setattr(settings, "RETRYCONTRACT", found["auto"])
    # To tell of each verdict would take as long as to give it.
    monkeypatch.setattr(logging.getLogger("retrycontract"), "disabled", True)
    return found


@pytest.fixture
def tally() -> Counter[str]:
    return Counter()


@pytest.fixture
def born(ways: Ways, tally: Counter[str]) -> Birth:
    """Give what begins a life of a kind, each with the same people."""
    agent, operators = make_agent(now=NOON), (make_user("mia"), make_user("leo"))
    return lambda kind: kind(ways, agent, operators, tally)


def test_no_life_breaks_a_rule(born: Birth, tally: Counter[str]) -> None:
    lives = int(os.environ.get("RETRYCONTRACT_LIVES") or hypothesis_settings().max_examples)
    is_long = lives >= 200
    steps = 50 if is_long else 20
    live(lambda: born(Life), settings=hypothesis_settings(max_examples=lives, stateful_step_count=steps))
    print(" ".join(f"{name}={number}" for name, number in tally.items()))
    missed = [each for each in (*HAPPENED, *(SELDOM if is_long else ())) if not tally[each]]
    assert not missed, f"nothing was shown of what never happened: {missed}"


class OneTooFew(Life):
    """A life whose model allows an attempt less than the product."""

    budget = 2


def meddled(statement: str) -> type[Life]:
    """Make a kind of life into which somebody who owns the database writes past the service."""

    class Meddled(Life):
        @rule()
        def meddle(self) -> None:
            with transaction.atomic(), forgetting(), connection.cursor() as cursor:
                cursor.execute(statement)

    return Meddled


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (OneTooFew, "told otherwise"),
        (meddled("UPDATE retrycontract_call SET state = 'retrying' WHERE state = 'valid'"), "an end was left"),
        (meddled("DELETE FROM retrycontract_event WHERE call_id IS NOT NULL"), "history was changed"),
        (meddled("UPDATE retrycontract_attempt SET feedback = 'all is well' WHERE state = 'judged'"), "was changed"),
        (meddled("UPDATE retrycontract_call SET state = 'retrying' WHERE state = 'blocked'"), "the trail ends at"),
        (meddled("UPDATE retrycontract_call SET attempts_made = attempts_made + 1"), "a call is"),
        (meddled("UPDATE retrycontract_call SET attempts_allowed = attempts_allowed + 1"), "a call is"),
        (
            meddled("UPDATE retrycontract_escalation SET state = 'open', closed_at = NULL WHERE state = 'answered'"),
            "a call is",
        ),
        (meddled("UPDATE retrycontract_rollup SET amount = amount + 1 WHERE measure = 'judged'"), "the counters say"),
        (meddled("DELETE FROM retrycontract_claim"), "another queue"),
    ],
)
def test_a_broken_rule_is_found(born: Birth, kind: type[Life], found: str) -> None:
    """Take away what keeps the promises: the same lives find each that is broken."""
    once = hypothesis_settings(max_examples=100, phases=[Phase.generate], report_multiple_bugs=False, database=None)
    with pytest.raises(AssertionError, match=found):
        live(lambda: born(kind), settings=once)


def begin(name: str, **sent: Any) -> Call:
    """Begin a call of a tool that nobody has registered, beside one that somebody has."""
    make_tool(make_agent())
    return submit(make_agent(), RIGHT, tool=name, at=NOON, **sent).call


def name_it_rightly(call: Call, **sent: Any) -> Call:
    """Go on with the tool that is there."""
    submit(make_agent(), RIGHT, tool="deploy", call=call, at=NOON, **sent)
    return Call.objects.select_related("agent", "tool", "version").get(pk=call.pk)


def test_what_was_not_asked_finds_the_tool() -> None:
    call = name_it_rightly(begin("deplo"), api_error="HTTP 429")
    assert (call.tool_name, call.attempts_made) == ("deploy", 2)


@pytest.mark.parametrize("what", ["not asked", "cancelled", "answered", "given up by the workers"])
def test_what_comes_after_a_tool_was_found_is_counted_as_history_has_it(ways: Ways, what: str) -> None:
    if what == "not asked":
        name_it_rightly(begin("deplo", api_error="HTTP 429"))
    elif what == "given up by the workers":
        settings.RETRYCONTRACT = ways["worker"]
        call = begin("deplo")
        Attempt.objects.update(deliveries=3)
        judge_all(now=NOON)
        name_it_rightly(call)
    else:
        call = begin("deplo", max_attempts=1)
        settings.RETRYCONTRACT = ways["worker"]
        call = name_it_rightly(call)
        _ = cancel_call(call, now=NOON) if what == "cancelled" else answer(call, make_user(), at=NOON)
    assert Rollup.objects.all().tally() == recount(since=NOON - timedelta(days=1))
