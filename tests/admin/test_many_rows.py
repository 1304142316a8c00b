"""The page of a row shows the newest of what belongs to it, and leads to the rest, however many there are."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.contrib import admin as django_admin
from django.contrib.auth.models import Group, User
from django.db.models import Count
from django.test import Client
from django.urls import reverse

from retrycontract.admin.inlines import MOST_ROWS
from retrycontract.store.models import (
    Agent,
    ApiKey,
    Attempt,
    Call,
    Event,
    Guidance,
    Notice,
    Tool,
    WebhookDelivery,
    WebhookEndpoint,
)

pytestmark = pytest.mark.django_db
MANY = 300
MOST_BYTES = 60_000
MODELS: list[type[Any]] = [model for model in django_admin.site._registry if model is not Group]


def copies(row: Any, change: Callable[[int], dict[str, Any]], number: int = MANY) -> None:
    """Write so many rows like one, each with its changes."""
    values = {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}
    model = type(row)
    model._base_manager.bulk_create(model(**values | {"id": None} | change(n)) for n in range(10, 10 + number))


def make_many(ada: User) -> None:
    """Multiply what belongs to an agent, a tool, a call, a message, an endpoint and an operator."""
    agent, call = Agent.objects.get(name="deployer"), Call.objects.latest("pk")
    copies(ApiKey.objects.get(), lambda n: {"prefix": f"p{n}", "digest": f"d{n}"})
    for tool in list(Tool.objects.all()):
        copies(tool.current_version, lambda n: {"number": n, "schema_hash": f"h{n}"})
    copies(Tool.objects.latest("pk"), lambda n: {"name": f"tool {n}", "current_version_id": None})
    attempt = call.attempts.latest("number")
    copies(attempt, lambda n: {"number": n})
    copies(call, lambda n: {"public_id": f"call_{n}"})
    asked = call.escalations.get()
    copies(asked, lambda n: {"public_id": f"esc_{n}", "round": n})
    given = Guidance.objects.get()
    rounds = list(call.escalations.filter(round__gte=10))
    copies(given, lambda n: {"escalation_id": rounds[n - 10].pk})
    copies(Event.objects.filter(call=call).latest("pk"), lambda _: {})
    told = Notice.objects.exclude(message=None).latest("pk")
    copies(told, lambda n: {"escalation_id": rounds[n - 10].pk})
    copies(WebhookDelivery.objects.get(), lambda _: {})
    copies(WebhookEndpoint.objects.get().messages.earliest("pk"), lambda n: {"public_id": f"msg_{n}"})
    copies(WebhookEndpoint.objects.get(), lambda n: {"public_id": f"ep_{n}", "agent_id": agent.pk})
    copies(ada, lambda n: {"username": f"ada {n}"})


def inlines_of(model: type[Any]) -> dict[type[Any], str]:
    """Give the models whose rows the page of a model's row shows, with what leads from them to it."""
    found: dict[type[Any], str] = {}
    for inline in django_admin.site._registry[model].inlines:
        names = [field.name for field in inline.model._meta.fields if field.related_model is model]
        found[inline.model] = inline.fk_name or names[0]
    return found


def rows_of(model: type[Any]) -> set[Any]:
    """Choose the rows that most belongs to, and the oldest."""
    keys = {model._base_manager.earliest("pk").pk}
    for related, name in inlines_of(model).items():
        of_each = related._base_manager.exclude(**{name: None}).values(name).annotate(number=Count("pk"))
        fullest = of_each.order_by("-number")[0]
        assert fullest["number"] > MANY, related
        keys.add(fullest[name])
    return keys


@pytest.fixture
def many(admin: Client, ada: User, answered: Call) -> Client:
    make_many(ada)
    return admin


def address(model: type[Any], page: str, *arguments: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=arguments)


def test_the_page_of_every_row_is_small_whatever_belongs_to_it(many: Client) -> None:
    for model in MODELS:
        for key in rows_of(model):
            page = many.get(address(model, "change", key)).content.decode()
            assert len(page.encode()) < MOST_BYTES, model
            assert page.count('<th scope="row">') <= MOST_ROWS * len(inlines_of(model)), model


PAIRS = [(model, related, name) for model in MODELS for related, name in inlines_of(model).items()]


@pytest.mark.parametrize(
    ("model", "related", "name"), PAIRS, ids=[f"{one.__name__}-{other.__name__}" for one, other, _ in PAIRS]
)
def test_the_newest_rows_are_shown_and_a_link_leads_to_all_of_them(
    many: Client, model: type[Any], related: type[Any], name: str
) -> None:
    of_each = related._base_manager.exclude(**{name: None}).values(name).annotate(number=Count("pk"))
    fullest = of_each.order_by("-number")[0]
    page = many.get(address(model, "change", fullest[name])).content.decode()
    shown = {int(key) for key in re.findall(rf'"row"><a\s+href="{address(related, "changelist")}(\d+)/', page)}
    belonging = related._base_manager.filter(**{name: fullest[name]})
    assert shown == {*belonging.order_by("-pk").values_list("pk", flat=True)[:MOST_ROWS]}
    (link,) = re.findall(rf'href="({address(related, "changelist")}\?[^"]+)"', page)
    listed = many.get(unescape(link)).context["cl"]
    assert listed.result_count == fullest["number"]
    assert {getattr(row, f"{name}_id") for row in listed.result_list} == {fullest[name]}


def test_few_rows_are_all_there_are_and_no_link_says_more(admin: Client, answered: Call) -> None:
    page = admin.get(address(Call, "change", answered.pk)).content.decode()
    assert len(re.findall(rf'href="{address(Attempt, "changelist")}\d+/change/"', page)) == answered.attempts_made
    assert "rows-more" not in page


def test_a_page_whose_rows_are_cut_is_saved(many: Client) -> None:
    tool = Tool.objects.earliest("pk")
    page = many.get(address(Tool, "change", tool.pk)).content.decode()
    fields = {
        name: unescape(value) for name, value in re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', page)
    }
    saved = many.post(address(Tool, "change", tool.pk), fields | {"max_attempts": "7"})
    assert saved.status_code == 302
    tool.refresh_from_db()
    assert tool.max_attempts == 7
