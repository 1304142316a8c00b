"""What operators may answer, what the agent gets of it, and who wins."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from retrycontract.contract.decisions import Decision
from retrycontract.contract.feedback.guidance import MAX_TEXT
from retrycontract.contract.patches import apply_patch
from retrycontract.store.models import Call, Escalation, Guidance
from retrycontract.usecases.answers.deliver_answer import acknowledge_guidance, mark_delivered
from retrycontract.usecases.answers.give_guidance import (
    AlreadyAnsweredError,
    RefusedAnswerError,
    draft_guidance,
    give_guidance,
)
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.calls.sweep import expire_overdue
from tests.factories import RIGHT, WRONG, answer, make_agent, make_blocked, make_tool, make_user, submit

pytestmark = pytest.mark.django_db

TOKEN = "ghp_" + "aZ3kQ9xW7bN2mL5vR8tY1cF4hJ6dS0gPuE9i"
LOGIN: dict[str, Any] = {
    "type": "object",
    "properties": {
        "user": {"type": "string"},
        "password": {"type": "string", "minLength": 8},
        "tags": {"type": "array", "items": {"type": "string"}},
        "options": {"type": "object"},
        "attempts": {"type": "integer"},
    },
    "required": ["user", "password"],
}


def blocked_login(**sent: Any) -> Call:
    """Make a Blocked call whose password was redacted."""
    agent = make_agent()
    make_tool(agent, "login", LOGIN)
    return make_blocked(agent, {"user": "mia", "password": "hunter2hunter2", "attempts": "x"} | sent, tool="login")


def stored(call: Call) -> Any:
    """Give the last output as the operator sees it."""
    last = call.attempts.order_by("-number").first()
    assert last is not None
    return last.output


STATES = [
    (Decision.HINT, "guided"),
    (Decision.CORRECTED, "guided"),
    (Decision.ACCEPT, "accepted"),
    (Decision.REJECT, "rejected"),
]


@pytest.mark.parametrize(("decision", "state"), STATES)
def test_each_decision_moves_the_call_and_closes_the_escalation(decision: Decision, state: str) -> None:
    call, user, now = make_blocked(), make_user(), timezone.now()
    guidance = answer(call, user, decision, arguments=RIGHT, at=now)
    after = Call.objects.get(pk=call.pk)
    escalation = call.escalations.get()
    assert (after.state, after.expires_at) == (state, None)
    assert (escalation.state, escalation.closed_at) == ("answered", now)
    assert (guidance.operator, guidance.given_at, guidance.base) == (
        user,
        now,
        call.attempts.order_by("-number").first(),
    )
    event = call.events.get(name="guidance.given")
    assert (event.actor, event.door, event.from_state, event.to_state) == ("mia", "dashboard", "blocked", state)
    assert event.data == {"decision": decision.value, "granted": guidance.granted, "late": False}


@pytest.mark.parametrize("decision", [Decision.HINT, Decision.ACCEPT, Decision.REJECT])
def test_the_operators_words_are_quoted_and_signed_as_such(decision: Decision) -> None:
    rendered = answer(make_blocked(), make_user(), decision, text="Use eu-west-1.\nIgnore the rest.").rendered
    assert "> Use eu-west-1.\n> Ignore the rest." in rendered
    assert rendered.startswith("A person ")


def test_the_operators_words_arrive_as_they_were_written() -> None:
    words = "می\u200cخواهم عدد بفرستید\n\tkey:\tvalue 👩\u200d🔧"
    rendered = answer(make_blocked(), make_user(), Decision.HINT, text=words).rendered
    assert "> می\u200cخواهم عدد بفرستید\n> \tkey:\tvalue 👩\u200d🔧" in rendered


@pytest.mark.parametrize("text", ["", " \n", "\u200b", "\u200b \u2060\ufeff\n"])
def test_words_that_nobody_sees_are_none(text: str) -> None:
    with pytest.raises(RefusedAnswerError, match="Write what the agent should read"):
        draft_guidance(make_blocked(), Decision.HINT, text=text)


def test_secrets_in_the_operators_words_do_not_leave() -> None:
    guidance = answer(make_blocked(), make_user(), Decision.HINT, text=f"Use {TOKEN} as key.")
    assert TOKEN not in guidance.rendered + guidance.text
    assert "[REDACTED" in guidance.text


@pytest.mark.parametrize("decision", [Decision.HINT, Decision.REJECT])
def test_what_a_secret_field_allows_does_not_leave_in_the_operators_words(decision: Decision) -> None:
    agent, allowed = make_agent(), "Zq9-korrekt!x"
    word = {"x-sensitive": True, "enum": [allowed, "b"]}
    make_tool(agent, "deploy", {"type": "object", "properties": {"word": word}})
    call = submit(agent, {"word": "no"}, max_attempts=1).call
    guidance = answer(call, make_user(), decision, text=f"Send {allowed} as the word.")
    assert allowed not in guidance.rendered + guidance.text
    assert "[REDACTED: SENSITIVE] as the word" in guidance.text


def test_a_draft_shows_exactly_what_is_sent() -> None:
    call = make_blocked()
    draft = draft_guidance(call, Decision.HINT, text="Use eu-west-1.", grant=3)
    assert draft.rendered == answer(call, make_user(), Decision.HINT, text="Use eu-west-1.", grant=3).rendered


def test_a_draft_stores_nothing() -> None:
    call = make_blocked()
    draft_guidance(call, Decision.REJECT, text="No.")
    assert (Call.objects.get().state, Guidance.objects.count()) == ("blocked", 0)


def test_corrected_arguments_travel_whole_when_nothing_was_redacted() -> None:
    guidance = answer(make_blocked(), make_user(), Decision.CORRECTED, text="", arguments=RIGHT)
    assert (guidance.arguments, guidance.patch) == (RIGHT, None)
    assert '"eu-west-1"' in guidance.rendered


def test_corrected_arguments_travel_as_a_patch_that_leaves_redacted_values_alone() -> None:
    call = blocked_login()
    corrected = stored(call) | {"attempts": 1}
    assert "[REDACTED" in corrected["password"]
    guidance = answer(call, make_user(), Decision.CORRECTED, arguments=corrected)
    assert guidance.arguments is None
    assert guidance.patch == [{"op": "replace", "path": "/attempts", "value": 1}]
    assert "REDACTED" not in guidance.rendered
    sent = {"user": "mia", "password": "hunter2hunter2", "attempts": "x"}
    assert submit(call.agent, apply_patch(sent, guidance.patch), tool="login", call=call).status == "valid"


def test_a_redacted_value_may_be_replaced_by_a_reference_or_removed_as_a_whole() -> None:
    call = blocked_login(options={"api_key": TOKEN, "depth": 1})
    corrected = stored(call) | {"attempts": 1, "password": "${LOGIN_PASSWORD}"}
    corrected["options"] = {"depth": 2}
    guidance = answer(call, make_user(), Decision.CORRECTED, arguments=corrected)
    assert guidance.arguments == corrected


@pytest.mark.parametrize(
    ("edit", "place"),
    [
        ({"password": "correct horse"}, "/password"),
        ({"user": f"mia {TOKEN}"}, "/user"),
        ({"options": {"keys": ["plain", TOKEN]}}, "/options/keys/1"),
        ({"options": {TOKEN: 1}}, "/options/[REDACTED: GITHUB_TOKEN]"),
    ],
)
def test_a_secret_that_an_operator_types_is_refused_with_its_place(edit: dict[str, Any], place: str) -> None:
    call = blocked_login()
    with pytest.raises(RefusedAnswerError) as refused:
        answer(call, make_user(), Decision.CORRECTED, arguments=stored(call) | {"attempts": 1} | edit)
    assert refused.value.reason.startswith(f"A secret stands at {place}. ")
    assert TOKEN not in refused.value.reason
    assert Guidance.objects.count() == 0


Edit = dict[str, Any]
REFUSED_EDITS: dict[str, tuple[Edit, Edit]] = {
    "part of a redacted string": ({}, {"password": "[REDACTED: PASSWORD]!"}),
    "another field gets the mark": ({}, {"user": "[REDACTED: PASSWORD]"}),
    "a new field gets the mark": ({}, {"options": {"password": "[REDACTED: PASSWORD]"}}),
    "a list's item is copied": ({"tags": ["plain", TOKEN]}, {"tags": ["plain"] + 2 * ["[REDACTED: GITHUB_TOKEN]"]}),
    "below a redacted name": (
        {"options": {TOKEN: {"deep": 1}}},
        {"options": {"[REDACTED: GITHUB_TOKEN]": {"deep": 2}}},
    ),
}


@pytest.mark.parametrize(("sent", "edit"), REFUSED_EDITS.values(), ids=list(REFUSED_EDITS))
def test_an_edited_or_moved_redaction_mark_is_refused(sent: Edit, edit: Edit) -> None:
    call = blocked_login(**sent)
    with pytest.raises(RefusedAnswerError) as refused:
        answer(call, make_user(), Decision.CORRECTED, arguments=stored(call) | {"attempts": 1} | edit)
    assert "redacted" in refused.value.reason.lower()
    assert call.escalations.get().state == "open"


def test_a_secret_goes_with_its_item_to_another_place_of_a_list() -> None:
    call = blocked_login(tags=["plain", TOKEN, "other"])
    tags = ["[REDACTED: GITHUB_TOKEN]", "plain"]
    guidance = answer(call, make_user(), Decision.CORRECTED, arguments=stored(call) | {"attempts": 1, "tags": tags})
    sent = {"user": "mia", "password": "hunter2hunter2", "attempts": "x", "tags": ["plain", TOKEN, "other"]}
    assert apply_patch(sent, guidance.patch)["tags"] == [TOKEN, "plain"]


def test_corrected_arguments_must_match_the_schema_that_the_call_is_pinned_to() -> None:
    call = make_blocked()
    make_tool(call.agent, "deploy", {"type": "object"})
    with pytest.raises(RefusedAnswerError) as refused:
        answer(call, make_user(), Decision.CORRECTED, arguments=WRONG)
    assert [error.field_path for error in refused.value.errors] == ["/region"]
    assert (Call.objects.get().state, Guidance.objects.count()) == ("blocked", 0)


def test_an_error_that_only_the_mark_has_is_left_to_the_agents_next_attempt() -> None:
    agent = make_agent()
    schema = {
        "type": "object",
        "properties": {"password": {"type": "string", "maxLength": 10}, "n": {"type": "integer"}},
    }
    make_tool(agent, "login", schema)
    call = make_blocked(agent, {"password": "hunter2", "n": "x"}, tool="login")
    guidance = answer(call, make_user(), Decision.CORRECTED, arguments=stored(call) | {"n": 1})
    assert guidance.patch == [{"op": "replace", "path": "/n", "value": 1}]


@pytest.mark.parametrize("decision", [Decision.HINT, Decision.ACCEPT, Decision.REJECT])
@pytest.mark.parametrize("text", ["", "  \n "])
def test_an_answer_without_words_is_refused(decision: Decision, text: str) -> None:
    with pytest.raises(RefusedAnswerError, match="Write what the agent should read"):
        answer(make_blocked(), make_user(), decision, text=text)


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(RefusedAnswerError, match="at most"):
        answer(make_blocked(), make_user(), Decision.HINT, text="x" * (MAX_TEXT + 1))


def test_output_that_never_parsed_is_not_accepted_as_it_is() -> None:
    with pytest.raises(RefusedAnswerError, match="never parsed"):
        answer(make_blocked(output='{"service": '), make_user(), Decision.ACCEPT)


def test_output_that_never_parsed_has_nothing_that_a_patch_could_keep() -> None:
    call = make_blocked(output='{"service": ')
    with pytest.raises(RefusedAnswerError, match="write them out"):
        answer(call, make_user(), Decision.CORRECTED, arguments=RIGHT | {"service": "[REDACTED: PASSWORD]"})
    assert answer(call, make_user("ann"), Decision.CORRECTED, arguments=RIGHT).arguments == RIGHT


@pytest.mark.parametrize(("asked", "granted"), [(0, 2), (1, 1), (2, 2), (5, 5), (6, 5), (-1, 1)])
def test_a_hint_grants_one_to_five_attempts(asked: int, granted: int) -> None:
    call = make_blocked()
    guidance = answer(call, make_user(), Decision.HINT, grant=asked)
    assert (guidance.granted, Call.objects.get().attempts_allowed) == (granted, 3 + granted)
    assert f"this is attempt 4/{3 + granted}" in guidance.rendered


def test_the_second_answer_is_told_the_first() -> None:
    call = make_blocked()
    escalation = call.escalations.get()
    first = answer(call, make_user(), Decision.HINT)
    with pytest.raises(AlreadyAnsweredError) as told:
        give_guidance(escalation, make_user("tom"), Decision.REJECT, now=timezone.now(), text="No.")
    assert told.value.guidance == first
    assert (Call.objects.get().state, Guidance.objects.count()) == ("guided", 1)


@pytest.mark.parametrize("state", ["resolved", "cancelled"])
def test_an_answer_to_a_call_that_ended_otherwise_is_told_so(state: str) -> None:
    call = make_blocked()
    escalation = call.escalations.get()
    if state == "resolved":
        submit(call.agent, RIGHT, call=call)
    else:
        cancel_call(call, now=timezone.now())
    with pytest.raises(AlreadyAnsweredError) as told:
        give_guidance(escalation, make_user(), Decision.HINT, now=timezone.now(), text="Use eu-west-1.")
    assert (told.value.guidance, told.value.escalation.state) == (None, state)


@pytest.mark.parametrize(
    ("decision", "state"), [(Decision.HINT, "guided"), (Decision.ACCEPT, "accepted"), (Decision.REJECT, "rejected")]
)
def test_a_late_answer_reopens_an_expired_call(decision: Decision, state: str) -> None:
    call = make_blocked()
    escalation = call.escalations.get()
    expire_overdue(now=timezone.now() + timedelta(days=8))
    assert Call.objects.get().state == "expired"
    give_guidance(escalation, make_user(), decision, now=timezone.now(), text="Sorry for the wait.")
    assert Call.objects.get().state == state
    event = call.events.get(name="guidance.given")
    assert (event.from_state, event.data["late"]) == ("expired", True)
    if state == "guided":
        assert submit(call.agent, RIGHT, call=call).call.state == "valid"


class SlowlyWritten(str):
    """Words during whose reading the agent tries again, once."""

    __slots__ = ("call",)
    call: Call | None

    def strip(self, chars: str | None = None, /) -> str:
        call, self.call = self.call, None
        if call is not None:
            submit(call.agent, WRONG, call=call)
        return super().strip(chars)


def test_an_answer_is_written_anew_when_the_agent_tried_again_meanwhile() -> None:
    call = make_blocked()
    words = SlowlyWritten("Use eu-west-1.")
    words.call = call
    guidance = answer(call, make_user(), Decision.HINT, text=words, grant=2)
    assert "this is attempt 5/6" in guidance.rendered
    assert guidance.base == call.attempts.get(number=4)
    assert Call.objects.get().attempts_allowed == 6


def test_the_answer_to_a_second_round_is_its_own() -> None:
    call = make_blocked()
    answer(call, make_user(), Decision.HINT, grant=1, is_read=True)
    submit(call.agent, WRONG, call=call)
    answer(call, make_user("tom"), Decision.REJECT, text="Stop.")
    rounds = Escalation.objects.order_by("round").values_list("round", "state", "guidance__decision")
    assert list(rounds) == [(1, "answered", "hint"), (2, "answered", "reject")]


def test_acknowledging_again_changes_nothing() -> None:
    call = make_blocked()
    guidance, now = answer(call, make_user(), Decision.HINT), timezone.now()
    assert acknowledge_guidance(guidance, now=now)
    assert not acknowledge_guidance(guidance, now=now + timedelta(hours=1))
    guidance.refresh_from_db()
    assert guidance.acknowledged_at == now
    assert call.events.filter(name="guidance.acknowledged").count() == 1


def test_the_first_delivery_is_noted() -> None:
    guidance, now = answer(make_blocked(), make_user(), Decision.HINT), timezone.now()
    mark_delivered(guidance, now=now)
    mark_delivered(guidance, now=now + timedelta(hours=1))
    guidance.refresh_from_db()
    mark_delivered(guidance, now=now + timedelta(hours=2))
    guidance.refresh_from_db()
    assert guidance.delivered_at == now
