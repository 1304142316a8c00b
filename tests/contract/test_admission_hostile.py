"""Hostile schemas: each is refused or admitted in bounded work, and nothing is ever fetched."""

from __future__ import annotations

import socket
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from retrycontract import RetryContract, Tool
from retrycontract.checking import admit_apart
from retrycontract.contract.schemas.admission import DearSchema, InvalidSchema, admit, compile_schema, examine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Schema = dict[str, Any]


def nested(levels: int, keyword: str = "not", inmost: Any = None) -> Schema:
    schema: Schema = inmost if inmost is not None else {}
    for _ in range(levels):
        schema = {keyword: schema}
    return schema


def doubled(levels: int, keyword: str, width: int = 2) -> Schema:
    """Each definition applies the next one `width` times: a small text, width ** levels subschemas."""
    steps = {f"a{n}": {keyword: [{"$ref": f"#/$defs/a{n + 1}"}] * width} for n in range(levels)}
    return {"$ref": "#/$defs/a0", "$defs": {**steps, f"a{levels}": {"type": "string"}}}


def doubled_by_sharing(levels: int) -> Schema:
    schema: Schema = {"type": "integer"}
    for _ in range(levels):
        schema = {"anyOf": [schema, schema]}
    return schema


def seen_again(levels: int, keyword: str) -> Schema:
    """Each level looks again at everything that the levels inside evaluated."""
    schema: Schema = {"items": {"type": "string"}, "additionalProperties": {"type": "string"}}
    for _ in range(levels):
        schema = {"allOf": [schema], keyword: False}
    return schema


def chain(length: int) -> Schema:
    steps: Schema = {f"a{n}": {"$ref": f"#/$defs/a{n + 1}"} for n in range(length)}
    return {"items": {"$ref": "#/$defs/a0"}, "$defs": {**steps, f"a{length}": {"type": "string"}}}


def endless() -> Schema:
    schema: Schema = {"properties": {}}
    schema["properties"]["again"] = schema
    return schema


class TwoFaces(dict[str, Any]):
    """Show one content when asked, another when written."""

    def items(self) -> Any:
        raise RuntimeError("no items today")


# name, schema, code, pointer (None where its end does not matter)
BOMBS: list[tuple[str, Any, str, str | None]] = [
    ("200 kB of text", {"description": "x" * 200_000}, "too-large", ""),
    ("200 kB of name", {"properties": {"x" * 200_000: {}}}, "too-large", ""),
    ("100 kB of text 4,000 times", {"enum": ["x" * 100_000] * 4_000}, "too-large", ""),
    ("130 kB in two-byte characters", {"description": "é" * 66_000}, "too-large", ""),
    ("70,000 values", {"enum": [0] * 70_000}, "too-many-nodes", "/enum"),
    ("6,000 values where no keyword holds them", {"x": list(range(6_000))}, "too-many-nodes", "/x"),
    ("6,000 names called enum", {"properties": {"enum": {f"p{n}": 0 for n in range(6_000)}}}, "too-many-nodes", None),
    ("6,000 properties", {"properties": {f"p{n}": {} for n in range(6_000)}}, "too-many-nodes", "/properties"),
    ("65 levels", nested(65), "too-deep", "/not" * 64),
    ("100,000 levels", nested(100_000), "too-deep", "/not" * 64),
    ("a schema that holds itself", endless(), "too-deep", None),
    ("a schema with two faces", TwoFaces(type="object"), "not-json", ""),
    ("anyOf doubled 20 times by sharing", doubled_by_sharing(20), "too-many-nodes", None),
    ("anyOf doubled 20 times", doubled(20, "anyOf"), "too-deep", None),
    ("oneOf doubled 100 times", doubled(100, "oneOf"), "too-deep", None),
    ("a chain of 2,000 references", chain(2_000), "too-deep", None),
    ("201 names", {"patternProperties": {f"{n}": {} for n in range(201)}}, "pattern", "/patternProperties/200"),
    ("a name of 513 characters", {"patternProperties": {"a" * 513: {}}}, "pattern", None),
    ("a pattern that compiles to a gigabyte", {"pattern": "a{1000}{1000}{1000}"}, "pattern", "/pattern"),
    # a unique list: compared item by item it takes seconds
    ("2,400 objects for names", {"required": [{"a": n} for n in range(2_400)]}, "metaschema", "/required/0"),
    ("4,900 faults", {"properties": {f"p{n}": "x" for n in range(4_900)}}, "metaschema", "/properties/p0"),
]  # fmt: skip


