"""Requests that no page of the admin makes: refused or cut, and told so."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import admin as django_admin
from django.test import Client
from django.urls import reverse

from retrycontract.store.models import Call
from tests.contract.quoted_secrets import GITHUB as TOKEN
from tests.contract.quoted_secrets import leaked
from tests.factories import make_blocked

pytestmark = pytest.mark.django_db
SEARCHED = [model for model, page in django_admin.site._registry.items() if page.search_fields]


@pytest.mark.parametrize("ticked", ["x", "1.5", "", "9" * 30, "-1", "٣"])
def test_what_is_ticked_and_is_no_row_is_refused_with_words(admin: Client, ticked: str) -> None:
    given = {"action": "let_in_again", "index": "0", "_selected_action": ticked}
    page = admin.post("/admin/auth/user/", given, follow=True)
    assert page.status_code == 200
    assert "Nothing was done: what was ticked is no row of this list." in page.content.decode()


def test_a_search_of_a_thousand_words_is_cut_and_says_so(admin: Client) -> None:
    page = admin.get("/admin/auth/user/", {"q": "a " * 2_000})
    assert page.status_code == 200
    assert "Only the first 20 words were searched for." in page.content.decode()
    assert "Only the first" not in admin.get("/admin/auth/user/", {"q": "a " * 20}).content.decode()


@pytest.mark.parametrize("model", SEARCHED, ids=lambda model: model.__name__)
def test_a_search_repeats_no_secret_and_finds_what_holds_it(admin: Client, model: type[Any]) -> None:
    found = make_blocked(tool=f"note-{TOKEN}")
    path = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    # What the list does not know of leads to it without anything; beside a search that would hide the search.
    for name in ("q", "p", "o", "e", "other", "_changelist_filters", TOKEN):
        response = admin.get(path, {name: TOKEN}, follow=True)
        assert response.status_code == 200, name
        page = response.content.decode() + str(response.redirect_chain)
        assert leaked(TOKEN, page, "") == [], name
    for text in ("größe +1", "two words", "rc_1a2b3c4d", "a" * 64):
        assert admin.get(path, {"q": text}).context["cl"].query == text
    if model is Call:
        assert found.public_id in admin.get(path, {"q": f"note-{TOKEN}"}).content.decode()
