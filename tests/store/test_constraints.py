"""What the code promises holds in the database, too: every constraint is broken on purpose, past all models."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.db.models import CharField, ProtectedError, QuerySet, UniqueConstraint
from django.utils import timezone

from retrycontract.contract.decisions import Decision
from retrycontract.contract.lifecycle import CallState
from retrycontract.store.history import forgetting
from retrycontract.store.models import (
    Agent,
    ApiKey,
    Attempt,
    Call,
    ChannelTurn,
    Escalation,
    Event,
    FailedLogins,
    Guidance,
    IdempotencyKey,
    Notice,
    OutboxMessage,
    Rollup,
    Summary,
    Tool,
    ToolVersion,
    WebhookDelivery,
    WebhookEndpoint,
    hour_of,
)
from tests.factories import answer, make_agent, make_blocked, make_tool, make_user
from tests.store.desk_constraints import DESK_BREAKS

pytestmark = pytest.mark.django_db
NOW = timezone.now()


def blocked_attempts() -> list[Attempt]:
    return list(make_blocked().attempts.order_by("number"))


def repeat_a_number() -> None:
    first, second, _ = blocked_attempts()
    Attempt.objects.filter(pk=second.pk).update(number=first.number)


def lock_a_name_that_never_failed() -> None:
    FailedLogins.objects.create(key_hash="k", last_at=timezone.now(), locked_until=timezone.now())


def open_a_second_escalation() -> None:
    Escalation.objects.create(call=make_blocked(), round=2, text="again", opened_at=timezone.now())


def repeat_a_round() -> None:
    now = timezone.now()
    Escalation.objects.create(call=make_blocked(), round=1, text="again", state="expired", opened_at=now, closed_at=now)


def given_guidance() -> Guidance:
    return answer(make_blocked(), make_user(), Decision.HINT)


def keep_a_stage_of_an_answer_twice() -> None:
    version = given_guidance().versions.get()
    version.pk = None
    version.save(force_insert=True)


def invent_a_stage_of_an_answer() -> None:
    given_guidance().versions.update(stage="imagined")


def answer_one_escalation_twice() -> None:
    guidance = given_guidance()
    guidance.pk = None
    guidance.save(force_insert=True)


def register_a_name_twice() -> None:
    tool = make_tool(make_agent())
    tool.pk = None
    tool.save(force_insert=True)


def repeat_a_public_id() -> None:
    call = make_blocked()
    Call.objects.create(
        public_id=call.public_id, agent=call.agent, kind="tool_call", tool_name="x", last_tool_call_id="x",
        attempts_allowed=3, created_at=timezone.now(), updated_at=timezone.now(),
    )  # fmt: skip


def repeat_a_version() -> None:
    tool = make_tool(make_agent())
    ToolVersion.objects.create(tool=tool, number=1, schema={}, schema_hash="0" * 64, created_at=timezone.now())


def repeat_a_schema() -> None:
    version = make_tool(make_agent()).current_version
    assert version is not None
    version.pk, version.number = None, 2
    version.save(force_insert=True)


def made_message(**changes: object) -> OutboxMessage:
    return OutboxMessage.objects.create(
        **({"channel": "email", "subject": "Blocked", "text": "Blocked", "created_at": timezone.now()} | changes)
    )


def send_by_an_unknown_channel() -> None:
    made_message(channel="pigeon")


def deliver_what_was_given_up() -> None:
    made_message(delivered_at=timezone.now(), given_up_at=timezone.now())


def announce(channel: str, times: int = 1) -> None:
    escalation = make_blocked().escalations.get()
    for _ in range(times):
        Notice.objects.create(escalation=escalation, channel=channel, created_at=timezone.now())


def announce_by_an_unknown_channel() -> None:
    announce("pigeon")


def announce_to_an_endpoint() -> None:
    announce("endpoint")


def announce_twice() -> None:
    announce("email", times=2)


def take_the_turn_of_an_unknown_channel() -> None:
    ChannelTurn.objects.create(channel="pigeon", free_at=timezone.now())


def take_a_turn_twice() -> None:
    for _ in range(2):
        ChannelTurn.objects.create(channel="email", free_at=timezone.now())


def made_endpoint(**changes: object) -> WebhookEndpoint:
    return WebhookEndpoint.objects.create(
        **({"address": "https://x.example/", "sealed": b"s", "created_at": timezone.now()} | changes)
    )


def be_gone_and_on() -> None:
    made_endpoint(gone_at=timezone.now())


def send_to_people_by_an_endpoint() -> None:
    made_message(endpoint=made_endpoint())


def send_to_no_endpoint() -> None:
    made_message(channel="endpoint", due_at=timezone.now())


def send_to_an_endpoint_without_a_time() -> None:
    made_message(channel="endpoint", endpoint=made_endpoint())


def take_the_turn_of_no_endpoint() -> None:
    ChannelTurn.objects.create(channel="endpoint", free_at=timezone.now())


def take_a_channels_turn_for_an_endpoint() -> None:
    ChannelTurn.objects.create(channel="email", endpoint=made_endpoint(), free_at=timezone.now())


def answer_with_no_status() -> None:
    WebhookDelivery.objects.create(message=made_message(), tried_at=timezone.now(), status=7, duration_ms=1)


def remember_a_request(*, times: int = 1, attempt: Attempt | None = None) -> None:
    for _ in range(times):
        IdempotencyKey.objects.create(
            agent=make_agent(), key_hash="k", request_hash="r", attempt=attempt, created_at=timezone.now()
        )


def remember_a_request_twice() -> None:
    remember_a_request(times=2, attempt=blocked_attempts()[0])


def remember_a_request_without_an_answer() -> None:
    remember_a_request()


def counted(**changes: object) -> Rollup:
    values = {"namespace": "n", "tool_name": "t", "measure": "judged", "label": "1", "amount": 1}
    return Rollup.objects.create(**(values | {"hour": hour_of(timezone.now())} | changes))


def count_what_nobody_knows() -> None:
    counted(measure="luck")


def count_in_two_places() -> None:
    for _ in range(2):
        counted()


def summed(**changes: object) -> Summary:
    values: dict[str, object] = dict.fromkeys(("judged", "valid", "first_judged", "first_valid"), 1)
    values |= {"span": "day", "at": hour_of(timezone.now()), "is_whole": False, "namespace": "n", "tool_name": "t"}
    return Summary.objects.create(**(values | changes))


def sum_up_a_week() -> None:
    summed(span="week")


def sum_up_twice() -> None:
    for _ in range(2):
        summed()


def name_one_tool_for_all() -> None:
    summed(is_whole=True)


def attempt() -> QuerySet[Attempt]:
    return Attempt.objects.filter(pk=blocked_attempts()[0].pk)


def call() -> QuerySet[Call]:
    return Call.objects.filter(pk=make_blocked().pk)


def escalation() -> QuerySet[Escalation]:
    return Escalation.objects.filter(call=make_blocked())


def guidance() -> QuerySet[Guidance]:
    return Guidance.objects.filter(pk=given_guidance().pk)


def tool() -> QuerySet[Tool]:
    return Tool.objects.filter(pk=make_tool(make_agent()).pk)


def change(made: Callable[[], QuerySet[Any]], changes: dict[str, Any]) -> None:
    made().update(**changes)


# What a row that may be is changed into: its constraint, what that is, the row, the change.
CHANGES: list[tuple[str, str, Callable[[], QuerySet[Any]], dict[str, Any]]] = [
    ("attempt_state_known", "invent_an_attempt_state", attempt, {"state": "lost"}),
    ("attempt_sealed_until_judged", "keep_the_text_of_a_judged_attempt", attempt, {"sealed": b"text"}),
    ("attempt_sealed_until_judged", "queue_an_attempt_without_its_text", attempt, {"state": "queued"}),
    ("attempt_judged_has_verdict", "judge_without_a_verdict", attempt, {"is_valid": None}),
    ("attempt_judged_has_verdict", "judge_without_a_time", attempt, {"judged_at": None}),
    ("call_state_known", "invent_a_call_state", call, {"state": "stuck"}),
    ("call_blocked_has_time", "block_without_a_time", call, {"blocked_at": None}),
    ("escalation_state_known", "invent_an_escalation_state", escalation, {"state": "forgotten", "closed_at": NOW}),
    ("escalation_closed_has_time", "close_without_a_time", escalation, {"state": "answered"}),
    ("escalation_closed_has_time", "leave_open_with_a_closing_time", escalation, {"closed_at": NOW}),
    ("guidance_decision_known", "invent_a_decision", guidance, {"decision": "maybe"}),
    ("guidance_grant_range", "grant_more_than_five", guidance, {"granted": 6}),
    ("tool_kind_known", "invent_a_kind", tool, {"kind": "poem"}),
    ("tool_max_attempts_range", "allow_eleven_attempts", tool, {"max_attempts": 11}),
    ("tool_max_attempts_range", "allow_no_attempt", tool, {"max_attempts": 0}),
    ("tool_expires_after_range", "wait_longer_than_a_year", tool, {"expires_after": timedelta(days=366)}),
    ("tool_expires_after_range", "wait_no_time", tool, {"expires_after": timedelta()}),
    ("tool_on_expiry_known", "accept_what_nobody_answered", tool, {"on_expiry": "accept"}),
]


BREAKS: list[tuple[str, Callable[[], None]]] = [
    ("attempt_unique_number", repeat_a_number),
    ("failedlogins_locked_has_failures", lock_a_name_that_never_failed),
    ("call_unique_public_id", repeat_a_public_id),
    ("escalation_one_open", open_a_second_escalation),
    ("escalation_unique_round", repeat_a_round),
    ("tool_unique_name", register_a_name_twice),
    ("outbox_channel_known", send_by_an_unknown_channel),
    ("outbox_one_end", deliver_what_was_given_up),
    ("idempotency_key_unique", remember_a_request_twice),
    ("idempotency_key_has_answer", remember_a_request_without_an_answer),
    ("notice_channel_known", announce_by_an_unknown_channel),
    ("notice_channel_known", announce_to_an_endpoint),
    ("notice_unique", announce_twice),
    ("turn_channel_known", take_the_turn_of_an_unknown_channel),
    ("turn_of_an_endpoint", take_the_turn_of_no_endpoint),
    ("turn_of_an_endpoint", take_a_channels_turn_for_an_endpoint),
    ("turn_unique_channel", take_a_turn_twice),
    ("outbox_endpoint_has_time", send_to_people_by_an_endpoint),
    ("outbox_endpoint_has_time", send_to_no_endpoint),
    ("outbox_endpoint_has_time", send_to_an_endpoint_without_a_time),
    ("endpoint_gone_is_off", be_gone_and_on),
    ("delivery_status_is_http", answer_with_no_status),
    ("rollup_measure_known", count_what_nobody_knows),
    ("rollup_unique", count_in_two_places),
    ("summary_span_known", sum_up_a_week),
    ("summary_unique", sum_up_twice),
    ("summary_whole_names_nothing", name_one_tool_for_all),
    ("guidance_one_each", answer_one_escalation_twice),
    ("guidanceversion_one_each", keep_a_stage_of_an_answer_twice),
    ("guidanceversion_stage_known", invent_a_stage_of_an_answer),
    *DESK_BREAKS,
    ("toolversion_unique_number", repeat_a_version),
    ("toolversion_unique_schema", repeat_a_schema),
]


CASES = [pytest.param(constraint, partial(change, *row), id=name) for constraint, name, *row in CHANGES]
CASES += [pytest.param(constraint, work, id=work.__name__) for constraint, work in BREAKS]


@pytest.mark.parametrize(("constraint", "attempt_to"), CASES)
def test_the_database_refuses_to(constraint: str, attempt_to: Callable[[], None]) -> None:
    # History is guarded by triggers of its own, which speak before the constraints do.
    with pytest.raises(IntegrityError) as refused, transaction.atomic(), forgetting():
        attempt_to()
    # Of a unique constraint SQLite names the columns only.
    is_nameless = connection.vendor == "sqlite" and isinstance(constraints()[constraint], UniqueConstraint)
    assert ("UNIQUE" if is_nameless else constraint) in str(refused.value)


def constraints() -> dict[str, object]:
    ours = apps.get_app_config("retrycontract").get_models()
    return {constraint.name: constraint for model in ours for constraint in model._meta.constraints}


def test_every_constraint_is_broken_here() -> None:
    assert {case.values[0] for case in CASES} == set(constraints())


def test_one_endpoint_has_one_turn() -> None:
    endpoint = made_endpoint()
    ChannelTurn.objects.create(channel="endpoint", endpoint=endpoint, free_at=timezone.now())
    with pytest.raises(IntegrityError), transaction.atomic():
        ChannelTurn.objects.create(channel="endpoint", endpoint=endpoint, free_at=timezone.now())


def test_an_endpoint_that_was_sent_something_is_not_deleted() -> None:
    endpoint = made_endpoint()
    made_message(channel="endpoint", endpoint=endpoint, due_at=timezone.now())
    with pytest.raises(ProtectedError):
        endpoint.delete()


def test_two_keys_never_have_the_same_digest() -> None:
    key, _ = ApiKey.create_for(make_agent(), timezone.now())
    with pytest.raises(IntegrityError), transaction.atomic():
        ApiKey.objects.create(agent=key.agent, prefix="rc_0", digest=key.digest, created_at=timezone.now())


@pytest.mark.parametrize("model", [Agent, Tool, ToolVersion, Call, Escalation])
def test_what_history_stands_on_is_not_deleted(model: type) -> None:
    answer(make_blocked(), make_user(), Decision.HINT)
    with pytest.raises(ProtectedError):
        model.objects.all().delete()  # type: ignore[attr-defined]


def test_a_closed_escalation_leaves_room_for_the_next() -> None:
    call = make_blocked()
    call.escalations.update(state="expired", closed_at=timezone.now() + timedelta(days=7))
    Escalation.objects.create(call=call, round=2, text="again", opened_at=timezone.now())
    assert call.escalations.open().count() == 1


def test_every_name_that_a_column_may_hold_fits_into_it() -> None:
    """SQLite takes a text of any length, PostgreSQL refuses one that is too long."""
    named = [
        (field, [str(value) for value, _ in field.flatchoices])
        for model in apps.get_app_config("retrycontract").get_models()
        for field in model._meta.get_fields()
        if isinstance(field, CharField)
    ]
    named += [(Event._meta.get_field(name), list(CallState)) for name in ("from_state", "to_state")]
    too_long = [(str(field), name) for field, names in named for name in names if len(name) > (field.max_length or 0)]
    assert too_long == []
