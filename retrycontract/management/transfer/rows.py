"""Rows as JSON and back, without loss and the same for every database."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import Permission
from django.core.exceptions import ObjectDoesNotExist, ValidationError
from django.db.models import BinaryField, Field, JSONField, ManyToManyField, Model

from retrycontract.management.transfer.tables import MADE_BY_MIGRATIONS, links
from retrycontract.store.fields import JSONText


class RowError(ValueError):
    """Raised for a row that cannot be read; says which field is at fault, never its value."""


@dataclass(frozen=True, slots=True)
class LinkedRow:
    """Hold a row to be inserted, and the sets of rows that it is linked to."""

    instance: Model
    links: dict[str, list[Any]] = field(default_factory=dict)


def encode(instance: Model) -> dict[str, Any]:
    """Write a row as JSON values."""
    model = type(instance)
    values = {column.attname: _encoded(column, instance) for column in model._meta.concrete_fields}
    return values | {link.name: _linked(instance, link) for link in links(model)}


def decode(model: type[Model], values: Any) -> LinkedRow:
    """Read a row; raises RowError."""
    if not isinstance(values, dict):
        raise RowError("the row is no JSON object")
    columns = {column.attname: column for column in model._meta.concrete_fields}
    sets = {link.name: link for link in links(model)}
    if wrong := {*columns, *sets} ^ set(values):
        raise RowError(f"the fields of {model._meta.label_lower} differ from ours: {', '.join(sorted(wrong))}")
    decoded = {name: _decoded(column, values[name]) for name, column in columns.items()}
    return LinkedRow(model(**decoded), {name: _members(link, values[name]) for name, link in sets.items()})


def _encoded(column: Field[Any, Any], instance: Model) -> Any:
    value = getattr(instance, column.attname)
    if isinstance(column, JSONText | JSONField) or value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(column, BinaryField):
        return base64.b64encode(bytes(value)).decode("ascii")
    return column.value_to_string(instance)


def _decoded(column: Field[Any, Any], value: Any) -> Any:
    if value is None:
        if not column.null:
            raise RowError(f"{column.attname} is empty")
        return None
    if isinstance(column, JSONText | JSONField):
        return value
    try:
        if isinstance(column, BinaryField):
            return base64.b64decode(value, validate=True)
        return column.to_python(value)
    except (ValidationError, binascii.Error, TypeError, ValueError):
        raise RowError(f"{column.attname} is not what a {column.get_internal_type()} holds") from None


def _linked(instance: Model, link: ManyToManyField[Any, Any]) -> list[Any]:
    # Sorted here: the rows were read together with those of their neighbours.
    rows = list(getattr(instance, link.name).all())
    if link.related_model in MADE_BY_MIGRATIONS:
        return sorted([row.content_type.app_label, row.content_type.model, row.codename] for row in rows)
    return sorted(row.pk for row in rows)


def _members(link: ManyToManyField[Any, Any], members: Any) -> list[Any]:
    """Give the keys of linked rows."""
    if not isinstance(members, list):
        raise RowError(f"{link.name} is no list")
    if link.related_model not in MADE_BY_MIGRATIONS:
        return members
    return [_permission(link, member) for member in members]


def _permission(link: ManyToManyField[Any, Any], name: Any) -> Any:
    try:
        app_label, model, codename = name
        return Permission.objects.get_by_natural_key(codename, app_label, model).pk
    except (TypeError, ValueError, ObjectDoesNotExist):
        raise RowError(f"{link.name} names a permission that is not known here") from None
