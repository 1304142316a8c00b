"""The forms of the tools: a schema to try and to register, with its refusals at their places."""

from __future__ import annotations

import copy
import json
from typing import Any

from django import forms

from retrycontract.checking import admit_apart
from retrycontract.contract import pointers
from retrycontract.contract.outputs.json_text import JsonFault, parse_json
from retrycontract.contract.redaction.sanitizer import has_redaction
from retrycontract.contract.schemas.invalid_schema import InvalidSchema
from retrycontract.store.models import Agent
from retrycontract.store.models.tools import KINDS
from retrycontract.usecases.calls.check_output import DESK

MAX_REFERENCES = 20  # that are followed from one place
MAX_NAME = 300  # as the API takes it
NO_CONTROLS = r"\A[^\x00-\x1f\x7f]+\Z"
REDACTED = (
    "A value of this schema is not shown, since it is a secret. Write the value where [REDACTED: …] stands, or take "
    "the place out."
)


class SchemaForm(forms.Form):
    """Take a schema as text; what is wrong with it is told with its place."""

    schema = forms.CharField(strip=False)
    # The revision that was shown when the form was opened: a newer one must not be replaced unseen.
    base = forms.CharField(required=False, max_length=200, widget=forms.HiddenInput)

    refused: InvalidSchema | None = None

    def clean_schema(self) -> Any:
        """Read the JSON as strictly as a model's, and admit it as a schema."""
        value, fault = parse_json(self.cleaned_data["schema"])
        if fault is not None:
            raise forms.ValidationError(_told(fault))
        if has_redaction(value):
            raise forms.ValidationError(REDACTED)
        try:
            admit_apart(value, key=DESK)
        except InvalidSchema as refused:
            self.refused = refused
            raise forms.ValidationError(refused.reason) from None
        return value


class ToolForm(SchemaForm):
    """Take a new tool."""

    agent = forms.ModelChoiceField(Agent.objects.order_by("name"), empty_label=None)
    name = forms.RegexField(NO_CONTROLS, max_length=MAX_NAME)
    kind = forms.ChoiceField(choices=KINDS)
    description = forms.CharField(required=False, max_length=4_000)


def written(schema: Any) -> str:
    """Write a schema to be edited."""
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


def _told(fault: JsonFault) -> str:
    place = f" (at {fault.pointer})" if fault.pointer else ""
    return f"This is not JSON yet: {fault.reason}{place}."
