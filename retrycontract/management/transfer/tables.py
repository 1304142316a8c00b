"""What is moved, in which order, and which state of the schema it has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.apps import apps
from django.contrib.auth.models import Permission
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import ForeignKey, ManyToManyField, Model

APPS = ("auth", "retrycontract")
# Made by every migration, with keys that differ: referred to by name.
MADE_BY_MIGRATIONS: tuple[type[Model], ...] = (Permission,)
# Signs of life of the workers here, whose turn it is among them, what this service's key has hashed, and who looks
# after what for the next minutes; sums of what is moved are made again.
STAYING = (
    "retrycontract.workerbeat",
    "retrycontract.channelturn",
    "retrycontract.claim",
    "retrycontract.idempotencykey",
    "retrycontract.failedlogins",
    "retrycontract.summary",
)


def moved_models() -> list[type[Model]]:
    """List the models whose rows are moved, each after those that its rows refer to.

    Where two refer to each other, the one that can wait with its reference comes first.
    """
    found = [model for app in APPS for model in apps.get_app_config(app).get_models() if not model._meta.proxy]
    left = [model for model in found if model not in MADE_BY_MIGRATIONS and label(model) not in STAYING]
    ordered: list[type[Model]] = []
    while left:
        ready = [model for model in left if _needs(model) <= {*ordered, model}]
        if not ready:
            names = ", ".join(model._meta.label for model in left)
            raise RuntimeError(f"these models need each other: {names}; make one of their references nullable")
        # One at a time: of those that may come, those that need nothing of the others at all come first.
        chosen = min(ready, key=lambda model: (bool(_wishes(model) - {*ordered, model}), left.index(model)))
        ordered.append(chosen)
        left.remove(chosen)
    return ordered


def label(model: type[Model]) -> str:
    """Give the name of a model as it stands in the file."""
    return model._meta.label_lower


def references(model: type[Model]) -> list[ForeignKey[Any, Any]]:
    """List a model's references to rows."""
    return [field for field in model._meta.concrete_fields if isinstance(field, ForeignKey)]


def links(model: type[Model]) -> list[ManyToManyField[Any, Any]]:
    """List a model's sets of rows."""
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


def _needs(model: type[Model]) -> set[Any]:
    return {field.related_model for field in references(model) if not field.null}


def _wishes(model: type[Model]) -> set[Any]:
    return {*targets_of(model), *(link.related_model for link in links(model))} - set(MADE_BY_MIGRATIONS)
