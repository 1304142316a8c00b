"""The tools: how each fares, its versions, and a schema tried on what failed before it is registered."""

from __future__ import annotations

import copy
import json
from typing import Any, Final, cast
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.call.diagnosis import compare
from dashboard.insights.plots import TimeRange
from dashboard.navigation import is_staff
from dashboard.shared.choices import clean, unread
from dashboard.shared.forms import UNCHECKABLE, LargeForm
from dashboard.shared.responses import REFUSED, TOO_LATE
from dashboard.tools.tool_figures import MOST_CHANGES, MOST_TOOLS, list_tools, read_tool, shown_schema
from retrycontract.checking import admit_apart
from retrycontract.children.pool import ChildUnavailableError
from retrycontract.contract import pointers
from retrycontract.contract.outputs.json_text import parse_json
from retrycontract.contract.outputs.source_code import UnknownLanguageError
from retrycontract.contract.redaction.sanitizer import has_redaction, visible
from retrycontract.contract.schemas.admission import InvalidSchema, SchemaWarning
from retrycontract.contract.schemas.document import MAX_REASON, excerpt, shown_place
from retrycontract.contract.schemas.tool_lists import slip_in
from retrycontract.languages.grammars import MissingGrammarError
from retrycontract.store.models import Agent, Door, Tool, ToolVersion
from retrycontract.store.models.tools import KINDS
from retrycontract.usecases.calls.check_output import DESK
from retrycontract.usecases.tools.register_tool import (
    Registration,
    ToolChangedError,
    ToolSettings,
    register_tool,
    release_version,
)
from retrycontract.usecases.tools.try_schema import replay

MAX_REFERENCES = 20  # that are followed from one place
MAX_NAME = 300  # as the API takes it
NO_CONTROLS = r"\A[^\x00-\x1f\x7f]+\Z"
REDACTED = (
    "A value of this schema is not shown, since it is a secret. Write the value where [REDACTED: …] stands, or take "
    "the place out."
)


class SchemaForm(LargeForm):
    """Take a schema as text; what is wrong with it is told with its place."""

    schema = forms.CharField(strip=False)
    # The revision that was shown when the form was opened: a newer one must not be replaced unseen.
    base = forms.CharField(required=False, max_length=200, widget=forms.HiddenInput)

    refused: InvalidSchema | None = None
    warnings: tuple[SchemaWarning, ...] = ()

    def clean_schema(self) -> Any:
        """Read the JSON as strictly as a model's, and admit it as a schema."""
        value, fault = parse_json(self.cleaned_data["schema"])
        if fault is not None:
            place = f" (at {shown_place(fault.pointer)})" if fault.pointer else ""
            raise forms.ValidationError(f"This is not JSON yet: {excerpt(fault.reason, MAX_REASON)}{place}.")
        if has_redaction(value):
            raise forms.ValidationError(REDACTED)
        try:
            warnings = admit_apart(value, key=DESK)
            self.warnings = tuple(SchemaWarning(shown_place(each.pointer), each.reason) for each in warnings)
        except InvalidSchema as refused:
            self.refused = InvalidSchema(shown_place(refused.pointer), refused.reason, refused.code)
            raise forms.ValidationError(refused.reason) from None
        except ChildUnavailableError:
            raise forms.ValidationError(UNCHECKABLE) from None
        return value


class ToolForm(SchemaForm):
    """Take a new tool."""

    agent = forms.ModelChoiceField(Agent.objects.order_by("name"), empty_label=None)
    name = forms.RegexField(NO_CONTROLS, max_length=MAX_NAME)
    kind = forms.ChoiceField(choices=KINDS)
    description = forms.CharField(required=False, max_length=4_000)


def written(schema: Any) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False)


def line_of(schema: Any, field: str) -> int | None:
    """Find the line of the written schema where a field of an output is described; None where it says nothing of it.

    What is referred to is followed within the document; the last place that is described stands for deeper ones.
    """
    place: list[str | int] = []
    for step in pointers.tokens(field):
        found = _step(schema, place, step)
        if found is None:
            break
        place = found
    if not place:
        return None
    marked = copy.deepcopy(schema)
    holder = _at(marked, place[:-1])
    # A character of the private area, so that no text of the schema is taken for the mark.
    holder[place[-1]] = mark = "\ue000 the place"
    return written(marked).split(json.dumps(mark, ensure_ascii=False))[0].count("\n") + 1


