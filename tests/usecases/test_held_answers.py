"""An answer waits some seconds at the desk: its agent sees nothing, and its operator may take it back."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from secrets import token_hex
from typing import TYPE_CHECKING

import pytest
from django.conf import settings
from django.utils import timezone

from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.decisions import Decision
from retrycontract.store.models import Call, Guidance, HeldAnswer, Mistake, StandingHint, ToolVersion
from retrycontract.store.models.escalations import awake_calls
from retrycontract.usecases.answers.answer_group import answer_group
from retrycontract.usecases.answers.give_guidance import AlreadyAnsweredError
from retrycontract.usecases.answers.send_answer import send_answer, send_held, take_back
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.calls.sweep import expire_overdue
from tests.bombs import known
from tests.factories import RIGHT, WRONG, answer, make_agent, make_blocked, make_tool, make_user, submit, use_often

if TYPE_CHECKING:
    from django.contrib.auth.models import User

pytestmark = pytest.mark.django_db
HOLD = timedelta(seconds=8)


@pytest.fixture(autouse=True)
def held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        settings,
        "RETRYCONTRACT",
        settings.RETRYCONTRACT.model_copy(update={"answer_hold_seconds": HOLD.total_seconds()}),
    )


@pytest.fixture
def mia() -> User:
    return make_user("mia")


def hold(call: Call, operator: User, now: datetime, text: str = "Use eu-west-1.") -> HeldAnswer:
    sent = send_answer(call.escalations.open().get(), operator, Decision.HINT, now=now, text=text, grant=2)
    assert isinstance(sent, HeldAnswer)
    return sent


@pytest.mark.parametrize(
    ("back", "sent"), [(timedelta(seconds=2), 0), (timedelta(hours=1), 1), (timedelta(days=400), 1)]
)
def test_an_answer_does_not_wait_for_a_clock_that_went_back(mia: User, back: timedelta, sent: int) -> None:
    call, now = make_blocked(), timezone.now()
    hold(call, mia, now)
    assert send_held(now=now - back) == sent
    call.refresh_from_db()
    assert call.state == ("guided" if sent else "blocked")


def test_the_agent_sees_nothing_until_the_hold_is_over(mia: User) -> None:
    call, now = make_blocked(), timezone.now()
    hold(call, mia, now)
    assert send_held(now=now + HOLD - timedelta(milliseconds=1)) == 0
    call.refresh_from_db()
    assert (call.state, Guidance.objects.count()) == ("blocked", 0)
    assert send_held(now=now + HOLD) == 1
    call.refresh_from_db()
    given = Guidance.objects.get(call=call)
    assert (call.state, given.text, given.given_at) == ("guided", "Use eu-west-1.", now + HOLD)
    assert not HeldAnswer.objects.exists()


def test_a_group_of_many_holds_up_no_answer_of_another_press(mia: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrycontract.usecases.answers.send_answer.BATCH", 2)
    group, now = [make_blocked() for _ in range(4)], timezone.now()
    answer_group(Mistake.of(group[0]), mia, Decision.HINT, now=now, text="Use eu-west-1.", grant=2)
    call = make_blocked(make_agent("another"))
    hold(call, mia, now + timedelta(seconds=1))
    assert send_held(now=now + HOLD + timedelta(seconds=1)) == 2
    call.refresh_from_db()
    assert call.state == "guided"
    assert HeldAnswer.objects.count() == 3


def test_what_is_held_left_the_queue_and_comes_back_when_it_is_taken_back(mia: User) -> None:
    call, now = make_blocked(), timezone.now()
    held = hold(call, mia, now)
    assert not awake_calls(now).exists()
    assert [one.text for one in take_back(held.batch, mia)] == ["Use eu-west-1."]
    assert list(awake_calls(now)) == [call]
    assert send_held(now=now + HOLD) == 0
    assert not Guidance.objects.exists()


def test_nobody_takes_back_what_is_somebody_elses_or_was_given(mia: User) -> None:
    call, now = make_blocked(), timezone.now()
    held = hold(call, mia, now)
    assert take_back(held.batch, make_user("leo")) == []
    send_held(now=now + HOLD)
    assert take_back(held.batch, mia) == []
    assert Guidance.objects.count() == 1


def test_the_first_answer_wins_while_it_is_held(mia: User) -> None:
    call, now, leo = make_blocked(), timezone.now(), make_user("leo")
    hold(call, mia, now)
    with pytest.raises(AlreadyAnsweredError) as second:
        hold(call, leo, now)
    assert second.value.guidance is not None
    assert second.value.guidance.operator == mia
    with pytest.raises(AlreadyAnsweredError):
        answer(call, leo)


def test_an_agent_that_got_it_right_itself_is_told_nothing(mia: User) -> None:
    call, now = make_blocked(), timezone.now()
    hold(call, mia, now)
    submit(call.agent, RIGHT, call=call)
    assert send_held(now=now + HOLD) == 0
    call.refresh_from_db()
    assert (call.state, Guidance.objects.count()) == ("valid", 0)


def test_an_attempt_that_fails_meanwhile_is_counted_in_the_words(mia: User) -> None:
    call, now = make_blocked(), timezone.now()
    hold(call, mia, now)
    submit(call.agent, WRONG, call=call)
    assert send_held(now=now + HOLD) == 1
    assert "attempt 5/6" in Guidance.objects.get().rendered


def test_a_call_does_not_expire_under_an_answer_that_was_sent(mia: User) -> None:
    call, now = make_blocked(), timezone.now()
    hold(call, mia, now)
    Call.objects.update(expires_at=now)
    assert expire_overdue(now=now + timedelta(seconds=1)) == 0
    assert send_held(now=now + HOLD) == 1


def test_a_group_is_held_and_taken_back_as_one_and_its_hint_with_it(mia: User) -> None:
    calls, now = [make_blocked(output={"service": "a", "region": f"r{n}"}) for n in range(3)], timezone.now()
    result = answer_group(
        Mistake.of(calls[0]), mia, Decision.HINT, now=now, text="Use eu-west-1.", grant=1, stands_days=7
    )
    assert (len(result.answered), HeldAnswer.objects.count(), StandingHint.objects.count()) == (3, 3, 0)
    assert result.held is not None
    assert len(take_back(result.held.batch, mia)) == 3
    assert awake_calls(now).count() == 3
    answer_group(Mistake.of(calls[0]), mia, Decision.HINT, now=now, text="Use eu-west-1.", grant=1, stands_days=7)
    assert send_held(now=now + HOLD) == 3
    assert StandingHint.objects.get().text == "Use eu-west-1."


def test_a_group_reaches_the_agent_that_made_another_mistake_while_it_was_held(mia: User) -> None:
    calls, now = [make_blocked(), make_blocked()], timezone.now()
    answer_group(Mistake.of(calls[0]), mia, Decision.HINT, now=now, text="Use eu-west-1.", grant=1)
    submit(calls[0].agent, {"service": 1, "region": "eu-west-1"}, call=calls[0])
    assert send_held(now=now + HOLD) == 2
    given = Guidance.objects.select_related("base").get(call=calls[0])
    assert (given.text, given.base.number if given.base else None) == ("Use eu-west-1.", 3)  # what it was written on


def test_words_that_nobody_needs_any_more_stay_until_their_operator_puts_them_away(mia: User) -> None:
    call, now = make_blocked(), timezone.now()
    held = hold(call, mia, now)
    submit(call.agent, RIGHT, call=call)
    for _ in range(2):
        assert send_held(now=now + HOLD) == 0
    assert [(one.text, one.has_missed) for one in HeldAnswer.objects.unsent()] == [("Use eu-west-1.", True)]
    assert take_back(held.batch, make_user("leo")) == []
    assert take_back(held.batch, mia) == [held]
    assert not HeldAnswer.objects.exists()


@pytest.mark.parametrize("end", ["valid", "cancelled"])
def test_what_nobody_needs_any_more_holds_up_no_later_answer(mia: User, end: str) -> None:
    call, other, now = make_blocked(), make_blocked(), timezone.now()
    hold(call, mia, now)
    if end == "valid":
        submit(call.agent, RIGHT, call=call)
    else:
        cancel_call(call, now=now)
    hold(other, mia, now)
    assert send_held(now=now + HOLD) == 1
    assert HeldAnswer.objects.unsent().get().call == call


def test_an_answer_that_is_refused_at_last_is_told_and_can_be_taken_back(
    mia: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "CONTRACT", RetryConfiguration(redact_secrets=False))
    call, now = make_blocked(), timezone.now()
    right = RIGHT | {"service": "AKIA" + "IOSFODNN7EXAMPLE"}
    sent = send_answer(call.escalations.open().get(), mia, Decision.CORRECTED, now=now, arguments=right)
    assert isinstance(sent, HeldAnswer)
    monkeypatch.setattr(settings, "CONTRACT", RetryConfiguration())  # the service was set otherwise meanwhile
    assert send_held(now=now + HOLD) == 0
    waiting = HeldAnswer.objects.unsent().get()
    assert (waiting.arguments, waiting.has_missed) == (right, False)
    assert send_held(now=now + 2 * HOLD) == 0
    assert take_back(sent.batch, mia) == [sent]
    assert list(awake_calls(now)) == [call]


def hold_correction(call: Call, operator: User, now: datetime) -> HeldAnswer:
    sent = send_answer(call.escalations.open().get(), operator, Decision.CORRECTED, now=now, arguments=RIGHT)
    assert isinstance(sent, HeldAnswer)
    return sent


def test_a_correction_whose_schema_is_refused_since_an_upgrade_is_told_and_keeps_no_other(mia: User) -> None:
    call, other, now = make_blocked(tool="deploy"), make_blocked(make_agent("other")), timezone.now()
    sent = hold_correction(call, mia, now)
    hold(other, mia, now)
    ToolVersion.objects.filter(tool__namespace=call.agent.namespace).update(
        schema={"$ref": "#/nowhere"}, schema_hash=token_hex(32)
    )
    assert send_held(now=now + HOLD) == 1
    assert HeldAnswer.objects.unsent().get() == sent


def test_a_correction_that_no_child_can_check_is_held_until_one_can(mia: User, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb, agent = known()[1], make_agent()
    use_often(make_tool(agent, schema=bomb.schema))
    call, other, now = make_blocked(agent, output="{"), make_blocked(make_agent("other")), timezone.now()
    sent = send_answer(call.escalations.open().get(), mia, Decision.CORRECTED, now=now, arguments={"a": [1, 2]})
    hold(other, mia, now)
    # A value that only a child may check, and no child to be had.
    HeldAnswer.objects.filter(pk=sent.pk).update(arguments=bomb.value)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    monkeypatch.setattr(settings, "RETRYCONTRACT", settings.RETRYCONTRACT.model_copy(update={"check_memory_mb": 333}))
    assert send_held(now=now + HOLD) == 1
    assert not HeldAnswer.objects.unsent().exists()
    HeldAnswer.objects.filter(pk=sent.pk).update(arguments={"a": [1, 2]})
    assert send_held(now=now + HOLD) == 1
