"""How the constraints of what operators do at the desk are broken on purpose."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.utils import timezone

from retrycontract.store.models import Claim, SavedReply, Snooze
from tests.factories import make_blocked, make_user


def times(began: str, until: timedelta) -> dict[str, Any]:
    now = timezone.now()
    return {"escalation": make_blocked().escalations.get(), "operator": make_user(), began: now, "until": now + until}


def end_a_claim_before_it_began() -> None:
    Claim.objects.create(**times("claimed_at", -timedelta(seconds=1)))


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


DESK_BREAKS: list[tuple[str, Callable[[], None]]] = [
    ("claim_ends_later", end_a_claim_before_it_began),
    ("snooze_ends_later", snooze_for_no_time),
    ("savedreply_position_range", save_a_reply_for_the_tenth_key),
    ("savedreply_unique_shared_position", share_two_replies_on_one_key),
    ("savedreply_unique_own_position", keep_two_replies_on_one_key),
]
