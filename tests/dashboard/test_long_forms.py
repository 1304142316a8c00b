"""What people may write at length is sent in parts: percent escapes are undone one by one and are bounded tighter."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from django.test import Client

from tests.factories import make_blocked

pytestmark = pytest.mark.django_db

PARTS = "multipart/form-data"
# Pages with a text of any length, and how many of their elements send it by themselves.
PAGES = [
    ("/calls/{call}/", 2),
    ("/calls/{call}/group/", 1),
    ("/tools/new/", 0),
    ("/tools/{tool}/schema/", 0),
    ("/playground/", 1),
]


class _Forms(HTMLParser):
    """Collect the manner in which forms are sent, and elements that send what is in them."""

    def __init__(self) -> None:
        super().__init__()
        self.endless: list[str | None] = []
        self.sent_alone: list[str | None] = []
        self._form: dict[str, str | None] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "form":
            self._form = found
        if tag == "textarea" and "maxlength" not in found:
            self.endless.append(self._form.get("enctype"))
        if found.get("hx-include") or "formaction" in found:
            self.sent_alone.append(found.get("hx-encoding", self._form.get("hx-encoding")))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = {}


@pytest.mark.parametrize(("path", "alone"), PAGES)
def test_a_text_of_any_length_is_sent_in_parts(admin: Client, path: str, alone: int) -> None:
    call = make_blocked()
    page = admin.get(path.format(call=call.public_id, tool=call.tool_id)).content.decode()
    forms = _Forms()
    forms.feed(page)
    assert set(forms.endless) <= {PARTS}, forms.endless
    assert set(forms.sent_alone) <= {PARTS}, forms.sent_alone
    assert len(forms.sent_alone) >= alone
    assert bool(forms.endless) is ("group" not in path)
    assert not re.search(r"hx-encoding=\"(?!multipart/form-data\")", page)
