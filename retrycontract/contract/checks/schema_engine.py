"""Check a parsed value against a JSON Schema and say everything that is wrong, in our own words.

The engine's texts quote values, so none of them is shown: each error is rebuilt from its keyword, its pointer, the
schema and the sanitised value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

from retrycontract.contract import pointers
from retrycontract.contract.advice import propose
from retrycontract.contract.checks import keywords, unions
from retrycontract.contract.checks.beside import Beside
from retrycontract.contract.checks.composition import (
    InstancePlace,
    holder_of,
    lookup,
    place_of,
    unknown_fields,
    walk,
)
from retrycontract.contract.checks.failure import Failure, subject
from retrycontract.contract.checks.readings import errors_within
from retrycontract.contract.checks.secret_choices import echoes_of_choices, secret_choices
from retrycontract.contract.checks.sensitive_places import sensitive_pointers, without_secret_names
from retrycontract.contract.checks.unevaluated import settled
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.contract.explaining.explanations import Key, key_of
from retrycontract.contract.explaining.parts import StepBudget, StepsSpentError
from retrycontract.contract.json_types import has_at_most
from retrycontract.contract.outputs.json_text import depth_fault
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.schemas.engine_errors import EngineError, EnginePaths, Kind, Path
from retrycontract.contract.tool import CompiledSchema

NAMING = ("properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions")
PLAIN = ValueSanitizer(RetryConfiguration(redact_secrets=False))  # for verdicts that are only compared, never shown
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
MAX_TOLD = 1_000  # mistakes of one submission: some 30 µs of work each, and 200 bytes in every copy of the verdict
UNREAD = "it has too many mistakes to look at each, what else is wrong is not listed"
MAX_EVALUATED = 500  # nodes of a value of which the engine is asked which branches it took
DESCENDING = (
    "properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames",
    "items", "prefixItems", "additionalItems", "unevaluatedItems", "contains",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class QuickCheck:
    """Hold what is soon seen of a value: whether the schema takes it, and the fields that nobody declared."""

    is_valid: bool
    unknown: list[tuple[str, dict[str, Any], list[str], InstancePlace]]

    @classmethod
    def of(cls, value: Any, compiled: CompiledSchema) -> QuickCheck:
        """Look at a value."""
        return cls(compiled.validator.is_valid(value), unknown_fields(compiled.index, value))


def violations(
    compiled: CompiledSchema, value: Any, *, strict: bool, sanitizer: ValueSanitizer, called: str = ""
) -> list[ValidationError]:
    """List every violation of a parsed value, in no particular order; an empty list means valid.

    Near misses carry the patch that would mend them. `called` is the name of the tool whose arguments they are.
    """
    seen = QuickCheck.of(value, compiled)
    if seen.is_valid and not seen.unknown and not compiled.index.deprecates_anything:
        return []
    marked = sensitive_pointers(compiled.index, value)
    found = bounded(
        _violations(compiled, value, seen, strict=strict, sanitizer=sanitizer, budget=StepBudget(), marked=marked)
    )
    # One budget for all trials together, so that they stay bounded whatever their number.
    judge = partial(_verdict, compiled, strict=strict, budget=StepBudget())
    index = compiled.index
    told = propose(found, value, index=index, sanitizer=sanitizer, judge=judge, marked=marked, called=called)
    show = partial(_verdict, compiled, strict=strict, budget=StepBudget(), sanitizer=sanitizer)
    told, within = errors_within(
        told, value, index=index, sanitizer=sanitizer, judge=show, bound=bounded, called=called
    )
    return without_secret_names([*told, *within], value, index, sanitizer, marked=marked)


def bounded(violations: Iterable[ValidationError], most: int = MAX_TOLD) -> list[ValidationError]:
    """List the first of them; one more stands for those beyond so many, once the verdict is settled."""
    found, worst, is_cut = list[ValidationError](), ErrorSeverity.INFO, False
    for violation in violations:
        worst = max(worst, violation.severity)
        if len(found) < most:
            found.append(violation)
            continue
        # The loop goes on until an error is seen: warnings without end must not make a wrong value valid.
        is_cut = True
        if worst is ErrorSeverity.ERROR:
            break
    return (
        [*found, _whole(f"it has more than {most:,} mistakes, the others are not listed", worst)] if is_cut else found
    )


def _whole(reason: str, severity: ErrorSeverity = ErrorSeverity.ERROR) -> ValidationError:
    code = ErrorCode.OBJECT_SCHEMA_VIOLATION
    return ValidationError(code, "", code.template.format(reason=reason), severity)


def _verdict(
    compiled: CompiledSchema, value: Any, *, strict: bool, budget: StepBudget, sanitizer: ValueSanitizer = PLAIN
) -> Iterator[ValidationError]:
    """Judge what a patch would make of a value: JSON that stood in a text may nest deeper than is cheap.

    Without a sanitiser nothing of it is shown, so that nothing need be hidden or advised.
    """
    if (fault := depth_fault(value, compiled.max_depth)) is not None:
        yield ValidationError(ErrorCode.INVALID_JSON_SYNTAX, fault.pointer, fault.reason)
    else:
        is_shown = sanitizer is not PLAIN
        marked = sensitive_pointers(compiled.index, value) if is_shown else ()
        seen = QuickCheck.of(value, compiled)
        yield from _violations(
            compiled, value, seen, strict=strict, sanitizer=sanitizer, budget=budget, advises=is_shown, marked=marked
        )


def _violations(
    compiled: CompiledSchema,
    value: Any,
    seen: QuickCheck,
    *,
    strict: bool,
    sanitizer: ValueSanitizer,
    budget: StepBudget,
    advises: bool = True,
    marked: Collection[str] = (),
) -> Iterator[ValidationError]:
    """Yield one by one: whoever only compares may stop at the first that is new."""
    if not seen.is_valid:
        told = False
        try:
            reader = Reader(compiled, value, sanitizer, budget, advises=advises, marked=marked)
            for violation in reader.violations():
                told = True
                yield violation
        except StepsSpentError:
            yield _whole(UNREAD)
        else:
            if not told:  # whatever the engine may have held back: what it refuses is not valid
                yield _whole("it was refused")
    if seen.unknown:
        severity = ErrorSeverity.ERROR if strict else ErrorSeverity.WARNING
        found = _unknown(compiled, seen, severity, sanitizer, advises=advises, marked=marked)
        yield from islice(found, MAX_TOLD + 1)  # all of them are as severe
    if compiled.index.deprecates_anything:
        used = islice(_deprecated(compiled, value, is_valid=seen.is_valid), MAX_TOLD + 1)  # never more than warnings
        yield from (keywords.deprecated_field(pointer, sanitizer) for pointer in used)


def _unknown(
    compiled: CompiledSchema,
    seen: QuickCheck,
    severity: ErrorSeverity,
    sanitizer: ValueSanitizer,
    *,
    advises: bool,
    marked: Collection[str],
) -> Iterator[ValidationError]:
    """Yield an error for every field that no schema declares."""
    for position, (pointer, item, keys, place) in enumerate(seen.unknown):
        failure = Failure(
            pointer=pointer, value=item, schema={}, keyword="additionalProperties",
            place=place, resolve=compiled.index.resolve, sanitizer=sanitizer, marked=marked,
            choices=secret_choices(compiled.index, sanitizer),
            advises=advises and position < keywords.MAX_ADVISED,
        )  # fmt: skip
        yield from keywords.unknown_fields(failure, keys, severity=severity)


class Reader:
    """Turn the engine's errors about one value into ours."""

    def __init__(
        self,
        compiled: CompiledSchema,
        value: Any,
        sanitizer: ValueSanitizer,
        budget: StepBudget,
        *,
        advises: bool,
        marked: Collection[str],
    ) -> None:
        self._compiled, self._value, self._sanitizer, self._budget = compiled, value, sanitizer, budget
        self._may_advise, self._explained = advises, 0
        self._index, self._paths = compiled.index, EnginePaths(value)
        self._marked = marked
        self._beside = Beside(value, sanitizer)

    def _marked_at(self, path: Path) -> Collection[str]:
        """Add to what is marked what its neighbours tell to be secret: the value is shown alone."""
        told = self._beside.told_at(tuple(path))
        return frozenset((*self._marked, *told)) if told else self._marked

    @property
    def _advises(self) -> bool:
        """Tell whether it is still worth looking for what was meant: of hundreds of mistakes nobody reads that."""
        return self._may_advise and self._explained <= keywords.MAX_ADVISED

    def violations(self) -> Iterator[ValidationError]:
        """Yield our errors for all that is wrong."""
        for error in self._errors():
            yield from self.explain(error)

    def _errors(self) -> Iterator[EngineError]:
        """List the engine's errors; where a schema refuses what is left over some at a time, to see what that is."""
        errors = iter(self._compiled.lister.errors(self._value, self._budget))
        if not self._index.asks_for_rest:
            yield from errors
            return
        while True:
            some, spent = list[EngineError](), None
            try:
                some.extend(islice(errors, 2 * MAX_TOLD))
            except StepsSpentError as error:
                spent = error
            yield from settled(some, self._index)
            if spent is not None:
                raise spent
            if not some:
                return

    def explain(self, error: EngineError) -> Iterator[ValidationError]:
        """Yield our errors for one of the engine's; a union yields those of the branch that was meant."""
        self._explained += 1
        key = key_of(error, redacts=self._sanitizer.redacts_secrets, advises=self._advises)
        if key is not None:
            yield self._steady(error, key)
            return
        failure = self._failure(error)
        match error.kind:
            case Kind.AnyOf() | Kind.OneOfNotValid():
                for told in unions.explain(failure, error, self.explain, partial(settled, index=self._index)):
                    # An author who lowered the union's severity lowered all that is said of it; a
                    # branch may be milder still.
                    yield replace(told, severity=min(told.severity, failure.severity))
            case Kind.PropertyNames(error=refused):
                yield keywords.property_name(failure, str(refused.instance))
            case Kind.OneOfMultipleValid() | Kind.Not() if failure.is_of_wrong_type:
                pass  # which is told; that it matches or does not says nothing of another type
            case Kind.FalseSchema() if failure.keyword == "propertyNames":
                yield from (keywords.property_name(failure, key) for key in failure.value)
            case _:
                yield from keywords.explain(failure, error.kind)

    def _steady(self, error: EngineError, key: Key) -> ValidationError:
        """Tell an error in the words that were found when it first occurred at this place of the schema."""
        explanations, path, value = self._compiled.explanations, error.where, error.value
        known = explanations.find(key)
        if known is None:
            failure = self._failure(error)
            (told,) = keywords.explain(failure, error.kind)
            named = None if failure.author_hint() else failure.subject
            explanations.keep(key, told, path, value, subject=named, index=self._index, sanitizer=self._sanitizer)
            return told
        if known.error.actual_value is None:
            return known.for_value(path, value, None, self._subject)
        # Names tell what is secret, indices only where the schema marked single values.
        marked = self._marked_at(path)
        pointer = pointers.from_tokens(path) if marked else known.where
        return known.for_value(path, value, self._sanitizer.preview(value, pointer, marked=marked), self._subject)

    def _subject(self, path: Path) -> str:
        return subject(pointers.from_tokens(path), self._sanitizer)

    def _failure(self, error: EngineError) -> Failure:
        fails_by_false = isinstance(error.kind, Kind.FalseSchema)
        is_false = fails_by_false and lookup(self._compiled.schema, error.schema_path) is False
        keyword, parent = _keyword(list(error.schema_path), is_false=is_false)
        schema = holder_of(self._compiled.schema, parent, keyword)
        if fails_by_false and keyword == "additionalProperties":
            spellings = self._paths.possible_paths(error.instance_path)
            paths = [path for path, value in spellings if isinstance(value, dict)]
            places = (path for path in paths if any(each is schema for each in place_of(self._index, path).schemas))
            path = next(places, paths[0])
        else:
            path = error.where
        value = self._value
        for step in path:
            value = value[step]
        return Failure(
            pointer=pointers.from_tokens(path),
            value=value,
            schema=schema if isinstance(schema, dict) else {},
            keyword="propertyNames" if isinstance(error.kind, Kind.PropertyNames) else keyword,
            path=tuple(str(step) for step in parent),
            place=place_of(self._index, path),
            resolve=self._index.resolve,
            root=self._compiled.schema,
            sanitizer=self._sanitizer,
            marked=self._marked_at(path),
            referring=self._referring(error.evaluation_path),
            choices=secret_choices(self._index, self._sanitizer),
            echoes=echoes_of_choices(self._index, self._sanitizer),
            advises=self._advises,
        )

    def _referring(self, path: list[str | int]) -> tuple[dict[str, Any], ...]:
        """Find the schemas that led to the failing one in the same place, the nearest first."""
        node: Any = self._compiled.schema
        found: list[dict[str, Any]] = []
        for step in path[:-1]:
            # A severity or a hint covers its own place alone: below a property or an item another place begins.
            if step in DESCENDING:
                found = []
            elif isinstance(node, dict):
                found.insert(0, node)
            refers = isinstance(node, dict) and step in REFERENCES and isinstance(node.get(step), str)
            node = self._index.resolve(node[step]) if refers else lookup(node, [step])
        return tuple(found)


def _keyword(schema_path: list[str | int], *, is_false: bool) -> tuple[str, list[str | int]]:
    """Split the schema path of an error into its keyword and the path of the schema that holds it."""
    end = len(schema_path)
    while end and isinstance(schema_path[end - 1], int):
        end -= 1
    if not end:
        return "", []
    if is_false and end > 1 and schema_path[end - 2] in NAMING:
        return "", schema_path  # `false` as the schema of a member: no keyword failed
    return str(schema_path[end - 1]), schema_path[: end - 1]


def _deprecated(compiled: CompiledSchema, value: Any, *, is_valid: bool) -> Iterable[str]:
    """List the places that are deprecated; of a valid value, only where the branch that it took says so."""
    used = [pointer for pointer, _, place in walk(compiled.index, value) if place.deprecated]
    # The engine tells nothing of what failed, and of large values too much: 17 s for 1 MB were seen.
    if not is_valid or not used or not has_at_most(MAX_EVALUATED, value):
        return used
    told = (
        (each["instanceLocation"], each["annotations"]) for each in compiled.validator.evaluate(value).annotations()
    )
    marked = (pointer for pointer, notes in told if isinstance(notes, dict) and notes.get("deprecated") is True)
    return dict.fromkeys(marked)
