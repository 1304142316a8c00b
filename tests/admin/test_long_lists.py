"""A list of the admin is sorted by hand only while a database sorts it soon."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from retrycontract.admin import pages
from retrycontract.store.models import Event

pytestmark = pytest.mark.django_db


def test_few_rows_are_sorted_by_hand_and_many_only_behind_a_filter(
    admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["agent.renamed", *["tool.renamed"] * 3]
    Event.objects.bulk_create(
        Event(actor="ada", name=name, door="admin", at=timezone.now(), data={"at": at}) for at, name in enumerate(names)
    )
    newest_first = names[::-1]

    def shown(**wanted: str) -> tuple[list[str], bool]:
        page = admin.get(reverse("admin:retrycontract_event_changelist"), wanted)
        rows = [event.name for event in page.context["cl"].result_list if event.name in names]
        return rows, "rows are not sorted" in page.content.decode()

    assert shown(o="1") == (names, False)
    monkeypatch.setattr(pages, "MAX_COUNTED", 3)
    assert shown() == (newest_first, False)
    assert shown(o="1") == (newest_first, True)
    assert shown(o="-1", name__exact="tool.renamed") == (names[1:], False)
    assert shown(o="1", q="call_01nobody") == ([], False)