def _step(schema: Any, place: list[str | int], step: str) -> list[str | int] | None:
    node = _at(schema, place)
    for _ in range(MAX_REFERENCES):
        reference = node.get("$ref") if isinstance(node, dict) else None
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        place = list(pointers.tokens(reference[1:]))
        node = _at(schema, place)
    if not isinstance(node, dict):
        return None
    if isinstance(node.get("properties"), dict) and step in node["properties"]:
        return [*place, "properties", step]
    if isinstance(node.get("items"), dict):
        return [*place, "items"]
    return None


def _at(document: Any, place: list[str | int]) -> Any:
    for step in place:
        document = document.get(step) if isinstance(document, dict) else None
    return document


MAX_SEARCH: Final = 200
MOST_TOLD: Final = 5  # warnings of a schema that was registered; the editor tells all
EXAMPLE: Final = {"type": "object", "properties": {"city": {"type": "string", "minLength": 1}}, "required": ["city"],
                  "additionalProperties": False}  # fmt: skip
Unusable = (InvalidSchema, UnknownLanguageError, MissingGrammarError, ChildUnavailableError)


@require_safe
@never_cache
def tools(request: HttpRequest) -> HttpResponse:
    span = TimeRange.of(request.GET.get("range", ""), timezone.now())
    search = request.GET.get("q", "").strip()[:MAX_SEARCH]
    lines = list_tools(span, search=search)
    context = {"span": span, "lines": lines, "q": visible(search), "may_edit": is_staff(request.user),
               "is_cut": len(lines) == MOST_TOOLS, "unread": _unread(request, "q"),
               "address": request.build_absolute_uri("/").rstrip("/")}  # fmt: skip
    return render(request, "tools/tools.html", context)


@require_safe
@never_cache
def tool(request: HttpRequest, pk: int) -> HttpResponse:
    found = _get(pk)
    span = TimeRange.of(request.GET.get("range", ""), timezone.now())
    context = {"tool": found, "story": read_tool(found, span), "span": span, "now": timezone.now(),
               "unread": _unread(request), "may_edit": is_staff(request.user),
               "slip": slip_in(found.current_version.schema) if found.current_version else ""}  # fmt: skip
    return render(request, "tools/tool.html", context)


def _unread(request: HttpRequest, *others: str) -> list[str]:
    return unread(request.GET, {"range": TimeRange.is_one(request.GET.get("range", ""))} | dict.fromkeys(others, True))


