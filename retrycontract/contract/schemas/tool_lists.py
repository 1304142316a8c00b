"""Read tool lists as providers write them (OpenAI, Anthropic, MCP) and complete the references of published schemas."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final
from urllib.parse import quote, unquote

from retrycontract.contract import pointers
from retrycontract.contract.advice.names import MAX_LENGTH, slips_between
from retrycontract.contract.errors import WrongInputError
from retrycontract.contract.json_types import type_name
from retrycontract.contract.outputs import Kind
from retrycontract.contract.redaction.sanitizer import has_redaction
from retrycontract.contract.schemas.document import (
    InvalidSchema,
    SchemaFault,
    SchemaWarning,
    Trail,
    excerpt,
    pointer_of,
    told_at,
)
from retrycontract.contract.schemas.graph import LISTS, MAPS, REFERENCES, SINGLE, subschemas
from retrycontract.contract.schemas.metaschema import draft_of
from retrycontract.contract.schemas.type_expressions import FORMATS

# OpenAPI keeps shared schemas here. A tool that was cut out of such a document still refers to them.
CUT_OUT_OF = "components"
# Every keyword of a draft, and what OpenAPI and others write beside them: no slip of a pen.
KEYWORDS = MAPS | LISTS | SINGLE | {
    "$schema", "$id", "id", "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor",
    "$vocabulary", "$comment", "type", "enum", "const", "format", "pattern", "title", "description", "default",
    "examples", "example", "deprecated", "readOnly", "writeOnly", "nullable", "discriminator", "xml", "externalDocs",
    "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength", "maxItems",
    "minItems", "uniqueItems", "maxContains", "minContains", "maxProperties", "minProperties", "required",
    "dependentRequired", "contentEncoding", "contentMediaType",
}  # fmt: skip
# OpenAPI's, which say how a value is stored or shown and promise no check.
NOTED_FORMATS = frozenset({"int32", "int64", "float", "double", "byte", "binary", "password"})
MAX_UNKNOWN = 100
MAX_CUT_OUT_STEPS = 8  # `#/components/schemas/Name` has three
# What RFC 3986 wants percent-encoded. Generators write `#/definitions/List<Item>` and `$id: "Create task"`.
_ILLEGAL = re.compile(r"[^\w\-.~:/?#@!$&'()*+,;=%\[\]]|%(?![0-9A-Fa-f]{2})", re.ASCII)
_ILLEGAL_IN_FRAGMENT = re.compile(r"[^\w\-.~:/?@!$&'()*+,;=%]|%(?![0-9A-Fa-f]{2})", re.ASCII)


def complete(document: dict[str, Any]) -> tuple[SchemaWarning, ...]:
    """Change a private copy so that the engine can use it: encode addresses, and supply parts that were cut off.

    A reference into the document that the schema was cut out of finds a stub that accepts anything: what stood
    there is unknown and nothing is fetched, so everything else is checked and this is not. Each gives a warning.
    """
    warnings: list[SchemaWarning] = []
    addressed = (*REFERENCES, draft_of(document).id_keyword)
    cut_out = CUT_OUT_OF not in document
    # Listed first, since the loop adds stubs to the document.
    for trail, schema in list(_schemas(document)):
        for keyword in addressed:
            if isinstance(schema.get(keyword), str):
                uri, separator, fragment = schema[keyword].partition("#")
                schema[keyword] = (
                    f"{_ILLEGAL.sub(_percent, uri)}{separator}{_ILLEGAL_IN_FRAGMENT.sub(_percent, fragment)}"
                )
        reference = schema.get("$ref")
        if cut_out and isinstance(reference, str) and _supply(document, reference):
            reason = (
                f"'{excerpt(reference)}' lies in the document that this schema was cut out of: any value is accepted"
                " here. Copy that part into `$defs` to have it checked."
            )
            warnings.append(SchemaWarning(pointers.join(pointer_of(trail), "$ref"), reason))
    return tuple(warnings)


# What this product alone reads, and what marks a field: where one is misspelt, a value would be shown in clear.
OWN = {
    "x-sensitive": "true or false", "writeOnly": "true or false", "x-allow-empty": "true or false",
    "x-hint": "a text", "x-hints": "an object of texts", "x-severity": "error, warning or info",
    "x-language": "the name of a language",
}  # fmt: skip
# A mark in one of these would be what outputs are judged by; in a description it is only read. Of maps the names.
JUDGED_BY = MAPS | {"const", "enum", "pattern", "required", "dependentRequired"}
REDACTED = "A secret stood here when the schema was read: write it where [REDACTED: …] stands, or take the place out."
ROOT_ONLY = frozenset({"x-language", "x-allow-empty"})  # elsewhere they are somebody else's
WRAPPERS = ("parameters", "schema", "function", "inputSchema", "input_schema", "json_schema", "json", "toolSpec")
BESIDE_WRAPPERS = frozenset({"type", "title", "description", "$schema", "$id", "$comment"})
MOST_READ = 200_000  # subschemas; what is larger is refused for that


def refuse_slips(schema: object, *, is_stored: bool = False) -> None:
    """Raise InvalidSchema for a whole tool in a schema's place, and for what was to be a keyword of ours and is none.

    Asked of new schemas alone: what was registered before keeps judging. Other words that begin with `x-` are free, and
    marks of redaction in a schema that is stored are ours: it judges by what its author wrote.
    """
    if not isinstance(schema, dict):
        return  # it is refused for that
    if path := _wrapped(schema):
        reason = f"This is more than a schema: send what stands at {pointers.from_tokens(path)} alone."
        raise InvalidSchema(pointers.from_tokens(path), reason, SchemaFault.NOT_A_SCHEMA)
    for trail, place in islice(_schemas(schema), MOST_READ):
        for name, value in place.items():
            slip = _slip(name, value, is_root=trail is None) if isinstance(name, str) else None
            if slip is not None and not (is_stored and slip is REDACTED):
                raise InvalidSchema(pointers.join(pointer_of(trail), name), slip, SchemaFault.MISSPELT)


def slip_in(schema: object) -> str:
    """Say which slip a stored schema has that a new one would be refused for, and what to do; empty without one."""
    try:
        refuse_slips(schema, is_stored=True)
    except InvalidSchema as fault:
        return f"a slip at {fault} Mend it and register the tool again."
    return ""


def _wrapped(schema: dict[Any, Any]) -> tuple[str, ...]:
    """Give the path to the schema inside a tool, as providers write them; empty for a schema."""
    if schema.keys() & (KEYWORDS - BESIDE_WRAPPERS):
        return ()
    for name in WRAPPERS:
        inner = schema.get(name)
        if isinstance(inner, dict) and (below := _wrapped(inner)):
            return (name, *below)
        if isinstance(inner, dict) and inner.keys() & (KEYWORDS - {"title", "description"}):
            return (name,)
    return ()


def _slip(name: str, value: Any, *, is_root: bool) -> str | None:
    """Say what is wrong with a keyword that was to be one of ours, or with what it says."""
    if name in JUDGED_BY and has_redaction(list(value) if name in MAPS and isinstance(value, dict) else value):
        return REDACTED
    if name in OWN:
        is_right = (
            isinstance(value, bool) if OWN[name] == "true or false"
            else isinstance(value, dict) and all(isinstance(text, str) for text in value.values()) if name == "x-hints"
            else value in ("error", "warning", "info") if name == "x-severity"
            else isinstance(value, str)
        )  # fmt: skip
        return None if is_right or (name in ROOT_ONLY and not is_root) else f"`{name}` is {OWN[name]}."
    if name == "format" and isinstance(value, str) and value != "password":
        is_password = len(value) <= MAX_LENGTH and slips_between(_letters(value), "password") in (0, 1)
        return f"`{excerpt(value)}` is no format; did you mean `password`?" if is_password else None
    if name in KEYWORDS or not name[:1].isascii() or len(name) > MAX_LENGTH:
        return None
    letters = _letters(name)
    for own in OWN:
        meant = _letters(own)
        if letters == meant or (_is_marked(name) == _is_marked(own) and _is_slip(letters, meant)):
            return f"`{excerpt(name)}` is no keyword and does nothing; did you mean `{own}`?"
    return None


def _is_marked(name: str) -> bool:
    return name[:1] in "xX" and not name[1:2].isalnum()


def _is_slip(letters: str, meant: str) -> bool:
    """Tell a slip or two; other words are left alone, such as x-security, x-int and x-languages."""
    most = 2 if len(meant) > len("xseverity") else 1
    slips = slips_between(letters, meant)
    return slips is not None and slips <= most and letters[:2] == meant[:2] and letters != f"{meant}s"


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name)).casefold()


BOUNDS = [
    ("minimum", "maximum"), ("minimum", "exclusiveMaximum"), ("exclusiveMinimum", "maximum"), ("minItems", "maxItems"),
    ("exclusiveMinimum", "exclusiveMaximum"), ("minLength", "maxLength"), ("minProperties", "maxProperties"),
]  # fmt: skip
# What draft 7 checks, and newer drafts take as a note.
CONTENT: Final = {"contentEncoding": "base64", "contentMediaType": "application/json"}
# What else may declare the fields of an object.
ELSEWHERE = {"patternProperties", "$ref", "$dynamicRef"}


def oversights(document: dict[str, Any]) -> tuple[SchemaWarning, ...]:
    """Warn of what does nothing silently (a misspelt keyword, an unknown format), and of what no value fits."""
    warnings: list[SchemaWarning] = []
    seen: dict[str, str | None] = {}  # of which no more are looked at than a person would mend
    draft = draft_of(document)
    for trail, schema in _schemas(document):
        for name in schema.keys() - KEYWORDS:
            if name not in seen and len(seen) < MAX_UNKNOWN:
                seen[name] = _meant(name, KEYWORDS)
            if (meant := seen.get(name)) is not None:
                reason = f"`{excerpt(name)}` is no keyword and does nothing; did you mean `{meant}`?"
                warnings.append(SchemaWarning(pointers.join(pointer_of(trail), name), reason))
        form = schema.get("format")
        if isinstance(form, str) and form not in FORMATS and form not in NOTED_FORMATS and len(warnings) < MAX_UNKNOWN:
            meant = _meant(form, FORMATS.keys())
            advice = f"did you mean `{meant}`?" if meant else f"checked are {', '.join(FORMATS)}."
            reason = f"Nothing checks the format `{excerpt(form)}`; {advice}"
            warnings.append(SchemaWarning(pointers.join(pointer_of(trail), "format"), reason))
        for keyword, checked in () if draft.checks_content else CONTENT.items():
            if schema.get(keyword) == checked and len(warnings) < MAX_UNKNOWN:
                reason = f"Draft {draft.name} checks nothing by `{keyword}`; draft 7 does, if `$schema` names it."
                warnings.append(SchemaWarning(pointers.join(pointer_of(trail), keyword), reason))
        if len(warnings) < MAX_UNKNOWN:
            warnings += (
                SchemaWarning(pointers.join(pointer_of(trail), keyword), f"No value fits: {reason}.")
                for keyword, reason in _contradictions(schema)
            )
    return tuple(sorted(warnings, key=lambda warning: warning.pointer))


def _contradictions(schema: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Find what no value can meet, keyword by keyword: whoever is told to mend one breaks the other."""
    for least, most in BOUNDS:
        low, high = schema.get(least), schema.get(most)
        is_number = all(isinstance(bound, int | float) and not isinstance(bound, bool) for bound in (low, high))
        if is_number and (low > high or (low == high and "exclusive" in (least + most))):  # type: ignore[operator]
            yield least, f"`{least}` is {low} and `{most}` {high}"
    options = schema.get("enum")
    if isinstance(options, list) and not options:
        yield "enum", "`enum` lists nothing"
    named = schema.get("type")
    types = {named} if isinstance(named, str) else {each for each in named or () if isinstance(each, str)}
    allowed = options if isinstance(options, list) else [schema["const"]] if "const" in schema else []
    if types and allowed and not any(types & _types_of(option) for option in allowed):
        yield "type", f"what is allowed is no {' or '.join(sorted(types))}"
    if schema.get("additionalProperties") is False and not schema.keys() & ELSEWHERE:
        declared, required = schema.get("properties"), schema.get("required")
        if isinstance(required, list) and isinstance(declared, dict | None):
            for name in (name for name in required if isinstance(name, str) and name not in (declared or {})):
                yield "required", f"`{excerpt(name)}` is required, and no field of that name is allowed"


