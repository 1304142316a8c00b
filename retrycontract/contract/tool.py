"""A tool as its developer declares it, the same ready to judge, and what a tool that takes extracted data takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, get_args

from retrycontract.contract.checks.composition import SchemaIndex
from retrycontract.contract.configuration import Mode
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.explaining.explanations import Explanations
from retrycontract.contract.explaining.listing import ErrorLister
from retrycontract.contract.json_types import Schema
from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.json_text import MAX_DEPTH
from retrycontract.contract.outputs.source_code import Compiler, Compilers, declared_language
from retrycontract.contract.schemas.admission import Admission, examine
from retrycontract.contract.schemas.document import SchemaWarning


@dataclass(frozen=True, slots=True)
class CompiledSchema:
    """Hold an admitted schema, ready to judge: the engine's validator and the index of its places."""

    schema: Schema
    validator: Any
    index: SchemaIndex
    max_depth: int
    lister: ErrorLister
    explanations: Explanations = field(default_factory=Explanations)

    @classmethod
    def of(cls, schema: Schema, admission: Admission) -> CompiledSchema:
        """Index a schema that was admitted; values that nest too deep to be cheap are refused."""
        lister = ErrorLister.of(schema, admission.width)
        return cls(schema, admission.validator, SchemaIndex(schema), admission.cheap_depth, lister)


PluginCheck = Callable[[Any], Iterable[ValidationError]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Declare a tool: its name and the JSON Schema of its arguments.

    `strict` refuses fields that the schema does not declare; `mode` 'observe' records and never blocks; `hold` keeps
    a Blocked call closed until a person answered; `max_attempts` overrides the configuration; `checks` run after
    the schema on the parsed arguments.
    """

    name: str
    input_schema: Schema
    description: str = ""
    strict: bool = True
    mode: Mode | None = None
    hold: bool = False
    max_attempts: int | None = None
    kind: Kind = Kind.TOOL_CALL
    checks: tuple[PluginCheck, ...] = field(default=())

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"the name of a tool is {self.name!r}: give a text")
        if callable(self.checks) or not all(callable(check) for check in self.checks):
            raise TypeError(f"checks of {self.name!r} is {self.checks!r:.80}: give a list of functions, even of one")
        # A misspelt one would enforce what was only to be observed, or the other way.
        if self.mode not in (None, *get_args(Mode)):
            raise ValueError(f"{self.name!r} has no mode {self.mode!r}; the modes are {', '.join(get_args(Mode))}")
        for name in ("strict", "hold"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} of {self.name!r} is {getattr(self, name)!r}: give True or False")
        # Schemas and settings spell the kind as a string.
        if self.kind not in list(Kind):
            raise ValueError(f"{self.name!r} is of no kind {self.kind!r}; the kinds are {', '.join(Kind)}")
        # A frozen value is set in this way only.
        object.__setattr__(self, "kind", Kind(self.kind))


@dataclass(frozen=True, slots=True)
class CompiledTool:
    """Hold a tool with its schema admitted and compiled, and of source files the compiler of their language."""

    tool: Tool
    schema: CompiledSchema
    compiler: Compiler | None = None
    warnings: tuple[SchemaWarning, ...] = ()
    # What judges in the place of this process, which has not compiled the schema then: a `Check` of the catalogue.
    check: Callable[..., Any] | None = None

    @classmethod
    def judged_by(cls, check: Callable[..., Any], tool: Tool, warnings: tuple[SchemaWarning, ...]) -> CompiledTool:
        """Index an admitted schema, and leave the judging to somebody else."""
        lister = ErrorLister.of(True, 1)
        schema = CompiledSchema(tool.input_schema, None, SchemaIndex(tool.input_schema), MAX_DEPTH, lister)
        return cls(tool, schema, warnings=warnings, check=check)

    @classmethod
    def of(cls, tool: Tool, compilers: Compilers | None = None, *, is_bounded: bool = False) -> CompiledTool:
        """Admit and compile a tool's schema; raises InvalidSchema that names the fault, DearSchema unless `is_bounded`.

        Source files are compiled outside, where that is bounded: `compilers` gives what does it. Raises
        UnknownLanguageError where nobody can tell their language.
        """
        admission = examine(tool.input_schema, is_bounded=is_bounded)
        schema = CompiledSchema.of(tool.input_schema, admission)
        if tool.kind is not Kind.SOURCE_FILE:
            return cls(tool, schema, warnings=admission.warnings)
        language = declared_language(tool.name, tool.input_schema)
        if compilers is None:
            raise TypeError(f"{tool.name!r} writes source files: hand in the compilers of their languages")
        return cls(tool, schema, compilers(language), admission.warnings)


DATA = "data"
SHARED = ("$defs", "definitions")  # where a schema keeps what it refers to
FREE: Schema = {"description": "The data, by the JSON Schema that the task gives."}


def data_input(schema: Schema) -> dict[str, Any]:
    """Write the schema of a tool's arguments that takes the data.

    A schema that refers to anything but what it keeps, or has an identity of its own, is told in words instead.
    """
    within, shared = schema, {}
    if isinstance(schema, dict):
        members, kept = list(_members(schema)), tuple(f"#/{name}/" for name in SHARED)
        strays = [each for key, each in members if key == "$ref" and not str(each).startswith(kept)]
        if strays or any(key in ("$id", "$dynamicRef", "$recursiveRef") for key, _ in members):
            within = FREE
        else:
            # References begin at the document's root, which is another one now: what they lead to is moved there.
            shared = {name: schema[name] for name in SHARED if name in schema}
            # `$schema` belongs to the root of a document, which the data's schema no longer is.
            within = {name: value for name, value in schema.items() if name not in (*SHARED, "$schema")}
    return {"type": "object", "properties": {DATA: within}, "required": [DATA], **shared}


def _members(schema: Any) -> Iterator[tuple[str, Any]]:
    stack = [schema]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            yield from item.items()
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