# refused here, where nobody can cut off the work, and judged by in a child process
DEAR: list[tuple[str, Any, str, str | None]] = [
    ("6,000 values", {"enum": list(range(6_000))}, "too-many-nodes", "/enum"),
    ("anyOf doubled 15 times", doubled(15, "anyOf"), "expansion", None),
    ("allOf doubled 15 times", doubled(15, "allOf"), "expansion", None),
    ("oneOf doubled 14 times", doubled(14, "oneOf"), "expansion", None),
    ("wide and flat", doubled(4, "anyOf", width=11), "expansion", "/$defs/a0"),
    ("unevaluatedItems on 20 levels", seen_again(20, "unevaluatedItems"), "expansion", None),
    ("unevaluatedProperties on 20 levels", seen_again(20, "unevaluatedProperties"), "expansion", None),
    ("201 patterns", {"items": [{"pattern": f"{n}"} for n in range(201)],
                      "$schema": "http://json-schema.org/draft-07/schema#"}, "pattern", "/items/200/pattern"),
    ("a pattern of 513 characters", {"pattern": "a" * 513}, "pattern", "/pattern"),
    ("look-around", {"properties": {"p": {"pattern": "^(?!.*[.]{2})"}}}, "pattern", "/properties/p/pattern"),
    ("look-around in a name", {"patternProperties": {"^(?=a)": {}}}, "pattern", "/patternProperties/^(?=a)"),
    ("a backreference", {"pattern": r"^(a|b)\1$"}, "pattern", "/pattern"),
    (
        "100 patterns of 400 kB each",
        {"properties": {f"p{n}": {"pattern": rf"[\w\W]{{0,450}}{n}"} for n in range(100)}},
        "pattern",
        "/properties/p0/pattern",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "code", "pointer"), [row[1:] for row in DEAR], ids=[row[0] for row in DEAR])
def test_a_dear_schema_is_admitted_where_its_work_is_bounded_alone(schema: Any, code: str, pointer: str | None) -> None:
    with pytest.raises(DearSchema) as caught:
        admit(schema)
    assert caught.value.code == code
    assert pointer is None or caught.value.pointer == pointer
    told = examine(schema, is_bounded=True).warnings
    assert told
    assert told[0].reason.startswith("Outputs are judged in a child process, and cut off when they take too long: ")
    assert admit_apart(schema) == told


@pytest.mark.parametrize(("schema", "code", "pointer"), [row[1:] for row in BOMBS], ids=[row[0] for row in BOMBS])
def test_a_bomb_is_refused_with_code_and_pointer(schema: Any, code: str, pointer: str | None) -> None:
    for is_bounded in (False, True):
        with pytest.raises(InvalidSchema) as caught:
            examine(schema, is_bounded=is_bounded)
    assert caught.value.code == code
    assert pointer is None or caught.value.pointer == pointer
    assert len(str(caught.value)) < 1_000


