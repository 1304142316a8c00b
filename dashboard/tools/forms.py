"""The forms of the tools: a schema to try and to register, with its refusals at their places."""

from __future__ import annotations

import json
from typing import Any

from django import forms

from retrycontract.checking import admit_apart
from retrycontract.contract.outputs.json_text import JsonFault, parse_json
from retrycontract.contract.redaction.sanitizer import has_redaction
from retrycontract.contract.schemas.invalid_schema import InvalidSchema
from retrycontract.store.models import Agent
from retrycontract.store.models.tools import KINDS
from retrycontract.usecases.calls.check_output import DESK

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


def _told(fault: JsonFault) -> str:
    place = f" (at {fault.pointer})" if fault.pointer else ""
    return f"This is not JSON yet: {fault.reason}{place}."
