"""Requests that no page of the admin makes: refused or cut, and told so."""

from __future__ import annotations

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


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
