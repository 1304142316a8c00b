"""Properties: whatever is proposed fits, mends its error, and makes nothing else worse."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from retrycontract import ErrorSeverity, Tool, ValueSanitizer
from retrycontract.contract.advice import combined_patch
from retrycontract.contract.checks.failure import Findings
from retrycontract.contract.checks.tool_arguments import check_arguments
from retrycontract.contract.patches import apply_patch
from retrycontract.contract.tool import CompiledTool

SANITIZER = ValueSanitizer()
NAMES = ["path", "maxBytes", "file_name", "tags", "limit", "mode", "a/b", "7"]
WORDS = ["a", "read", "5", "true", "null", '["x"]', "b c"]

LEAVES = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "minLength": 2},
        {"type": "integer", "maximum": 9},
        {"type": "number"},
        {"type": "boolean"},
        {"type": ["string", "null"]},
        {"enum": ["read", "write", "append"]},
        {"enum": [1, 2]},
        {"const": "Node"},
        {"type": "array", "items": {"type": "string"}},
        {"type": "array", "items": {"type": "integer"}, "minItems": 1},
        {"type": "object"},
    ]
)


def objects(members: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {
            "type": st.just("object"),
            "properties": st.dictionaries(st.sampled_from(NAMES), members, max_size=4),
            "required": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
        },
        optional={
            "additionalProperties": st.sampled_from([False, True, {"type": "integer"}]),
            "maxProperties": st.integers(1, 4),
            "dependentRequired": st.just({"path": ["limit"], "mode": ["tags"]}),
        },
    )


SCHEMAS = objects(
    st.recursive(
        LEAVES,
        lambda inner: st.one_of(
            objects(inner),
            inner.map(lambda schema: {"type": "array", "items": schema}),
            st.lists(inner, min_size=2, max_size=3).map(lambda branches: {"anyOf": branches}),
            st.lists(inner, min_size=2, max_size=3).map(lambda branches: {"oneOf": branches}),
        ),
        max_leaves=6,
    )
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 12) | st.sampled_from([0.5, 2.0]) | st.sampled_from([*WORDS, *NAMES]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*NAMES, "maxbytes", "pth"]), inner),
    max_leaves=8,
)


@st.composite
def instances(draw: st.DrawFn, schema: dict[str, Any]) -> Any:
    """Draw a value that the schema takes, but for the rules that tie fields together."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        return draw(instances(draw(st.sampled_from(branches))))
    kind = schema["type"] if isinstance(schema["type"], str) else schema["type"][0]
    if kind == "object":
        members = schema.get("properties", {})
        names = [name for name in members if name in schema.get("required", ()) or draw(st.booleans())]
        return {name: draw(instances(members[name])) for name in names}
    if kind == "array":
        return [draw(instances(schema["items"])) for _ in range(draw(st.integers(1, 2)))]
    simple = {"string": st.sampled_from(["read", "b c"]), "integer": st.integers(0, 9), "number": st.just(0.5)}
    return draw(simple.get(kind, st.booleans()))


@st.composite
def nearly(draw: st.DrawFn, value: Any) -> Any:
    """Draw what a model may have made of a value: now and then something about it is off."""
    if isinstance(value, dict):
        value = {draw(respelt(name)): draw(nearly(member)) for name, member in value.items()}
        if value and draw(st.integers(0, 5)) == 0:
            name = draw(st.sampled_from(sorted(value)))
            value = draw(displaced(value, name))
    elif isinstance(value, list):
        value = [draw(nearly(item)) for item in value]
    change = draw(st.integers(0, 20))
    if change < 6:
        off = [json.dumps(value), str(value), [value], {"value": value}, None, draw(respelt(value))]
        return off[change]
    return value[0] if change == 6 and isinstance(value, list) and value else value


@st.composite
def respelt(draw: st.DrawFn, text: Any) -> Any:
    if not isinstance(text, str) or not text or draw(st.integers(0, 3)):
        return text
    return draw(st.sampled_from([text.upper(), text.lower(), text[:-1], text.replace("_", "-"), f"{text}s"]))


@st.composite
def displaced(draw: st.DrawFn, value: dict[str, Any], name: str) -> dict[str, Any]:
    """Put a member one level lower, or into another, or leave it out."""
    rest = {key: member for key, member in value.items() if key != name}
    nests = [key for key, member in rest.items() if isinstance(member, dict)]
    if nests and draw(st.booleans()):
        nest = draw(st.sampled_from(nests))
        return rest | {nest: rest[nest] | {name: value[name]}}
    if isinstance(value[name], dict) and draw(st.booleans()):
        return rest | value[name]
    return draw(st.sampled_from([rest, {"arguments": value}, {"name": "t", "arguments": value}]))


NEARLY_RIGHT = SCHEMAS.flatmap(lambda schema: st.tuples(st.just(schema), instances(schema).flatmap(nearly)))


def judged(tool: CompiledTool, value: Any) -> Findings:
    return check_arguments(json.dumps(value) if isinstance(value, str) else value, tool, SANITIZER)


def mistakes(findings: Findings) -> set[tuple[str, str]]:
    return {(error.field_path, error.error_code) for error in findings.errors}


def hold(schema: dict[str, Any], value: Any, *, strict: bool) -> None:
    """Judge a value, and hold every proposal to what it promises."""
    tool = CompiledTool.of(Tool(name="t", input_schema=schema, strict=strict))
    kept = copy.deepcopy(value)
    findings = judged(tool, value)
    before = mistakes(findings)
    for error in findings.errors:
        if error.patch:
            assert error.severity is ErrorSeverity.ERROR or not strict
            assert json.loads(json.dumps(error.patch)) == list(error.patch)
            after = mistakes(judged(tool, apply_patch(value, error.patch)))
            assert after < before
            assert (error.field_path, error.error_code) not in after
    patch = combined_patch(findings.errors)
    after = mistakes(judged(tool, apply_patch(value, patch)))
    assert after < before if patch else after == before
    assert combined_patch(reversed(findings.errors)) == patch
    assert value == kept
    event("mended wholly" if patch and not after else "mended in part" if patch else "valid" if not before else "not")


SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


@settings(suppress_health_check=SLOW)
@given(NEARLY_RIGHT, st.booleans())
def test_a_value_that_is_nearly_right_only_gets_better(case: tuple[dict[str, Any], Any], strict: bool) -> None:
    hold(*case, strict=strict)


@settings(suppress_health_check=SLOW)
@given(SCHEMAS, VALUES, st.booleans())
def test_any_value_at_all_only_gets_better(schema: dict[str, Any], value: Any, strict: bool) -> None:
    hold(schema, value, strict=strict)