def _types_of(value: Any) -> set[str]:
    found = type_name(value)
    is_whole = found == "number" and isinstance(value, float) and value.is_integer()
    return {found, "number"} if found == "integer" else {found, "integer"} if is_whole else {found}


def _meant(name: str, known: Collection[str]) -> str | None:
    """Give what a word most likely stands for: it differs in case, or by a slip or two."""
    slips = {word: found for word in known if (found := slips_between(name.casefold(), word.casefold())) is not None}
    return min(slips, key=lambda word: (slips[word], word)) if slips and len(name) <= MAX_LENGTH else None


def _schemas(document: dict[str, Any]) -> Iterator[tuple[Trail, dict[str, Any]]]:
    waiting: list[tuple[Trail, dict[str, Any]]] = [(None, document)]
    for trail, schema in waiting:  # grows while it runs
        yield trail, schema
        for keyword, member, child in subschemas(schema):
            below: Trail = (trail, keyword)
            waiting.append((below if member is None else (below, member), child))


def _percent(match: re.Match[str]) -> str:
    return quote(match.group(), safe="")


def _supply(document: dict[str, Any], reference: str) -> bool:
    """Add the stub that a reference asks for; tell whether it was one that leads into a cut-off part."""
    if not reference.startswith(f"#/{CUT_OUT_OF}/"):
        return False
    steps = pointers.tokens(unquote(reference[1:]))
    if len(steps) > MAX_CUT_OUT_STEPS:
        return False
    place = document
    for step in steps:
        place = place.setdefault(step, {})
    return True


