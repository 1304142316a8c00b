"""Admit schemas: refuse at registration what is wrong or dangerous, and compile the rest.

Whatever comes in, the answer is a validator or InvalidSchema: the schema is measured before anything recurses into
it, and nothing is ever fetched.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import jsonschema_rs

from retrycontract.contract import pointers
from retrycontract.contract.invalid_schema import InvalidSchema, SchemaFault, excerpt
from retrycontract.contract.json_types import Schema
from retrycontract.contract.schema_document import Trail, pointer_of, read_document
from retrycontract.contract.schema_drafts import check_metaschema, draft_of
from retrycontract.contract.schema_expansion import MAX_INSTANCE_DEPTH, check_expansion
from retrycontract.contract.schema_graph import SchemaGraph
from retrycontract.contract.schema_keywords import subschemas
from retrycontract.contract.schema_patterns import MAX_COMPILED, check_patterns

__all__ = ["Admission", "InvalidSchema", "SchemaFault", "SchemaWarning", "admit", "compile_schema", "examine"]

# OpenAPI keeps shared schemas here. A tool that was cut out of such a document still refers to them.
CUT_OUT_OF = "components"
MAX_CUT_OUT_STEPS = 8  # `#/components/schemas/Name` has three
_LINEAR = jsonschema_rs.RegexOptions(size_limit=MAX_COMPILED)


@dataclass(frozen=True, slots=True)
class SchemaWarning:
    """Hold what a developer should know of an admitted schema: where, and a sentence."""

    pointer: str
    reason: str


@dataclass(frozen=True, slots=True)
class Admission:
    """Hold an admitted schema's validator, the warnings, and the depth to which values are cheap to check.

    A value that nests deeper than `cheap_depth` may take exponential time on this (recursive) schema.
    """

    validator: jsonschema_rs.Validator
    warnings: tuple[SchemaWarning, ...] = ()
    cheap_depth: int = MAX_INSTANCE_DEPTH


def admit(schema: object) -> jsonschema_rs.Validator:
    """Check a schema by every rule and compile it; raises InvalidSchema that points at the fault."""
    return examine(schema).validator


def examine(schema: object) -> Admission:
    """Admit a schema and say what else is worth knowing of it; raises InvalidSchema that points at the fault."""
    document = read_document(schema)
    draft = draft_of(document)
    check_metaschema(document, draft)
    if isinstance(document, bool):
        return Admission(_compile(document))
    warnings = tuple(_supply_cut_out_parts(document))
    graph = SchemaGraph(document, draft)
    cheap_depth = check_expansion(graph)
    check_patterns(graph.places)
    return Admission(_compile(document), warnings, cheap_depth)


def compile_schema(schema: Schema) -> jsonschema_rs.Validator:
    """Compile a schema that was admitted before: offline, formats asserted, the draft by `$schema`, linear patterns."""
    try:
        return _compile(schema)
    except InvalidSchema:
        completed = copy.deepcopy(schema)
        if isinstance(completed, bool) or not list(_supply_cut_out_parts(completed)):
            raise
        return _compile(completed)


def _compile(schema: Schema) -> jsonschema_rs.Validator:
    try:
        return draft_of(schema).engine(schema, validate_formats=True, offline=True, pattern_options=_LINEAR)
    except InvalidSchema:
        raise
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the engine is no Exception
        reason = f"The engine cannot compile this schema: {excerpt(str(error).partition(chr(10))[0], 120)}"
        raise InvalidSchema("", reason, SchemaFault.UNCOMPILABLE) from error


def _supply_cut_out_parts(document: dict[str, Any]) -> Iterator[SchemaWarning]:
    """Put a stub that accepts anything where references lead into the document that the schema was cut out of.

    What stood there is unknown and nothing is fetched, so everything else is checked and this is not.
    """
    if CUT_OUT_OF in document:
        return
    waiting: list[tuple[Trail, dict[str, Any]]] = [(None, document)]
    for trail, schema in waiting:  # grows while it runs
        reference = schema.get("$ref")
        if isinstance(reference, str) and _supply(document, reference):
            reason = (
                f"'{excerpt(reference)}' lies in the document that this schema was cut out of: any value is accepted"
                " here. Copy that part into `$defs` to have it checked."
            )
            yield SchemaWarning(pointers.join(pointer_of(trail), "$ref"), reason)
        for keyword, member, child in subschemas(schema):
            below: Trail = (trail, keyword)
            waiting.append((below if member is None else (below, member), child))


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
