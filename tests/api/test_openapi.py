"""The document that the service publishes about itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import jsonschema_rs
import pytest
from django.test import Client

from retrycontract.api.problems import CONTENT_TYPE
from tests.api.conftest import Door, Reply, check_against_document, document
from tests.factories import RIGHT, make_tool

pytestmark = pytest.mark.django_db


def operations() -> Iterator[tuple[str, str, Any]]:
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def nodes(value: Any) -> Iterator[Any]:
    yield value
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from nodes(child)


def test_the_document_is_served_to_everybody() -> None:
    response = Client().get("/api/v1/openapi.json")
    assert (response.status_code, response["Content-Type"]) == (200, "application/json")


def test_the_document_is_openapi_3_1() -> None:
    published = document()
    assert re.fullmatch(r"3\.1\.\d+", published["openapi"])
    assert {"title", "version", "license"} <= set(published["info"])
    assert {"openapi", "info", "paths", "components"} <= set(published)
    assert set(published["components"]["securitySchemes"]) == {"ApiKeyAuth"}
    assert published["components"]["securitySchemes"]["ApiKeyAuth"]["scheme"] == "bearer"


def test_every_schema_is_a_json_schema_and_every_reference_leads_somewhere() -> None:
    published = document()
    for name, schema in published["components"]["schemas"].items():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert re.fullmatch(r"[A-Za-z0-9._-]+", name)
    for node in nodes(published):
        if isinstance(node, dict) and "$ref" in node:
            prefix, _, name = node["$ref"].rpartition("/")
            assert prefix == "#/components/schemas"
            assert name in published["components"]["schemas"]


def test_every_operation_has_an_id_of_its_own_a_key_and_words() -> None:
    ids = [operation["operationId"] for _, _, operation in operations()]
    assert len(set(ids)) == len(ids) > 0
    for _, _, operation in operations():
        assert operation["security"] == [{"ApiKeyAuth": []}]
        assert operation["summary"]
        assert operation["description"]


def test_every_part_of_a_path_is_a_parameter() -> None:
    for path, _, operation in operations():
        declared = {p["name"] for p in operation.get("parameters", ()) if p["in"] == "path" and p["required"]}
        assert declared == set(re.findall(r"\{(\w+)\}", path)), path


def test_problems_are_declared_under_their_media_type() -> None:
    for path, method, operation in operations():
        for status, response in operation["responses"].items():
            answer = "text/event-stream" if path.endswith("/events") else "application/json"
            expected = CONTENT_TYPE if int(status) >= 400 else answer
            assert list(response["content"]) == [expected], (method, path, status)


def test_an_answer_that_is_not_as_declared_would_be_found(door: Door) -> None:
    """The negative control of the check that all tests of the API run through."""
    make_tool(door.agent)
    good = door.submit(RIGHT)
    for body in ({**good.body, "attempt": "one"}, {**good.body, "status": "fine"}, {}):
        with pytest.raises(jsonschema_rs.ValidationError):
            check_against_document("POST", "/calls", Reply(200, body, good.headers, ""))
    with pytest.raises(AssertionError, match="not declared"):
        check_against_document("POST", "/calls", Reply(206, good.body, good.headers, ""))
