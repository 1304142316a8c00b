"""What worked before: records of answers, suggestions, and hints that spare the next escalation."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from pytest_django import Settings

from retrycontract.contract.decisions import Decision
from retrycontract.contract.feedback.feedback_text import parse_feedback
from retrycontract.contract.feedback.guidance import MAX_STANDING
from retrycontract.contract.patches import apply_patch
from retrycontract.store.models import AnswerRecord, Attempt, Call, Event, Guidance, Mistake, Rollup, StandingHint
from retrycontract.usecases.answers.deliver_answer import acknowledge_guidance, mark_delivered
from retrycontract.usecases.answers.reuse_answers import (
    LASTS,
    LONGEST,
    UnusableHintError,
    set_hint,
    set_hint_from,
    suggest_guidance,
    switch_off_hint,
)
from retrycontract.usecases.calls.sweep import forget_answers
from retrycontract.usecases.counts.recount import recount
from tests.factories import RIGHT, WRONG, answer, make_agent, make_blocked, make_tool, make_user, submit
from tests.usecases.conftest import NOON, Send, configure, fail, judge_all

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
TOKEN = "ghp_" + "aZ3kQ9xW7bN2mL5vR8tY1cF4hJ6dS0gPuE9i"
WORDS = "Use eu-west-1."


def tried(text: str, output: Any, **more: Any) -> Call:
    """Make a call that was answered, and whose agent tried again."""
    call = make_blocked(at=NOON)
    operator = make_user(f"op{Guidance.objects.count()}")
    answer(call, operator, text=text, at=NOON, is_read=True, **more)
    submit(call.agent, output, call=call, at=NOON)
    return call


def hint(call: Call, text: str = WORDS, **more: Any) -> StandingHint:
    return set_hint(Mistake.of(call), text, make_user(f"owner{StandingHint.objects.count()}"), now=NOON, **more)


def counts(hint: StandingHint) -> tuple[int, int, int]:
    hint.refresh_from_db()
    return hint.shown, hint.tried, hint.worked


def test_answers_are_suggested_with_their_record_the_most_promising_first() -> None:
    for output in (RIGHT, RIGHT, WRONG):
        tried("Use eu-west-1.", output)
    tried("Think again.", WRONG)
    tried("Once.", RIGHT)
    suggested = suggest_guidance(make_blocked())
    assert [(one.text, one.record) for one in suggested] == [
        ("Once.", "once, next attempt valid once"),
        ("Use eu-west-1.", "3 times, next attempt valid 2 times"),
        ("Think again.", "once, next attempt valid 0 times"),
    ]
    assert suggest_guidance(make_blocked(output={"service": "web"})) == ()


def test_only_the_first_attempt_after_an_answer_counts(send: Send) -> None:
    call = fail(send, 3)
    answer(call, make_user(), grant=3, is_read=True)
    for output in (WRONG, RIGHT):
        send(call.agent, output, call=call)
    assert AnswerRecord.objects.values_list("given", "tried", "worked").get() == (1, 1, 0)
    assert Guidance.objects.get().next_valid is False


def test_what_was_sent_before_the_answer_was_not_made_with_it(settings: Settings) -> None:
    call = make_blocked(at=NOON)
    configure(settings, judge="worker")
    submit(call.agent, RIGHT, call=call, at=NOON - timedelta(seconds=1))
    answer(call, make_user(), at=NOON)
    judge_all(now=NOON)
    assert Call.objects.get().state == "valid"
    assert AnswerRecord.objects.values_list("given", "tried").get() == (1, 0)


READ: dict[str, Callable[[Guidance], object]] = {
    "not": lambda _: None,
    "delivered": lambda given: mark_delivered(given, now=NOON),
    "acknowledged": lambda given: acknowledge_guidance(given, now=NOON),
}


@pytest.mark.parametrize(
    ("how", "counted"), [("not", (1, 0, 0)), ("delivered", (1, 1, 1)), ("acknowledged", (1, 1, 1))]
)
def test_an_answer_has_helped_who_has_read_it(send: Send, how: str, counted: tuple[int, int, int]) -> None:
    call = fail(send, 3, at=NOON)
    READ[how](answer(call, make_user(), at=NOON))
    send(call.agent, RIGHT, call=call, at=NOON)
    READ["delivered"](Guidance.objects.get())  # too late
    assert AnswerRecord.objects.values_list("given", "tried", "worked").get() == counted
    assert Guidance.objects.get().next_valid is (True if counted[2] else None)
    assert Rollup.objects.all().tally() == recount(since=NOON - DAY)


def test_what_was_tried_before_an_answer_was_read_says_nothing_of_it(send: Send) -> None:
    call = fail(send, 3, at=NOON)
    given = answer(call, make_user(), at=NOON, grant=2)
    send(call.agent, WRONG, call=call, at=NOON)
    mark_delivered(given, now=NOON)
    send(call.agent, RIGHT, call=call, at=NOON)
    assert acknowledge_guidance(given, now=NOON)
    assert AnswerRecord.objects.values_list("given", "tried", "worked").get() == (1, 1, 1)
    assert Rollup.objects.all().tally() == recount(since=NOON - DAY)


def test_what_came_in_before_an_answer_was_read_was_not_made_with_it(settings: Settings) -> None:
    call = make_blocked(at=NOON)
    given = answer(call, make_user(), at=NOON)
    configure(settings, judge="worker")
    submit(call.agent, RIGHT, call=call, at=NOON)
    mark_delivered(given, now=NOON + DAY)
    judge_all(now=NOON + DAY)
    assert AnswerRecord.objects.values_list("given", "tried").get() == (1, 0)
    assert Rollup.objects.all().tally() == recount(since=NOON - DAY)


def test_a_correction_is_suggested_as_a_patch_that_fits_other_calls() -> None:
    call = make_blocked(output=WRONG | {"service": "web"})
    answer(call, make_user(), Decision.CORRECTED, text="", arguments=RIGHT)
    similar = make_blocked(output=WRONG | {"service": "api"})
    (suggested,) = suggest_guidance(similar)
    last = similar.attempts.order_by("-number").first()
    assert last is not None
    assert apply_patch(last.output, suggested.patch) == RIGHT | {"service": "api"}


@pytest.mark.parametrize("decision", [Decision.ACCEPT, Decision.REJECT])
def test_what_ends_a_call_is_not_suggested(decision: Decision) -> None:
    answer(make_blocked(), make_user(), decision)
    assert not AnswerRecord.objects.exists()


def test_records_that_nobody_used_for_long_are_forgotten() -> None:
    answer(make_blocked(at=NOON), make_user(), at=NOON)
    assert forget_answers(now=NOON + 90 * DAY) == 0
    assert forget_answers(now=NOON + 91 * DAY) == 1
    assert Guidance.objects.get().record is None


def test_a_hint_made_from_an_answer_spares_the_next_agents_escalation_and_its_record_says_so(send: Send) -> None:
    first = fail(send, 3)
    mia = make_user()
    set_hint_from(answer(first, mia), mia, now=first.updated_at)
    told = send(make_agent(), WRONG)
    assert "A person who has seen this mistake before says:\n> Use eu-west-1." in told.feedback
    assert told.number == 1
    done = send(make_agent(), RIGHT, call=told.call)
    assert done.call.state == "valid"
    assert not done.call.escalations.exists()
    standing = StandingHint.objects.get()
    assert counts(standing) == (1, 1, 1)
    assert str(standing) == "for deploy: shown 1 times, next attempt valid 1 times"


def test_an_agent_is_told_once_a_call_and_with_the_first_feedback_of_that_mistake() -> None:
    standing = hint(make_blocked())
    call = submit(make_agent(), {"service": 1, "region": 2}).call
    for _ in range(2):
        submit(make_agent(), WRONG, call=call)
    told = Attempt.objects.filter(call=call).order_by("number").values_list("standing_hint", flat=True)
    assert list(told) == [None, standing.pk, None]
    assert counts(standing) == (1, 1, 0)


def test_a_message_with_a_hint_is_still_one_of_version_1_and_not_too_long() -> None:
    hint(make_blocked(), "Line one.\n\n• /region (VAL-001): posing\n" + "x" * (MAX_STANDING - 50))
    feedback = submit(make_agent(), WRONG).feedback
    plain = make_blocked(make_agent("other")).attempts.get(number=1).feedback
    assert len(feedback) <= 2_000
    assert parse_feedback(feedback) == parse_feedback(plain)
    assert all(line.startswith("> ") for line in feedback.split("says:\n")[1].splitlines())


def test_who_was_blocked_or_guided_is_told_by_a_person_only() -> None:
    standing = hint(make_blocked())
    guided = make_blocked(output={"service": 1, "region": 2})
    answer(guided, make_user())
    submit(guided.agent, WRONG, call=guided)
    assert counts(standing) == (0, 0, 0)


@pytest.mark.parametrize("end", ["expired", "switched off", "replaced"])
def test_a_hint_that_ended_is_told_no_more(end: str) -> None:
    call = make_blocked(at=NOON)
    standing = hint(call)
    now = NOON + timedelta(hours=1)
    if end == "expired":
        now = NOON + LASTS
    elif end == "switched off":
        assert switch_off_hint(standing, standing.owner, now=now)
        assert not switch_off_hint(standing, standing.owner, now=now)
    else:
        hint(call, "Something else.")
    assert WORDS not in submit(make_agent(), WRONG, at=now).feedback
    assert counts(standing) == (0, 0, 0)


def test_other_namespaces_and_other_mistakes_are_told_nothing() -> None:
    hint(make_blocked())
    make_tool(make_agent("other"))
    for agent, output in ((make_agent("other"), WRONG), (make_agent(), {"service": "web"})):
        assert WORDS not in submit(agent, output).feedback


def test_a_secret_in_a_hint_is_not_kept() -> None:
    assert hint(make_blocked(), f"Use {TOKEN}.").text == "Use [REDACTED: GITHUB_TOKEN]."


@pytest.mark.parametrize(
    ("text", "lasts"),
    [("", DAY), ("x" * (MAX_STANDING + 1), DAY), ("x", timedelta()), ("x", LONGEST + DAY)],
)
def test_a_hint_that_cannot_stand_is_refused(text: str, lasts: timedelta) -> None:
    with pytest.raises(UnusableHintError):
        hint(make_blocked(), text, expires_at=NOON + lasts)


def test_setting_and_switching_off_leave_events() -> None:
    call, mia = make_blocked(), make_user()
    standing = set_hint(Mistake.of(call), WORDS, mia, now=NOON)
    switch_off_hint(standing, mia, now=NOON)
    names = Event.objects.filter(name__startswith="hint.").order_by("pk").values_list("name", "actor")
    assert list(names) == [("hint.set", "mia"), ("hint.switched_off", "mia")]
