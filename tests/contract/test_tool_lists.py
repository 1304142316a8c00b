from __future__ import annotations

import re
from typing import Any

import pytest

from retrycontract import RetryContract, Tool
from retrycontract.contract.schemas.admission import InvalidSchema
from retrycontract.contract.schemas.tool_lists import MAX_TOOLS, DeclaredTool, InvalidToolListError, read_tool_list
from retrycontract.loops import validate

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


@pytest.mark.parametrize(
    "tool",
    [
        pytest.param(
            {"type": "function", "function": {"name": "read", "description": "d", "parameters": SCHEMA}},
            id="openai-chat",
        ),
        pytest.param(
            {"type": "function", "name": "read", "description": "d", "parameters": SCHEMA}, id="openai-responses"
        ),
        pytest.param({"name": "read", "description": "d", "input_schema": SCHEMA}, id="anthropic"),
        pytest.param({"name": "read", "description": "d", "inputSchema": SCHEMA, "annotations": {}}, id="mcp"),
        pytest.param({"name": "read", "description": "d", "schema": SCHEMA}, id="plain"),
        pytest.param(
            {"toolSpec": {"name": "read", "description": "d", "inputSchema": {"json": SCHEMA}}}, id="bedrock-converse"
        ),
        pytest.param({"name": "read", "description": "d", "inputSchema": {"json": SCHEMA}}, id="bedrock"),
        pytest.param({"name": "read", "description": "d", "parametersJsonSchema": SCHEMA}, id="google"),
        pytest.param(
            {"name": "read", "description": "d", "parameters": SCHEMA, "response": {"type": "object"}},
            id="google-response",
        ),
    ],
)
@pytest.mark.parametrize("wrapped", [False, True], ids=["list", "object"])
def test_tools_are_read_as_each_provider_writes_them(tool: dict[str, Any], wrapped: bool) -> None:
    payload: Any = {"tools": [tool], "nextCursor": None} if wrapped else [tool]
    assert read_tool_list(payload) == [DeclaredTool("read", "d", SCHEMA)]


@pytest.mark.parametrize("tool", [{"name": "now"}, {"name": "now", "parameters": None}], ids=["absent", "null"])
def test_a_tool_without_parameters_takes_an_empty_object(tool: dict[str, Any]) -> None:
    assert read_tool_list([tool]) == [DeclaredTool("now", "", {"type": "object", "properties": {}})]


def test_false_is_a_schema() -> None:
    assert read_tool_list([{"name": "never", "input_schema": False}])[0].schema is False


def test_an_empty_list_is_a_list() -> None:
    assert read_tool_list([]) == read_tool_list({"tools": []}) == []


@pytest.mark.parametrize(
    ("payload", "pointer", "reason"),
    [
        ("x", "", "send a list of tools"),
        ({"tool": []}, "", "send a list of tools"),
        ({"tools": {}}, "/tools", "send a list of tools"),
        ([{"name": "a"}] * (MAX_TOOLS + 1), "", "at most 2000"),
        ([{"name": "a"}, 3], "/1", "a tool is an object"),
        ({"tools": [{"description": "x"}]}, "/tools/0/name", "a tool needs a name"),
        ([{"name": ""}], "/0/name", "a tool needs a name of 1 to 300 "),
        ([{"name": "x" * 301}], "/0/name", "a tool needs a name"),
        ([{"name": "a\nb"}], "/0/name", "printable"),
        ([{"name": 3}], "/0/name", "a tool needs a name"),
        ([{"function": {"description": "x"}}], "/0/name", "a tool needs a name"),
        *(
            ([{"name": "t", key: SCHEMA}], f"/0/{key}", f"did you mean '{meant}'")
            for key, meant in {
                "inputschema": "input_schema",
                "InputSchema": "input_schema",
                "input_shema": "input_schema",
                "inputShema": "input_schema",
                "paramters": "parameters",
                "parameter": "parameters",
                "Parameters": "parameters",
                "params": "parameters",
                "arguments": "parameters",
                "shema": "schema",
            }.items()
        ),
        *(
            ([{"name": "t", "input_schema": SCHEMA, key: value}], f"/0/{key}", f"takes '{meant}'")
            for key, value, meant in (
                ("hold", True, "hold"),
                ("Hold", "yes", "hold"),
                ("mode", "observe", "mode"),
                ("maxAttempts", 5, "max_attempts"),
                ("max_atempts", 5, "max_attempts"),
                ("expires-after", "30m", "expires_after"),
                ("on_expiry", "reject", "on_expiry"),
                ("kind", "extraction", "kind"),
            )
        ),
        *(
            ([{"name": "t", key: {"type": "object", "properties": {"n": {}}}}], f"/0/{key}", "would take no arguments")
            for key in ("args_schema", "json_schema", "input", "argsJsonSchema", "properties_schema", "tool_input")
        ),
        ([{"name": "t", "function": {"name": "t", "hold": True}}], "/0/function/hold", "takes 'hold'"),
        ({"tools": [], "hold": True}, "/hold", "takes 'hold'"),
        ({"tools": [{"function": {"name": "t", "paramters": SCHEMA}}]}, "/tools/0/function/paramters", "'parameters'"),
        ([{"name": "t", "inputSchema": SCHEMA, "input_schema": {}}], "/0", "'input_schema' and 'inputSchema' are two"),
        ([{"name": "t", "inputSchema": SCHEMA}, {"name": "t", "inputSchema": {}}], "/1/name", "'t' stands twice"),
    ],
)
def test_what_is_no_tool_list_is_refused_at_its_place(payload: Any, pointer: str, reason: str) -> None:
    with pytest.raises(InvalidToolListError, match=reason) as caught:
        read_tool_list(payload)
    assert caught.value.pointer == pointer
    assert str(caught.value).startswith(f"{pointer or '(root)'}: ")


