"""Whatever character comes in an address or a field, no page fails of it: PostgreSQL takes no NUL."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import pytest
from django.utils import timezone

from dashboard.navigation import Role
from retrycontract.store.models import WebhookEndpoint
from tests.canaries.places import NOT_KEPT, OPENED, TYPED
from tests.dashboard.conftest import logged_in
from tests.factories import make_blocked, make_user

pytestmark = pytest.mark.django_db
ODD = {"NUL": "\0", "NUL in a word": "call_\0x", "no UTF-8": "\udcff", "another direction": "\u202e"}
# As tests/canaries reaches every field; None is an address without a form.
SENT: dict[str, tuple[str, dict[str, str] | None]] = {
    **{f"{place} {at}": (path, None) for place, paths in OPENED.items() for at, path in enumerate(paths)},
    **NOT_KEPT,
    **{place: (path, fields) for place, (path, _, fields) in TYPED.items()},
    "words that are kept": ("/calls/{call}/keep-reply/", {"text": "@@"}),
    "who logs in": ("/login/?next=/@@", {"username": "@@", "password": "@@"}),
}


@pytest.fixture
def filled() -> Callable[[str, str], str]:
    """Put an odd word, and what the pages are about, into addresses and fields, as a browser writes them."""
    call, endpoint = make_blocked(), WebhookEndpoint.objects.create(sealed=b"s", created_at=timezone.now())
    assert call.tool is not None
    about = {"call": call.public_id, "tool": call.tool.pk, "user": make_user("eve").pk, "endpoint": endpoint.public_id,
             "receiver": "https://a.example"}  # fmt: skip

    def fill(text: str, word: str) -> str:
        for name, value in about.items():
            text = text.replace(f"{{{name}}}", str(value))
        return text.replace("@@", quote(word, errors="surrogateescape"))

    return fill


@pytest.mark.parametrize("place", SENT)
def test_no_page_fails_of_a_character(place: str, filled: Callable[[str, str], str]) -> None:
    path, fields = SENT[place]
    browser = logged_in(make_user("ada", Role.ADMIN))
    browser.raise_request_exception = False
    for name, word in ODD.items():
        at = filled(path, word)
        body = "&".join(f"{filled(key, word)}={filled(value, word)}" for key, value in (fields or {}).items())
        form = "application/x-www-form-urlencoded"
        response = browser.get(at) if fields is None else browser.post(at, body, content_type=form)
        assert response.status_code < 500, name
