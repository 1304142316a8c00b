"""Replies at hand: whose they are, which key they have, and what may stand in them."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from retrycontract.contract.feedback.guidance import MAX_TEXT
from retrycontract.store.models import Event, SavedReply
from retrycontract.usecases.answers.reuse_answers import (
    NotAllowedError,
    UnusableReplyError,
    delete_reply,
    replies_of,
    save_reply,
)
from retrycontract.usecases.people.admit import Role
from tests.factories import make_user
from tests.usecases.conftest import NOON

pytestmark = pytest.mark.django_db
TOKEN = "ghp_" + "aZ3kQ9xW7bN2mL5vR8tY1cF4hJ6dS0gPuE9i"


def save(operator: User, title: str = "Region", text: str = "Use eu-west-1.", **more: object) -> SavedReply:
    return save_reply(operator, title, text, now=NOON, **more)  # type: ignore[arg-type]


def test_an_operator_sees_their_own_replies_and_those_that_all_share() -> None:
    mia, leo, ada = make_user("mia"), make_user("leo"), make_user("ada", Role.ADMIN)
    save(mia, "mine", position=2)
    save(mia, "without a key")
    save(leo, "of somebody else", position=1)
    save(ada, "shared", shared=True, position=2)
    assert [reply.title for reply in replies_of(mia)] == ["mine", "shared", "without a key"]
    assert [reply.title for reply in replies_of(leo)] == ["of somebody else", "shared"]


def test_a_reply_can_be_changed_and_deleted() -> None:
    mia = make_user()
    reply = save(mia, position=1)
    save(mia, "Region!", "Use us-east-1.", position=3, reply=reply)
    assert SavedReply.objects.values_list("title", "text", "position").get() == ("Region!", "Use us-east-1.", 3)
    assert delete_reply(reply, mia, now=NOON)
    assert not delete_reply(reply, mia, now=NOON)
    assert list(Event.objects.order_by("pk").values_list("name", flat=True)) == [
        "reply.added", "reply.changed", "reply.deleted",
    ]  # fmt: skip


def test_a_secret_in_a_reply_is_not_kept() -> None:
    reply = save(make_user(), f"Key {TOKEN}", f"Use {TOKEN}.")
    assert (reply.title, reply.text) == ("Key [REDACTED: GITHUB_TOKEN]", "Use [REDACTED: GITHUB_TOKEN].")


@pytest.mark.parametrize(
    ("title", "text", "position"),
    [("", "x", 1), ("x" * 81, "x", 1), ("x", "  ", 1), ("x", "y" * (MAX_TEXT + 1), 1), ("x", "y", 0), ("x", "y", 10)],
)
def test_what_cannot_be_kept_is_refused(title: str, text: str, position: int) -> None:
    with pytest.raises(UnusableReplyError):
        save(make_user(), title, text, position=position)


def test_a_key_has_one_reply_on_each_shelf() -> None:
    mia, ada = make_user("mia"), make_user("ada", Role.ADMIN)
    save(mia, position=1)
    save(ada, position=1)
    save(ada, position=1, shared=True)
    for operator, shared in ((mia, False), (ada, True)):
        with pytest.raises(UnusableReplyError, match="key 1"):
            save(operator, position=1, shared=shared)
    assert SavedReply.objects.count() == 3


def test_roles_say_who_may_keep_what() -> None:
    mia, leo, ada, vera = make_user("mia"), make_user("leo"), make_user("ada", Role.ADMIN), make_user("v", Role.VIEWER)
    mine, shared = save(mia), save(ada, shared=True)
    refused = (
        lambda: save(vera),
        lambda: save(mia, shared=True),
        lambda: save(mia, reply=shared),
        lambda: save(leo, reply=mine),
        lambda: delete_reply(mine, ada, now=NOON),
        lambda: delete_reply(shared, mia, now=NOON),
    )
    for attempt in refused:
        with pytest.raises(NotAllowedError):
            attempt()
    assert SavedReply.objects.count() == 2
