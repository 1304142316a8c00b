"""A page lets go of what it was made of."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import AnonymousUser
from django.template import engines
from django.template.loader import get_template
from django.test import RequestFactory

if TYPE_CHECKING:
    pass


class History:
    """What a page is made of."""


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("is_named", [True, False], ids=["a file", "a text"])
def test_what_a_page_is_made_of_is_gone_without_a_collection(*, is_named: bool) -> None:
    template = get_template("413.html") if is_named else engines["django"].from_string("Up to {{ limit }}.")
    request = RequestFactory().get("/")
    request.user = AnonymousUser()
    history = History()
    gone = weakref.ref(history)
    assert "7" in template.render({"limit": 7, "history": history}, request)
    del history
    assert gone() is None
