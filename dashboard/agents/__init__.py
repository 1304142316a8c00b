"""The agents: who was seen when, the keys that admit them, and the log of their responses."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.db.models import Count, Max, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.navigation import administrators_only, is_administrator
from dashboard.shared.choices import clean, unread
from dashboard.shared.forms import is_repeated, note_taken
from dashboard.shared.responses import REFUSED, by
from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.contract.redaction.sanitizer import visible
from retrycontract.contract.webhooks import ResponseStatus
from retrycontract.store.models import Agent, ApiKey, KeyState, LoggedResponse, Scope, Tool
from retrycontract.usecases.calls.read_agent_responses import ResponseFilters, UnknownCursorError, read_agent_responses
from retrycontract.usecases.counts.keep_count import seconds_overdrawn
from retrycontract.usecases.people.admit import (
    OtherNamespaceError,
    TakenNameError,
    UnusableNameError,
    admit_agent,
    issue_key,
    rename_agent,
    revoke_key,
)

MOST_AGENTS: Final = 500  # of a list; the search finds the rest
MOST_KEYS: Final = 100  # of one agent, the newest
MAX_NAME: Final = 200
SCOPES: Final = {
    Scope.SUBMIT: "send outputs, wait, take answers, give up, try",
    Scope.READ: "look at its calls, events, responses and tools",
    Scope.TOOLS: "register tools",
}
LASTS: Final = [("", "never"), ("1", "in a day"), ("7", "in 7 days"), ("30", "in 30 days"), ("90", "in 90 days"),
                ("365", "in a year")]  # fmt: skip


@dataclass(frozen=True, slots=True)
class AgentLine:
    """Show an agent in the list."""

    agent: Agent
    last_seen: datetime | None
    active_keys: int


@dataclass(frozen=True, slots=True)
class KeyLine:
    """Show a key; its text is known to nobody."""

    key: ApiKey
    state: KeyState

    @property
    def scopes(self) -> str:
        """Name what it may be used for."""
        granted = self.key.granted
        return "all" if granted == frozenset(Scope) else ", ".join(scope for scope in Scope if scope in granted)

    @property
    def pill(self) -> str:
        """Give the state of a call whose colour and shape fit."""
        return {KeyState.ACTIVE: "valid", KeyState.EXPIRED: "expired", KeyState.REVOKED: "cancelled"}[self.state]


def list_agents(*, now: datetime, search: str = "") -> list[AgentLine]:
    """List agents by name; without a search as many as a page can hold."""
    is_active = Q(keys__revoked_at=None) & (Q(keys__expires_at=None) | Q(keys__expires_at__gt=now))
    matching = Q(name__icontains=search) | Q(namespace__icontains=search) if search else Q()
    found: Any = Agent.objects.filter(matching)
    counted = found.annotate(last_seen=Max("keys__last_used_at"), active_keys=Count("keys", filter=is_active))
    return [AgentLine(agent, agent.last_seen, agent.active_keys) for agent in counted.order_by("name")[:MOST_AGENTS]]


def list_keys(agent: Agent, *, now: datetime) -> list[KeyLine]:
    """List the keys of an agent, the newest first."""
    return [KeyLine(key, key.state_at(now)) for key in agent.keys.order_by("-pk")[:MOST_KEYS]]


class KeyForm(forms.Form):
    """Ask what a key is for, and for how long."""

    scopes = forms.TypedMultipleChoiceField(
        coerce=Scope, choices=[(scope.value, what) for scope, what in SCOPES.items()], initial=list(Scope),
        error_messages={"required": "Choose at least one: a key that opens nothing is none."},
    )  # fmt: skip
    lasts = forms.ChoiceField(choices=LASTS, required=False, initial="90")

    def wanted(self, now: datetime) -> dict[str, Any]:
        """Give the key as the use case takes it."""
        days = self.cleaned_data["lasts"]
        return {
            "scopes": self.cleaned_data["scopes"],
            "expires_at": now + timedelta(days=int(days)) if days else None,
        }


class AgentForm(forms.Form):
    """Ask for the name and the namespace of an agent; whether they can be had is the use case's to say."""

    name = forms.CharField(max_length=MAX_NAME)
    namespace = forms.CharField(max_length=MAX_NAME, required=False)


