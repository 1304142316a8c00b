"""Admit schemas: refuse at registration what is wrong or dangerous, and compile the rest.

Whatever comes in, the answer is a validator or InvalidSchema: the schema is measured before anything recurses into
it, and nothing is ever fetched.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from urllib.parse import quote

import jsonschema_rs

from retrycontract.contract import pointers
from retrycontract.contract.forking import renew_lazy_parts
from retrycontract.contract.json_types import Schema, count_nodes
from retrycontract.contract.schemas.document import (
    MAX_NODES,
    DearSchema,
    InvalidSchema,
    SchemaFault,
    SchemaWarning,
    excerpt,
    read_document,
)
from retrycontract.contract.schemas.expansion import MAX_INSTANCE_DEPTH, check_expansion
from retrycontract.contract.schemas.graph import SchemaGraph
from retrycontract.contract.schemas.metaschema import Draft, check_metaschema, draft_of
from retrycontract.contract.schemas.patterns import MAX_COMPILED, MAX_COMPILED_APART, MAX_STEPS, check_patterns
from retrycontract.contract.schemas.tool_lists import complete, oversights

__all__ = [
    "Admission",
    "DearSchema",
    "InvalidSchema",
    "SchemaFault",
    "SchemaWarning",
    "admit",
    "compile_schema",
    "examine",
]

_ADDRESS = "urn:retrycontract:schema"  # under which a part of a schema finds the whole
# Tried in turn: what has been admitted may need more room, or the engine that goes back, whose steps are counted.
_ENGINES = (
    jsonschema_rs.RegexOptions(size_limit=MAX_COMPILED),
    jsonschema_rs.RegexOptions(size_limit=MAX_COMPILED_APART),
    jsonschema_rs.FancyRegexOptions(size_limit=MAX_COMPILED_APART, backtrack_limit=MAX_STEPS),
)
MAX_WARNINGS = 20  # told of one schema
APART = "Outputs are judged in a child process, and cut off when they take too long:"


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


def examine(schema: object, *, is_bounded: bool = False) -> Admission:
    """Admit a schema and say what else is worth knowing of it; raises InvalidSchema that points at the fault.

    Where its work `is_bounded`, by a process that is cut off, a dear schema is admitted with a warning; elsewhere it is
    a DearSchema.
    """
    # Measured first: everything below recurses into the document or compiles it.
    document = read_document(schema, is_bounded=is_bounded)
    draft = draft_of(document)
    check_metaschema(document, draft)
    if isinstance(document, bool):
        return Admission(_compile(document))
    told = oversights(document)
    warnings = complete(document)
    graph = SchemaGraph(document, draft)
    expansion = check_expansion(graph)
    dear = [*([expansion.dear] if expansion.dear else []), *check_patterns(graph.places)]
    if dear and not is_bounded:
        raise dear[0]
    if count_nodes(document) > MAX_NODES:
        dear.append(DearSchema("", f"It has more than {MAX_NODES:,} values.", SchemaFault.TOO_MANY_NODES))
    apart = [SchemaWarning(fault.pointer, f"{APART} {fault.reason}") for fault in dear]
    shallow = SchemaWarning(
        "",
        f"Outputs may nest {expansion.cheap_depth} levels: with each level its branches, of which several may look "
        "into the same member, are held against more.",
    )
    is_shallow = expansion.cheap_depth < MAX_INSTANCE_DEPTH
    warnings = (*apart, *([shallow] if is_shallow else ()), *warnings, *told)[:MAX_WARNINGS]
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
        members: dict[str, Schema] = {}
        for name, (path, keywords) in parts.items():
            members[name] = _referred(path)
            for keyword in reversed(keywords):
                members[name] = {keyword: members[name]}
        return _compile({"properties": members}, draft_of(self._schema), self._registry)

    @cached_property
    def _registry(self) -> jsonschema_rs.Registry:
        document = copy.deepcopy(self._schema)
        if isinstance(document, dict):
            complete(document)
        return jsonschema_rs.Registry([(_ADDRESS, document)])


renew_lazy_parts(PartCompiler)


def _referred(path: Sequence[str | int]) -> Schema:
    return {"$ref": f"{_ADDRESS}#{quote(pointers.from_tokens(path))}"}


def _mailbox(form: str) -> Callable[[str], bool]:
    """Take the address alone: the engine takes a name before it as well, as in 'Ana <ana@example.com>'."""
    takes = jsonschema_rs.Draft202012Validator({"format": form}, validate_formats=True).is_valid
    return lambda text: not text.rstrip().endswith(">") and takes(text)


_FORMATS = {form: _mailbox(form) for form in ("email", "idn-email")}


def _compile(
    schema: Schema, draft: Draft | None = None, registry: jsonschema_rs.Registry | None = None
) -> jsonschema_rs.Validator:
    engine = (draft or draft_of(schema)).engine
    try:
        # Without `offline` the engine fetches remote references and reads files by itself.
        make = partial(engine, schema, validate_formats=True, formats=_FORMATS, offline=True, registry=registry)
        for options in _ENGINES[:-1]:
            with suppress(ValueError):
                return make(pattern_options=options)
        return make(pattern_options=_ENGINES[-1])
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the engine is no Exception
        reason = f"The engine cannot compile this schema: {excerpt(str(error).partition(chr(10))[0], 120)}"
        pointer = pointers.from_tokens(getattr(error, "instance_path", ()))
        raise InvalidSchema(pointer, reason, SchemaFault.UNCOMPILABLE) from error
