"""What a schema's author adds to it: severities, hints, and which fields are out of date."""

from __future__ import annotations

from typing import Any

import pytest

from retrycontract import ErrorSeverity
from tests.contract.schema_findings import findings, one

TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "severity"),
    [
        pytest.param({"x-severity": "warning"}, ErrorSeverity.WARNING, id="warning"),
        pytest.param({"x-severity": "info"}, ErrorSeverity.INFO, id="info"),
        pytest.param({"x-severity": "error"}, ErrorSeverity.ERROR, id="error"),
        pytest.param({"x-severity": ["info"]}, ErrorSeverity.ERROR, id="nonsense"),
        pytest.param({"$ref": "#/$defs/t", "x-severity": "info"}, ErrorSeverity.INFO, id="beside-a-reference"),
        pytest.param({"$ref": "#/$defs/loud", "x-severity": "info"}, ErrorSeverity.ERROR, id="the-nearest-counts"),
        pytest.param(
            {"x-severity": "info", "anyOf": [{"$ref": "#/$defs/t"}, {"$ref": "#/$defs/t", "minLength": 2}]},
            ErrorSeverity.INFO,
            id="of-a-union",
        ),
    ],
)
def test_a_subschema_lowers_its_own_errors(schema: dict[str, Any], severity: ErrorSeverity) -> None:
    definitions = {"t": TEXT, "loud": TEXT | {"x-severity": "error"}}
    schema = schema if "$ref" in schema or "anyOf" in schema else schema | TEXT
    found = findings({"properties": {"a": schema, "b": TEXT}, "$defs": definitions}, {"a": 1})
    assert [error.severity for error in found.errors] == [severity]
    assert found.is_valid is (severity < ErrorSeverity.ERROR)
    assert len(found.warnings) == found.is_valid


def test_a_lowered_error_does_not_hide_the_same_one_unlowered() -> None:
    schema = {"allOf": [{"required": ["a"], "x-severity": "info"}, {"required": ["a"]}]}
    assert not findings(schema, {}).is_valid


@pytest.mark.parametrize(
    ("schema", "hint"),
    [
        pytest.param(TEXT | {"x-hint": "send a name"}, "send a name", id="x-hint"),
        pytest.param(TEXT | {"x-hints": {"type": "a text"}, "x-hint": "other"}, "a text", id="x-hints-by-keyword"),
        pytest.param(TEXT | {"x-hints": {"minLength": "longer"}}, "send 'a' as string", id="x-hints-for-another"),
        pytest.param(TEXT | {"x-hint": 3, "x-hints": 3}, "send 'a' as string", id="nonsense"),
        pytest.param({"$ref": "#/$defs/t", "x-hint": "beside"}, "beside", id="beside-a-reference"),
        pytest.param({"allOf": [{"$ref": "#/$defs/u"}], "x-hint": "outer"}, "inner", id="the-nearest-counts"),
        pytest.param({"allOf": [{"$ref": "#/$defs/t", "x-hint": "outer"}]}, "outer", id="within-allOf"),
        pytest.param(TEXT | {"x-hint": "a\nb" + "c" * 500}, None, id="long"),
    ],
)
def test_the_authors_hint_replaces_ours(schema: dict[str, Any], hint: str | None) -> None:
    definitions = {"t": TEXT, "u": {"$ref": "#/$defs/t", "x-hint": "inner"}}
    error = one({"properties": {"a": schema}, "$defs": definitions}, {"a": 1.5})
    if hint is None:
        assert len(error.hint or "") <= 160
        assert "\n" not in (error.hint or "")
    else:
        assert error.hint == hint


def test_a_deprecated_field_that_is_used_gives_a_warning() -> None:
    schema = {
        "properties": {
            "old": {"deprecated": True},
            "new": {},
            "list": {"items": {"$ref": "#/$defs/old"}},
            "part": {"properties": {"x": {"deprecated": True}}},
        },
        "$defs": {"old": {"deprecated": True, "type": "integer"}},
    }
    found = findings(schema, {"old": 1, "new": 1, "list": [1, 2], "part": {}}, strict=True)
    assert [error.field_path for error in found.errors] == ["/list/0", "/list/1", "/old"]
    assert {error.severity for error in found.errors} == {ErrorSeverity.WARNING}
    assert found.is_valid
    assert not findings(schema, {"new": 1}).errors
