"""The insights of a service with many tools, agents and models: exact, over the end of an hour and of a day."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from typing import Final

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from dashboard.insights.plots import TimeRange, percent
from retrycontract.contract.outputs import Generation
from retrycontract.store.models import Agent, Attempt, Call, Rollup, Summary, Tool, hour_of, summaries
from retrycontract.usecases.calls.sweep import forget_calls
from retrycontract.usecases.counts.recount import sum_up_counts, sum_up_everything
from tests.dashboard.conftest import text_of
from tests.dashboard.test_numbers_lead_to_calls import everything_added, hold_to_its_calls
from tests.factories import RIGHT, WRONG, answer, make_agent, make_blocked, make_call, make_tool, make_user, submit
from tests.management.conftest import printed
from tests.usecases.conftest import configure

pytestmark = pytest.mark.django_db
HOUR: Final = timedelta(hours=1)
MODELS: Final = ("opus", "haiku", "sonnet", None)
OUTPUTS: Final = (
    [RIGHT], [WRONG, RIGHT], [{}, RIGHT], [{"service": 1, "region": "mars"}, WRONG, RIGHT], [WRONG, {}],
    [{"service": "web", "region": "eu-west-1", "replicas": 0}],
)  # fmt: skip


@pytest.fixture
def many(desk: Client) -> Client:
    """Two hours of today and one of yesterday, each with more combinations than a person could list."""
    chance, now, operator = random.Random(7), hour_of(timezone.now()), make_user("noah")
    agents = [make_agent(f"agent-{number}") for number in range(4)]
    tools = [(agent, f"tool_{number}") for agent in agents for number in range(12)]
    for agent, tool in tools:
        make_tool(agent, tool)
    for at in (now - 27 * HOUR, now - 3 * HOUR, now - 2 * HOUR):
        for agent, tool in tools:
            generation = Generation(model=chance.choice(MODELS))
            minutes = timedelta(minutes=chance.randint(2, 50))
            make_call(agent, chance.choice(OUTPUTS), tool=tool, at=at + minutes, generation=generation)
        for agent, tool in chance.sample(tools, 4):
            blocked = make_blocked(agent, tool=tool, at=at + 5 * timedelta(minutes=1))
            answer(blocked, operator, at=at + timedelta(minutes=chance.randint(6, 40)))
    return desk


def looks() -> list[str]:
    agent, tool = Agent.objects.order_by("pk")[1], Tool.objects.get(name="tool_3", namespace="agent-2")
    return ["range=24h", "range=30d", f"range=24h&agent={agent.pk}", "range=30d&model=opus", f"range=7d&tool={tool.pk}"]


def shown(desk: Client) -> list[str]:
    found = [desk.get(f"/insights/?{look}") for look in looks()]
    assert [page.status_code for page in found] == [200] * len(found)
    return list(map(text_of, found))


def table(page: str, heading: str) -> dict[str, tuple[int, str, str]]:
    """Read what stands side by side: by name and namespace, how many calls, valid at first and in the end."""
    part = page.partition(f"{heading} side by side")[2].partition("</table>")[0]
    rows = re.findall(r'<tr>\s*<th scope="row">(.*?)</th>(.*?)</tr>', part, re.DOTALL)
    found = {}
    for name, cells in rows:
        calls, first, recovered = re.findall(r"<td[^>]*>(.*?)</td>", cells, re.DOTALL)
        number = int(re.sub(r"<[^>]*>|,", "", calls))
        shares = [re.sub(r"<span.*|<[^>]*>", "", share, flags=re.DOTALL).strip() for share in (first, recovered)]
        found[" ".join(re.sub(r"<[^>]*>", " ", name).split())] = (number, shares[0], shares[1])
    return found


def by_history(since: datetime) -> dict[str, tuple[int, str, str]]:
    """Say of each tool, by name and namespace, what its attempts come to."""
    sums: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for attempt in Attempt.objects.filter(judged_at__gte=since).select_related("call__agent"):
        own = sums[f"{attempt.call.tool_name} {attempt.call.agent.namespace}"]
        own["calls"] += attempt.number == 1
        own["first" if attempt.number == 1 else "later"] += bool(attempt.is_valid)
    return {
        name: (own["calls"], percent(own["first"] / own["calls"]),
               percent(own["later"] / missed) if (missed := own["calls"] - own["first"]) else "–")
        for name, own in sums.items()
    }  # fmt: skip


def test_no_number_changes_where_an_hour_and_a_day_with_many_combinations_are_summed_up(many: Client) -> None:
    counted = shown(many)
    sum_up_everything(now=timezone.now())
    assert Summary.objects.exists()
    assert shown(many) == counted
    history = everything_added()
    for look in looks():
        hold_to_its_calls(many, look, history)


def test_what_stands_side_by_side_is_what_history_says_and_adds_up(many: Client) -> None:
    sum_up_everything(now=timezone.now())
    page = many.get("/insights/?range=30d").content.decode()
    assert sum(calls for calls, _, _ in table(page, "Models").values()) == Call.objects.count()
    tools = table(page, "Tools")
    assert sum(calls for calls, _, _ in tools.values()) == Call.objects.count()
    of_history = by_history(TimeRange.of("30d", timezone.now()).start)
    assert "others" in tools
    assert (len(tools) > 30, len(of_history)) == (True, 48)
    assert {name: row for name, row in tools.items() if name != "others"}.items() <= of_history.items()
    for name, row in list(tools.items())[:3]:
        tool, namespace = name.split()
        own = many.get(f"/insights/?range=30d&tool={Tool.objects.get(name=tool, namespace=namespace).pk}")
        assert f"of {row[0]} call" in text_of(own)


def test_beyond_the_bounds_sums_add_up_and_no_share_is_more_than_all(
    many: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, most in (("MOST_TOOLS", 20), ("MOST_SOURCES", 10), ("MOST_PLACES", 12), ("MOST_PLACES_BY_SOURCE", 9)):
        monkeypatch.setattr(summaries, name, most)
    plain = shown(many)
    sum_up_everything(now=timezone.now())
    page = many.get("/insights/?range=30d").content.decode()
    assert text_of(many.get("/insights/?range=30d")).partition("What to fix")[0] == plain[1].partition("What to fix")[0]
    assert "Rare mistakes of days with many are counted together" in page
    for heading in ("Models", "Tools"):
        rows = table(page, heading)
        assert rows["others"][0] > 0
        assert sum(calls for calls, _, _ in rows.values()) == Call.objects.count()
    failed = Attempt.objects.filter(is_valid=False).count()
    assert f"Failures by tool {failed} failed attempts" in text_of(many.get("/insights/?range=30d"))
    of_agent, _, of_tool = shown(many)[2:]
    assert (of_agent, of_tool) == (plain[2], plain[4]), "agents are never put together, nor is what one tool alone made"


@pytest.mark.parametrize("is_by_sweep", [False, True])
def test_rows_that_lost_labels_mislead_nobody_and_are_mended(many: Client, *, is_by_sweep: bool) -> None:
    sum_up_everything(now=timezone.now())
    right = shown(many)
    assert not Summary.objects.lossy().exists()
    for row in Summary.objects.all():
        judged = row.details.get("source_judged", {})
        row.details = row.details | {"source_judged": dict(list(judged.items())[:20])}
        row.details.pop("all_told", None)
        row.save()
    assert shown(many) == right, "what they stand on is there"
    assert Summary.objects.lossy().count() == Summary.objects.whole().count()
    if is_by_sweep:
        make_call(make_agent(), [RIGHT], tool="unheard_of")
        right = shown(many)
        assert sum_up_counts(now=timezone.now() + 2 * HOUR)
    else:
        printed("rebuild_metrics")
    assert all("all_told" in details for details in Summary.objects.values_list("details", flat=True))
    assert shown(many) == right


def test_why_models_could_not_be_asked_is_listed_as_far_as_a_page_goes(desk: Client) -> None:
    make_tool(make_agent())
    make_call(make_agent(), [RIGHT], at=timezone.now() - 30 * HOUR)
    for number in range(30):
        for _ in range(1 + (number == 7)):
            submit(make_agent(), None, api_error=f"made up {number:02}", at=timezone.now() - 30 * HOUR)
    text = text_of(desk.get("/insights/?range=30d"))
    assert (text.count("made up"), "made up 07 2 times" in text, "other reasons 10 times" in text) == (20, True, True)
    sum_up_everything(now=timezone.now() + 24 * HOUR)
    assert text_of(desk.get("/insights/?range=30d")) == text


def tiles(desk: Client, look: str) -> str:
    return text_of(desk.get(f"/insights/?{look}")).partition("Valid at first try")[2].partition("What to fix")[0]


@pytest.mark.parametrize("is_summed_up", [False, True])
def test_the_time_to_guidance_stays_when_the_calls_are_forgotten(
    desk: Client, settings: Settings, *, is_summed_up: bool
) -> None:
    now, noah, chance = timezone.now(), make_user("noah"), random.Random(3)
    for days in range(20, 0, -1):
        took = chance.choice((40, 100, 400, 800, 900, 4_000, 90_000))
        asked = make_blocked(at=now - timedelta(days=days, seconds=took))
        answer(asked, noah, at=now - timedelta(days=days))
        submit(asked.agent, RIGHT, call=asked, at=now - timedelta(days=days))
    make_blocked(at=now - timedelta(days=2, minutes=9))
    if is_summed_up:
        sum_up_everything(now=now)
    looks = ("range=30d", "range=90d", f"range=30d&tool={Tool.objects.get().pk}")
    before = [tiles(desk, look) for look in looks]
    assert "the oldest 2 d" in before[0]
    configure(settings, retention_days=10)
    assert forget_calls(now=now) > 5
    assert [tiles(desk, look) for look in looks] == before


def test_times_that_were_counted_by_limits_alone_are_estimated_and_those_who_wait_are_known(desk: Client) -> None:
    now, noah = timezone.now(), make_user("noah")
    for _ in range(3):
        asked = make_blocked(at=now - timedelta(days=12))
        answer(asked, noah, at=now - timedelta(days=12) + timedelta(minutes=12))
        submit(asked.agent, RIGHT, call=asked, at=now - timedelta(days=12))
    make_blocked(at=now - timedelta(days=2, minutes=9))
    Rollup.objects.filter(measure="guidance_time", label__startswith="at").delete()
    Call.objects.filter(state="valid").update(updated_at=now - timedelta(days=200))
    told = "Time to guidance 12 min median; 90% within 2 d; 1 still waits"
    assert told in text_of(desk.get("/insights/?range=30d"))
    forget_calls(now=now)
    assert "Time to guidance 10 min median; 90% within 2 d; 1 still waits" in text_of(desk.get("/insights/?range=30d"))
