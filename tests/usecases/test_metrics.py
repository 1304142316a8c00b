"""What Prometheus is told adds up, stays bounded and shows nothing that an agent chose unseen."""

from __future__ import annotations

import re
from datetime import timedelta
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from retrycontract.contract.outputs import Generation
from retrycontract.front.probes import Family, Sample, write_exposition
from retrycontract.store.models import Attempt, Channel, Measure, OutboxMessage, Rollup, WorkerBeat
from retrycontract.usecases.counts.keep_count import charge
from retrycontract.usecases.probes import (
    HELP,
    MOST_AGENTS,
    MOST_MODELS,
    MOST_REASONS,
    MOST_TOOLS,
    PREFIX,
    MetricsReader,
)
from tests.conftest import require
from tests.factories import RIGHT, WRONG, answer, make_agent, make_blocked, make_call, make_tool, make_user, submit
from tests.usecases.conftest import NOON, configure

LINE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\.)*",?)*)\})? (-?[0-9.e+-]+)')


def read(reader: MetricsReader | None = None, *, now: Any = NOON, waiting_requests: int = 0) -> dict[str, float]:
    """Read the metrics as text, and the text as numbers by what stands before them."""
    text = write_exposition((reader or MetricsReader()).read(now=now, waiting_requests=waiting_requests))
    found: dict[str, float] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            assert LINE.fullmatch(line), line
            series, _, value = line.removeprefix(PREFIX).rpartition(" ")
            assert series not in found, "a series comes once"
            found[series] = float(value)
    return found


OF = 'namespace="deployer",tool="deploy"'


@pytest.mark.django_db
def test_counts_of_attempts_failures_escalations_and_ends() -> None:
    make_tool(make_agent())
    make_call(make_agent(), [WRONG, RIGHT], at=NOON)
    answer(make_blocked(at=NOON), make_user(), at=NOON + timedelta(minutes=4))
    found = read(now=NOON + timedelta(minutes=5))
    assert found[f'attempts_total{{{OF},attempt="1",result="valid"}}'] == 0
    assert found[f'attempts_total{{{OF},attempt="1",result="failed"}}'] == 2
    assert found[f'attempts_total{{{OF},attempt="2",result="valid"}}'] == 1
    assert found[f'failures_total{{{OF},code="VAL-008"}}'] == 4
    assert found[f"escalations_total{{{OF}}}"] == 1
    assert found[f'outcomes_total{{{OF},state="valid"}}'] == 1
    assert found['guidance_total{decision="hint"}'] == 1
    assert [found[f'guidance_seconds_bucket{{le="{limit}"}}'] for limit in ("60", "300", "900", "+Inf")] == [0, 1, 1, 1]
    assert (found["guidance_seconds_sum"], found["guidance_seconds_count"]) == (240, 1)


@pytest.mark.django_db
def test_attempts_and_tokens_are_counted_by_model_and_all_but_the_busiest_models_are_one() -> None:
    make_tool(make_agent())
    for number in range(MOST_MODELS + 3):
        submit(make_agent(), WRONG, generation=Generation(model=f"m{number:03}", tokens_out=5), at=NOON)
    made = make_call(make_agent(), [WRONG, RIGHT], at=NOON, generation=Generation(model="m000", tokens_in=100))
    submit(make_agent(), RIGHT, at=NOON, generation=Generation(tokens_in=1))
    found = read(now=NOON)
    named = {series for series in found if series.startswith("model_attempts_total") and "failed" in series}
    assert (len(named), made.model) == (MOST_MODELS + 2, "m000"), "the busiest, the others, and a second attempt"
    assert found['model_attempts_total{model="m000",attempt="1",result="failed"}'] == 2
    assert found['model_attempts_total{model="m000",attempt="2",result="valid"}'] == 1
    assert found['model_attempts_total{model="other",attempt="1",result="failed"}'] == 3
    assert found['model_tokens_total{model="m000",direction="in"}'] == 200
    assert found['model_tokens_total{model="other",direction="out"}'] == 15


