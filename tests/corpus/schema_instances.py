"""Instances of a JSON Schema: mostly valid ones, and the same with a few seeded mistakes."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

from retrycontract.contract import pointers

MAX_DEPTH = 6
FORMATS = {
    "date": "2024-02-29", "date-time": "2024-02-29T12:00:00Z", "time": "12:00:00Z", "duration": "P1DT2H",
    "email": "ana@example.com", "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
    "uri": "https://example.com/a?b=c", "uuid": "7c9e6679-7425-40de-944b-e07fc1f90ae7", "json-pointer": "/a/0",
}  # fmt: skip
ODD = (
    None, True, False, 0, -1, 1, 1.0, 0.5, 1e300, 10**20, "", " ", "a", "1", "true", "null", "[]", "é😀", "a\n",
    "2024-13-01", "x@y", [], {}, [None], {"a": 1}, {"": 0}, [[1], {"a": []}],
)  # fmt: skip


class Instances:
    """Make instances of one schema; the same seed makes the same."""

    def __init__(self, schema: Any, seed: int | str) -> None:
        self._schema, self._random = schema, Random(seed)

    def valid_ish(self) -> Any:
        """Make an instance that the schema mostly takes: its own rules are followed one by one."""
        return self._of(self._schema, 0)

    def mistaken(self) -> Any:
        """Make the same with one to three mistakes."""
        value = copy.deepcopy(self.valid_ish())
        for _ in range(self._random.randint(1, 3)):
            value = self._mutated(value)
        return value

    def _of(self, schema: Any, depth: int) -> Any:
        if not isinstance(schema, dict) or depth > MAX_DEPTH:
            return self._random.choice(ODD) if schema is True or schema == {} else None
        if "const" in schema:
            return schema["const"]
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return self._random.choice(schema["enum"])
        for keyword in ("anyOf", "oneOf"):
            if isinstance(schema.get(keyword), list) and schema[keyword]:
                return self._joined(schema, self._of(self._random.choice(schema[keyword]), depth), depth)
        if isinstance(reference := schema.get("$ref"), str) and reference.startswith("#"):
            return self._of(self._target(reference), depth + 1)
        parts = schema.get("allOf")
        if isinstance(parts, list) and parts:
            value: Any = self._of(parts[0], depth)
            for part in parts[1:]:
                value = self._joined(part, value, depth)
            return self._joined(schema, value, depth)
        return self._typed(schema, depth)

    def _joined(self, schema: Any, value: Any, depth: int) -> Any:
        """Add the members that a schema beside a union or a composition declares."""
        if isinstance(value, dict) and isinstance(schema, dict) and isinstance(schema.get("properties"), dict):
            return self._object(schema, depth) | value
        return value

    def _typed(self, schema: dict[str, Any], depth: int) -> Any:
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = self._random.choice(kind)
        if kind is None:
            kind = "object" if "properties" in schema else "array" if "items" in schema else None
        match kind:
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, depth)
            case "string":
                return self._text(schema)
            case "integer" | "number":
                return self._number(schema, whole=kind == "integer")
            case "boolean":
                return self._random.random() < 0.5
            case None:
                return self._random.choice(ODD)
        return None

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        properties, required = schema.get("properties") or {}, schema.get("required") or []
        names = [name for name in properties if name in required or self._random.random() < 0.6]
        value = {name: self._of(properties[name], depth + 1) for name in names}
        for name in required:
            value.setdefault(name, self._random.choice(ODD))
        others = schema.get("additionalProperties")
        if isinstance(others, dict) and self._random.random() < 0.6:
            value[self._random.choice(["k", "007", "a/b", ""])] = self._of(others, depth + 1)
        return value

    def _array(self, schema: dict[str, Any], depth: int) -> list[Any]:
        items = schema.get("items", True)
        if isinstance(items, list):
            return [self._of(item, depth + 1) for item in items]
        least = schema.get("minItems", 0)
        count = self._random.randint(least, min(schema.get("maxItems", least + 2), least + 2))
        tuple_items = [self._of(item, depth + 1) for item in schema.get("prefixItems") or ()]
        return tuple_items + [self._of(items, depth + 1) for _ in range(max(0, count - len(tuple_items)))]

    def _text(self, schema: dict[str, Any]) -> str:
        text = FORMATS.get(str(schema.get("format"))) or self._random.choice(["a", "some text", "é😀", "1"])
        least, most = schema.get("minLength", 0), schema.get("maxLength", 100)
        return text.ljust(least, "x")[: max(most, 0)] if "format" not in schema else text

    def _number(self, schema: dict[str, Any], *, whole: bool) -> Any:
        low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
        high = schema.get("maximum", schema.get("exclusiveMaximum", 100))
        low, high = (0 if isinstance(bound, bool) else bound for bound in (low, high))
        number = self._random.choice([low, high, (low + high) / 2, low + 1])
        return int(number) if whole else number

    def _target(self, reference: str) -> Any:
        try:
            return pointers.resolve(self._schema, reference[1:])
        except LookupError:
            return True

    def _mutated(self, value: Any) -> Any:
        """Change one place: another value, a member more, less or misnamed, a text instead of a value."""
        places = list(_places(value))
        holder, key = self._random.choice(places)
        if holder is None:
            return value if self._random.random() < 0.8 else self._random.choice(ODD)
        old = holder[key]
        match self._random.randrange(6):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[self._random.choice([f"{key}s", key.upper(), "x", ""])] = holder.pop(key)
            case 2 if isinstance(old, dict):
                old["unknown"] = 1
            case 3 if isinstance(old, list):
                old += [*old, 1]
            case 4:
                holder[key] = json.dumps(old)
            case _:
                holder[key] = copy.deepcopy(self._random.choice(ODD))
        return value


def _places(value: Any) -> Any:
    """Yield every place as its holder and its key there; the whole value has no holder."""
    stack: list[tuple[Any, Any]] = [(None, None)]
    while stack:
        holder, key = stack.pop()
        yield holder, key
        item = value if holder is None else holder[key]
        if isinstance(item, dict):
            stack.extend((item, name) for name in item)
        elif isinstance(item, list):
            stack.extend((item, index) for index in range(len(item)))