@require_safe
@never_cache
def agents(request: HttpRequest) -> HttpResponse:
    now, search = timezone.now(), clean(request.GET.get("q", ""))
    lines = list_agents(now=now, search=search)
    context = {"lines": lines, "now": now, "q": visible(search), "may_edit": is_administrator(request.user),
               "is_cut": len(lines) == MOST_AGENTS}  # fmt: skip
    return render(request, "agents/agents.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def new_agent(request: HttpRequest) -> HttpResponse:
    """Ask for a new agent; POST lets it in."""
    administrators_only(request.user)
    form = AgentForm(request.POST or None)
    if request.method != "POST":
        return render(request, "agents/new_agent.html", {"form": form})
    if form.is_valid():
        name, namespace = form.cleaned_data["name"], form.cleaned_data["namespace"]
        # The use case takes an agent that is there as it is, which here would look as if a new one had been made.
        if Agent.objects.filter(name=name).exists():
            form.add_error("name", str(TakenNameError(name)) + ".")
    if form.is_valid():
        try:
            made = admit_agent(name, namespace or None, **by(request))
        except (UnusableNameError, OtherNamespaceError) as error:
            form.add_error("name", f"{error}.")
        else:
            messages.success(request, "The agent is added. Make a key for it now.")
            return redirect("dashboard:agent", agent_id=made.pk)
    return render(request, "agents/new_agent.html", {"form": form}, status=REFUSED)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def agent(request: HttpRequest, agent_id: int) -> HttpResponse:
    """Show one agent; POST gives it another name."""
    found = get_object_or_404(Agent, pk=agent_id)
    if request.method != "POST":
        return _page(request, found)
    administrators_only(request.user)
    form = AgentForm(request.POST)
    if form.is_valid():
        try:
            rename_agent(found, form.cleaned_data["name"], **by(request))
        except (UnusableNameError, TakenNameError) as error:
            form.add_error("name", f"{error}.")
        else:
            messages.success(request, "The agent has its new name. Its keys and its tools stay.")
            return redirect("dashboard:agent", agent_id=found.pk)
    return _page(request, found, naming=form, status=REFUSED)


@require_POST
@never_cache
def issue(request: HttpRequest, agent_id: int) -> HttpResponse:
    """Make a key and show it, this once: no cookie and no session carries it."""
    administrators_only(request.user)
    found, form = get_object_or_404(Agent, pk=agent_id), KeyForm(request.POST)
    if not form.is_valid():
        return _page(request, found, keying=form, status=REFUSED)
    if is_repeated(request):
        messages.warning(request, "No other key was made: the form was sent a second time.")
        return redirect("dashboard:agent", agent_id=agent_id)
    told = by(request)
    key, text = issue_key(found, **form.wanted(told["now"]), **told)
    note_taken(request)
    context = {"agent": found, "key": key, "text": text, "address": _address(request)}
    return render(request, "agents/key_issued.html", context)


@require_POST
@never_cache
def revoke(request: HttpRequest, agent_id: int, key_id: int) -> HttpResponse:
    administrators_only(request.user)
    key = get_object_or_404(ApiKey.objects.select_related("agent"), pk=key_id, agent=agent_id)
    if revoke_key(key, **by(request)):
        messages.success(request, f"The key {key.prefix}… is revoked: it opens nothing any more.")
    else:
        messages.warning(request, f"The key {key.prefix}… was revoked before.")
    return redirect("dashboard:agent", agent_id=agent_id)


def _page(request: HttpRequest, found: Agent, *, status: int = 200, **forms: Any) -> HttpResponse:
    now = timezone.now()
    keys = list_keys(found, now=now)
    context = {
        "agent": found, "keys": keys, "is_cut": len(keys) == MOST_KEYS, "now": now, "address": _address(request),
        "last_seen": found.keys.aggregate(last=Max("last_used_at"))["last"],
        "tools": Tool.objects.filter(namespace=found.namespace).count(),
        "may_edit": is_administrator(request.user), "waits": seconds_overdrawn(found, now=now),
        "keying": KeyForm(), "naming": AgentForm(initial={"name": found.name}),
    }  # fmt: skip
    return render(request, "agents/agent.html", context | forms, status=status)


def _address(request: HttpRequest) -> str:
    return request.build_absolute_uri("/").rstrip("/")


PAGE = 50
MAX_SEARCH = 200  # the longest id
PERIODS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7)}
TABS = [("", "All"), *((status.value, status.value.capitalize().replace("_", " ")) for status in ResponseStatus)]
MARKS = {
    ResponseStatus.SUCCESS: ("valid", "Success"),
    ResponseStatus.MALFORMED: ("failed", "Malformed"),
    ResponseStatus.SCHEMA_VIOLATION: ("alert", "Schema violation"),
}


@dataclass(frozen=True, slots=True)
class ResponseLine:
    """Show one reply; `begins` where the one before it, on the page, is of another call."""

    response: LoggedResponse
    begins: bool

    @property
    def mark(self) -> tuple[str, str]:
        """Name the icon and the word for how it went."""
        return MARKS[self.response.response_status]

    @property
    def errors(self) -> tuple[ValidationError, ...]:
        """Give what is wrong, the worst first; a reply that went well has nothing wrong."""
        if self.response.is_valid:
            return ()
        return tuple(error for error in self.response.errors if error.severity is ErrorSeverity.ERROR)


@require_safe
@never_cache
def log(request: HttpRequest) -> HttpResponse:
    status, task, period = (request.GET.get(name, "") for name in ("status", "task", "period"))
    since = timezone.now() - PERIODS[period] if period in PERIODS else None
    filters = ResponseFilters(
        status=ResponseStatus(status) if status in list(ResponseStatus) else None,
        task_id=task.strip()[:MAX_SEARCH] or None,
        since=since,
    )
    try:
        page = read_agent_responses(filters, after=request.GET.get("after"), size=PAGE)
    except UnknownCursorError:
        raise Http404 from None
    before = [None, *(response.call_id for response in page.responses)]
    lines = [ResponseLine(it, it.call_id != last) for it, last in zip(page.responses, before, strict=False)]
    context: dict[str, Any] = {
        "lines": lines, "following": page.following, "now": timezone.now(), "tabs": TABS,
        "filters": filters, "period": period if period in PERIODS else "", "periods": list(PERIODS),
        "task": visible(filters.task_id or ""),
        "unread": unread(request.GET, {"status": bool(filters.status), "period": period in PERIODS, "task": True,
                                       "after": True}),
    }  # fmt: skip
    return render(request, "agents/agent_responses.html", context)
