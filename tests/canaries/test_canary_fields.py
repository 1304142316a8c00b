"""No field that takes text goes without a canary: of the tables, of the forms, of the pages, of the API."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from django import forms
from django.apps import apps
from django.db import models
from django.urls import get_resolver

from dashboard.audit import EventChoices
from dashboard.calls import CallChoices
from dashboard.inbox.groups import Filters
from retrycontract.api.routes import api
from retrycontract.store.fields import JSONText
from tests.canaries import fields as rows
from tests.canaries.places import PLACES

TEXT = (models.CharField, models.TextField, models.JSONField, models.BinaryField, JSONText)
READ = re.compile(r'request\.(GET|POST)(?:\.get(?:list)?\(|\[)"(\w+)"')
ROOT = Path(__file__).resolve().parents[2]


def columns(found: Iterable[type[models.Model]]) -> Iterator[str]:
    for model in found:
        for column in model._meta.concrete_fields:
            if isinstance(column, TEXT) and not column.choices:
                yield f"{model.__name__}.{column.name}"


def our_models() -> list[type[models.Model]]:
    return [*apps.get_app_config("retrycontract").get_models(), apps.get_model("auth.User")]


def form_fields(parent: type[forms.BaseForm]) -> Iterator[str]:
    for form in parent.__subclasses__():
        if form.__module__.startswith(("dashboard", "retrycontract")):
            for name, field in getattr(form, "base_fields", {}).items():
                if isinstance(field, forms.CharField):
                    yield f"{form.__name__}.{name}"
        yield from form_fields(form)


def read_by_pages() -> Iterator[str]:
    for path in (ROOT / "dashboard").rglob("*.py"):
        for method, name in READ.findall(path.read_text(encoding="utf-8")):
            yield f"{method} {name}"


def narrowed_by() -> Iterator[str]:
    for choices in (Filters, CallChoices, EventChoices):
        for field in fields(choices):
            yield f"{choices.__name__}.{field.name}"


def takes_text(schema: dict[str, Any]) -> bool:
    parts = [*schema.get("anyOf", []), *schema.get("oneOf", [])]
    if parts:
        return any(takes_text(part) for part in parts)
    kinds = schema.get("type", "string")
    is_open = not {"enum", "const", "$ref"} & set(schema)
    return is_open and bool({"string", "array", "object"} & set([kinds] if isinstance(kinds, str) else kinds))


def taken_by_the_api() -> Iterator[str]:
    document = api.get_openapi_schema()
    for path, item in document["paths"].items():
        for method, operation in item.items():
            for parameter in operation.get("parameters", []):
                if takes_text(parameter["schema"]):
                    yield f"{parameter['in']} {parameter['name']}"
            for content in operation.get("requestBody", {}).get("content", {}).values():
                yield from of_body(content["schema"], document, f"{method.upper()} {path}")


def of_body(schema: dict[str, Any], document: dict[str, Any], address: str) -> Iterator[str]:
    name = schema.get("$ref", "").rpartition("/")[2]
    if not name:
        yield address
        return
    for field, of_field in document["components"]["schemas"][name]["properties"].items():
        if takes_text(of_field):
            yield f"{name}.{field}"


@pytest.mark.parametrize(
    ("found", "table"),
    [
        (lambda: columns(our_models()), rows.MODELS),
        (lambda: form_fields(forms.BaseForm), rows.FORMS),
        (read_by_pages, rows.PAGES),
        (narrowed_by, rows.FILTERS),
        (taken_by_the_api, rows.API),
    ],
    ids=["tables", "forms", "pages", "filters", "API"],
)
def test_every_field_that_takes_text_has_a_canary(found: Any, table: dict[str, str]) -> None:
    assert get_resolver().url_patterns, "every form is imported"
    assert set(found()) == set(table)
    assert set(table.values()) - {rows.OURS, rows.SEALED, rows.OF_PROVIDER} <= set(PLACES)


def test_a_column_or_a_field_that_is_new_is_noticed() -> None:
    """The negative control: what the test above would say of them."""

    class FreshForm(forms.Form):
        note = forms.CharField()

    FreshForm.__module__ = "dashboard.fresh"
    assert "LogEntry.change_message" in set(columns([apps.get_model("admin.LogEntry")]))
    assert "FreshForm.note" in set(form_fields(forms.BaseForm))
    FreshForm.__module__ = __name__
    assert takes_text({"anyOf": [{"type": "string"}, {"type": "null"}]})
    assert not takes_text({"enum": ["a"], "type": "string"})
