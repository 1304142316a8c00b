"""The page of saved replies: add, change, order, delete, and who may change what all share."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dashboard.navigation import Role
from retrycontract.store.models import SavedReply
from retrycontract.usecases.answers.reuse_answers import save_reply
from tests.dashboard.conftest import logged_in, text_of
from tests.factories import make_user

pytestmark = pytest.mark.django_db
PAGE = "/settings/replies/"
WORDS = {"title": "Regions", "text": "Use eu-west-1.", "position": "3"}


def kept(operator: User, title: str = "Regions", **more: object) -> SavedReply:
    return save_reply(operator, title, "Use eu-west-1.", now=timezone.now(), **more)  # type: ignore[arg-type]  # as named


def test_a_reply_is_added_with_its_key(desk: Client, mia: User) -> None:
    assert "Nothing at hand yet" in text_of(desk.get(PAGE))
    assert desk.post(PAGE, WORDS).status_code == 302
    reply = SavedReply.objects.get()
    assert (reply.operator, reply.title, reply.text, reply.position) == (mia, "Regions", "Use eu-west-1.", 3)
    assert "3 Regions Use eu-west-1." in text_of(desk.get(PAGE))


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ({"title": ""}, "Give it a title"),
        ({"text": " "}, "Write what the agent should read"),
        ({"position": "1"}, "Another reply has the key 1."),
        ({"position": "10"}, "Choose a key from the list."),
    ],
)
def test_a_reply_that_cannot_be_kept_comes_back_with_the_reason(
    desk: Client, mia: User, typed: dict[str, str], told: str
) -> None:
    kept(mia, "First", position=1)
    response = desk.post(PAGE, WORDS | {"title": "My title"} | typed)
    assert response.status_code == 422
    assert told in text_of(response)
    assert ("My title" in response.content.decode()) == ("title" not in typed)
    assert SavedReply.objects.count() == 1


def test_a_reply_is_changed_moved_to_another_key_and_deleted(desk: Client, mia: User) -> None:
    reply = kept(mia, position=1)
    page = " ".join(desk.get(f"{PAGE}{reply.pk}/").content.decode().split())
    assert 'value="Regions"' in page
    assert '<option value="1" selected>' in page
    assert desk.post(f"{PAGE}{reply.pk}/", {"title": "Places", "text": "Use x.", "position": ""}).status_code == 302
    reply.refresh_from_db()
    assert (reply.title, reply.text, reply.position) == ("Places", "Use x.", None)
    assert "“Places” is deleted." in text_of(desk.post(f"{PAGE}{reply.pk}/delete/", follow=True))
    assert not SavedReply.objects.exists()


def test_what_cannot_be_saved_stays_typed(desk: Client, mia: User) -> None:
    kept(mia, "First", position=1)
    second = kept(mia, "Second", position=2)
    response = desk.post(f"{PAGE}{second.pk}/", {"title": "Still mine", "text": "x", "position": "1"})
    assert response.status_code == 422
    assert "Another reply has the key 1." in text_of(response)
    assert 'value="Still mine"' in response.content.decode()


def test_only_administrators_change_what_all_share(desk: Client) -> None:
    ada = logged_in(make_user("ada", Role.ADMIN))
    assert ada.post(PAGE, WORDS | {"shared": "on"}).status_code == 302
    reply = SavedReply.objects.get()
    assert reply.is_shared
    page = desk.get(PAGE)
    assert "administrators change them" in text_of(page)
    assert "For everybody" not in text_of(page)
    assert f"{PAGE}{reply.pk}/" not in page.content.decode()
    for path in ("", f"{reply.pk}/", f"{reply.pk}/delete/"):
        assert desk.post(PAGE + path, WORDS | {"shared": "on"}).status_code == 403
    assert "you may change them" in text_of(ada.get(PAGE))
    assert ada.post(f"{PAGE}{reply.pk}/delete/").status_code == 302


def test_the_replies_of_others_are_nobodys_business(desk: Client) -> None:
    theirs = kept(make_user("noah"), "Noah's")
    assert "Noah" not in text_of(desk.get(PAGE))
    for path in (f"{theirs.pk}/", f"{theirs.pk}/delete/"):
        assert desk.post(PAGE + path, WORDS).status_code == 404


def test_a_viewer_reads_what_all_share(viewer: Client) -> None:
    kept(make_user("ada", Role.ADMIN), "For all", shared=True)
    page = text_of(viewer.get(PAGE))
    assert "For all" in page
    assert "Add a reply" not in page
