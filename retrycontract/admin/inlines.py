"""Rows that belong to a row, on its page: the newest few, and a link to the list of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.forms.models import BaseInlineFormSet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.http import urlencode

if TYPE_CHECKING:
    _Inline = admin.TabularInline[Any, Any]
    _Rows = BaseInlineFormSet[Any, Any, Any]
else:
    _Inline, _Rows = admin.TabularInline, BaseInlineFormSet

MOST_ROWS = 20  # of each kind: a call may have thousands of attempts


class NewestRows(_Rows):
    """Read the newest rows alone."""

    def get_queryset(self) -> QuerySet[Any]:
        """Stop after the rows that are shown; Django asks again and again."""
        return self._newest

    @cached_property
    def _newest(self) -> QuerySet[Any]:
        return super().get_queryset()[:MOST_ROWS]

    @cached_property
    def address_of_all(self) -> str:
        """Lead to the list of all of them, where there are more."""
        rows = super().get_queryset()
        if not rows[MOST_ROWS : MOST_ROWS + 1].exists():
            return ""
        page = reverse(f"admin:{rows.model._meta.app_label}_{rows.model._meta.model_name}_changelist")
        return f"{page}?{urlencode({f'{self.fk.name}__exact': self.instance.pk})}"


class HistoryInline(_Inline):
    """Show the newest rows that belong to a row."""

    extra = 0
    can_delete = False
    template = "admin/history_rows.html"
    formset = NewestRows
    ordering: ClassVar[tuple[str, ...]] = ("-pk",)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002 - Django's signature
        """Let staff look."""
        return self.admin_site.has_permission(request)

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002
        return False
