"""One answer for all calls that made the same mistake, and what becomes of those that cannot be answered."""

from __future__ import annotations

import sys
from datetime import timedelta
from secrets import token_hex
from typing import Any

import pytest
from pytest_django import Settings

from retrycontract.contract.decisions import Decision
from retrycontract.store.models import Call, Guidance, Mistake, ToolVersion
from retrycontract.usecases.answers.answer_group import GroupAnswer, LeftCall, Reason, answer_group
from retrycontract.usecases.answers.send_answer import send_answer
from retrycontract.usecases.calls.claim_call import claim_call
from tests.bombs import known
from tests.factories import RIGHT, WRONG, answer, make_agent, make_blocked, make_tool, make_user, submit, use_often
from tests.file_database import all_at_once
from tests.usecases.conftest import NOON, configure

OTHER: dict[str, Any] = {"service": "web"}


def blocked(times: int, output: Any = WRONG) -> list[Call]:
    return [make_blocked(output=output, at=NOON + timedelta(minutes=n)) for n in range(times)]


def ids(calls: list[Call]) -> tuple[str, ...]:
    return tuple(call.public_id for call in calls)


@pytest.mark.django_db
def test_all_calls_of_a_mistake_get_the_answer_and_others_do_not() -> None:
    alike, mia = blocked(3), make_user()
    other = make_blocked(output=OTHER, at=NOON)
    done = answer_group(Mistake.of(alike[0]), mia, Decision.HINT, now=NOON, text="Use eu-west-1.", grant=3)
    assert done == GroupAnswer(ids(alike), (), has_more=False)
    assert set(Guidance.objects.values_list("call", "granted")) == {(call.pk, 3) for call in alike}
    other.refresh_from_db()
    assert other.state == "blocked"


@pytest.mark.django_db
def test_what_cannot_be_answered_is_told_with_its_reason() -> None:
    calls, mia, leo = blocked(4), make_user("mia"), make_user("leo")
    open_one, answered, changed, claimed = calls
    answer(answered, leo, at=NOON)
    submit(changed.agent, OTHER, call=changed, at=NOON)
    claim_call(claimed, leo, now=NOON)
    named = [*ids(calls), "call_unknown"]
    done = answer_group(Mistake.of(open_one), mia, Decision.HINT, now=NOON, text="Use eu-west-1.", only=named)
    assert done.answered == (open_one.public_id,)
    assert set(done.left) == {
        LeftCall("call_unknown", Reason.UNKNOWN),
        LeftCall(answered.public_id, Reason.ANSWERED, "leo"),
        LeftCall(changed.public_id, Reason.CHANGED),
        LeftCall(claimed.public_id, Reason.CLAIMED, "leo"),
    }


@pytest.mark.django_db
def test_corrected_arguments_go_only_where_they_are_valid() -> None:
    calls = blocked(2)
    done = answer_group(Mistake.of(calls[0]), make_user(), Decision.CORRECTED, now=NOON, arguments=RIGHT | {"zone": 1})
    assert done.answered == ()
    assert {left.reason for left in done.left} == {Reason.REFUSED}
    assert "do not match" in done.left[0].detail
    assert Call.objects.filter(state="blocked").count() == 2


@pytest.mark.django_db
def test_only_what_is_named_is_answered() -> None:
    first, second = blocked(2)
    done = answer_group(
        Mistake.of(first), make_user(), Decision.HINT, now=NOON, text="Use eu-west-1.", only=[second.public_id]
    )
    assert done.answered == (second.public_id,)


@pytest.mark.django_db
def test_calls_of_another_namespace_are_not_touched_even_when_they_are_named() -> None:
    mine = make_blocked()
    theirs = make_blocked(make_agent("other"))
    named = [mine.public_id, theirs.public_id]
    done = answer_group(Mistake.of(mine), make_user(), Decision.HINT, now=NOON, text="Use eu-west-1.", only=named)
    assert done.answered == (mine.public_id,)
    assert done.left == (LeftCall(theirs.public_id, Reason.UNKNOWN),)


@pytest.mark.usefixtures("shared_database")
def test_of_two_operators_who_answer_a_group_at_once_each_call_gets_one_answer() -> None:
    calls = blocked(6)
    operators = [make_user("mia"), make_user("leo")]
    mistake = Mistake.of(calls[0])
    done = all_at_once(
        lambda operator: answer_group(
            mistake, operator, Decision.HINT, now=NOON, text=operator.username, only=ids(calls)
        ),
        operators,
    )
    assert sorted(name for one in done for name in one.answered) == sorted(ids(calls))
    assert {left.reason for one in done for left in one.left} <= {Reason.ANSWERED}
    assert Guidance.objects.count() == 6


@pytest.mark.django_db
def test_a_group_is_answered_in_bounded_steps() -> None:
    calls, mia = blocked(3), make_user()
    steps = [
        answer_group(Mistake.of(calls[0]), mia, Decision.HINT, now=NOON, text="Use eu-west-1.", most=2) for _ in "ab"
    ]
    assert [step.answered for step in steps] == [ids(calls[:2]), ids(calls[2:])]
    assert [step.has_more for step in steps] == [True, False]


@pytest.mark.django_db
def test_what_no_child_can_check_is_told_with_its_reason(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    bomb, agent = known()[1], make_agent()
    use_often(make_tool(agent, schema=bomb.schema))
    calls = [make_blocked(agent, output="{", at=NOON) for _ in range(2)]
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    configure(settings, check_memory_mb=334)
    fixes = iter([{"a": [1, 2]}, bomb.value])
    done = answer_group(Mistake.of(calls[0]), make_user(), Decision.CORRECTED, now=NOON, correct=lambda _: next(fixes))
    assert (done.answered, [left.public_id for left in done.left]) == (ids(calls[:1]), [calls[1].public_id])
    assert done.left[0].reason == Reason.REFUSED
    assert "no process can be started" in done.left[0].detail


@pytest.mark.django_db
def test_a_schema_that_is_refused_since_an_upgrade_is_told_with_its_reason() -> None:
    (call,) = blocked(1)
    ToolVersion.objects.update(schema={"$ref": "#/nowhere"}, schema_hash=token_hex(32))
    done = answer_group(Mistake.of(call), make_user(), Decision.CORRECTED, now=NOON, arguments=RIGHT)
    (left,) = done.left
    assert (done.answered, left.reason) == ((), Reason.REFUSED)
    assert "refused by this release" in left.detail


@pytest.mark.django_db
@pytest.mark.parametrize("hold_seconds", [0, 8], ids=["given", "held"])
def test_what_somebody_answered_is_told_as_such_also_where_the_correction_does_not_fit(
    settings: Settings, hold_seconds: float
) -> None:
    configure(settings, answer_hold_seconds=hold_seconds)
    (call,), leo = blocked(1), make_user("leo")
    send_answer(call.escalations.open().get(), leo, Decision.HINT, now=NOON, text="Use eu-west-1.")
    done = answer_group(
        Mistake.of(call), make_user("mia"), Decision.CORRECTED, now=NOON, correct=lambda _: None, only=ids([call])
    )
    assert done.left == (LeftCall(call.public_id, Reason.ANSWERED, "leo"),)