MAX_TOOLS = 2_000  # in one list
NEAR_KEYS = frozenset({"params", "args", "arguments"})
SCHEMA_KEYS = ("input_schema", "inputSchema", "parameters", "schema", "parametersJsonSchema", "parameters_json_schema")
# Options of a registration, which no provider's list has; `strict` is also OpenAI's, and says something else there.
OPTIONS = ("hold", "mode", "kind", "max_attempts", "expires_after", "on_expiry")
SAYS_OURS = {"mode": ("enforce", "observe"), "kind": tuple(Kind)}
MAX_NAME = 300  # characters; real servers have names of over 100


@dataclass(frozen=True, slots=True)
class DeclaredTool:
    """Hold one tool of a list: its name, description and schema, as declared."""

    name: str
    description: str
    schema: Any


class InvalidToolListError(WrongInputError):
    """Raised when a payload is no tool list; `pointer` names the place in it."""

    def __init__(self, pointer: str, reason: str) -> None:
        self.pointer, self.reason = pointer, reason
        super().__init__(told_at(pointer, reason))


def read_tool_list(payload: Any, *, is_registry: bool = True) -> list[DeclaredTool]:
    """Read a list of tools, or an object that holds one under `tools`; raises InvalidToolListError.

    Where it is to be registered a name stands for one schema; what a request to a model repeats is the provider's.
    """
    pointer = ""
    if isinstance(payload, dict) and "tools" in payload:
        if is_registry:
            _refuse_options(payload, "")
        payload, pointer = payload["tools"], "/tools"
    if not isinstance(payload, list):
        raise InvalidToolListError(pointer, "send a list of tools, or an object with the list under 'tools'")
    if len(payload) > MAX_TOOLS:
        raise InvalidToolListError(pointer, f"send at most {MAX_TOOLS} tools at once")
    tools = list(_read(payload, pointer))
    for position, item in enumerate(payload if is_registry else ()):
        for where, body in (("", item), ("/function", item.get("function"))):
            _refuse_options(body if isinstance(body, dict) else {}, f"{pointer}/{position}{where}")
    first: dict[str, DeclaredTool] = {}
    for position, tool in enumerate(tools):
        if is_registry and first.setdefault(tool.name, tool).schema != tool.schema:
            reason = f"'{excerpt(tool.name)}' stands twice in this list, with two schemas"
            raise InvalidToolListError(f"{pointer}/{position}/name", reason)
    return tools


