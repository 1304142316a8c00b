"""The playground: try an output against a schema and read what a model would; nothing is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dashboard.shared.forms import UNCHECKABLE
from dashboard.shared.responses import REFUSED, is_htmx
from dashboard.tools.tool_figures import MOST_TOOLS, shown_schema
from dashboard.tools.views import MAX_NAME, NO_CONTROLS, SchemaForm, written
from retrycontract.children.pool import ChildUnavailableError
from retrycontract.contract.feedback.tool_result import RENDERERS, Provider, ToolResult
from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.json_text import parse_json
from retrycontract.contract.outputs.source_code import UnknownLanguageError
from retrycontract.contract.schemas.admission import InvalidSchema
from retrycontract.languages.grammars import MissingGrammarError
from retrycontract.store.models import Tool
from retrycontract.store.models.tools import KINDS
from retrycontract.store.sealing import UnreadableError
from retrycontract.usecases.tools.contracts import attempts_allowed, sanitizer, schema_to_show
from retrycontract.usecases.tools.try_schema import DryRun, dry_run

MOST_ATTEMPTS: Final = 10  # as the API takes them
COUNTS: Final = [(str(number), str(number)) for number in range(1, MOST_ATTEMPTS + 1)]
TITLES: Final[dict[Provider, str]] = {
    "openai": "OpenAI, Chat Completions",
    "openai_responses": "OpenAI, Responses",
    "anthropic": "Anthropic, Messages",
    "gemini": "Gemini",
    "mcp": "MCP",
    "langchain": "LangChain",
    "pydantic_ai": "Pydantic AI",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaygroundExample:
    """Offer something to start from."""

    title: str
    name: str
    schema: str
    output: str
    kind: Kind = Kind.TOOL_CALL

    @property
    def initial(self) -> dict[str, Any]:
        """Give it as the form begins with it."""
        return asdict(self)


FLIGHT: Final = written({
    "type": "object",
    "properties": {
        "from": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "date": {"type": "string", "format": "date"},
        "cabin": {"enum": ["economy", "premium", "business"]},
        "seats": {"type": "integer", "minimum": 1, "maximum": 9},
    },
    "required": ["from", "date", "cabin"],
    "additionalProperties": False,
})  # fmt: skip
TICKET: Final = written({
    "type": "object",
    "properties": {
        "title": {"type": "string", "maxLength": 60},
        "priority": {"enum": ["low", "normal", "urgent"]},
        "labels": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    },
    "required": ["title", "priority"],
})  # fmt: skip
MOST_OF_SHAPE: Final = 6_000  # characters: three times the longest feedback
EXAMPLES: Final = {
    "values": PlaygroundExample(
        title="Wrong values", name="book_flight", schema=FLIGHT,
        output=written({"from": "Zurich", "date": "tomorrow", "cabin": "buisness", "seats": "2"}),
    ),
    "names": PlaygroundExample(
        title="Wrong names", name="book_flight", schema=FLIGHT,
        output=written({"origin": "ZRH", "Date": "2026-12-01", "cabin": "economy"}),
    ),
    "cut": PlaygroundExample(
        title="Cut off", name="create_ticket", schema=TICKET, output='{"title": "Login fails", "labels": ["au',
    ),
    "reply": PlaygroundExample(
        title="A reply in prose", name="triage", schema=TICKET, kind=Kind.AGENT_RESPONSE,
        output='Here you go:\n```json\n{"title": "Login fails", "priority": "high"}\n```',
    ),
    "file": PlaygroundExample(
        title="A Python file", name="greet.py", schema="true", kind=Kind.SOURCE_FILE,
        output='def greet(name):\n    print(f"Hello, {name}"\n\ngreet("Ada")',
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TrialRefusal:
    """Say what keeps something from being tried, at which field and, of a schema, at which place."""

    field: str
    reason: str
    pointer: str | None


class PlaygroundForm(SchemaForm):
    """Take what is to be tried."""

    name = forms.RegexField(NO_CONTROLS, max_length=MAX_NAME, initial="tool")
    kind = forms.ChoiceField(choices=KINDS, initial=Kind.TOOL_CALL)
    output = forms.CharField(strip=False, error_messages={"required": "Paste an output: what the model sent."})
    strict = forms.BooleanField(required=False, initial=True)
    attempt = forms.ChoiceField(choices=COUNTS, initial="1")
    max_attempts = forms.ChoiceField(choices=COUNTS, initial="3")
    # The registered tool that the schema came from: one with secrets is judged by as it was written.
    tool = forms.ModelChoiceField(
        Tool.objects.select_related("current_version"), required=False, widget=forms.HiddenInput
    )
    field_order = ("tool",)  # the schema asks for it
    is_redacted = False

    def clean_output(self) -> str:
        """Take the output as the model wrote it: browsers send lines as the mail does."""
        output: str = self.cleaned_data["output"]
        return output.replace("\r\n", "\n")

    def clean_schema(self) -> Any:
        """Leave a registered schema as it is shown to the one that it stands for."""
        tool: Tool | None = self.cleaned_data.get("tool")
        if tool is not None and tool.current_version is not None:
            value, fault = parse_json(self.cleaned_data["schema"])
            if fault is None and value == shown_schema(tool.current_version):
                try:
                    return tool.current_version.judged_by
                except UnreadableError:
                    raise forms.ValidationError(
                        "The secrets in this schema are sealed with a key that the service has no more."
                    ) from None
        return super().clean_schema()

    def run(self) -> DryRun:
        """Try it; raises InvalidSchema and what the languages of files raise."""
        given = self.cleaned_data
        return dry_run(
            given["schema"], given["output"], tool_name=given["name"], strict=given["strict"], kind=Kind(given["kind"]),
            attempt=int(given["attempt"]), max_attempts=int(given["max_attempts"]),
        )  # fmt: skip

    @property
    def attempts_left(self) -> bool:
        """Tell whether the model may try again when this fails."""
        return int(self.cleaned_data["attempt"]) < int(self.cleaned_data["max_attempts"])

    @property
    def refusals(self) -> list[TrialRefusal]:
        """List what keeps it from being tried; reasons quote what was typed, so that secrets are taken out."""
        hider = sanitizer()
        place = hider.redact_pointer(self.refused.pointer) if self.refused else None
        return [
            TrialRefusal(str(self[name].label), hider.redact_text(str(reasons[0])), place if name == "schema" else None)
            for name, reasons in self.errors.items()
        ]

    def hide_secrets(self, tried: DryRun | None) -> None:
        """Take the secrets out of what was typed, which comes back letter by letter otherwise."""
        hider, typed = sanitizer(), {name: self.data.get(name, "") for name in ("name", "tool", "schema", "output")}
        output = None
        # Something in it is secret, by itself or as the schema says.
        if tried and tried.findings.is_parsed and tried.examined.hides:
            output = tried.redacted if tried.kind is Kind.SOURCE_FILE else written(tried.redacted)
        hidden = {
            "name": hider.redact_name(typed["name"]),
            "tool": hider.redact_name(typed["tool"]),
            "schema": _without_secrets(typed["schema"], schema_to_show),
            "output": _without_secrets(typed["output"], hider.redact) if output is None else output,
        }
        self.is_redacted = any(hidden[name] != text for name, text in typed.items())
        self.data = dict(self.data.items()) | hidden


@dataclass(frozen=True, slots=True)
class ProviderForm:
    """Show the answer as one provider takes it."""

    title: str
    text: str

    @property
    def is_long(self) -> bool:
        """Tell whether it holds more than the text that the model reads: some shapes hold each error, too."""
        return len(self.text) > MOST_OF_SHAPE


def shapes_of(answer: ToolResult) -> list[ProviderForm]:
    return [ProviderForm(TITLES[provider], written(answer.render(provider))) for provider in RENDERERS]


def of_tool(tool: Tool) -> dict[str, Any]:
    """Give a registered tool as the form begins with it."""
    return {
        "tool": tool.pk, "name": tool.name, "kind": tool.kind, "strict": tool.strict,
        "max_attempts": str(attempts_allowed(tool, tool.name)),
        "schema": written(shown_schema(tool.current_version)) if tool.current_version else "",
    }  # fmt: skip


def _without_secrets(text: str, redact: Callable[[Any], Any]) -> str:
    value, fault = parse_json(text)
    if fault is not None:
        return sanitizer().redact_text(text)
    shown = redact(value)
    return text if shown == value else written(shown)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def playground(request: HttpRequest) -> HttpResponse:
    """Show the playground, with an example or a registered tool; POST tries what was typed."""
    if request.method != "POST":
        chosen = request.GET.get("tool", "")
        if chosen.isascii() and chosen.isdigit() and len(chosen) < 19:
            beginning = of_tool(get_object_or_404(Tool.objects.select_related("current_version"), pk=chosen))
        elif example := EXAMPLES.get(request.GET.get("example", "")):
            form = PlaygroundForm({"strict": "on", "attempt": "1", "max_attempts": "3"} | example.initial)
            return _page(request, form, **_verdict(_try(form)))
        else:
            beginning = {}
        return _page(request, PlaygroundForm(initial=beginning))
    form = PlaygroundForm(request.POST)
    tried = _try(form)
    if is_htmx(request):
        return render(request, "call/_verdict.html", {"form": form, "is_preview": True} | _verdict(tried))
    form.hide_secrets(tried)
    return _page(request, form, status=200 if tried else REFUSED, **_verdict(tried))


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
    except ChildUnavailableError:
        form.add_error("schema", UNCHECKABLE)
    return None


def _verdict(tried: DryRun | None) -> dict[str, Any]:
    shapes = shapes_of(tried.answer) if tried and tried.answer else []
    return {"tried": tried, "shapes": shapes, "shown": tried.redacted if tried else None}


def _page(request: HttpRequest, form: PlaygroundForm, *, status: int = 200, **context: Any) -> HttpResponse:
    tools = Tool.objects.exclude(current_version=None).only("name", "namespace")[:MOST_TOOLS]
    shared = {"form": form, "tools": tools, "examples": EXAMPLES.items()}
    return render(request, "playground/playground.html", shared | context, status=status)