@require_POST
def release(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    """Let a quarantined version be judged at the door again."""
    if not is_staff(request.user):
        raise PermissionDenied
    version = get_object_or_404(ToolVersion.objects.select_related("tool"), tool=pk, number=number)
    if release_version(version, now=timezone.now(), actor=_name(request), door=Door.DASHBOARD):
        messages.success(request, f"Version {number} is judged at the door again.")
    return redirect("dashboard:tool", pk=pk)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def edit_schema(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the schema to be edited; POST tries it on what failed, or registers it."""
    if not is_staff(request.user):
        raise PermissionDenied
    found = _get(pk)
    if request.method != "POST":
        base = found.current_version
        initial = {"schema": written(shown_schema(base)) if base else "", "base": found.revision}
        return _editor(request, found, SchemaForm(initial=initial))
    form = SchemaForm(request.POST)
    if not form.is_valid():
        return _editor(request, found, form, status=REFUSED)
    if request.POST.get("step") == "save":
        return _save(request, found, form)
    schema = form.cleaned_data["schema"]
    before = shown_schema(found.current_version) if found.current_version else None
    try:
        tried = replay(found, schema)
    except Unusable as refused:
        form.add_error("schema", str(refused))
        return _editor(request, found, form, status=REFUSED)
    return _editor(request, found, form, replay=tried, **_changed(before, schema))


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def new_tool(request: HttpRequest) -> HttpResponse:
    """Ask for a new tool; POST registers it."""
    if not is_staff(request.user):
        raise PermissionDenied
    form = ToolForm(request.POST or None, initial={"schema": written(EXAMPLE)})
    context: dict[str, Any] = {"form": form, "has_agents": Agent.objects.exists()}
    if request.method != "POST":
        return render(request, "tools/new_tool.html", context)
    if not form.is_valid():
        return render(request, "tools/new_tool.html", context, status=REFUSED)
    given = form.cleaned_data
    try:
        done = _register(request, given["agent"], given["name"], given["schema"],
                         ToolSettings(description=given["description"], kind=given["kind"]))  # fmt: skip
    except ToolChangedError:
        form.add_error("name", "This agent has a tool of that name already: edit its schema instead.")
        return render(request, "tools/new_tool.html", context, status=REFUSED)
    except Unusable as refused:
        form.add_error("schema", str(refused))
        return render(request, "tools/new_tool.html", context, status=REFUSED)
    messages.success(request, "The tool is registered. Agents of its namespace may call it now.")
    _tell(request, done)
    return redirect("dashboard:tool", pk=done.tool.pk)


def _save(request: HttpRequest, found: Tool, form: SchemaForm) -> HttpResponse:
    base, schema = form.cleaned_data["base"], form.cleaned_data["schema"]
    agent = Agent.objects.filter(namespace=found.namespace).order_by("pk").first()
    if agent is None:
        form.add_error("schema", "No agent has this namespace any more: nobody could call the tool.")
        return _editor(request, found, form, status=REFUSED)
    try:
        done = _register(request, agent, found.name, schema, ToolSettings(), base=base)
    except ToolChangedError:
        found = _get(found.pk)
        changed = _changed(shown_schema(found.current_version), schema) if found.current_version else {}
        return _editor(request, found, form, status=TOO_LATE, is_too_late=True, **changed)
    except Unusable as refused:
        form.add_error("schema", str(refused))
        return _editor(request, found, form, status=REFUSED)
    number = done.version.number
    said = f"Version {number} is registered: new calls are judged by it, calls under way by theirs."
    messages.success(request, said if done.is_new_version else f"Version {number} is the present one.")
    _tell(request, done)
    return redirect("dashboard:tool", pk=found.pk)


def _changed(before: Any, schema: Any) -> dict[str, Any]:
    """Give the first of what is different, and how much more is."""
    changes = compare(before, schema)
    return {"changes": changes[:MOST_CHANGES], "more_changes": max(len(changes) - MOST_CHANGES, 0)}


def _register(
    request: HttpRequest, agent: Agent, name: str, schema: Any, settings: ToolSettings, *, base: str | None = None
) -> Registration:
    """Register a tool in the place of the revision `base`, None for none."""
    return register_tool(
        agent, name, schema, now=timezone.now(), door=Door.DASHBOARD, settings=settings, actor=_name(request),
        may_replace=lambda revision: revision == base,
    )  # fmt: skip


def _tell(request: HttpRequest, done: Registration) -> None:
    """Say what else is worth knowing of the schema."""
    for warning in done.warnings[:MOST_TOLD]:
        messages.warning(request, f"At {warning}")


def _editor(request: HttpRequest, found: Tool, form: SchemaForm, *, status: int = 200, **more: Any) -> HttpResponse:
    base, field = found.current_version, clean(request.GET.get("field", ""))
    text = (form["schema"].value() or "").replace("\r\n", "\n")
    schema, _ = parse_json(text) if field else (None, None)
    line = line_of(schema, field)
    context = {"tool": found, "form": form, "base": base, "is_sealed": base is not None and base.sealed is not None}
    # Where one came from stays in the address, however often the schema is tried. In a text that is laid out in another
    # way than ours the line of a place is not known.
    back = QueryDict(request.GET.get("back", "")).urlencode() or (field and f"tool={found.pk}")
    context |= {"field": field, "line": line if written(schema) == text else None, "is_described": line is not None,
                "back": back, "way": urlencode({"field": field, "back": back})}  # fmt: skip
    return render(request, "tools/edit_schema.html", context | more, status=status)


def _get(pk: int) -> Tool:
    return get_object_or_404(Tool.objects.select_related("current_version"), pk=pk)


def _name(request: HttpRequest) -> str:
    return cast(User, request.user).get_username()