@pytest.mark.parametrize(
    "schema",
    [
        nested(63),
        {"enum": list(range(4_998))},
        doubled(11, "anyOf"),
        chain(30),
        {"properties": {f"p{n}": {"$ref": "#"} for n in range(2_400)}},
        {"properties": {f"p{n}": {"pattern": f"^.{{1,40}}{n}$"} for n in range(200)}},
        {"$defs": {f"d{n}": {"$dynamicAnchor": "n", "items": {"$dynamicRef": "#n"}} for n in range(1_200)}},
    ],
    ids=["levels", "values", "expansion", "chain", "references", "patterns", "anchors"],
)
def test_a_schema_at_a_limit_is_admitted(schema: Schema) -> None:
    admit(schema)


ME: Schema = {"$ref": "#"}


def followed(count: int) -> dict[str, Any]:
    return {f"d{n}": {"properties": {"n": {"$ref": f"#/$defs/d{n + 1}"}}} for n in range(count)}


def one_of(*branches: Mapping[str, Any]) -> dict[str, Any]:
    return {"oneOf": [{"properties": dict(each), "required": [*each]} for each in branches]}


@pytest.mark.parametrize(
    ("schema", "cheap"),
    [
        ({"items": {"$ref": "#"}}, True),
        ({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}}, True),
        ({"properties": {"next": ME} | {f"x{n}": {"type": "integer"} for n in range(600)}}, True),
        ({"$ref": "#/$defs/d0", "$defs": followed(600) | {"d600": {}}}, True),
        ({"$ref": "#/$defs/d0", "$defs": followed(60) | {"d60": ME}}, True),
        ({"anyOf": [{"properties": {"a": {"$ref": "#"}}}, {"type": "string"}]}, True),
        ({"allOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}, False),
        ({"items": {"$ref": "#"}, "contains": {"$ref": "#"}}, False),
        ({"properties": {"a": {"$ref": "#"}}, "patternProperties": {"a": {"$ref": "#"}}}, False),
        ({"items": {"$ref": "#"}, "allOf": [{"unevaluatedItems": False, "items": {"$ref": "#"}}]}, False),
        (one_of({"a": ME}, {"b": ME}, {"c": ME}), True),
        (one_of({"a": {"items": ME}}, {"b": {"anyOf": [{"type": "null"}, ME]}}), True),
        (one_of({"a": ME}, {"a": ME}), False),
        (one_of({"a": ME, "b": ME}, {"a": ME}), False),
        (one_of({"a": ME}, {"b": ME}) | {"additionalProperties": ME}, False),
        ({"anyOf": [{"properties": {"a": ME}}, {"additionalProperties": ME}]}, False),
        ({"anyOf": [{"properties": {"a": ME}}, {"patternProperties": {"^b": ME}}]}, False),
    ],
)
def test_recursion_that_enters_a_member_twice_is_cheap_to_a_small_depth_only(schema: Schema, cheap: bool) -> None:
    admission = examine(schema)
    assert (admission.cheap_depth == 100) is cheap
    assert any("levels" in warning.reason for warning in admission.warnings) is not cheap
    value: Any = 1
    for _ in range(admission.cheap_depth):
        value = [value]
    # Ends at once; ten levels more of the doubled recursion take minutes.
    assert isinstance(admission.validator.is_valid(value), bool)
    assert len(list(admission.validator.iter_errors(value))) < 10_000


def test_the_longest_chain_on_the_deepest_value_stays_inside_the_stack() -> None:
    schema = chain(28)
    schema["$defs"]["a28"] = {"anyOf": [{"type": "string"}, {"$ref": "#"}]}
    value: Any = "leaf"
    for _ in range(100):
        value = [value]
    validator = admit(schema)
    assert validator.is_valid(value)
    assert validator.evaluate(value).valid


WATCHED = ("open", "socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system", "urllib.Request")


class Watch:
    """Collect what Python opens or connects to while it listens; an audit hook can never be taken off again."""

    listener: list[str] | None = None

    @classmethod
    def hear(cls, event: str, arguments: tuple[Any, ...]) -> None:
        if cls.listener is not None and event in WATCHED:
            cls.listener.append(f"{event} {arguments!r}")


@pytest.fixture(scope="module")
def audit_hook() -> None:
    admit({"type": "object"})  # the metaschemas are loaded
    admit({"$schema": "http://json-schema.org/draft-04/schema#"})
    sys.addaudithook(Watch.hear)


@pytest.fixture
def watched(audit_hook: None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    heard: list[str] = []
    monkeypatch.setattr(Watch, "listener", heard)
    return heard


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """A server that only counts who calls: the engine's own connections raise no audit event."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.05)
        yield listener


def was_called(listener: socket.socket) -> bool:
    try:
        connection, _ = listener.accept()
    except TimeoutError:
        return False
    connection.close()
    return True


def shapes(address: str) -> list[Schema]:
    """Give every way to ask for an address."""
    return [
        {"$ref": address},
        {"properties": {"a": {"items": {"$ref": address + "#/$defs/a"}}}},
        {"$defs": {"unused": {"$ref": address}}},
        {"$dynamicRef": address + "#a"},
        {"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveRef": address},
        {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"$ref": address}}},
        {"$schema": "http://json-schema.org/draft-04/schema#", "id": address, "items": {"$ref": "other"}},
        {"$id": address, "properties": {"a": {"$ref": "other#a"}}},
        {"$schema": address},
        {"$ref": "#/x", "x": {"$ref": address}},
    ]


@pytest.mark.parametrize("shape", range(10))
def test_nothing_is_fetched_from_the_network(shape: int, watched: list[str], server: socket.socket) -> None:
    schema = shapes(f"http://127.0.0.1:{server.getsockname()[1]}/schema")[shape]
    with pytest.raises(InvalidSchema):
        admit(schema)
    assert watched == []
    assert not was_called(server)


@pytest.mark.parametrize("shape", range(10))
def test_nothing_is_read_from_the_file_system(shape: int, watched: list[str], tmp_path: Path) -> None:
    target = tmp_path / "schema"
    target.write_text("{}")
    (tmp_path / "other").write_text("{}")
    assert watched, "the watch hears these two"
    watched.clear()
    with pytest.raises(InvalidSchema):
        admit(shapes(target.as_uri())[shape])
    assert watched == []


def test_compiling_alone_fetches_nothing_either(server: socket.socket, tmp_path: Path) -> None:
    target = tmp_path / "schema"
    target.write_text("{}")
    for address in (f"http://127.0.0.1:{server.getsockname()[1]}/schema", target.as_uri()):
        with pytest.raises(InvalidSchema):
            compile_schema({"$ref": address})
    assert not was_called(server)


def test_the_server_would_notice_a_call(server: socket.socket) -> None:
    impatient = jsonschema_rs.HttpOptions(timeout=0.2)
    with pytest.raises(ValueError):
        jsonschema_rs.validator_for(
            {"$ref": f"http://127.0.0.1:{server.getsockname()[1]}/schema"}, http_options=impatient
        )
    assert was_called(server)


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf"])
def test_a_filter_may_nest_as_deep_as_any_value(keyword: str) -> None:
    parts = [{"and": {"type": "array", "items": E}}, {"or": {"type": "array", "items": E}}, {"not": E},
             {"field": {"type": "string"}, "op": {"enum": ["=", "<"]}}]  # fmt: skip
    branches = [{"properties": part, "required": [*part], "additionalProperties": False} for part in parts]
    schema = {"properties": {"where": E}, "$defs": {"e": {"type": "object", keyword: branches}}}
    contract = RetryContract([Tool(name="t", input_schema=schema)])
    for operator, status in (("=", "valid"), ("?", "retry")):
        value: Any = {"field": "a", "op": operator}
        for level in range(45):
            value = {"not": value} if level % 2 else {"and": [value, {"field": "b", "op": "<"}]}
        found = contract.check("t", operator, {"where": value})
        assert found.status == status
        assert all(error.field_path.endswith("/op") for error in found.errors)


E: Schema = {"$ref": "#/$defs/e"}
