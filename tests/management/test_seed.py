"""Made-up calls are as real ones are: consistent, counted, the same for the same seed, and never among real ones."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db.models import F

from retrycontract import RetryContract, Tool
from retrycontract.contract.lifecycle import CallState
from retrycontract.management.commands import seed
from retrycontract.management.seeding.courses import TOOLS, SeedTool, faults
from retrycontract.store.models import AnswerRecord, Attempt, Call, Escalation, Event, Guidance, Notice, Rollup
from retrycontract.usecases.counts.recount import recount
from tests.factories import RIGHT, answer, make_blocked, make_user, submit
from tests.management.conftest import printed

pytestmark = pytest.mark.django_db


def planted() -> list[tuple[object, ...]]:
    return list(Call.objects.order_by("pk").values_list("state", "tool_name", "attempts_made", "fingerprint"))


def test_planted_calls_are_what_history_counts_and_records_of_answers_say() -> None:
    assert printed("seed", "--calls", "600", "--days", "2").startswith("Made 600 calls in ")
    assert Call.objects.count() == 600
    assert set(Call.objects.values_list("state", flat=True)) >= {
        CallState.VALID,
        CallState.BLOCKED,
        CallState.CANCELLED,
    }
    assert Rollup.objects.all().tally() == recount(since=datetime(2020, 1, 1, tzinfo=UTC))
    made = Counter(Attempt.objects.values_list("call", flat=True))
    assert dict(Call.objects.values_list("pk", "attempts_made")) == dict(made)
    assert not Notice.objects.exists()
    blocked = set(Call.objects.blocked().values_list("pk", flat=True))
    assert set(Escalation.objects.open().values_list("call", flat=True)) == blocked
    assert not Event.objects.filter(call__isnull=False).exclude(stored_at=F("at")).exists()
    for record in AnswerRecord.objects.all():
        given = Guidance.objects.filter(record=record)
        assert record.given == given.count() > 0
        assert (record.tried, record.worked) == (
            given.exclude(next_valid=None).count(),
            given.filter(next_valid=True).count(),
        )
    assert AnswerRecord.objects.filter(worked__gt=0).exists()


def test_who_writes_meanwhile_ends_it_with_words(monkeypatch: pytest.MonkeyPatch) -> None:
    class AgentBeside(StringIO):
        def write(self, text: str) -> int:
            make_blocked()
            return super().write(text)

    monkeypatch.setattr(seed, "REPORTED_EVERY", 2_000)  # the calls of one transaction
    with pytest.raises(CommandError, match="Stop the service, or its agents, and plant again"):
        call_command("seed", "--calls", "4000", stdout=AgentBeside())


def test_a_planted_call_goes_on_as_any_other() -> None:
    printed("seed", "--calls", "60", "--waiting", "10")
    call = Call.objects.blocked().select_related("agent").latest("pk")
    answer(call, make_user())
    tool = next(tool for tools in TOOLS.values() for tool in tools if tool.name == call.tool_name)
    assert submit(call.agent, tool.valid, call=call, tool=call.tool_name).call.state == "valid"
    assert make_blocked().pk > call.pk, "keys go on behind the planted ones"


@pytest.mark.soak
def test_equal_seeds_plant_equal_calls() -> None:
    printed("seed", "--calls", "60", "--seed", "7")
    first = planted()
    printed("seed", "--calls", "60", "--seed", "7")
    assert planted()[:60] == first
    assert planted()[60:] != first, "and what is planted on top is something else"


@pytest.mark.soak
@pytest.mark.parametrize(("calls", "waiting"), [(100, 60), (40, 40), (9, 1)])
def test_as_many_wait_for_a_person_as_were_asked_for(calls: int, waiting: int) -> None:
    printed("seed", "--calls", f"{calls}", "--waiting", f"{waiting}")
    assert Call.objects.count() == calls
    assert Call.objects.blocked().count() >= waiting


@pytest.mark.soak
def test_calls_of_many_tools_wait() -> None:
    printed("seed", "--calls", "100", "--waiting", "60")
    assert len(set(Call.objects.blocked().values_list("tool_name", flat=True))) > 5
    with pytest.raises(CommandError, match="name fewer"):
        printed("seed", "--calls", "5", "--waiting", "6")


@pytest.mark.soak
def test_a_few_wait_unasked() -> None:
    printed("seed", "--calls", "200")
    assert Call.objects.blocked().exists()


def test_a_database_with_real_calls_is_left_alone_unless_told() -> None:
    make_blocked(output=RIGHT | {"replicas": 0})
    with pytest.raises(CommandError, match="holds real calls"):
        printed("seed", "--calls", "10")
    printed("seed", "--calls", "10", "--beside-real-calls")
    assert Call.objects.count() == 11


@pytest.mark.parametrize("tool", [tool for tools in TOOLS.values() for tool in tools], ids=lambda tool: tool.name)
def test_each_tool_tells_right_from_wrong(tool: SeedTool) -> None:
    contract = RetryContract([Tool(name=tool.name, input_schema=tool.schema)])
    assert contract.check(tool.name, "right", tool.valid).tool_result is None
    for number, fault in enumerate(faults(tool)):
        assert contract.check(tool.name, f"wrong-{number}", fault).tool_result is not None
