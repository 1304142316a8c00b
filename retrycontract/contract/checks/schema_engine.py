"""Check a parsed value against a JSON Schema and say everything that is wrong, in our own words.

The engine's texts quote values, so none of them is shown: each error is rebuilt from its keyword, its pointer, the
schema and the sanitised value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from retrycontract.contract import pointers
from retrycontract.contract.checks import keywords, unions
from retrycontract.contract.checks.composition import (
    SchemaIndex,
    lookup,
    place_of,
    sensitive_pointers,
    unknown_fields,
    walk,
)
from retrycontract.contract.checks.failure import Failure
from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.contract.json_types import Schema
from retrycontract.contract.sanitizer import ValueSanitizer


@dataclass(frozen=True, slots=True)
class CompiledSchema:
    """Hold an admitted schema, ready to judge: the engine's validator and the index of its places."""

    schema: Schema
    validator: Any
    index: SchemaIndex

    @classmethod
    def of(cls, schema: Schema, validator: Any) -> CompiledSchema:
        """Index a schema that the engine has compiled."""
        return cls(schema, validator, SchemaIndex(schema))


def violations(
    compiled: CompiledSchema, value: Any, *, strict: bool, sanitizer: ValueSanitizer
) -> list[ValidationError]:
    """List every violation of a parsed value, in no particular order; an empty list means valid."""
    found: list[ValidationError] = []
    unknown = list(unknown_fields(compiled.index, value))
    if not compiled.validator.is_valid(value):
        reader = Reader(compiled, value, sanitizer)
        for error in compiled.validator.iter_errors(value):
            found.extend(reader.explain(error))
    if unknown or compiled.index.deprecates_anything:
        marked = sensitive_pointers(compiled.index, value)
        severity = ErrorSeverity.ERROR if strict else ErrorSeverity.WARNING
        for pointer, key, place in unknown:
            failure = Failure(
                pointer=pointer, value=pointers.resolve(value, pointer), schema={}, keyword="additionalProperties",
                place=place, resolve=compiled.index.resolve, sanitizer=sanitizer, marked=marked,
            )  # fmt: skip
            found.append(keywords.unknown_field(failure, key, severity=severity))
        found.extend(_deprecated(compiled.index, value, sanitizer))
    return found


class Reader:
    """Turn the engine's errors about one value into ours."""

    def __init__(self, compiled: CompiledSchema, value: Any, sanitizer: ValueSanitizer) -> None:
        self._compiled, self._value, self._sanitizer = compiled, value, sanitizer
        self._marked = sensitive_pointers(compiled.index, value)

    def explain(self, error: Any) -> Iterator[ValidationError]:
        """Yield our errors for one of the engine's; a union yields those of the branch that was meant."""
        kind = type(error.kind).__name__
        tokens = self.path(error)
        if kind in ("AnyOf", "OneOfNotValid"):
            yield from unions.explain(self._failure(error, tokens), error.kind.context, self.explain)
        elif kind == "PropertyNames":
            yield keywords.property_name(self._failure(error, tokens), error.kind.error)
        else:
            yield from keywords.explain(self._failure(error, tokens), error.kind)

    def path(self, error: Any) -> tuple[str | int, ...]:
        """Give the path to the failing value, with the keys as the value spells them.

        The engine hands over the keys "7" and "007" as the number 7.
        """
        path: list[str | int] = []
        item = self._value
        steps = error.instance_path
        for position, step in enumerate(steps):
            if isinstance(item, dict) and isinstance(step, int):
                step = _spelling(item, step, steps[position + 1 :], error)
            path.append(step)
            item = item[step] if isinstance(item, dict | list) else None
        return tuple(path)

    def _failure(self, error: Any, tokens: tuple[str | int, ...]) -> Failure:
        schema_path = list(error.schema_path)
        keyword, parent = _keyword(schema_path)
        schema = lookup(self._compiled.schema, parent)
        return Failure(
            pointer=pointers.from_tokens(tokens),
            value=_at(self._value, tokens),
            schema=schema if isinstance(schema, dict) else {},
            keyword=keyword,
            path=tuple(str(step) for step in parent),
            place=place_of(self._compiled.index, tokens),
            resolve=self._compiled.index.resolve,
            root=self._compiled.schema,
            sanitizer=self._sanitizer,
            marked=self._marked,
        )


def _keyword(schema_path: list[str | int]) -> tuple[str, list[str | int]]:
    """Split the schema path of an error into its keyword and the path of the schema that holds it."""
    end = len(schema_path)
    while end and isinstance(schema_path[end - 1], int):
        end -= 1
    if not end:
        return "", []
    keyword = str(schema_path[end - 1])
    if end > 1 and schema_path[end - 2] in ("properties", "patternProperties", "$defs", "definitions"):
        return "", schema_path  # `false` as the schema of a member: no keyword failed
    return keyword, schema_path[: end - 1]


def _spelling(item: dict[str, Any], number: int, rest: list[str | int], error: Any) -> str:
    spellings = [key for key in item if key.isascii() and key.isdigit() and int(key) == number]
    if len(spellings) > 1:
        spellings = [key for key in spellings if _at(item[key], rest) == error.instance] or spellings
    return spellings[0] if spellings else str(number)


def _at(value: Any, path: Any) -> Any:
    for step in path:
        if not isinstance(value, dict | list):
            return None
        try:
            value = value[step]
        except (LookupError, TypeError):
            return None
    return value


def _deprecated(index: SchemaIndex, value: Any, sanitizer: ValueSanitizer) -> Iterator[ValidationError]:
    if index.deprecates_anything:
        for pointer, _, place in walk(index, value):
            if place.deprecated:
                yield keywords.deprecated_field(pointer, sanitizer)
