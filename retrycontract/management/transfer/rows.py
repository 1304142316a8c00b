"""Rows as JSON and back, without loss and the same for every database."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.apps import apps
from django.contrib.auth.models import Permission
from django.core.exceptions import ObjectDoesNotExist, ValidationError
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import BinaryField, Field, ForeignKey, JSONField, ManyToManyField, Model, QuerySet

from retrycontract.store.fields import JSONText
from retrycontract.store.models import IdempotencyKey
from retrycontract.store.models.attempts import REMEMBERED_FOR


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
    values: dict[str, Any] = {}
    for column in model._meta.concrete_fields:
        value = values[column.attname] = getattr(instance, column.attname)
        is_json = (
            isinstance(column, JSONText | JSONField) or value is None or isinstance(value, bool | int | float | str)
        )
        if not is_json and isinstance(column, BinaryField):
            values[column.attname] = base64.b64encode(bytes(value)).decode("ascii")
        elif not is_json:
            values[column.attname] = column.value_to_string(instance)
    for link in links(model):
        # Sorted here: the rows were read together with those of their neighbours.
        rows = list(getattr(instance, link.name).all())
        if link.related_model in MADE_BY_MIGRATIONS:
            kinds = ((row.content_type, row.codename) for row in rows)
            values[link.name] = sorted([kind.app_label, kind.model, codename] for kind, codename in kinds)
        else:
            values[link.name] = sorted(row.pk for row in rows)
    return values


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


def _members(link: ManyToManyField[Any, Any], members: Any) -> list[Any]:
    """Give the keys of linked rows."""
    if not isinstance(members, list):
        raise RowError(f"{link.name} is no list")
    if link.related_model not in MADE_BY_MIGRATIONS:
        return members
    keys = []
    for name in members:
        try:
            app_label, model, codename = name
            keys.append(Permission.objects.get_by_natural_key(codename, app_label, model).pk)
        except (TypeError, ValueError, ObjectDoesNotExist):
            raise RowError(f"{link.name} names a permission that is not known here") from None
    return keys


APPS = ("auth", "retrycontract")
# Made by every migration, with keys that differ: referred to by name.
MADE_BY_MIGRATIONS: tuple[type[Model], ...] = (Permission,)
# What means something to the service that wrote it alone, or is made again from what is moved.
STAYING: Final = {
    "retrycontract.workerbeat": "signs of life of the workers here",
    "retrycontract.channelturn": "whose turn it is among the senders here",
    "retrycontract.claim": "who looks after what for the next minutes",
    "retrycontract.failedlogins": "who has to wait before the next login here, for a day at most",
    "retrycontract.summary": "sums of counts that are moved",
}


def moved_models() -> list[type[Model]]:
    """List the models whose rows are moved, each after those that its rows refer to.

    Where two refer to each other, the one that can wait with its reference comes first.
    """
    found = [model for app in APPS for model in apps.get_app_config(app).get_models() if not model._meta.proxy]
    left = [model for model in found if model not in MADE_BY_MIGRATIONS and label(model) not in STAYING]
    ordered: list[type[Model]] = []
    wishes = {
        model: {*targets_of(model), *(link.related_model for link in links(model))} - set(MADE_BY_MIGRATIONS)
        for model in left
    }
    while left:
        ready = [
            model
            for model in left
            if {field.related_model for field in references(model) if not field.null} <= {*ordered, model}
        ]
        if not ready:
            names = ", ".join(model._meta.label for model in left)
            raise RuntimeError(f"these models need each other: {names}; make one of their references nullable")
        # One at a time: of those that may come, those that need nothing of the others at all come first.
        chosen = min(ready, key=lambda model: (bool(wishes[model] - {*ordered, model}), left.index(model)))
        ordered.append(chosen)
        left.remove(chosen)
    return ordered


def moved_rows(model: type[Model], *, now: datetime) -> QuerySet[Any]:
    """Keep the rows of a model that are moved: all, but for requests that nobody remembers any more."""
    if model is IdempotencyKey:
        return IdempotencyKey.objects.filter(created_at__gte=now - REMEMBERED_FOR)
    return model._base_manager.all()


def label(model: type[Model]) -> str:
    """Give the name of a model as it stands in the file."""
    return model._meta.label_lower


def references(model: type[Model]) -> list[ForeignKey[Any, Any]]:
    return [field for field in model._meta.concrete_fields if isinstance(field, ForeignKey)]


def links(model: type[Model]) -> list[ManyToManyField[Any, Any]]:
    return list(model._meta.local_many_to_many)


def targets_of(model: type[Model]) -> set[Any]:
    """Name the models whose rows a model's rows refer to."""
    return {field.related_model for field in references(model)}


def schema_state() -> dict[str, list[str]]:
    """List the migrations that this database has, by app; two databases of equal lists have equal tables."""
    state: dict[str, list[str]] = {app: [] for app in APPS}
    for app, name in sorted(MigrationRecorder(connection).applied_migrations()):
        if app in state:
            state[app].append(name)
    return state


def tables_of(models: Iterable[type[Model]]) -> list[type[Model]]:
    """List the models and those of their link tables."""
    found: list[type[Model]] = []
    for model in models:
        throughs: list[Any] = [link.remote_field.through for link in links(model)]
        found += [model, *throughs]
    return found
