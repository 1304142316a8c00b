"""Admit schemas: refuse at registration what is wrong or dangerous, and compile the rest.

Whatever comes in, the answer is a validator or InvalidSchema: the schema is measured before anything recurses into
it, and nothing is ever fetched.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote

import jsonschema_rs

from retrycontract.contract import pointers
from retrycontract.contract.json_types import Schema
from retrycontract.contract.schemas.document import InvalidSchema, SchemaFault, excerpt, read_document
from retrycontract.contract.schemas.expansion import MAX_INSTANCE_DEPTH, check_expansion
from retrycontract.contract.schemas.graph import SchemaGraph
from retrycontract.contract.schemas.metaschema import Draft, check_metaschema, draft_of
from retrycontract.contract.schemas.patterns import MAX_COMPILED, check_patterns
from retrycontract.contract.schemas.tool_lists import SchemaWarning, complete

__all__ = ["Admission", "InvalidSchema", "SchemaFault", "SchemaWarning", "admit", "compile_schema", "examine"]

_ADDRESS = "urn:retrycontract:schema"  # under which a part of a schema finds the whole
_LINEAR = jsonschema_rs.RegexOptions(size_limit=MAX_COMPILED)


@dataclass(frozen=True, slots=True)
class Admission:
    """Hold an admitted schema's validator, the warnings, the depth to which values are cheap to check, and the width.

    A value that nests deeper than `cheap_depth` may take exponential time on this (recursive) schema. Each value within
    it is held against `width` subschemas at most, as far as recursion does not bring more.
    """

    validator: jsonschema_rs.Validator
    warnings: tuple[SchemaWarning, ...] = ()
    cheap_depth: int = MAX_INSTANCE_DEPTH
    width: int = 1


def admit(schema: object) -> jsonschema_rs.Validator:
    """Check a schema by every rule and compile it; raises InvalidSchema that points at the fault."""
    return examine(schema).validator


def examine(schema: object) -> Admission:
    """Admit a schema and say what else is worth knowing of it; raises InvalidSchema that points at the fault."""
    # Measured first: everything below recurses into the document or compiles it.
    document = read_document(schema)
    draft = draft_of(document)
    check_metaschema(document, draft)
    if isinstance(document, bool):
        return Admission(_compile(document))
    warnings = complete(document)
    graph = SchemaGraph(document, draft)
    expansion = check_expansion(graph)
    check_patterns(graph.places)
    return Admission(_compile(document), warnings, expansion.cheap_depth, expansion.width)


def compile_schema(schema: Schema) -> jsonschema_rs.Validator:
    """Compile a schema that was admitted before: offline, formats asserted, the draft by `$schema`, linear patterns."""
    try:
        return _compile(schema)
    except InvalidSchema:
        # Schemas are kept as their authors wrote them; what `complete` adds is made again for the few that need it.
        completed = copy.deepcopy(schema)
        if isinstance(completed, dict):
            complete(completed)
        if completed == schema:
            raise
        return _compile(completed)


def compile_names(schema: Schema, path: Sequence[str | int]) -> jsonschema_rs.Validator:
    """Compile a rule for names alone, as a validator of objects: the `propertyNames` at that path of the schema."""
    rule = {"propertyNames": _referred(path)}
    return _compile(rule, draft_of(schema), jsonschema_rs.Registry([(_ADDRESS, schema)]))


class PartCompiler:
    """Compile parts of one schema, one after the other: the whole, to which they refer, is read once."""

    def __init__(self, schema: Schema) -> None:
        """`schema` may still be changed until the first part is compiled."""
        self._schema = schema

    def __call__(self, parts: Mapping[str, tuple[Sequence[str | int], Sequence[str]]]) -> jsonschema_rs.Validator:
        """Compile parts as a validator of objects, whose member of that name is what the part judges.

        Each stands at a path of the schema, and is asked under the keywords that are given with it.
        """
        members = {name: _under(keywords, _referred(path)) for name, (path, keywords) in parts.items()}
        return _compile({"properties": members}, draft_of(self._schema), self._registry)

    @cached_property
    def _registry(self) -> jsonschema_rs.Registry:
        document = copy.deepcopy(self._schema)
        if isinstance(document, dict):
            complete(document)
        return jsonschema_rs.Registry([(_ADDRESS, document)])


def _referred(path: Sequence[str | int]) -> Schema:
    return {"$ref": f"{_ADDRESS}#{quote(pointers.from_tokens(path))}"}


def _under(keywords: Sequence[str], schema: Schema) -> Schema:
    for keyword in reversed(keywords):
        schema = {keyword: schema}
    return schema


def _compile(
    schema: Schema, draft: Draft | None = None, registry: jsonschema_rs.Registry | None = None
) -> jsonschema_rs.Validator:
    engine = (draft or draft_of(schema)).engine
    try:
        # Without `offline` the engine fetches remote references and reads files by itself.
        return engine(schema, validate_formats=True, offline=True, pattern_options=_LINEAR, registry=registry)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the engine is no Exception
        reason = f"The engine cannot compile this schema: {excerpt(str(error).partition(chr(10))[0], 120)}"
        pointer = pointers.from_tokens(getattr(error, "instance_path", ()))
        raise InvalidSchema(pointer, reason, SchemaFault.UNCOMPILABLE) from error
