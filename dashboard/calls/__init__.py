"""All calls, found by an id and by what was chosen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import Any, ClassVar, Final

from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from dashboard.calls.courses import COURSES, OFFERED, Looked, went_through
from dashboard.inbox.groups import KIND_WORDS, call_words, read_options, rows_of
from dashboard.navigation import pages_for
from dashboard.shared.choices import (
    MAX_OPTIONS,
    MOST_EXPORTED,
    Search,
    TimedChoices,
    clean,
    moment,
    plain,
    read_all,
    read_page,
    shown_time,
    state_word,
)
from dashboard.shared.responses import TYPES, export, refused
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.lifecycle import CallState
from retrycontract.contract.outputs import Kind
from retrycontract.store.fields import SqlLiteral
from retrycontract.store.models import Agent, Call, Tool
from retrycontract.store.models.calls import sought
from retrycontract.store.statements import different, planned_for_values

HAS_FAILED: Final = ~Q(fingerprint="")
IS_NOT_VALID: Final = ~Q(state=SqlLiteral(CallState.VALID.value))
IS_RARE: Final = ~Q(kind=Kind.TOOL_CALL.value)
# What an index knows of the calls of a course: what failed, and what was answered.
FAILING: Final = {"failed", "failing"}
ANSWERED: Final = re.compile("answered|given-.*|tried-.*|worked-.*|within-.*")
NAMELESS: Final = {"tool": "No registered tool", "model": "No model named"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallChoices(TimedChoices):
    """Hold which calls are looked for."""

    q: str = ""
    tool: str = ""
    namespace: str = ""
    agent: str = ""
    state: str = ""
    kind: str = ""
    model: str = ""
    version: str = ""
    code: str = ""
    field: str = ""
    course: str = ""
    # What a number of the insights counts: rows of history of this time, of a tool or a model that has no name.
    counted_since: str = ""
    counted_until: str = ""
    nameless: str = ""
    times: ClassVar[tuple[str, ...]] = ("since", "until", "counted_since", "counted_until")

    @classmethod
    def offers(cls, name: str, value: str) -> bool:
        """Tell whether something may be chosen."""
        known = {"state": list(CallState), "kind": KIND_WORDS, "code": list(ErrorCode), "course": COURSES,
                 "nameless": NAMELESS}  # fmt: skip
        if name == "version":
            return value.isascii() and value.isdecimal() and len(value) < 18
        return value in known.get(name, (value,))

    @property
    def words(self) -> dict[str, str]:
        state = {"state": self.state and state_word(self.state), "course": self.course and COURSES[self.course].words,
                 "nameless": self.nameless and NAMELESS[self.nameless]}  # fmt: skip
        more = {"model": f"Model {self.model}", "version": "One version", "field": f"At {self.field}",
                "namespace": f"Namespace {self.namespace}"}  # fmt: skip
        begin, end = (shown_time(at) for at in (self.counted_since, self.counted_until))
        more |= {"counted_since": f"Counted since {begin}", "counted_until": f"Counted until {end}"}
        return self.time_words | state | more | call_words(self.tool, self.agent, self.kind, self.code)

    @property
    def search(self) -> Search[Call]:
        """Say how to find them: by the choice that leaves the fewest, and what else must fit."""
        calls = Call.objects.select_related("agent")
        rows = self.in_time(calls, "created_at")
        indexed, others = list(self._indexed()), list(self._others())
        found = sought(self.q)
        # A search and a tool bring their own indexes: what else was chosen is looked for among what these find.
        first = indexed.pop(0) if indexed and not self.q else None
        if self.q or first == Q(tool_name=self.tool):
            found = found.of(self.tool)
        elif first is not None:
            rows = rows.filter(first)
        return Search(rows, reduce(and_, indexed + others, Q()), found.parts)

    def _indexed(self) -> Iterator[Q]:
        """List what an index knows; what keeps few calls stands first."""
        if self.state and self.state != CallState.VALID:
            # With the condition of the partial index, which the planner does not take otherwise; so is what follows.
            yield IS_NOT_VALID & Q(state=self.state)
        if self.tool:
            yield Q(tool_name=self.tool)
        if self.model and not self._is_counted:
            yield Q(model=self.model)
        if self.agent:
            yield Q(agent=Agent.objects.filter(name=self.agent).values("pk")[:1])
        if self.kind and self.kind != Kind.TOOL_CALL:
            yield IS_RARE & Q(kind=self.kind)
        if ANSWERED.fullmatch(self.course):
            yield Q(was_answered=True)
        if self.course in FAILING or ((self.code or self.field) and not self.course):
            yield HAS_FAILED

    @property
    def _is_counted(self) -> bool:
        return bool(self.counted_since or self.counted_until or self.nameless)

    def _others(self) -> Iterator[Q]:
        if self.state == CallState.VALID:
            yield Q(state=self.state)
        if self.kind == Kind.TOOL_CALL:
            yield Q(kind=self.kind)
        if self.namespace:
            yield Q(agent__namespace=self.namespace)
        if self.version:
            yield Q(version=int(self.version))
        looked = Looked()
        if self._is_counted:
            looked = Looked(moment(self.counted_since), moment(self.counted_until))
            # Most calls that began before that time were not touched since.
            yield Q(updated_at__gte=looked.since) if looked.since else Q()
            model = "" if self.nameless == "model" else self.model or None
            is_known = False if self.nameless == "tool" else True if self.tool or self.version else None
            looked = replace(looked, model=model, is_known=is_known)
        has_mistake = bool(self.code or self.field)
        # Of failed attempts and of answers to them the mistake is their own, of others that of any attempt.
        is_own = self.course in (*FAILING, "answered")
        if self.course or (self._is_counted and not has_mistake):
            own = replace(looked, code=self.code, field=self.field) if is_own else looked
            yield went_through(self.course or "checked", own)
        if has_mistake and not is_own:
            yield went_through("failing", replace(looked, code=self.code, field=self.field))


MOST_FOUND: Final = 8  # of each kind: a palette is looked at, not paged through


@require_safe
@never_cache
def find(request: HttpRequest) -> HttpResponse:
    """Search everything: pages and tools by a part of their names, calls by ids, words and values."""
    q = clean(request.GET.get("q", ""))
    pages = [page for page in pages_for(request.user) if q.casefold() in page.title.casefold()]
    context: dict[str, Any] = {"q": q, "pages": pages[:MOST_FOUND] if q else pages}
    if q:
        context["tools"] = Tool.objects.filter(name__icontains=q).order_by("name", "namespace")[:MOST_FOUND]
        meant = sought(q)
        with planned_for_values():
            found = Call.objects.newest(MOST_FOUND + 1, meant)
        context |= {"lines": rows_of(found[:MOST_FOUND], {}, {}), "has_more": len(found) > MOST_FOUND}
    is_palette = request.headers.get("HX-Target") == "found"
    return render(request, "calls/_found.html" if is_palette else "calls/find.html", context)


STATES: Final = [(state.value, state_word(state)) for state in CallState]
COLUMNS: Final = (
    "number", "call_id", "state", "kind", "tool", "agent", "model", "session_id", "task_id", "correlation_id",
    "last_tool_call_id", "attempts_made", "attempts_allowed", "created_at", "updated_at",
)  # fmt: skip


@require_safe
@never_cache
@gzip_page
def calls(request: HttpRequest) -> HttpResponse:
    choices, after = CallChoices.of(request.GET), request.GET.get("after", "")
    search = choices.search
    with planned_for_values():  # for the keys that were found: a plan for any of them reads all calls
        page = read_page(search, after)
    context: dict[str, Any] = {
        "unread": CallChoices.unread(request.GET),
        "title": "Calls", "route": "dashboard:calls", "files": "dashboard:export_calls", "noun": "calls",
        "choices": choices, "page": page, "lines": rows_of(page.rows, {}, {}), "after": after, "now": timezone.now(),
        "options": read_options(),
        "models": plain(different(Call, "model", most=MAX_OPTIONS)), "states": STATES, "most": MOST_EXPORTED,
        # Those to choose from, and what was led to.
        "courses": [
            (name, one.words) for name, one in COURSES.items() if name in OFFERED or name == choices.course
        ],
    }  # fmt: skip
    if not page.rows and not choices.is_any:
        context["address"] = request.build_absolute_uri("/").rstrip("/")
    return render(request, "calls/calls.html", context)


@require_safe
@never_cache
def export_calls(request: HttpRequest, kind: str) -> HttpResponseBase:
    """Give what was chosen as a file, from the page on that one looks at."""
    if kind not in TYPES:
        raise Http404
    if strange := CallChoices.unread(request.GET):
        return refused(strange)
    lines = (
        (
            call.pk, call.public_id, call.state, call.kind, call.tool_name, call.agent.name, call.model,
            call.session_id, call.task_id, call.correlation_id, call.last_tool_call_id, call.attempts_made,
            call.attempts_allowed, call.created_at, call.updated_at,
        )
        for call in read_all(CallChoices.of(request.GET).search, request.GET.get("after", ""))
    )  # fmt: skip
    return export("calls", kind, COLUMNS, lines)
