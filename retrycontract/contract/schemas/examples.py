"""Make a sample that conforms to a schema: what it requires, and what it describes beside that."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import re2

from retrycontract.contract.checks.composition import SchemaIndex
from retrycontract.contract.checks.schema_engine import PLAIN
from retrycontract.contract.checks.sensitive_places import sensitive_pointers
from retrycontract.contract.checks.tool_arguments import check_arguments
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.json_types import Schema
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.schemas.patterns import text_for
from retrycontract.contract.schemas.type_expressions import FORMATS
from retrycontract.contract.tool import DATA, CompiledTool

MAX_PARTS = 2_000  # places of one sample; a schema may describe far more
MAX_DEPTH = 40  # a schema may refer to itself; what it requires of itself without end has no sample
OPTIONAL_DEPTH = 5  # levels on which optional fields are shown
MAX_WORDS = 200  # characters of a text that stands for any
MAX_LEAST = 2_000  # characters that a text must have at least; a sample is there to be read
MAX_BRANCHES = 4  # branches of unions that are tried, one after the other
IMPLIED = (
    ("object", ("properties", "required", "additionalProperties", "minProperties", "patternProperties")),
    ("array", ("items", "prefixItems", "minItems", "contains", "uniqueItems")),
    ("string", ("pattern", "minLength", "maxLength", "format")),
    ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
)


@dataclass(frozen=True, slots=True)
class Example:
    """Hold a sample that was checked, or say in `problem` why there is none; `shown` is the sample without secrets."""

    value: Any = None
    problem: str = ""
    shown: Any = None

    @property
    def conforms(self) -> bool:
        """Tell whether the sample may be shown."""
        return not self.problem

    @property
    def told(self) -> str:
        """Write it for a model that is to give such data."""
        if not self.conforms:
            return f"There is no example: {self.problem}"
        return f"This conforms; the values are made up:\n{json.dumps({DATA: self.shown}, ensure_ascii=False)}"


class _NoSampleError(ValueError):
    """Raised where a schema describes nothing that could be written down."""


def example_of(tool: CompiledTool) -> Example:
    """Make a sample of a tool's schema and check it as a model's output would be.

    The author's own `examples` come first. Then samples with and without the optional fields are tried, by another
    branch of every union each time.
    """
    errors: tuple[ValidationError, ...] = ()
    for value in _candidates(tool):
        # A bare string would be read as JSON text
        check = tool.check or check_arguments
        findings = check(json.dumps(value) if isinstance(value, str) else value, tool, PLAIN)
        if findings.is_valid:
            # What the author allows or shows in a secret field is made up no more.
            marked = sensitive_pointers(tool.schema.index, value)
            return Example(value, shown=ValueSanitizer().redact(value, marked=marked))
        errors = errors or findings.errors
    if not errors:
        return Example(problem="no sample can be written for this schema")
    first = errors[0]
    return Example(problem=f"the sample would be wrong at {first.field_path or '(root)'}: {first.message}")


def _candidates(tool: CompiledTool) -> Iterator[Any]:
    schema, index = tool.schema.schema, tool.schema.index
    if isinstance(schema, dict) and isinstance(schema.get("examples"), list):
        yield from schema["examples"][:MAX_BRANCHES]
    # What the author shows may itself be wrong: then it is made up.
    for branch, optional, authored in product(range(MAX_BRANCHES), (OPTIONAL_DEPTH, 0), (True, False)):
        try:
            yield Sketch(index, branch=branch, optional=optional, authored=authored).of(schema)
        except _NoSampleError:
            continue


class Sketch:
    """Write one value by a schema's own rules; several rules at once may contradict it, so it is checked afterwards."""

    def __init__(self, index: SchemaIndex, *, branch: int, optional: int, authored: bool) -> None:
        self._index, self._branch, self._optional, self._authored = index, branch, optional, authored
        self._parts = 0

    def of(self, schema: Schema, depth: int = 0, variant: int = 0) -> Any:
        """Write a value; another `variant` gives another value where there is room for one."""
        self._parts += 1
        if schema is False or depth > MAX_DEPTH or self._parts > MAX_PARTS:
            raise _NoSampleError
        rules = self._merged(schema, depth)
        if "const" in rules:
            return rules["const"]
        if isinstance(options := rules.get("enum"), list):
            return _at(options, variant)
        # Not at the top, where the author's examples were tried already, and not where another value is asked for.
        for keyword in ("examples", "default") if self._authored and depth and not variant else ():
            if (shown := rules.get(keyword)) not in (None, []):
                return shown[0] if keyword == "examples" and isinstance(shown, list) else shown
        return self._typed(rules, depth, variant)

    def _merged(self, schema: Schema, depth: int) -> dict[str, Any]:
        """Join what references, compositions and one branch of each union say of the same value."""
        if not isinstance(schema, dict):
            return {}
        if depth > MAX_DEPTH:
            raise _NoSampleError
        rules = {name: value for name, value in schema.items() if name not in ("$ref", "allOf", "anyOf", "oneOf")}
        parts: list[Schema] = []
        if isinstance(reference := schema.get("$ref"), str):
            target = self._index.resolve(reference)
            parts.append(False if target is None else target)
        parts += schema.get("allOf") or ()
        for keyword in ("anyOf", "oneOf"):
            if branches := schema.get(keyword):
                parts.append(_at([each for each in branches if each is not False] or [False], self._branch))
        for part in parts:
            if part is False:
                raise _NoSampleError
            rules = _joined(rules, self._merged(part, depth + 1))
        return rules

    def _typed(self, rules: dict[str, Any], depth: int, variant: int) -> Any:
        kinds = rules.get("type")
        if isinstance(kinds, list):
            kinds = next((kind for kind in kinds if kind != "null"), "null")
        implied = (kind for kind, keywords in IMPLIED if any(word in rules for word in keywords))
        match str(kinds or next(implied, "string")):
            case "object":
                return self._object(rules, depth)
            case "array":
                return self._array(rules, depth)
            case "integer" | "number" as kind:
                try:
                    return _number(rules, variant, whole=kind == "integer")
                except OverflowError:  # bounds so far apart from their step that no float holds the quotient
                    raise _NoSampleError from None
            case "boolean":
                return variant % 2 == 0
            case "null":
                return None
        least, most = int(rules.get("minLength", 0)), int(rules.get("maxLength", MAX_WORDS))
        if least > MAX_LEAST:
            raise _NoSampleError
        if (form := rules.get("format")) in FORMATS:
            return FORMATS[form]
        if "pattern" in rules:
            text = text_for(str(rules["pattern"]))
            if text is None:
                raise _NoSampleError
            return text + text[-1:] * (least - len(text))  # a last character that may repeat often does
        text = f"text{variant + 1}" if variant else "text"
        return text.ljust(least, "x")[:most] if not variant else text[-most:].rjust(least, "x")

    def _object(self, rules: dict[str, Any], depth: int) -> dict[str, Any]:
        properties = rules.get("properties") or {}
        wanted = dict.fromkeys(rules.get("required") or ())
        # Of the optional fields those are worth showing that the author described.
        if depth < self._optional and self._parts < MAX_PARTS // 2:
            for name, schema in properties.items():
                if isinstance(schema, dict) and "description" in schema and not schema.get("deprecated"):
                    wanted[name] = None
        value: dict[str, Any] = {}
        by_pattern = (rules.get("patternProperties") or {}).items()
        for name in wanted:
            found = [properties[name]] if name in properties else []
            found += [schema for pattern, schema in by_pattern if _matches(pattern, name)]
            found = found or [rules.get("additionalProperties", True)]
            try:
                value[name] = self.of(found[0] if len(found) == 1 else {"allOf": found}, depth + 1)
            except _NoSampleError:
                if name in (rules.get("required") or ()):
                    raise
        for number in range(len(value), int(rules.get("minProperties", 0))):
            value[f"key{number + 1}"] = self.of(rules.get("additionalProperties", True), depth + 1, number)
        return value

    def _array(self, rules: dict[str, Any], depth: int) -> list[Any]:
        items, prefix = rules.get("items", True), rules.get("prefixItems") or []
        if isinstance(items, list):
            items, prefix = rules.get("additionalItems", True), items
        least = int(rules.get("minItems", 0))
        if items not in (True, {}) and depth < self._optional:
            least = max(least, min(1, int(rules.get("maxItems", 1))))
        value = [self.of(item, depth + 1) for item in prefix]
        if "contains" in rules:
            value += [self.of(rules["contains"], depth + 1, each) for each in range(int(rules.get("minContains", 1)))]
        for number in range(len(value), min(least, MAX_PARTS)):
            value.append(self.of(items, depth + 1, number if rules.get("uniqueItems") else 0))
        return value


