"""How the constraints of what operators do at the desk are broken on purpose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from retrycontract.store.models import (
    AnswerRecord,
    Claim,
    HeldAnswer,
    Mistake,
    ProviderIdentity,
    SavedReply,
    Snooze,
    StandingHint,
)
from tests.factories import make_blocked, make_user


def times(began: str, until: timedelta) -> dict[str, Any]:
    now = timezone.now()
    return {"escalation": make_blocked().escalations.get(), "operator": make_user(), began: now, "until": now + until}


def end_a_claim_before_it_began() -> None:
    Claim.objects.create(**times("claimed_at", -timedelta(seconds=1)))


def hold(**changes: Any) -> None:
    call, now = make_blocked(), timezone.now()
    values = {"escalation": call.escalations.get(), "call": call, "operator": make_user(), "batch": "b", "grant": 1}
    values |= {"decision": "hint", "rendered": "Use eu-west-1.", "held_at": now, "send_at": now + timedelta(seconds=8)}
    HeldAnswer.objects.create(**(values | changes))


def hold_an_answer_for_no_time() -> None:
    now = timezone.now()
    hold(held_at=now, send_at=now)


def hold_two_answers_to_one_escalation() -> None:
    hold()
    held = HeldAnswer.objects.get()
    held.pk = None
    held.save(force_insert=True)


def hold_a_decision_that_nobody_knows() -> None:
    hold(decision="shrug")


def snooze_for_no_time() -> None:
    Snooze.objects.create(**times("snoozed_at", timedelta()))


def saved_reply(**changes: Any) -> None:
    values = {"operator": None, "title": "Region", "text": "Use eu-west-1.", "position": 1}
    SavedReply.objects.create(**(values | {"updated_at": timezone.now()} | changes))


def save_a_reply_for_the_tenth_key() -> None:
    saved_reply(position=10)


def share_two_replies_on_one_key() -> None:
    for _ in range(2):
        saved_reply()


def keep_two_replies_on_one_key() -> None:
    mia = make_user()
    for _ in range(2):
        saved_reply(operator=mia)


MISTAKE = Mistake("deployer", "deploy", "0123456789abcdef")


def recorded(**changes: Any) -> None:
    values = asdict(MISTAKE) | {"digest": "d", "decision": "hint", "last_given_at": timezone.now()}
    AnswerRecord.objects.create(**(values | changes))


def record_an_answer_twice() -> None:
    for _ in range(2):
        recorded()


def record_what_ends_the_call() -> None:
    recorded(decision="reject")


def try_an_answer_that_nobody_gave() -> None:
    recorded(tried=1)


def standing(**changes: Any) -> None:
    now = timezone.now()
    owner, _ = User.objects.get_or_create(username="mia")
    values = asdict(MISTAKE) | {"owner": owner, "created_at": now, "expires_at": now + timedelta(days=1)}
    StandingHint.objects.create(**(values | {"text": "Use eu-west-1."} | changes))


def let_two_hints_stand_for_one_mistake() -> None:
    for _ in range(2):
        standing()


def end_a_hint_before_it_began() -> None:
    standing(expires_at=timezone.now() - timedelta(days=1))


def try_a_hint_that_nobody_was_shown() -> None:
    standing(tried=1)


def be_two_operators_at_the_provider() -> None:
    for name in ("mia", "bo"):
        ProviderIdentity.objects.create(
            operator=make_user(name), issuer="https://id.example", subject="u-1", linked_at=timezone.now()
        )


DESK_BREAKS: list[tuple[str, Callable[[], None]]] = [
    ("provideridentity_is_one_operator", be_two_operators_at_the_provider),
    ("heldanswer_sent_later", hold_an_answer_for_no_time),
    ("heldanswer_one_each", hold_two_answers_to_one_escalation),
    ("heldanswer_decision_known", hold_a_decision_that_nobody_knows),
    ("answerrecord_unique", record_an_answer_twice),
    ("answerrecord_is_tried", record_what_ends_the_call),
    ("answerrecord_counts_fit", try_an_answer_that_nobody_gave),
    ("standinghint_one_on", let_two_hints_stand_for_one_mistake),
    ("standinghint_ends_later", end_a_hint_before_it_began),
    ("standinghint_counts_fit", try_a_hint_that_nobody_was_shown),
    ("claim_ends_later", end_a_claim_before_it_began),
    ("snooze_ends_later", snooze_for_no_time),
    ("savedreply_position_range", save_a_reply_for_the_tenth_key),
    ("savedreply_unique_shared_position", share_two_replies_on_one_key),
    ("savedreply_unique_own_position", keep_two_replies_on_one_key),
]
