"""The document that the service publishes about itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from time import thread_time
from typing import Any

import jsonschema
import jsonschema_rs
import pytest
from django.test import Client

from retrycontract.api import problems
from retrycontract.api.problems import CONTENT_TYPE, STATUS
from retrycontract.api.routes import api
from tests.api.conftest import Door, Reply, check_against_document, document
from tests.factories import RIGHT, make_tool

pytestmark = pytest.mark.django_db
COMMITTED = Path(__file__).resolve().parents[2] / "docs" / "openapi.json"


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


def test_the_document_is_written_once_however_often_it_is_asked_for() -> None:
    first = Client().get("/api/v1/openapi.json").content
    begun = thread_time()
    api.get_openapi_schema()
    made = thread_time()
    assert [Client().get("/api/v1/openapi.json").content for _ in range(3)] == [first] * 3
    assert thread_time() - made < made - begun


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
            content = [] if status == "304" else [expected]
            assert list(response.get("content", ())) == content, (method, path, status)


def test_the_committed_document_is_the_one_that_is_served() -> None:
    """`make openapi` writes it."""
    assert json.loads(COMMITTED.read_text(encoding="utf-8")) == document()


def test_every_refusal_is_declared_with_its_code_and_type() -> None:
    for path, method, operation in operations():
        for status, response in operation["responses"].items():
            if int(status) < 400:
                continue
            declared = response["content"][CONTENT_TYPE]["schema"]["properties"]
            assert declared["code"]["enum"], (method, path, status)
            assert declared["type"]["enum"] == [
                f"urn:retrycontract:problem:{code}" for code in declared["code"]["enum"]
            ]
            assert {STATUS[code] for code in declared["code"]["enum"]} == {int(status)}


def test_every_code_that_is_declared_is_used_and_described() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in Path(problems.__file__).parent.glob("*.py"))
    used = {code: int(status) for status, code in re.findall(r'problem_response\(\s*(\d+), "([a-z-]+)"', source)}
    used |= {code: STATUS[code] for code in re.findall(r'Problem\(\s*"([a-z-]+)",\s', source)}
    assert used | {"http-error": 400} == STATUS


HEADERS = [
    ("post_call", "202", {"Location", "Retry-After", "Preference-Applied"}),
    ("post_call", "200", {"Preference-Applied"}),
    ("get_wait", "202", {"Location", "Retry-After", "Preference-Applied"}),
    ("get_tools", "429", {"Retry-After"}),
    ("get_tools", "503", {"Retry-After"}),
    ("get_tools", "401", {"WWW-Authenticate"}),
    ("put_tool", "201", {"ETag", "Location"}),
    ("put_tool", "412", {"ETag"}),
    ("get_tool", "304", {"ETag"}),
]


@pytest.mark.parametrize(("name", "status", "headers"), HEADERS)
def test_the_headers_of_an_answer_are_declared(name: str, status: str, headers: set[str]) -> None:
    (operation,) = [operation for _, _, operation in operations() if operation["operationId"] == name]
    assert set(operation["responses"][status]["headers"]) == headers | {"traceparent", "X-Request-ID"}


def test_the_headers_of_a_request_are_declared() -> None:
    taken = {
        operation["operationId"]: {p["name"] for p in operation["parameters"] if p["in"] == "header"}
        for _, _, operation in operations()
    }
    always = {"traceparent", "X-Request-ID"}
    assert taken["post_call"] == always | {"Idempotency-Key", "Prefer"}
    assert taken["put_tool"] == always | {"If-Match", "If-None-Match"}
    assert taken["get_wait"] == always | {"Prefer"}
    assert all(headers >= always for headers in taken.values())
    posts = {operation["operationId"] for _, method, operation in operations() if method == "post"}
    assert posts == {name for name, headers in taken.items() if "Idempotency-Key" in headers}


def test_no_parameter_of_an_address_is_null() -> None:
    for _, _, operation in operations():
        assert {"type": "null"} not in list(nodes(operation["parameters"]))


def test_every_link_leads_to_an_operation_and_names_its_parameters() -> None:
    parameters = {operation["operationId"]: operation["parameters"] for _, _, operation in operations()}
    found = [
        link
        for _, _, operation in operations()
        for response in operation["responses"].values()
        for link in response.get("links", {}).values()
    ]
    assert found
    for link in found:
        assert set(link["parameters"]) <= {parameter["name"] for parameter in parameters[link["operationId"]]}


def test_the_examples_are_taken(door: Door) -> None:
    schemas = document()["components"]["schemas"]
    (tool,) = schemas["ToolIn"]["examples"]
    assert door.put("/tools/read_file", tool).status == 201
    for example in schemas["CallIn"]["examples"]:
        assert door.post("/calls", example).status == 200
    for example in schemas["CheckIn"]["examples"]:
        assert door.post("/check", example).status == 200
    lists = document()["paths"]["/api/v1/tools/import"]["post"]["requestBody"]["content"]["application/json"][
        "examples"
    ]
    for example in lists.values():
        assert door.post("/tools/import", example["value"]).body["refused"] == []


def test_an_answer_that_is_not_as_declared_would_be_found(door: Door) -> None:
    """The negative control of the check that all tests of the API run through."""
    make_tool(door.agent)
    good = door.submit(RIGHT)
    for body in ({**good.body, "attempt": "one"}, {**good.body, "status": "fine"}, {}):
        with pytest.raises(jsonschema_rs.ValidationError):
            check_against_document("POST", "/calls", Reply(200, body, good.headers, ""))
    with pytest.raises(AssertionError, match="not declared"):
        check_against_document("POST", "/calls", Reply(206, good.body, good.headers, ""))