@pytest.mark.django_db
def test_of_the_reasons_that_agents_write_all_but_the_commonest_are_one() -> None:
    make_tool(make_agent())
    submit(make_agent(), RIGHT, at=NOON)
    for number in range(MOST_REASONS + 3):
        for _ in range(1 + (number == 22)):
            submit(make_agent(), None, api_error=f"made up {number:02}", at=NOON)
    found = {series: amount for series, amount in read(now=NOON).items() if series.startswith("model_errors_total")}
    assert (len(found), sum(found.values())) == (MOST_REASONS + 1, MOST_REASONS + 4)
    assert [found[f'model_errors_total{{{OF},reason="{name}"}}'] for name in ("made up 22", "other")] == [2, 3]


@pytest.mark.django_db
def test_failures_of_an_observed_tool_are_told_apart_from_those_that_held_something_up() -> None:
    make_tool(make_agent(), mode="observe")
    for _ in range(3):
        make_call(make_agent(), [WRONG], at=NOON)
    make_call(make_agent(), [RIGHT], at=NOON)
    found = read(now=NOON + timedelta(minutes=5))
    assert found[f'attempts_total{{{OF},attempt="1",result="failed"}}'] == 3
    assert found[f'outcomes_total{{{OF},state="observed"}}'] == 3
    assert found[f'outcomes_total{{{OF},state="valid"}}'] == 1
    assert not [series for series in found if series.startswith("escalations_total")]


@pytest.mark.django_db
def test_how_things_stand(settings: Any) -> None:
    make_blocked(at=NOON - timedelta(minutes=2))
    configure(settings, judge="worker")
    submit(make_agent(), RIGHT, at=NOON - timedelta(seconds=30))
    WorkerBeat.objects.beat("worker-1", NOON)
    for given_up_at in (None, None, NOON):
        OutboxMessage.objects.create(
            channel=Channel.EMAIL, subject="s", text="t", created_at=NOON, given_up_at=given_up_at
        )
    found = read(waiting_requests=7)
    assert [found[f'open_calls{{state="{state}"}}'] for state in ("pending", "retrying", "blocked", "guided")] == [
        1,
        0,
        1,
        0,
    ]
    assert found["oldest_blocked_seconds"] == 120
    assert (found["waiting_attempts"], found["oldest_waiting_seconds"]) == (1, 30)
    assert found['undelivered_messages{channel="email"}'] == 2
    assert found['given_up_messages{channel="email"}'] == 1
    assert (found["workers"], found["waiting_requests"]) == (1, 7)


@pytest.mark.django_db
def test_work_is_told_by_who_caused_it_and_the_lesser_ones_together() -> None:
    for number in range(MOST_AGENTS + 3):
        secret = f"key-AKIAIOSFODNN7EXAMPL{'EF'[number % 2]}"
        agent = make_agent(f"agent-{number:02}" if number > 1 else secret)
        charge(agent.pk, 100 - number, now=NOON)
    make_agent("idle")
    found = {series: value for series, value in read().items() if series.startswith("work_seconds_total")}
    assert len(found) == MOST_AGENTS, "two names that are shown alike are one"
    assert found['work_seconds_total{agent="agent-02"}'] == 98
    assert 199 in found.values()
    assert found['work_seconds_total{agent="other"}'] == sum(100 - n for n in range(MOST_AGENTS, MOST_AGENTS + 3))
    assert "AKIA" not in str(found)


@pytest.mark.django_db
def test_an_empty_service_has_metrics_too() -> None:
    found = read()
    assert found["oldest_blocked_seconds"] == found["waiting_attempts"] == found["guidance_seconds_count"] == 0


def count(tool: str, amount: int = 1, *, namespace: str = "n", at: Any = NOON, shard: int = 0) -> None:
    Rollup.objects.create(
        hour=at, namespace=namespace, tool_name=tool, measure=Measure.JUDGED, label="1", amount=amount, shard=shard
    )


