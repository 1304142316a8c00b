"""Outputs that take seconds to judge: none is judged at the door, and none for longer than it may be."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Semaphore
from types import FrameType
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from retrycontract.contract.json_types import has_at_most
from retrycontract.contract.outputs import Kind
from retrycontract.contract.schemas.admission import APART, DearSchema
from retrycontract.store.models import Agent, Attempt
from retrycontract.store.sealing import seal, unseal_apart
from retrycontract.usecases.calls.repeat_request import RequestKey
from retrycontract.usecases.calls.sweep import index_calls, judge_waiting
from retrycontract.usecases.counts.keep_count import WorkUsedUpError, charge, refuse_overdrawn
from retrycontract.usecases.tools.contracts import pinned
from retrycontract.usecases.tools.register_tool import register_tool
from tests.bombs import Bomb, known
from tests.contract.test_admission_hostile import doubled
from tests.factories import make_agent, make_tool, submit, use_often
from tests.file_database import all_at_once
from tests.usecases.conftest import NOON, configure, judge_all, send_and_judge
from tests.usecases.queue_desk import at

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("bomb", known(), ids=lambda bomb: bomb.name)
def test_what_once_froze_the_service_is_not_judged_at_the_door(bomb: Bomb) -> None:
    agent = make_agent()
    make_tool(agent, schema=bomb.schema)
    assert submit(agent, bomb.value).is_waiting


def test_what_would_take_a_minute_is_cut_off_and_counts_as_a_failed_attempt(settings: Settings) -> None:
    configure(settings, check_seconds=0.3)
    agent, bomb = make_agent(), known()[0]
    make_tool(agent, schema=bomb.schema)
    attempt = send_and_judge(agent, bomb.value)
    assert (attempt.status, attempt.is_valid, attempt.deliveries) == ("retry", False, 1)
    assert "too much work to check" in attempt.feedback
    assert "send fewer and shorter values at once" in attempt.feedback


def test_a_small_output_is_judged_at_the_door_however_dear_large_ones_are() -> None:
    agent, bomb = make_agent(), known()[1]
    use_often(make_tool(agent, schema=bomb.schema))
    assert submit(agent, {"a": [1, 2]}).status == "valid"


def test_three_bombs_block_their_call_and_the_escalation_says_why(settings: Settings) -> None:
    configure(settings, check_seconds=0.1)
    agent, bomb = make_agent(), known()[1]
    make_tool(agent, schema=bomb.schema)
    call = None
    for _ in range(3):
        call = send_and_judge(agent, bomb.value, call=call).call
    assert call is not None
    assert call.state == "blocked"
    assert "too much work to check" in call.escalations.open().get().text
    assert call.version is not None
    assert call.version.quarantined_at is None  # it was the output, and the next one may be small


def test_an_agent_that_has_used_up_its_work_waits_for_what_it_owes(settings: Settings) -> None:
    configure(settings, work_seconds_per_minute=30, work_burst_seconds=10)
    agent = make_agent()
    charge(agent.pk, 12, now=NOON)
    agent.refresh_from_db()
    with pytest.raises(WorkUsedUpError) as refused:
        refuse_overdrawn(agent, now=NOON)
    assert refused.value.wait == 4
    refuse_overdrawn(agent, now=NOON + timedelta(seconds=4))


@pytest.mark.parametrize(("per_minute", "most"), [(30, 4), (0, 30)], ids=["metered", "unmetered"])
def test_of_many_that_come_at_once_no_more_are_taken_in_than_the_account_has_room_for(
    settings: Settings, per_minute: float, most: int
) -> None:
    configure(settings, work_seconds_per_minute=per_minute, work_burst_seconds=1)
    agent, bomb = make_agent(), known()[1]
    make_tool(agent, schema=bomb.schema)
    taken, refused = 0, set()
    for _ in range(30):  # each has read the account as it was before them all
        try:
            taken += submit(agent, bomb.value, at=NOON, is_bounded=True).is_dear
        except WorkUsedUpError as error:
            refused.add(error.wait)
    assert 1 <= taken <= most
    assert taken + 1 > most or refused
    assert (agent.calls.count(), Attempt.objects.count()) == (taken, taken)
    # What is refused is not charged, and its sender may come when it was told to.
    assert not refused or submit(agent, bomb.value, at=NOON + timedelta(seconds=max(refused)), is_bounded=True).is_dear


@pytest.mark.django_db(transaction=True)
def test_what_is_not_taken_in_is_given_back(shared_database: None) -> None:
    bomb = known()[1]
    once, often = make_agent("once"), make_agent("often")
    for agent in (once, often):
        make_tool(agent, schema=bomb.schema)
    key = RequestKey.of("the same", "request")
    submit(once, bomb.value, at=NOON)
    attempts = all_at_once(lambda _: submit(often, bomb.value, key=key, at=NOON), [*range(4)])
    assert len({attempt.pk for attempt in attempts}) == 1
    charged = Agent.objects.values_list("work_seconds", flat=True)
    assert charged.get(pk=often.pk) == pytest.approx(charged.get(pk=once.pk), rel=0.5)


def test_a_clock_that_is_set_back_makes_nobody_wait_for_days(settings: Settings) -> None:
    configure(settings, work_seconds_per_minute=30, work_burst_seconds=10)
    agent = make_agent()
    charge(agent.pk, 1, now=NOON + timedelta(days=2))
    agent.refresh_from_db()
    refuse_overdrawn(agent, now=NOON)
    charge(agent.pk, 1, now=NOON)
    agent.refresh_from_db()
    assert agent.work_until == NOON.timestamp() + 2


@pytest.mark.parametrize("per_minute", [30, 0.1, 0], ids=["metered", "tightly", "unmetered"])
@pytest.mark.parametrize(
    ("before", "later", "is_left"),
    [(0, 0, False), (0, 60, False), (20, 0, True), (20, 60, True)],
    ids=["short", "short, waited long", "the agent owes much", "the agent owed much, waited long"],
)
def test_where_all_places_are_taken_what_is_short_is_judged_and_what_is_long_is_left(
    settings: Settings, per_minute: float, before: float, later: float, is_left: bool
) -> None:
    configure(settings, work_seconds_per_minute=per_minute, work_burst_seconds=100)
    agent, bomb = make_agent(), known()[5]  # takes a twentieth of a second
    make_tool(agent, schema=bomb.schema)
    charge(agent.pk, before, now=NOON)
    assert submit(agent, bomb.value, at=NOON).is_dear
    clock = at(NOON + timedelta(seconds=later))
    assert judge_waiting(clock=clock, places=Semaphore(0)) == (not is_left)
    assert judge_waiting(clock=clock, places=Semaphore(1)) == is_left


@pytest.mark.parametrize(("rows", "is_left"), [(3_000, False), (60_000, True)])
def test_a_source_file_is_long_as_the_compiler_takes_long(rows: int, is_left: bool) -> None:
    agent = make_agent()
    make_tool(agent, "main.py", {}, kind=Kind.SOURCE_FILE)
    submit(agent, f"x = [{'[1, 2, 3], ' * rows}]\n", tool="main.py", kind=Kind.SOURCE_FILE, at=NOON)
    assert judge_waiting(clock=at(NOON), places=Semaphore(0)) == (not is_left)


def test_a_long_output_does_not_become_a_short_one_by_waiting() -> None:
    agent, bomb = make_agent(), known()[1]
    make_tool(agent, schema=bomb.schema)
    submit(agent, bomb.value, at=NOON)
    places = Semaphore(1)
    for minutes in (0, 1, 10):
        assert judge_waiting(clock=at(NOON + timedelta(minutes=minutes)), places=Semaphore(0)) == 0
    assert judge_waiting(clock=at(NOON), places=places) == 1
    assert places.acquire(blocking=False), "the place is free again"


DEAR: list[tuple[dict[str, Any], Any, Any]] = [
    ({"properties": {"a": {"type": "string", "pattern": "^(?!.*[.]{2})[a-z.]+$"}}}, {"a": "a.b"}, {"a": "a..b"}),
    ({"properties": {"a": {"enum": list(range(6_000))}}}, {"a": 5_999}, {"a": 6_000}),
    (doubled(15, "anyOf"), "\"x\"", "1"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "right", "wrong"), DEAR, ids=["look-around", "6,000 values", "expansion"])
def test_a_dear_schema_is_judged_by_in_a_child_alone(schema: dict[str, Any], right: Any, wrong: Any) -> None:
    agent = make_agent()
    assert register_tool(agent, "t", schema, now=NOON).warnings[0].reason.startswith(APART)
    verdicts = [send_and_judge(agent, value, tool="t") for value in (right, wrong)]
    assert [(attempt.status, attempt.is_dear) for attempt in verdicts] == [("valid", True), ("retry", True)]
    assert "too much work" not in verdicts[1].feedback
    contract = pinned(verdicts[0].call.tool, verdicts[0].call.version, "tool_call")
    assert contract._compiled is None
    with pytest.raises(DearSchema):
        _ = contract.compiled


def test_a_search_that_goes_back_without_end_is_cut_off_and_told() -> None:
    agent = make_agent()
    register_tool(agent, "t", {"properties": {"a": {"pattern": r"^((a|aa)+)\1$"}}}, now=NOON)
    attempt = send_and_judge(agent, {"a": "a" * 80 + "b"}, tool="t")
    assert attempt.status == "retry"
    assert "takes too many steps" in attempt.feedback
    assert "send a shorter text" in attempt.feedback


@contextmanager
def calls_in_transactions() -> Iterator[list[str]]:
    """Give the names of the functions that are called within transactions while the block runs."""
    within = list[str]()

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and connection.in_atomic_block:
            within.append(frame.f_code.co_name)

    sys.setprofile(look)
    try:
        yield within
    finally:
        sys.setprofile(None)


@pytest.mark.usefixtures("shared_database")
@pytest.mark.parametrize("judge", ["auto", "worker"])
def test_no_writer_waits_while_a_large_output_is_read_through(settings: Settings, judge: str) -> None:
    configure(settings, judge=judge)
    agent = make_agent()
    make_tool(agent, schema={})
    with calls_in_transactions() as within:
        assert send_and_judge(agent, {"a": [1, 2]}).status == "valid"
    assert "fill_in" in within
    assert {"has_redaction", "text_of"}.isdisjoint(within)


@pytest.mark.usefixtures("shared_database")
def test_no_writer_waits_while_a_thousand_errors_are_put_in_order_folded_and_written(settings: Settings) -> None:
    configure(settings)
    agent = make_agent()
    make_tool(agent, schema={"properties": {"a": {"items": {"type": "string"}}}})
    with calls_in_transactions() as within:
        attempt = send_and_judge(agent, {"a": [*range(20_000)]})
    assert (len(attempt.errors_json), attempt.is_dear) == (1_001, True)
    assert "fill_in" in within
    assert {"_folded", "sort_key", "fingerprint"}.isdisjoint(within)
    assert within.count("from_json") == 0


LARGE: dict[str, Any] = {"a": [{"name": f"value {number}"} for number in range(4_000)], "note": "lorem ipsum " * 20_000}
MANY = 2_000  # values, or characters of what is read as JSON


@contextmanager
def read_through() -> Iterator[list[str]]:
    """List what reads or writes a large value as JSON in this thread while the block runs, or walks through it."""
    seen = list[str]()

    def look(frame: FrameType, event: str, _: Any) -> None:
        given = {"decode": "s", "dumps": "obj", "write_json": "value", "has_redaction": "value"}.get(
            frame.f_code.co_name
        )
        if event != "call" or given not in frame.f_locals:
            return
        value = frame.f_locals[given]
        is_large = len(value) > MANY if isinstance(value, str | bytes) else not has_at_most(MANY, value)
        if is_large:
            seen.append(frame.f_code.co_name)

    sys.setprofile(look)
    try:
        yield seen
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("seconds", [2, 0.001], ids=["judged", "too much work"])
def test_the_worker_passes_a_large_output_on_unread(settings: Settings, seconds: float) -> None:
    configure(settings, check_seconds=seconds)
    agent = make_agent()
    make_tool(
        agent,
        schema={
            "additionalProperties": True,
            "properties": {"a": {"items": {"properties": {"name": {"type": "string"}}}}},
        },
    )
    for output in (LARGE, {"b": [*range(20_000)]}):
        attempt = submit(agent, output)
        with read_through() as seen:
            judge_all()
            index_calls()
        assert seen == []
        attempt.refresh_from_db()
        assert (attempt.is_dear, attempt.is_valid) == (True, seconds == 2), attempt.feedback
        assert (attempt.output == output) == (seconds == 2)


def test_an_output_has_the_same_signature_wherever_it_was_judged(settings: Settings) -> None:
    configure(settings, door_max_bytes=100)
    agent, output = make_agent(), {"z": 1, "a": ["😀 " * 40, {"y": None, "b": 2.5}]}
    make_tool(agent, schema={})
    apart = send_and_judge(agent, output)
    configure(settings, door_max_bytes=10_000)
    at_door = send_and_judge(agent, output)
    assert (apart.is_dear, at_door.is_dear) == (True, False)
    assert (apart.output_hash, apart.output, apart.is_redacted) == (at_door.output_hash, output, False)


def test_what_is_redacted_in_a_child_process_is_marked_so(settings: Settings) -> None:
    configure(settings, door_max_bytes=100)
    agent = make_agent()
    make_tool(agent, schema={})
    attempt = send_and_judge(agent, {"password": "correct horse", "a": "lorem ipsum " * 100})
    assert (attempt.is_dear, attempt.is_redacted) == (True, True)
    assert "correct horse" not in str(attempt.output)


@pytest.mark.parametrize("output", ["null", json.dumps(LARGE), "{" * 20_000, json.dumps("text " * 4_000)])
def test_text_is_stored_as_it_was_from_another_process(settings: Settings, output: str) -> None:
    configure(settings, door_max_bytes=0)
    agent = make_agent()
    make_tool(agent, schema={})
    attempt = send_and_judge(agent, output)
    assert attempt.is_dear
    assert attempt.output == (json.loads(output) if attempt.is_parsed else output)
    assert attempt.is_parsed == (output[0] != "{" or output[1] != "{")


def test_what_an_earlier_release_queued_is_judged() -> None:
    agent = make_agent()
    make_tool(agent, schema={})
    attempt = submit(agent, LARGE)
    payload, written = unseal_apart(bytes(attempt.sealed or b""))
    Attempt.objects.filter(pk=attempt.pk).update(sealed=seal(payload | {"output": json.loads(written)}))
    judge_all()
    attempt.refresh_from_db()
    assert (attempt.status, attempt.output) == ("valid", LARGE)


@pytest.mark.usefixtures("transactional_db")
def test_a_lease_leaves_a_large_row_where_it_is(file_database: Path) -> None:
    agent = make_agent()
    make_tool(agent, schema={})
    attempt = submit(agent, LARGE)
    log = file_database.with_name(f"{file_database.name}-wal")
    before = log.stat().st_size
    claimed = Attempt.claim(attempt.pk, token="f" * 32, now=timezone.now(), until=timezone.now())
    assert claimed is not None
    assert claimed.count_delivery("f" * 32)
    assert log.stat().st_size - before < len(attempt.sealed or b"") / 4


@pytest.mark.usefixtures("shared_database")
def test_who_claims_waits_for_the_other_writers_in_their_queue() -> None:
    agent = make_agent()
    make_tool(agent, schema={})
    attempts = [submit(agent, {"a": [*range(20_000 + number)]}) for number in range(8)]

    def claim(attempt: Attempt) -> bool:
        with connection.cursor() as cursor:  # who polls gives up at once
            if connection.vendor == "sqlite":
                cursor.execute("PRAGMA busy_timeout = 0")
        held = [Attempt.claim(attempt.pk, token="f" * 32, now=NOON, until=NOON) for _ in range(20)]
        charge(agent.pk, 0.1, now=NOON)
        return any(held)

    assert any(all_at_once(claim, attempts))


def test_an_escalation_reads_one_output_of_its_call(settings: Settings) -> None:
    configure(settings, check_seconds=0.01)
    agent = make_agent()
    make_tool(agent, schema={"type": "string"})
    call = None
    for _ in range(2):
        call = send_and_judge(agent, {"a": 1}, call=call).call
    with CaptureQueriesContext(connection) as queries:
        assert send_and_judge(agent, {"a": 1}, call=call).call.state == "blocked"
    failures = [sql["sql"] for sql in queries if re.search(r"^SELECT .* WHERE .*is_valid", sql["sql"])]
    assert failures
    assert not [sql for sql in failures if '"output"' in sql or '"sealed"' in sql]
