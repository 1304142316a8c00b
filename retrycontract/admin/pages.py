"""What all pages of the admin have in common: staff alone, no counting, one audit trail, nothing rendered unescaped."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from operator import attrgetter
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ALL_VAR, ORDER_VAR, PAGE_VAR, SEARCH_VAR, ChangeList
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from retrycontract.admin.trail import OF_ROW, address_of, subject_of
from retrycontract.contract.redaction.sanitizer import elide_middle, visible
from retrycontract.store.fields import without_long_values
from retrycontract.store.models import Call, Door
from retrycontract.store.transactions import write_transaction

if TYPE_CHECKING:
    _Admin = admin.ModelAdmin[Any]
    _Paginator = Paginator[Any]
else:
    _Admin, _Paginator = admin.ModelAdmin, Paginator

Row = TypeVar("Row", bound=Model)

MAX_SHOWN = 20_000  # characters of one value; more than anybody reads
MAX_LINE = 200  # characters of one value in a list
MAX_COUNTED = 5_000  # rows: a list of more says so much, and no page after it is offered
MAX_LOOKED = 50_000  # rows, the newest, that a filter looks through where no index finds what it keeps
MOST_WORDS, LONGEST_KEY = 20, 18  # of a search; digits of a row's key
# Rows that one action is taken on, and seconds for which it goes on: of a whole list it would take minutes.
MOST_AT_ONCE, LONGEST_ACTION = 500, 5.0
NOTHING = "–"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS", "TRACE")


def among_writers(request: HttpRequest) -> AbstractContextManager[object]:
    """Take our place among the writers for a request that may write, before Django opens a transaction of its own.

    Else a use case within that waits for our queue of writers, and the first of the queue for the lock that it holds.
    """
    return nullcontext() if request.method in SAFE_METHODS else write_transaction()


class AtLeast(int):
    """Hold a number that counting stopped at, which is shown as such."""

    def __str__(self) -> str:
        """Write "5,000+"."""
        return f"{int(self):,}+"


class BoundedPaginator(_Paginator):
    """Count no further than somebody turns pages: counting a history of millions would hold up everybody."""

    @cached_property
    def count(self) -> int:
        return _counted(cast(QuerySet[Any], self.object_list))


def _counted(rows: QuerySet[Any]) -> int:
    try:
        counted = rows[: MAX_COUNTED + 1].count()
    except (ValueError, OverflowError) as error:  # an address asks for the year 99999
        raise IncorrectLookupParameters(error) from error
    return AtLeast(MAX_COUNTED) if counted > MAX_COUNTED else counted


class BoundedList(ChangeList):
    """Sort few rows by whatever somebody clicks on; more keep the order that an index has them in."""

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        """Look through no more than can be looked through soon; what is searched for is found by an index, and few."""
        rows = super().get_queryset(request, exclude_parameters)
        kept = self._bounded(rows, request)
        if kept is not rows and cast(Page, self.model_admin).unindexed:
            told = f"Only the newest {MAX_LOOKED:,} rows were looked through."
            self.model_admin.message_user(request, told, messages.WARNING)
        return kept

    def _bounded(self, rows: QuerySet[Any], request: HttpRequest) -> QuerySet[Any]:
        return rows if self.query else cast(Page, self.model_admin).bounded(rows, request)

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        """Leave out, with a word, what somebody clicked on where that would sort a history of millions."""
        bounded = self._bounded(queryset, request)
        # What is searched for is found by an index, and few.
        if self.params.get(ORDER_VAR) and not self.query and isinstance(_counted(bounded), AtLeast):
            del self.params[ORDER_VAR]
            told = f"More than {MAX_COUNTED:,} rows are not sorted: filter or search until there are fewer."
            self.model_admin.message_user(request, told, messages.WARNING)
        return list(super().get_ordering(request, queryset))


class Page(_Admin):
    """Let staff look; what may be done is said by each page."""

    # Named, as they are: while Django tries one name after another it ties a knot that holds the page, and an output of
    # megabytes that it shows, until the collector of garbage comes.
    change_form_template, change_list_template = "admin/change_form.html", "admin/change_list.html"
    list_per_page = 50
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # each filter would be counted
    paginator = BoundedPaginator
    ordering: ClassVar[tuple[str, ...]] = ("-pk",)
    read_at_once: ClassVar[tuple[str, ...]] = ()  # of texts, JSON and bytes: what lists show
    unindexed: ClassVar[tuple[str, ...]] = ()  # columns that filters look through a history for, row by row

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:  # noqa: ARG002 - Django's signature
        """Sort no more than can be sorted soon."""
        return BoundedList

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Leave what is long in the database."""
        related = self.list_select_related if isinstance(self.list_select_related, tuple) else ()
        return without_long_values(super().get_queryset(request), *related, but=self.read_at_once)

    def bounded(self, rows: QuerySet[Any], request: HttpRequest) -> QuerySet[Any]:
        """Keep of the rows of a list the newest where its filters would look through a whole history."""
        filters = {name.partition("__")[0] for name in request.GET} - {ALL_VAR, ORDER_VAR, PAGE_VAR, SEARCH_VAR}
        if not filters or not filters <= set(self.unindexed):
            return rows
        column = self.ordering[0].removeprefix("-")  # what lists stand in the order of, by an index
        newest = self.model._base_manager.order_by(f"-{column}").values_list(column, flat=True)
        oldest = newest[MAX_LOOKED : MAX_LOOKED + 1].first()
        return rows if oldest is None else rows.filter(**{f"{column}__gt": oldest})

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search for so many words: each has a condition for each column, and a database takes a thousand."""
        words = search_term.split()
        if len(words) > MOST_WORDS:
            self.message_user(request, f"Only the first {MOST_WORDS} words were searched for.", messages.WARNING)
        return super().get_search_results(request, queryset, " ".join(words[:MOST_WORDS]))

    def response_action(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:  # type: ignore[override]
        """Refuse what names no row; Django asks the database for it."""
        ticked = request.POST.getlist(ACTION_CHECKBOX_NAME)
        if all(each.isascii() and each.isdigit() and len(each) <= LONGEST_KEY for each in ticked):
            return super().response_action(request, queryset)
        self.message_user(request, "Nothing was done: what was ticked is no row of this list.", messages.ERROR)
        return HttpResponseRedirect(request.get_full_path())

    def first_of(self, rows: QuerySet[Row], request: HttpRequest) -> list[Row]:
        """Give the rows that an action is taken on, and say when there are more."""
        first = list(rows[: MOST_AT_ONCE + 1])
        if len(first) > MOST_AT_ONCE:
            told = f"An action is taken on {MOST_AT_ONCE} rows at once: take it again for the rest."
            self.message_user(request, told, messages.WARNING)
        return first[:MOST_AT_ONCE]

    def in_time(self, rows: Sequence[Row], request: HttpRequest) -> Iterator[Row]:
        """Give the rows one by one for as long as an action may go on, and say how many are left."""
        until = monotonic() + LONGEST_ACTION
        for done, row in enumerate(rows):
            if monotonic() > until:
                left = len(rows) - done
                told = f"An action goes on for {LONGEST_ACTION:g} s. Rows that are left for another one: {left}."
                self.message_user(request, told, messages.WARNING)
                return
            yield row

    def page_of_action(self, request: HttpRequest, template: str, title: str, shown: dict[str, Any]) -> HttpResponse:
        """Show a page between the list and what an action does to its rows."""
        of_list = {"title": title, "opts": self.opts, "checkbox": ACTION_CHECKBOX_NAME}
        return TemplateResponse(request, template, self.admin_site.each_context(request) | of_list | shown)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Show the page to whoever may use the site."""
        return self.admin_site.has_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002 - Django's signature
        """Let staff look."""
        return self.admin_site.has_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        """Refuse, unless a page says otherwise."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002
        """Refuse, unless a page says otherwise."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002
        """Refuse: what happened is kept."""
        return False

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Take our place among the writers first: Django opens its own transaction around the form."""
        with among_writers(request):
            return super().changeform_view(request, *args, **kwargs)

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Lead to the row's own events in the audit trail, whatever door they came through."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        row = self.get_object(request, unquote(object_id))
        if row is None:
            return super().history_view(request, object_id, extra_context)  # which says that it is not there
        subject = subject_of(row)
        wanted = {"q": subject.public_id} if isinstance(subject, Call) else {OF_ROW: address_of(subject)}
        return HttpResponseRedirect(f"{reverse('admin:retrycontract_event_changelist')}?{urlencode(wanted)}")

    # The use cases write the audit trail; a second one would only say less.

    def log_addition(self, *_: Any) -> Any:
        """Leave it to the use case's event."""

    def log_change(self, *_: Any) -> Any:
        """Leave it to the use case's event."""