@pytest.mark.django_db
def test_the_busiest_tools_have_names_and_the_rest_is_one_label() -> None:
    for number in range(MOST_TOOLS + 30):
        count(f"tool{number}", 1000 - number)
    named = {series for series in read() if series.startswith("attempts_total") and 'result="failed"' in series}
    assert len(named) == MOST_TOOLS + 1
    rest = sum(1000 - number for number in range(MOST_TOOLS, MOST_TOOLS + 30))
    assert read()['attempts_total{namespace="other",tool="other",attempt="1",result="failed"}'] == rest


@pytest.mark.django_db
def test_names_are_redacted_cut_and_made_visible() -> None:
    count("ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5")
    count("long" * 75)
    count('quote" back\\slash \n line \u202e')
    count("")
    text = write_exposition(MetricsReader().read(now=NOON, waiting_requests=0))
    tools = set(re.findall(r'tool="((?:[^"\\]|\\.)*)"', text))
    assert len(tools) == 4
    assert "unknown" in tools
    assert not [tool for tool in tools if "ghp_aB3" in tool or len(tool) > 120 or "\u202e" in tool]
    assert text.isprintable() or all(line.isprintable() for line in text.splitlines())


@pytest.mark.django_db
def test_sums_of_old_hours_are_read_once_and_stay_right() -> None:
    reader = MetricsReader()
    old = 'attempts_total{namespace="n",tool="t",attempt="1",result="failed"}'
    count("t", 1, at=NOON - timedelta(hours=9))
    count("t", 10, at=NOON, shard=3)
    assert read(reader)[old] == 11
    Rollup.objects.filter(amount=1).delete()
    assert read(reader)[old] == 11, "the old hour was remembered"
    count("t", 100, at=NOON + timedelta(hours=1))
    later = NOON + timedelta(hours=8)
    assert read(reader, now=later)[old] == 111
    Rollup.objects.all().delete()
    assert read(reader, now=later)[old] == 111
    assert read(reader, now=NOON)[old] == 111, "a clock that goes back counts nothing twice"


@pytest.mark.django_db
def test_the_number_of_statements_does_not_grow_with_what_is_stored() -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as queries:
            read()
        return len(queries)

    before = statements()
    for number in range(5):
        make_blocked(make_agent(f"agent-{number}"))
    assert statements() == before


@pytest.mark.django_db
def test_nobody_scans_history_for_them() -> None:
    make_blocked(at=NOON)
    with CaptureQueriesContext(connection) as queries:
        read()
    tables = {table for query in queries for table in re.findall(r'FROM "retrycontract_(\w+)"', query["sql"])}
    assert tables == {"rollup", "call", "attempt", "outboxmessage", "workerbeat", "agent"}
    of_attempts = [query["sql"] for query in queries if f'FROM "{Attempt._meta.db_table}"' in query["sql"]]
    assert all("WHERE" in sql and "queued" in sql for sql in of_attempts)


@pytest.mark.django_db
def test_prometheus_reads_what_we_write() -> None:
    require(find_spec("prometheus_client"), "prometheus-client is not installed")
    parse = import_module("prometheus_client.parser").text_string_to_metric_families
    count('quote" back\\slash\n')
    answer(make_blocked(at=NOON), make_user(), at=NOON + timedelta(hours=1))
    families = MetricsReader().read(now=NOON, waiting_requests=0)
    parsed = {family.name: family for family in parse(write_exposition(families))}
    assert set(parsed) == {family.name.removesuffix("_total") for family in families if family.samples}
    for family in families:
        if family.samples:
            theirs = parsed[family.name.removesuffix("_total")]
            assert theirs.type == family.type
            assert [(s.labels, s.value) for s in theirs.samples] == [(dict(s.labels), s.value) for s in family.samples]


def test_every_metric_has_its_help_and_numbers_are_written_short() -> None:
    family = Family("x_total", "counter", "Help.", (Sample(3.0), Sample(0.25, (("a", "b"), ("c", "d")))))
    assert write_exposition([family, Family("y", "gauge", "Nothing.", ())]) == (
        '# HELP x_total Help.\n# TYPE x_total counter\nx_total 3\nx_total{a="b",c="d"} 0.25\n'
    )
    assert all(text.endswith(".") and "\n" not in text for text in HELP.values())
