"""What a schema allows in a secret field is a secret: hidden in feedback and in what is stored, and judged by."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrycontract import RetryContract, Tool
from retrycontract.contract.checks.secret_choices import public_schema
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.feedback.feedback_forms import FeedbackForm, FeedbackOptions
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.schemas.examples import example_of
from retrycontract.contract.tool import CompiledTool

SECRET, PIN, NUMBER = "Tr0ub4dor" + "&3xy", "bb", 739_164
MARK: dict[str, Any] = {"x-sensitive": True}
ONE: dict[str, Any] = {"const": SECRET}
SOME: dict[str, Any] = {"enum": [SECRET, PIN, NUMBER]}
DRAFT_4, DRAFT_6, DRAFT_7 = (f"http://json-schema.org/draft-0{number}/schema#" for number in (4, 6, 7))
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"


def field(schema: Any, name: str = "f", **around: Any) -> dict[str, Any]:
    """Declare a field beside an ordinary one."""
    return {"type": "object", "properties": {name: schema, "mode": {"enum": ["fast", "slow"]}}, **around}


# Schemas, each with the output that is refused for its secret.
HIDDEN: dict[str, tuple[Any, Any]] = {
    **{f"{name}, {what}": (field(mark | told), {"f": "no"})
       for name, mark in (("x-sensitive", MARK), ("writeOnly", {"writeOnly": True}), ("format", {"format": "password"}))
       for what, told in (("const", ONE), ("enum", SOME))},
    **{f"the name {name}": (field(SOME, name), {name: "no"})
       for name in ("password", "api_key", "apiKey", "client_secret", "DB_PASSWORD", "passwort")},
    **{f"draft {number}": (field(MARK | SOME, **{"$schema": draft}), {"f": "no"})
       for number, draft in (("4", DRAFT_4), ("6", DRAFT_6), ("7", DRAFT_7), ("2019-09", DRAFT_2019))},
    "a number by name": (field({"const": NUMBER}, "pin"), {"pin": 1}),
    "a number": (field(MARK | {"const": NUMBER}), {"f": 1}),
    "an object": (field(MARK | {"const": {"a": SECRET}}), {"f": {"a": "no"}}),
    "a member of a marked object": (field(MARK | field(ONE)), {"f": {"f": "no"}}),
    "a missing member": (field(MARK | field(ONE, required=["f"])), {"f": {}}),
    "the whole object is missing": (field(MARK | field(ONE), required=["f"]), {}),
    "an item of a marked array": (field(MARK | {"items": SOME}), {"f": ["no"]}),
    "a tuple": (field(MARK | {"prefixItems": [ONE, SOME]}), {"f": ["no", "no"]}),
    "a tuple of draft 7": (field(MARK | {"items": [ONE, SOME]}, **{"$schema": DRAFT_7}), {"f": ["no", "no"]}),
    "behind a tuple": (
        field(MARK | {"items": [True], "additionalItems": ONE}, **{"$schema": DRAFT_7}), {"f": ["no", "no"]}),
    "contained": (field(MARK | {"contains": SOME}), {"f": ["no"]}),
    "contained in marked items": (field({"items": MARK, "contains": SOME}), {"f": ["no"]}),
    "refused": (field(MARK | {"not": ONE}), {"f": SECRET}),
    "refused around it": (field(MARK, **{"not": field(ONE)}), {"f": SECRET}),
    "anyOf": (field(MARK | {"anyOf": [ONE, {"const": PIN}]}), {"f": "no"}),
    "oneOf": (field(MARK | {"oneOf": [ONE, {"type": "integer"}]}), {"f": "no"}),
    "a marked branch": (field({"anyOf": [MARK | ONE, {"type": "integer"}]}), {"f": "no"}),
    "a mark beside it in allOf": (field({"allOf": [MARK, SOME]}), {"f": "no"}),
    "a mark in another branch of the object": (field(SOME, allOf=[{"properties": {"f": MARK}}]), {"f": "no"}),
    "then": (field(MARK, **{"if": True, "then": {"properties": {"f": ONE}}}), {"f": "no"}),
    "else": (field(MARK, **{"if": False, "else": {"properties": {"f": SOME}}}), {"f": "no"}),
    "dependentSchemas": (field(MARK, dependentSchemas={"f": {"properties": {"f": ONE}}}), {"f": "no"}),
    "dependencies": (
        field(MARK, dependencies={"f": {"properties": {"f": ONE}}}, **{"$schema": DRAFT_7}), {"f": "no"}),
    "a reference": (field(MARK | {"$ref": "#/$defs/a"}, **{"$defs": {"a": ONE}}), {"f": "no"}),
    "a marked definition": (field({"$ref": "#/$defs/a"}, **{"$defs": {"a": MARK | SOME}}), {"f": "no"}),
    "references, one after the other": (
        field(MARK | {"$ref": "#/$defs/a"}, **{"$defs": {"a": {"$ref": "#/$defs/b"}, "b": SOME}}), {"f": "no"}),
    "an anchor": (field(MARK | {"$ref": "#a"}, **{"$defs": {"x": {"$anchor": "a", **ONE}}}), {"f": "no"}),
    "a schema that holds itself": (
        field(MARK | {"$ref": "#/$defs/a"}, **{"$defs": {"a": {"properties": {"n": {"$ref": "#/$defs/a"}, "v": ONE}}}}),
        {"f": {"n": {"v": "no"}}}),
    "any other member": (field(MARK | {"additionalProperties": ONE}), {"f": {"x": "no"}}),
    "marked any others": ({"additionalProperties": MARK, "allOf": [{"additionalProperties": ONE}]}, {"x": "no"}),
    "by pattern": (field(MARK | {"patternProperties": {"^x": SOME}}), {"f": {"x": "no"}}),
    "a marked pattern": ({"patternProperties": {"^x": MARK}, "properties": {"x": SOME}}, {"x": "no"}),
    "names of members": (field(MARK | {"propertyNames": SOME}), {"f": {"x": 1}}),
    "marked names": (field({"propertyNames": MARK | SOME}), {"f": {"x": 1}}),
    "within a secret name": (field(field(ONE), "password"), {"password": {"f": "no"}}),
    "items of a secret name": (field({"type": "array", "items": SOME}, "password"), {"password": ["no"]}),
    "a choice of a secret name": (field({"anyOf": [ONE, {"const": PIN}]}, "password"), {"password": "no"}),
    "a secret name's reference": (
        field({"$ref": "#/$defs/a"}, "password", **{"$defs": {"a": ONE}}), {"password": "no"}),
    "a definition that is called like a keyword": (
        field(True, **{"$defs": {"enum": field(ONE, "password")}, "$ref": "#/$defs/enum"}), {"password": "no"}),
    "a discriminator": (
        {"oneOf": [{"properties": {"f": MARK | ONE}, "required": ["f"]},
                   {"properties": {"f": MARK | {"const": PIN}}, "required": ["f"]}]}, {"f": "no"}),
    "another type": (field({"type": "object", **MARK, "properties": {"a": ONE}}), {"f": 1}),
    "the root": (MARK | SOME, "no"),
}  # fmt: skip


def held(text: str) -> list[str]:
    words = text.replace('"', " ").replace(",", " ").replace("'", " ").split()
    return [each for each in (SECRET, str(NUMBER)) if each in text] + [each for each in (PIN,) if each in words]


@pytest.mark.parametrize("case", HIDDEN)
def test_feedback_names_no_value_that_a_secret_field_allows(case: str) -> None:
    schema, output = HIDDEN[case]
    for options in (FeedbackOptions(), *(FeedbackOptions(form=form) for form in FeedbackForm)):
        contract = RetryContract(tools=[Tool(name="t", input_schema=schema)])
        outcome = contract.check("t", "c1", json.dumps(output), feedback=options)
        assert outcome.status == "retry"
        assert held(str(outcome.tool_result)) == [], options.form
        assert held(str(outcome.errors)) == [], options.form


@pytest.mark.parametrize("case", HIDDEN)
def test_what_may_be_stored_names_no_value_that_a_secret_field_allows(case: str) -> None:
    schema, _ = HIDDEN[case]
    before = json.dumps(schema)
    shown = public_schema(schema, ValueSanitizer())
    assert held(json.dumps(shown)) == []
    assert json.dumps(schema) == before
    assert public_schema(shown, ValueSanitizer()) == shown
    if "mode" in shown.get("properties", {}):
        assert shown["properties"]["mode"] == {"enum": ["fast", "slow"]}
    assert public_schema(schema, ValueSanitizer(RetryConfiguration(redact_secrets=False))) == schema


def test_judging_goes_on_by_what_the_author_wrote() -> None:
    contract = RetryContract(tools=[Tool(name="t", input_schema=field(MARK | SOME))])
    sent = (SECRET, PIN, NUMBER, "[REDACTED: SENSITIVE]")
    found = [contract.check("t", str(each), {"f": each}).status for each in sent]
    assert found == ["valid", "valid", "valid", "retry"]


@pytest.mark.parametrize(
    "schema",
    [
        field({"enum": ["bearer", "basic"]}, "token_type"),
        field({"enum": ["strict", "lax"]}, "password_policy"),
        field({"enum": ["id", "name"]}, "key"),
        field({"enum": ["none", "basic", "oauth2"]}, "auth"),
        field({"enum": ["read", "write"]}, "secret_scope"),
        field({"enum": [True, False, None]}, "password"),
        field({"enum": ["ETH", "BTC", "USDC"]}, "token"),
        field({"enum": ["morning", "evening", ""]}, "session"),
        field({"enum": ["accept", "reject", "ask me"]}, "cookie"),
        field({"enum": ["email", "sms"]}, "password_reset"),
        field({"enum": ["bcrypt", "argon2id", "SHA-256"]}, "password_hash"),
        field(MARK | {"enum": [True, False, None, ""]}),
        field({"enum": ["fast", "slow"]}, "speed", required=["password"]),
        field(MARK | {"type": "string", "pattern": "^[a-z]{20}$", "minLength": 20}),
        {"properties": {"a": MARK | ONE, "b": {"enum": ["open"]}}, "$defs": {"Token": {"enum": ["word", "number"]}}},
    ],
    ids=lambda schema: json.dumps(schema)[30:80],
)
def test_what_is_no_secret_stays_readable(schema: dict[str, Any]) -> None:
    shown = public_schema(schema, ValueSanitizer())
    for name, part in schema["properties"].items():
        assert name == "a" or shown["properties"][name] == part
    assert shown.get("$defs") == schema.get("$defs")


def test_a_person_reads_which_choices_an_ordinary_field_has_beside_a_secret_one() -> None:
    contract = RetryContract(tools=[Tool(name="t", input_schema=field(MARK | SOME))])
    outcome = contract.check("t", "c1", {"f": SECRET[:-1], "mode": "fsat"})
    assert outcome.tool_result is not None
    text = outcome.tool_result.content
    assert "one of: fast, slow" in text
    assert "did you mean 'fast'" in text
    assert "Expected: one of: [REDACTED: SENSITIVE]\n" in text
    assert text.count("did you mean") == 1
    assert [error.patch for error in outcome.errors] == [(), ({"op": "replace", "path": "/mode", "value": "fast"},)]


@pytest.mark.parametrize("keyword", ["default", "example", "examples"])
def test_a_sample_of_a_marked_field_is_hidden_too(keyword: str) -> None:
    schema = field(MARK | {keyword: [SECRET] if keyword == "examples" else SECRET})
    assert held(json.dumps(public_schema(schema, ValueSanitizer()))) == []


def test_an_example_conforms_and_holds_no_secret_of_its_schema() -> None:
    found = example_of(CompiledTool.of(Tool(name="t", input_schema=field(MARK | ONE, required=["f"]))))
    assert (found.value["f"], held(found.told)) == (SECRET, [])


def test_a_schema_with_too_many_places_to_be_looked_at_shows_no_choice() -> None:
    names = [f"n{number}" for number in range(12)]
    steps = {name: {"properties": {other: {"anyOf": [{"$ref": f"#/$defs/{other}"}, {"$ref": f"#/$defs/{name}"}]}
                                   for other in names}, "x": ONE} for name in names}  # fmt: skip
    schema = {"$defs": steps, "$ref": "#/$defs/n0", "properties": {"f": MARK | SOME, "g": {"const": SECRET}}}
    assert PIN not in json.dumps(public_schema(schema, ValueSanitizer()))


def test_no_description_and_no_hint_repeats_what_a_secret_field_allows() -> None:
    said = {"description": f"It is {SECRET}.", "title": SECRET, "x-hint": f"Send {SECRET}, or fast"}
    schema = field(MARK | SOME | said, description=f"f is {SECRET}", **{"$comment": f"({SECRET})"})
    before = json.dumps(schema)
    shown = [public_schema(schema, ValueSanitizer()) for _ in range(2)]
    assert shown[0] == shown[1]
    assert (held(json.dumps(shown[0])), json.dumps(schema)) == ([], before)
    assert shown[0]["properties"]["f"]["x-hint"] == "Send [REDACTED: SENSITIVE], or fast"
    outcome = RetryContract(tools=[Tool(name="t", input_schema=schema)]).check("t", "c1", {"f": 1})
    assert outcome.tool_result is not None
    assert held(outcome.tool_result.content) == []
    assert "send [REDACTED: SENSITIVE], or fast" in outcome.tool_result.content
