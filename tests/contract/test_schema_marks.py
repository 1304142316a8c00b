"""What a schema marks as secret is shown nowhere, whatever the output looks like that holds it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrycontract import ErrorCode, RetryConfiguration, RetryContract, Tool, ValidationError, ValueSanitizer
from retrycontract.contract.checks.composition import SchemaIndex
from retrycontract.contract.checks.sensitive_places import marks_of, sensitive_pointers
from retrycontract.contract.feedback.answer import examine_and_redact, shown_output
from retrycontract.contract.feedback.feedback_forms import FeedbackForm, FeedbackOptions
from retrycontract.contract.redaction.schema_marks import MOST_READ
from retrycontract.contract.tool import CompiledTool

WORD = "plain" + "word"  # like no secret at all: only the schema can tell
MARKS = [{"writeOnly": True}, {"x-sensitive": True}, {"format": "password"}]


def obj(required: str = "", **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required.split()}


NOTE = obj("note path", note={"type": "string", "writeOnly": True}, path={"type": "string", "maxLength": 9})
SENSITIVE = {"x-sensitive": True, "type": "integer"}
LIST = obj("n", n={"type": "array", "items": SENSITIVE})
INNER = obj("a", a=obj("note path", note=SENSITIVE, path={"type": "integer"}), path={"type": "string"})
REFERRED = {**obj("note", note={"$ref": "#/$defs/k"}), "$defs": {"k": SENSITIVE}}
BRANCHES = obj("note", note={"anyOf": [{"type": "null"}, {"allOf": [SENSITIVE]}]})
WITHIN = {"anyOf": [obj("note", note=SENSITIVE), {"type": "null"}]}
PATTERN = {"type": "object", "patternProperties": {"^s_": SENSITIVE}, "required": ["path"]}
OTHERS = {**obj("path", path={"type": "string"}), "additionalProperties": SENSITIVE}
MARKED_OBJECT = obj("n", n={"x-sensitive": True, **obj("a", a={"type": "integer"})})
NAMES = obj("n", n={"type": "object", "propertyNames": {"format": "password", "maxLength": 3}})
CONTAINED = obj("n", n={"type": "array", "contains": SENSITIVE})
ROOT = {"x-sensitive": True, **obj("b")}
ITEMS = {"type": "array", "items": SENSITIVE}

TEXTS = [
    '{"note": "%"', "{'note': '%'}", 'Here: {"note": "%"} ok', '```json\n{"note": "%"}\n```', "note: %\npath: a",
    "note: |\n  %\n  %\npath: a", "note:\n  - %\n", "<note>%</note>", "<p><v>%</v><n>note</n></p>", "t(note='%')",
    "t --note=%", "t --note %", '[{"note": "%"}]', '[[{"note": "%"}]]', json.dumps('{"note": "%"}'), '"%"', "%",
    '["%"]', '{"x": {"note": "%"}}', '{"path": {"note": "%"}}', '{"nte": "%"}', '{"NOTE": "%"', '{"no-te": "%"',
    '{"note_text": "%"',
    r'{"\u006eote": "%"', r"{\"note\": \"%\"", "{&quot;note&quot;: &quot;%&quot;}", '{"path": "a", "note": "% and',
    '{"path": ["a", "note": "%"]', '{"path": "a "b", "note": "%"}', '{"path": "a, "note": "%"}', '{"note" "%"}',
    '{"note": {"path": "%"}', '{"note": ["%", {"path": "%"}', '{"note": "a"% , "path": "b"}', "note = %", "{note: %}",
    '{"path": "the note is %", "x": 1', '{"note": "a", "note": "%"}', '{"path": "a"} {"note": "%"}', "path: a\n%",
    '{"path": "{\\"note\\": \\"%\\"}", "x": ', '{"path": 1, "note": "%", "n": NaN}',
    '{"path": 1, "note": "%", "n": 1e999}',
]  # fmt: skip
CASES: list[Any] = [
    *((NOTE, text) for text in TEXTS),
    *((REFERRED, text) for text in TEXTS[:14]),
    *((BRANCHES, text) for text in TEXTS[:14]),
    *((WITHIN, text) for text in TEXTS[:14]),
    *(({**obj("note", note={"type": "integer", **mark})}, text) for mark in MARKS for text in TEXTS[:14]),
    *((LIST, text) for text in (
        '{"n": "%"}', '{"n": ["%"]', '{"n": ["%"]}', '{"n": [["%"]]}', '{"n": {"k": "%"}}', '{"n": {"%": 1}}', '["%"]',
        '{"n": [1, "%"', "n: [%]", "n:\n- %", '[{"n": ["%"]}]', '{"m": ["%"], "n": 1', '{"n": "%", "n": "%"}',
    )),
    *((INNER, text) for text in (
        '{"a": "%"}', '{"a": ["%"]}', '{"a": [{"note": "%"}]}', '{"a": {"note": "%"}', '{"note": "%"}', '{"a": "%"',
        '{"b": {"note": "%"}}', '{"a": {"b": {"note": "%"}}}', '{"a": "{\\"note\\": \\"%\\"}"}', '"%"',
        '{"a": {"note": ["%"]',
    )),
    *((PATTERN, text) for text in (
        '{"s_a": "%"', '{"s_a": "%"}', '[{"s_a": "%"}]', "s_a: %", '{"x": {"s_a": "%"}}', '"%"',
    )),
    *((OTHERS, text) for text in ('{"x": "%"', '{"x": "%"}', '[{"x": "%"}]', "x: %", '{"path": 1, "x": ["%"]', '"%"')),
    *((MARKED_OBJECT, text) for text in (
        '{"n": {"a": "%"}}', '{"n": {"a": "%"}', '{"n": {"%": 1}}', '{"n": {"%": 1}', '{"n": {"%": 1, "%": 2}}',
        '{"n": {"a": {"%": 1}}}', '{"n": "%"}', '[{"n": {"%": 1}}]', '{"n": {"%": NaN}}', '{"n": {"%": 1e999}}',
    )),
    *((NAMES, text) for text in ('{"n": {"%": 1}}', '{"n": {"%": 1}', '[{"n": {"%": 1}}]')),
    *((CONTAINED, text) for text in ('{"n": ["%"]}', '{"n": ["%"]', '{"n": "%", "x": 1', '[{"n": ["%"]}]')),
    *((ROOT, text) for text in ('{"a": "%"', '{"a": "%"}', '["%"]', "a: %", '{"%": 1}', '"%"', '{"%": 1, "%": 1}')),
    *((ITEMS, text) for text in ('["%"', '["%"]', '"%"', "- %", '{"n": "%"}', '{"%": 1}', '[["%"]]', '[{"%": 1}]')),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "text"), CASES, ids=lambda value: value if isinstance(value, str) else "")
def test_what_the_schema_marks_is_not_shown_in_any_form(schema: Any, text: str) -> None:
    output = text.replace("%", WORD)
    tool, sanitizer = CompiledTool.of(Tool(name="t", input_schema=schema)), ValueSanitizer()
    found = examine_and_redact(output, tool, sanitizer, tool_name="t")
    assert WORD not in repr(found.findings.errors)
    assert WORD not in json.dumps(found.kept)
    assert WORD not in shown_output(found.findings, output, tool, sanitizer)
    for form in (FeedbackForm.ERRORS, FeedbackForm.CORRECTION, FeedbackForm.EXTRACTION):
        outcome = RetryContract([tool.tool]).check(
            "t", tool_call_id="c", arguments=output, feedback=FeedbackOptions(form)
        )
        assert outcome.tool_result is None or WORD not in outcome.tool_result.content
    assert found.findings.errors, "the case must be one that is told of"


OPEN = obj(
    "path",
    path={"type": "string"}, tags={"type": "array", "items": {"type": "string"}}, meta={"type": "object"},
    note=SENSITIVE,
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('{"path": "a/b", "note": "x"', '{"path": "a/b", "note": "[REDACTED: SENSITIVE]"'),
        ('{"path": "a/b", "tags": ["p", "q"]', '{"path": "a/b", "tags": ["p", "q"]'),
        ("{'path': 'a/b', 'note': 5}", "{'path': 'a/b', 'note': [REDACTED: SENSITIVE]}"),
        ('{"meta": {"k": "v"}, "note": {"k": 1}, "path": "a"',
         '{"meta": {"k": "v"}, "note": [REDACTED: SENSITIVE], "path": "a"'),
        ("path: a/b\nnote: x y z\n", "path: a/b\nnote: [REDACTED: SENSITIVE]\n"),
    ],
)  # fmt: skip
def test_what_the_schema_leaves_open_stays_to_be_read(text: str, kept: str) -> None:
    sanitizer = ValueSanitizer().for_schema(marks_of(SchemaIndex(OPEN)))
    assert sanitizer.redact_output(text) == kept


def test_the_words_of_a_refusal_stay_but_for_the_sentences_that_name_what_is_marked() -> None:
    said = f"I'm sorry, I cannot do that. The note is {WORD}. Please ask somebody else."
    found = examine_and_redact(
        said, CompiledTool.of(Tool(name="t", input_schema=NOTE)), ValueSanitizer(), tool_name="t"
    )
    assert found.kept == "I'm sorry, I cannot do that. [REDACTED: SENSITIVE] Please ask somebody else.".replace(
        ". [", ".["
    )


def test_of_a_very_long_text_the_rest_is_not_shown() -> None:
    sanitizer = ValueSanitizer().for_schema(marks_of(SchemaIndex(OPEN)))
    kept = sanitizer.redact_output('{"path": "a"' + " " * MOST_READ + '"path": "b"')
    assert kept.startswith('{"path": "a"')
    assert kept.endswith("[REDACTED: SENSITIVE]")


@pytest.mark.parametrize("text", ['{"note": "x"', "note: x", "x", '"x"'])
def test_a_schema_without_marks_and_a_sanitizer_that_is_off_hide_nothing(text: str) -> None:
    plain = CompiledTool.of(Tool(name="t", input_schema=obj("note", note={"type": "integer"})))
    assert json.loads(text) == "x" if text == '"x"' else True
    assert examine_and_redact(text, plain, ValueSanitizer(), tool_name="t").kept in (text, "x")
    off = ValueSanitizer(RetryConfiguration(redact_secrets=False))
    marked = CompiledTool.of(Tool(name="t", input_schema=NOTE))
    assert examine_and_redact(text, marked, off, tool_name="t").kept in (text, "x")


@pytest.mark.parametrize(
    ("schema", "value", "marked"),
    [
        (OPEN, {"path": "a", "meta": {"other": "b"}, "tags": ["c"]}, set()),
        (OPEN, {"path": "a", "unknown": {"k": "v"}}, set()),
        (OPEN, {"meta": {"note": "a"}}, {"/meta/note"}),
        (OPEN, {"meta": {"notes": "a", "nothing": "b"}}, {"/meta/notes"}),
        (obj(v=obj(id=SENSITIVE), id={"type": "string"}), {"id": "a", "v": {"id": 1}}, {"/v/id"}),
        ({"anyOf": [{"type": "string"}, obj(note=SENSITIVE)]}, "plain", set()),
        (obj(note={"type": ["string", "null"], "writeOnly": True}), {"note": None}, {"/note"}),
    ],
)
def test_places_that_the_schema_describes_are_marked_by_the_schema_alone(schema: Any, value: Any, marked: Any) -> None:
    assert sensitive_pointers(SchemaIndex(schema), value) == marked


def test_a_value_that_holds_itself_is_secret_as_a_whole() -> None:
    value: dict[str, Any] = {"path": "a"}
    value["meta"] = [value, value]
    assert "" in sensitive_pointers(SchemaIndex(OPEN), value)


KEY = "hunter" + "2Tr0ub"


@pytest.mark.parametrize("value", [{"password": {KEY: 1}}, {"credentials": {"db": {KEY: {"a": 1}}}}])
def test_a_key_that_reads_like_a_password_is_none_below_the_name_of_one(value: Any) -> None:
    tool = CompiledTool.of(Tool(name="t", input_schema=obj(
        password={"type": "object", "additionalProperties": False},
        credentials={"type": "object", "additionalProperties": {"type": "object", "additionalProperties": False}},
    )))  # fmt: skip
    found = examine_and_redact(value, tool, ValueSanitizer(), tool_name="t")
    assert found.findings.errors
    assert KEY not in repr(found.findings.errors)
    assert KEY not in json.dumps(found.kept)


@pytest.mark.parametrize("key", ["bob", "alice42", "db1.example.com", "sha256", "value", "ci@example.com", "oauth2"])
def test_a_key_that_says_whose_password_it_is_stays(key: str) -> None:
    assert ValueSanitizer().redact({"passwords": {key: "x9"}}) == {"passwords": {key: "[REDACTED: PASSWORD]"}}


def test_whoever_speaks_of_an_output_quotes_nothing_that_is_marked_in_it() -> None:
    value = {"note": WORD, "path": "a", "list": [1]}
    schema = obj("note", note={"type": "string", "writeOnly": True})
    reason = f"the word {WORD} is too weak"

    def quoting(found: Any) -> list[ValidationError]:
        return [ValidationError(ErrorCode.CONSTRAINT_VIOLATION, "/note", reason, actual_value=WORD, hint=reason)]

    for tool in (Tool(name="t", input_schema=schema, strict=False), Tool(
        name="t", input_schema=schema, strict=False, checks=(quoting,)
    )):  # fmt: skip
        found = examine_and_redact(
            value, CompiledTool.of(tool), ValueSanitizer(), tool_name="t", callback_error=reason
        ).findings
        assert found.errors
        assert WORD not in repr(found.errors)
        assert "is too weak" in repr(found.errors)