def _refuse_options(body: dict[Any, Any], where: str) -> None:
    """Refuse an option of a registration, or a slip of one: nothing would hold the tool to it."""
    for key, value in body.items():
        letters = _letters(key) if isinstance(key, str) and len(key) <= MAX_LENGTH else ""
        for option in OPTIONS:
            slips = slips_between(letters, _letters(option)) if len(option) > 4 else None
            is_meant = letters == _letters(option) or slips in (0, 1)
            if is_meant and (option not in SAYS_OURS or value in SAYS_OURS[option]):
                reason = f"a list sets no options; PUT /tools/{{name}} takes '{option}' (in Python: register_tool)"
                raise InvalidToolListError(pointers.join(where, key), reason)


def _read(items: list[Any], pointer: str) -> Iterator[DeclaredTool]:
    for position, item in enumerate(items):
        where = f"{pointer}/{position}"
        if not isinstance(item, dict):
            raise InvalidToolListError(where, "a tool is an object with a name and a schema")
        wrapper = "toolSpec" if "toolSpec" in item else "function"
        inner = item.get(wrapper)
        body = inner if isinstance(inner, dict) else item  # OpenAI's chat API wraps the function, Bedrock every tool
        name = body.get("name")
        kind = body.get("type")
        has_schema = any(key in body for key in SCHEMA_KEYS)
        if isinstance(kind, str) and kind not in ("function", "custom") and not has_schema:
            yield DeclaredTool(
                excerpt(str(name or body["type"]), MAX_NAME), "", None
            )  # has no schema, so it is refused by name
            continue
        if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME or not name.isprintable():
            raise InvalidToolListError(f"{where}/name", f"a tool needs a name of 1 to {MAX_NAME} printable characters")
        description = body.get("description")
        at = f"{where}/{wrapper}" if body is inner else where
        yield DeclaredTool(name, description if isinstance(description, str) else "", _schema(body, at))