class HistoryPage(Page):
    """Search a history by the one column that the words name: an index finds it, among any number of rows."""

    search_fields = ("pk",)  # for the search box; what is searched stands below
    searched: ClassVar[dict[str, str]] = {"call_": "call__public_id"}  # beginning of the words -> column

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Keep the rows whose column is exactly what was typed."""
        words = search_term.strip()
        if not words:
            return super().get_search_results(request, queryset, "")
        column = next((column for beginning, column in self.searched.items() if words.startswith(beginning)), None)
        return (queryset.filter(**{column: words}) if column else queryset.none()), False


class EditablePage(Page):
    """Let staff change rows, too."""

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002
        """Let staff change what the form shows."""
        return self.admin_site.has_permission(request)


@admin.display(description="agent")
def agent_of(row: Any) -> str:
    """Name the agent whose call a row belongs to."""
    call = row.call if hasattr(row, "call") else row.escalation.call
    return line(call.agent.name)


def by(request: HttpRequest) -> dict[str, Any]:
    """Say who does what is done now, and through which door."""
    now: datetime = timezone.now()
    return {"actor": cast(User, request.user).get_username(), "door": Door.ADMIN, "now": now}


def line(text: str | None) -> str:
    """Give text that came from outside for one line: bounded, nothing hidden; Django escapes it."""
    return visible(elide_middle(text, MAX_LINE)) if text else NOTHING


def block(text: str | None) -> SafeString | str:
    """Show text of several lines that came from outside: escaped, nothing hidden."""
    if not text:
        return NOTHING
    # Line by line, for `visible` would show the breaks between them as escapes.
    lines = elide_middle(text, MAX_SHOWN).split("\n")
    shown = "\n".join(visible(line) for line in lines)
    return format_html('<pre class="outside" tabindex="0"><bdi>{}</bdi></pre>', shown)


def json_block(value: Any) -> SafeString | str:
    """Show JSON that came from outside as text."""
    if value is None:
        return NOTHING
    return block(json.dumps(value, indent=2, ensure_ascii=False))


def filled_json(value: Any) -> SafeString | str:
    """Show JSON, and of an empty list or object nothing."""
    return json_block(value or None)


def output_block(value: Any) -> SafeString | str:
    """Show text as text, everything else as JSON."""
    return block(value) if isinstance(value, str) else json_block(value)


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shown(path: str, form: Callable[[Any], Any] = line, *, title: str = "", ordering: str | None = None) -> Any:
    """Make a column or a field of what came from outside: an attribute of the row, in a form that hides nothing."""
    read = attrgetter(path)

    @admin.display(description=title or path.rpartition(".")[2].replace("_", " "), ordering=ordering)
    def field(_: Page, row: Model) -> Any:
        return form(read(row))

    return field