def _joined(rules: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Join two sets of rules for one value; where both bind a keyword, the stricter one counts or both do."""
    joined = {**more, **rules}
    for name in rules.keys() & more.keys():
        match name:
            case "properties":
                joined[name] = {**more[name], **rules[name]}
                for each in more[name].keys() & rules[name].keys():
                    joined[name][each] = {"allOf": [rules[name][each], more[name][each]]}
            case "required":
                joined[name] = [*rules[name], *more[name]]
            case "enum":
                joined[name] = [option for option in rules[name] if option in more[name]]
            case "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties":
                joined[name] = max(rules[name], more[name])
            case "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties":
                joined[name] = min(rules[name], more[name])
    return joined


def _number(rules: dict[str, Any], variant: int, *, whole: bool) -> int | float:
    """Find a number within the bounds, near the lower one; booleans beside them are draft 4."""
    step = rules.get("multipleOf") or 1
    low, is_open = _bound(rules, "minimum", "exclusiveMinimum")
    high, is_closed_out = _bound(rules, "maximum", "exclusiveMaximum")
    low = low if low is not None else min(1, high) if high is not None else 1
    number = math.ceil(low / step) * step
    if is_open and number <= low:
        number += step
    if high is not None and (number > high or (is_closed_out and number >= high)):
        number = (low + high) / 2 if not whole else low
    number += variant * step
    return int(number) if whole or number == int(number) else number


def _bound(rules: dict[str, Any], keyword: str, exclusive: str) -> tuple[Any, bool]:
    bound, beyond = rules.get(keyword), rules.get(exclusive)
    if isinstance(beyond, bool):
        return bound, beyond
    if beyond is None or (bound is not None and (bound > beyond) == (keyword == "minimum") and bound != beyond):
        return bound, False
    return beyond, True


def _matches(pattern: str, name: str) -> bool:
    try:
        return re2.search(pattern, name) is not None
    except re2.error:
        return False


def _at(options: list[Any], number: int) -> Any:
    if not options:
        raise _NoSampleError
    return options[number % len(options)]
