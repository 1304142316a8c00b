"""The lists of the admin look through no history: an index finds what they show, or the newest rows are enough."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib import admin as site
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from retrycontract.admin import pages
from retrycontract.store.models import Attempt, Call, Event, LoggedResponse, OutboxMessage, Rollup, WebhookDelivery
from tests.factories import make_agent, submit

pytestmark = pytest.mark.django_db
IN_ITS_WORDS = pytest.mark.skipif(
    connection.vendor != "sqlite", reason="PostgreSQL reads tables as small as these whole"
)

HISTORY = [model._meta.db_table for model in (Attempt, Call, Event, OutboxMessage, Rollup, WebhookDelivery)]
MODELS = [model for model in site.site._registry if model._meta.app_label == "retrycontract"]
FILTERS = [
    (model, {f"{column}__exact": value})
    for model, page in site.site._registry.items()
    if isinstance(page, pages.Page)
    for column in page.unindexed
    for value in ("1", "leased")[: 1 if column.startswith("is_") else 2]
]


def list_of(model: type[Any]) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def looked_through(client: Client, model: type[Any], wanted: dict[str, str]) -> list[str]:
    """Open a list; give the conditions for which a table of history is read row by row until enough fit, if ever."""
    with CaptureQueriesContext(connection) as queries:
        page = client.get(list_of(model), wanted)
    assert page.status_code == 200
    asked = [query["sql"] for query in queries if query["sql"].startswith("SELECT") and " WHERE " in query["sql"]]
    found = []
    with connection.cursor() as cursor:
        for statement in asked:
            cursor.execute(f"EXPLAIN QUERY PLAN {statement}")
            steps = [re.match(r"SCAN (\w+)", step) for *_, step in cursor.fetchall()]
            found += [statement for step in steps if step and step[1] in HISTORY]
    return found


@IN_ITS_WORDS
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_list_looks_through_no_history(admin: Client, answered: Call, model: type[Any]) -> None:
    assert looked_through(admin, model, {}) == []


@IN_ITS_WORDS
@pytest.mark.parametrize(
    "wanted", [{"is_valid__exact": "1"}, {"is_parsed__exact": "0"}, {"call__agent__id__exact": "1"}, {"o": "1"}]
)
def test_filters_of_the_log_look_through_no_history(admin: Client, answered: Call, wanted: dict[str, str]) -> None:
    assert looked_through(admin, LoggedResponse, wanted) == []


@IN_ITS_WORDS
@pytest.mark.parametrize(("model", "wanted"), FILTERS)
def test_a_filter_without_an_index_looks_through_the_newest_rows_and_says_so(
    admin: Client, answered: Call, model: type[Any], wanted: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "rows were looked through" not in admin.get(list_of(model), wanted).content.decode()
    monkeypatch.setattr(pages, "MAX_LOOKED", 0)
    assert "Only the newest 0 rows were looked through." in admin.get(list_of(model), wanted).content.decode()
    assert looked_through(admin, model, wanted) == []


def test_the_log_shows_the_newest_call_first_and_an_agents_own_however_old(admin: Client, db: None) -> None:
    one, other = make_agent("one"), make_agent("other")
    for agent in (one, other):
        submit(agent, "Sure!", tool="reply", kind="agent_response", task_id="t", turn=1)

    def shown(**wanted: str) -> list[int]:
        return [row.call.agent_id for row in admin.get(list_of(LoggedResponse), wanted).context["cl"].result_list]

    assert shown() == [other.pk, one.pk]
    assert shown(call__agent__id__exact=str(one.pk)) == [one.pk]