def _schema(body: dict[str, Any], where: str) -> Any:
    for key in body.keys() - set(SCHEMA_KEYS):
        if not isinstance(key, str):
            continue
        # A misspelt name of the schema would make a tool without parameters.
        letters = _letters(key) if len(key) <= MAX_LENGTH else ""
        near = (name for name in SCHEMA_KEYS if slips_between(letters, _letters(name)) in (0, 1))
        if meant := "parameters" if key in NEAR_KEYS else next(near, None):
            raise InvalidToolListError(pointers.join(where, key), f"this is no key of a tool; did you mean '{meant}'?")
    given = [key for key in SCHEMA_KEYS if body.get(key) is not None]
    if any(body[key] != body[given[0]] for key in given[1:]):
        raise InvalidToolListError(where, f"'{given[0]}' and '{given[1]}' are two schemas of one tool: send one")
    for key in SCHEMA_KEYS:
        if body.get(key) is not None:
            is_wrapped = isinstance(body[key], dict) and list(body[key]) == ["json"]  # as Bedrock does
            return body[key]["json"] if is_wrapped else body[key]
    for key, value in body.items():
        is_result = isinstance(key, str) and _letters(key).startswith(("output", "return", "respon", "result"))
        if isinstance(value, dict) and not is_result and value.keys() & (KEYWORDS - BESIDE_WRAPPERS | {"type"}):
            reason = "a schema stands here, and none under 'parameters': this tool would take no arguments"
            raise InvalidToolListError(pointers.join(where, str(key)), reason)
    return {"type": "object", "properties": {}}  # a tool without parameters may leave them out, or write null
