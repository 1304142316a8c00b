"""The playground: try an output against a schema and read what a model would; nothing is stored."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dashboard.playground.trial import EXAMPLES, PlaygroundForm, of_tool, shapes_of
from dashboard.shared.responses import REFUSED, is_htmx
from dashboard.tools.tool_figures import MOST_TOOLS
from retrycontract.contract.outputs.source_code import UnknownLanguageError
from retrycontract.contract.schemas.admission import InvalidSchema
from retrycontract.languages.grammars import MissingGrammarError
from retrycontract.store.models import Tool
from retrycontract.usecases.calls.dry_run import DryRun


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def playground(request: HttpRequest) -> HttpResponse:
    """Show the playground, with an example or a registered tool; POST tries what was typed."""
    if request.method != "POST":
        return _page(request, PlaygroundForm(initial=_beginning(request)))
    form = PlaygroundForm(request.POST)
    tried = _try(form)
    if is_htmx(request):
        return render(request, "call/_verdict.html", {"form": form} | _verdict(tried))
    form.hide_secrets(tried)
    return _page(request, form, status=200 if tried else REFUSED, **_verdict(tried))


def _beginning(request: HttpRequest) -> dict[str, Any]:
    chosen = request.GET.get("tool", "")
    if chosen.isascii() and chosen.isdigit() and len(chosen) < 19:  # as a key has
        return of_tool(get_object_or_404(Tool.objects.select_related("current_version"), pk=chosen))
    example = EXAMPLES.get(request.GET.get("example", ""))
    return example.initial if example else {}


def _try(form: PlaygroundForm) -> DryRun | None:
    """Try it, or note at its field what keeps it from being tried."""
    if not form.is_valid():
        return None
    try:
        return form.run()
    except InvalidSchema as refused:
        form.refused = refused
        form.add_error("schema", refused.reason)
    except (UnknownLanguageError, MissingGrammarError) as refused:
        form.add_error("name", str(refused))
    return None


def _verdict(tried: DryRun | None) -> dict[str, Any]:
    shapes = shapes_of(tried.answer) if tried and tried.answer else []
    return {"tried": tried, "shapes": shapes, "shown": tried.redacted if tried else None}


def _page(request: HttpRequest, form: PlaygroundForm, *, status: int = 200, **context: Any) -> HttpResponse:
    tools = Tool.objects.exclude(current_version=None).only("name", "namespace")[:MOST_TOOLS]
    shared = {"form": form, "tools": tools, "examples": EXAMPLES.items()}
    return render(request, "playground/playground.html", shared | context, status=status)
