"""The counts can be made again from history."""

from __future__ import annotations

import pytest
from django.core.management import CommandError
from django.utils import timezone

from retrycontract.store.models import Rollup, hour_of
from tests.factories import RIGHT, WRONG, make_agent, make_call, make_tool
from tests.management.conftest import printed
from tests.usecases.conftest import NOON

pytestmark = pytest.mark.django_db


def test_lost_counts_are_made_again() -> None:
    make_tool(make_agent())
    make_call(make_agent(), [WRONG, RIGHT], at=timezone.now().replace(year=2025, minute=30))
    before = Rollup.objects.all().tally()
    Rollup.objects.all().delete()
    assert (
        printed("rebuild_metrics") == f"Rebuilt {len(before)} counters since {min(before).hour:%Y-%m-%d %H}:00 UTC.\n"
    )
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


def test_a_date_that_is_none_is_said() -> None:
    with pytest.raises(CommandError, match="'yesterday' is no date such as 2030-01-31"):
        printed("rebuild_metrics", "--since", "yesterday")
