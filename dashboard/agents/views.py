"""The agents: who they are, when they were seen, and the keys that let them in."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from dashboard.agents.keys import MOST_AGENTS, MOST_KEYS, AgentForm, KeyForm, list_agents, list_keys
from dashboard.navigation import administrators_only, is_administrator
from dashboard.shared.choices import clean
from dashboard.shared.responses import REFUSED, by
from retrycontract.contract.redaction.sanitizer import visible
from retrycontract.store.models import Agent, ApiKey, Tool
from retrycontract.usecases.people.admit_agent import (
    OtherNamespaceError,
    TakenNameError,
    UnusableNameError,
    admit_agent,
    issue_key,
    rename_agent,
    revoke_key,
)


@require_GET
@never_cache
def agents(request: HttpRequest) -> HttpResponse:
    """List the agents."""
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
        if Agent.objects.filter(name=name).exists():
            form.add_error("name", str(TakenNameError(name)) + ".")
    if form.is_valid():
        try:
            made = admit_agent(name, namespace or None, **by(request))
        except (UnusableNameError, OtherNamespaceError) as error:
            form.add_error("name", f"{error}.")
        else:
            messages.success(request, "The agent is let in. Make a key for it now.")
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
    told = by(request)
    key, text = issue_key(found, **form.wanted(told["now"]), **told)
    context = {"agent": found, "key": key, "text": text, "address": _address(request)}
    return render(request, "agents/key_issued.html", context)


@require_POST
@never_cache
def revoke(request: HttpRequest, agent_id: int, key_id: int) -> HttpResponse:
    """Take a key away for good."""
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
        "may_edit": is_administrator(request.user),
        "keying": KeyForm(), "naming": AgentForm(initial={"name": found.name}),
    }  # fmt: skip
    return render(request, "agents/agent.html", context | forms, status=status)


def _address(request: HttpRequest) -> str:
    return request.build_absolute_uri("/").rstrip("/")
