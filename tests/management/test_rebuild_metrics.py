"""The counts can be made again from history."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError
from django.utils import timezone

from retrycontract.store.models import Door, Rollup, hour_of
from retrycontract.usecases.calls.sweep import forget_calls
from retrycontract.usecases.counts.recount import rebuild_rollups
from tests.factories import RIGHT, WRONG, make_agent, make_blocked, make_call, make_tool
from tests.management.conftest import printed
from tests.usecases.conftest import NOON

pytestmark = pytest.mark.django_db


def test_lost_counts_are_made_again() -> None:
    make_tool(make_agent())
    make_call(make_agent(), [WRONG, RIGHT], at=timezone.now().replace(year=2025, minute=30))
    before, rows = Rollup.objects.all().tally(), Rollup.objects.count()
    Rollup.objects.all().delete()
    assert printed("rebuild_metrics") == f"Rebuilt {rows} counters since {min(before).hour:%Y-%m-%d %H}:00 UTC.\n"
    assert Rollup.objects.all().tally() == before


def test_what_happened_first_and_was_stored_later_is_counted_too() -> None:
    make_tool(make_agent())
    now = timezone.now()
    make_call(make_agent(), [WRONG, RIGHT], at=now - timedelta(hours=2))
    make_call(make_agent(), [WRONG, RIGHT], at=now - timedelta(days=50), session_id="planted")
    before = Rollup.objects.all().tally()
    Rollup.objects.all().delete()
    printed("rebuild_metrics")
    assert Rollup.objects.all().tally() == before


def test_a_service_without_history_has_nothing_to_count() -> None:
    assert printed("rebuild_metrics") == "Rebuilt 0 counters.\n"


def test_counts_of_what_history_has_forgotten_stay() -> None:
    hour = hour_of(NOON.replace(year=2020))
    Rollup.objects.create(hour=hour, namespace="n", tool_name="t", measure="judged", label="1", amount=7)
    printed("rebuild_metrics", "--since", "2020-01-02")
    assert Rollup.objects.get().amount == 7
    printed("rebuild_metrics", "--since", "2020-01-01T12")
    assert not Rollup.objects.exists()


def test_counts_of_calls_that_retention_forgot_are_never_lost() -> None:
    """One call is older than all that went and still open: what was counted beside it stays."""
    make_tool(make_agent())
    make_blocked(make_agent(), at=NOON)
    make_call(make_agent(), [WRONG, RIGHT], at=NOON + timedelta(days=1))
    before = Rollup.objects.all().tally()
    later = NOON + timedelta(days=91, hours=1)
    assert forget_calls(now=later) == 1
    make_call(make_agent(), [RIGHT], at=later)
    after = Rollup.objects.all().tally()
    assert "since 2030-01-02 14:00 UTC" in printed("rebuild_metrics")
    assert Rollup.objects.all().tally() == after
    with pytest.raises(CommandError, match=r"Retention has forgotten .* Say --since 2030-01-02T14 or later"):
        printed("rebuild_metrics", "--since", "2030-01-01")
    assert Rollup.objects.all().tally() == after
    assert before.items() <= after.items()


def test_without_the_bound_they_would_be_lost() -> None:
    make_tool(make_agent())
    make_call(make_agent(), [WRONG, RIGHT], at=NOON)
    forget_calls(now=NOON + timedelta(days=91))
    assert Rollup.objects.exists()
    by: dict[str, Any] = {"actor": "ada", "door": Door.COMMAND}
    rebuild_rollups(since=NOON - timedelta(hours=1), now=NOON + timedelta(days=91), **by)
    assert not Rollup.objects.exists()


def test_a_date_that_is_none_is_said() -> None:
    with pytest.raises(CommandError, match="'yesterday' is no date such as 2030-01-31"):
        printed("rebuild_metrics", "--since", "yesterday")