@pytest.mark.parametrize(
    "item", [{"type": "web_search_preview"}, {"type": "web_search_20250305", "name": "web_search"}]
)
def test_a_tool_that_the_provider_runs_itself_has_no_schema_to_check_by(item: dict[str, object]) -> None:
    declared = read_tool_list([item, {"name": "mine"}])
    assert declared[0].schema is None
    assert declared[1].schema == {"type": "object", "properties": {}}


@pytest.mark.parametrize("key", ["outputSchema", "annotations", "_meta", "strict", "title", "cache_control", "icons"])
def test_what_else_stands_in_a_tool_is_left_alone(key: str) -> None:
    assert len(read_tool_list([{"name": "t", "outputSchema": SCHEMA, "response": SCHEMA, key: {"title": "T"}}])) == 1
    (tool,) = read_tool_list([{"name": "t", "inputSchema": SCHEMA, "input_schema": SCHEMA, key: {}}])
    assert tool.schema == SCHEMA
    assert len(read_tool_list([{"name": "t"}, {"name": "t"}])) == 2


SLIPS: dict[str, tuple[dict[str, Any], str, str]] = {
    **{
        name: ({"properties": {"a": {name: True}}}, f"/properties/a/{name}", "`x-sensitive`")
        for name in (
            "x-sensitve", "x_sensitive", "X-Sensitive", "xsensitive", "xSensitive", "x-senstive", "x-sensetive",
            "x-sensitiv", "x.sensitive", "x-sensetiv", "x-sesnitive",
        )
    },
    **{
        name: ({"items": {name: True}}, f"/items/{name}", "`writeOnly`")
        for name in ("writeonly", "WriteOnly", "write_only", "write-only", "writOnly", "WRITEONLY")
    },
    **{
        f"format: {name}": ({"format": name}, "/format", "`password`")
        for name in ("Password", "PASSWORD", "passwrd", "pasword", "password ", "passwords")
    },
    **{
        name: ({"anyOf": [{name: "t"}]}, f"/anyOf/0/{name}", meant)
        for name, meant in {
            "x-hnt": "`x-hint`", "x_hint": "`x-hint`", "xHint": "`x-hint`", "X-Hints": "`x-hints`",
            "x-serverity": "`x-severity`", "x_severity": "`x-severity`", "x-languge": "`x-language`",
            "X-Language": "`x-language`", "x-allowempty": "`x-allow-empty`", "x-alow-empty": "`x-allow-empty`",
        }.items()
    },
    "sensitive: a text": ({"$defs": {"s": {"x-sensitive": "true"}}}, "/$defs/s/x-sensitive", "true or false"),
    "sensitive: a number": ({"x-sensitive": 1}, "/x-sensitive", "true or false"),
    "sensitive: null": ({"x-sensitive": None}, "/x-sensitive", "true or false"),
    "writeOnly: a text": ({"writeOnly": "yes"}, "/writeOnly", "true or false"),
    **{
        f"a mark in {pointer}": (schema, pointer, "A secret stood here")
        for schema, pointer in (
            ({"const": "[REDACTED: STRIPE_KEY]"}, "/const"),
            ({"properties": {"a": {"enum": ["a", ["[REDACTED: TOKEN]"]]}}}, "/properties/a/enum"),
            ({"items": {"pattern": "^[REDACTED: TOKEN]$"}}, "/items/pattern"),
            ({"required": ["[REDACTED: TOKEN]"]}, "/required"),
            ({"properties": {"x [REDACTED: TOKEN]": {}}}, "/properties"),
        )
    },
    "hint: a number": ({"x-hint": 5}, "/x-hint", "a text"),
    "hints: a text": ({"x-hints": "send it"}, "/x-hints", "an object of texts"),
    "hints: a number in it": ({"x-hints": {"type": 5}}, "/x-hints", "an object of texts"),
    "severity: unknown": ({"x-severity": "warn"}, "/x-severity", "error, warning or info"),
    "severity: a list": ({"x-severity": ["info"]}, "/x-severity", "error, warning or info"),
    "language: a number": ({"x-language": 5}, "/x-language", "the name of a language"),
    "empty: a text": ({"x-allow-empty": "yes"}, "/x-allow-empty", "true or false"),
    "a wrapped schema": ({"parameters": {"type": "object"}}, "/parameters", "send what stands at /parameters alone"),
    "under schema": ({"schema": {"properties": {}}}, "/schema", "send what stands at /schema alone"),
    "MCP's": ({"name": "t", "inputSchema": {"type": "object"}}, "/inputSchema", "send what stands at /inputSchema"),
    "OpenAI's": (
        {"type": "function", "function": {"name": "t", "parameters": {"type": "object"}}}, "/function/parameters",
        "send what stands at /function/parameters alone",
    ),
    "a response format": (
        {"type": "json_schema", "json_schema": {"name": "t", "strict": True, "schema": {"required": ["a"]}}},
        "/json_schema/schema", "send what stands at /json_schema/schema alone",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("schema", "pointer", "reason"), SLIPS.values(), ids=list(SLIPS))
def test_what_was_to_be_a_keyword_of_ours_is_refused_for_a_new_tool(
    schema: dict[str, Any], pointer: str, reason: str
) -> None:
    with pytest.raises(InvalidSchema, match=re.escape(reason)) as caught:
        RetryContract([Tool(name="t", input_schema=schema)])
    assert caught.value.pointer == pointer
    with pytest.raises(InvalidSchema, match=re.escape(reason)):
        validate("{}", schema=schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"x-sensitive": True, "writeOnly": False, "format": "password", "x-hint": "a", "x-hints": {"type": "b"}},
        {"x-severity": "warning", "x-language": "python", "x-allow-empty": False},
        {"items": {"x-language": {"en": "a"}, "x-allow-empty": "somebody else's"}},
        *({name: "anything"} for name in (
            "x-security", "x-int", "x-languages", "x-order", "x-ui-hint", "x-sensitivity", "x-google-sensitive-data",
            "x-print", "x-enum-varnames", "sensitive", "hint", "language", "severity", "readonly", "x", "",
        )),
        {"properties": {"x-sensitve": {}, "writeonly": {}, "parameters": {}, "schema": {}}},
        {"$defs": {"x_sensitive": {}}, "patternProperties": {"x-hnt": {}}},
        {"const": {"x-sensitve": 1, "format": "Password"}, "enum": [{"writeonly": 1}]},
        {"default": {"x-hint": 5}, "examples": [{"x-sensitve": True}]},
        {"type": "object", "properties": {}, "parameters": {"type": "object"}},
        {"description": "[REDACTED: TOKEN]", "examples": ["[REDACTED: TOKEN]"], "properties": {"REDACTED": {}}},
        {"parameters": {}}, {"schema": "text"}, {"function": {"name": "t"}},
        {"format": "passport"}, {"format": "passphrase"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}, "schema": {"type": "object"}},
        True,
    ],
)  # fmt: skip
def test_other_words_are_free_and_names_are_no_keywords(schema: Any) -> None:
    RetryContract([Tool(name="t", input_schema=schema)])


def test_a_hostile_schema_is_refused_for_what_it_is() -> None:
    loop: dict[str, Any] = {}
    loop["items"] = loop
    for schema in (loop, {1: {}}, [], None, "{}"):
        with pytest.raises(InvalidSchema):
            RetryContract([Tool(name="t", input_schema=schema)])
