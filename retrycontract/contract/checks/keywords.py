"""One explanation per JSON Schema keyword: what the engine reports becomes our error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from retrycontract.contract import pointers
from retrycontract.contract.checks.composition import lookup
from retrycontract.contract.checks.failure import Failure
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.contract.json_types import mapping, sequence, type_name
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.schemas.engine_errors import Kind, options_of
from retrycontract.contract.schemas.type_expressions import FORMATS, counted, describe_types, lacking

MAX_ADVISED = 100  # unknown fields of one object, or mistakes of one submission, for which a guess is looked for
Explain = Callable[[Failure, Any], Iterator[ValidationError]]


def explain(failure: Failure, kind: Kind) -> Iterator[ValidationError]:
    """Yield the errors for one failure; a keyword that no row names is a generic constraint (VAL-003)."""
    yield from EXPLANATIONS.get(type(kind), _other)(failure, kind)


def unknown_fields(
    failure: Failure, keys: Iterable[str], *, severity: ErrorSeverity | None = None
) -> Iterator[ValidationError]:
    """Report the keys of one object that the schema does not know, the first of them with the nearest known one."""
    declared = failure.place.declared
    # Not `declared - value.keys()`: that walks through all keys of the value.
    free = sorted(name for name in declared if name not in failure.value)
    known = f"one of the fields {failure.listed(sorted(declared))}" if declared else None
    for position, key in enumerate(keys):
        # A name that is taken is suggested only where none is free: renaming a field to it would replace the other one.
        others = free or sorted(declared - {key})
        guess = failure.nearest(key, others, of=failure.pointer) if position < MAX_ADVISED else None
        name, held = failure.name(key), failure.value[key]
        hint = f"rename '{name}' to '{failure.name(guess)}'" if guess else None
        if not guess and not failure.pointer and isinstance(held, dict) and not declared.isdisjoint(held):
            # The whole call in the place of its arguments, unless some of these stand beside it.
            is_whole = held.keys() >= declared.intersection(failure.value)
            hint = f"send the content of '{name}' itself as the arguments" if is_whole else _unpacked(name)
        yield failure.error(
            ErrorCode.UNKNOWN_FIELD,
            {"field": name},
            at=failure.member(key),
            expected=None if guess else known,
            actual=False,
            hint=hint,
            severity=severity,
        )


def _unpacked(name: str) -> str:
    return f"send what '{name}' holds beside the other fields, without '{name}' around it"


def deprecated_field(pointer: str, sanitizer: ValueSanitizer) -> ValidationError:
    return ValidationError(
        error_code=ErrorCode.CONSTRAINT_VIOLATION,
        field_path=sanitizer.redact_pointer(pointer),
        message=ErrorCode.CONSTRAINT_VIOLATION.template.format(constraint="the field is deprecated"),
        severity=ErrorSeverity.WARNING,
        keyword="deprecated",
    )


def property_name(failure: Failure, key: str) -> ValidationError:
    """Report one key that breaks `propertyNames`, at the key's own pointer."""
    name = failure.name(key)
    return failure.error(
        ErrorCode.CONSTRAINT_VIOLATION,
        {"constraint": f"the field name '{name}' is not allowed"},
        at=failure.member(key),
        expected=f"field names: {failure.describe({'type': 'string', **failure.shown_schema})}",
        actual=False,
        hint=f"rename '{name}'",
    )


def _required(failure: Failure, kind: Kind.Required) -> Iterator[ValidationError]:
    needed = str(kind.property)
    name = failure.name(needed)
    triggers = "' and '".join(failure.name(trigger) for trigger in _triggers(failure, needed))
    schemas = failure.place.child(needed).schemas
    yield failure.error(
        ErrorCode.DEPENDENCY_VIOLATION if triggers else ErrorCode.REQUIRED_FIELD_MISSING,
        {"field": triggers, "needed": name} if triggers else {"field": name},
        at=failure.member(needed),
        expected=failure.describe(schemas[0]) if schemas else None,
        actual=False,
        hint=f"send '{name}' along with '{triggers}'" if triggers else None,
    )


def _triggers(failure: Failure, needed: str) -> list[str]:
    """Name the fields whose presence makes another one necessary; none for a plain `required`."""
    if failure.keyword in ("dependentRequired", "dependencies"):
        table = failure.constraint if isinstance(failure.constraint, dict) else {}
        present = failure.value if isinstance(failure.value, dict) else {}
        return [
            name for name, names in table.items() if name in present and isinstance(names, list) and needed in names
        ]
    path = failure.path
    if len(path) > 1 and path[-2] in ("dependentSchemas", "dependencies"):
        return [path[-1]]
    if path and path[-1] in ("then", "else"):
        condition = lookup(failure.root, (*failure.path[:-1], "if"))
        if not isinstance(condition, dict):
            return []
        names = [*mapping(condition, "properties"), *sequence(condition, "required")]
        return list(dict.fromkeys(str(name) for name in names))
    return []


def _type(failure: Failure, kind: Kind.Type) -> Iterator[ValidationError]:
    declared = failure.constraint
    names = declared if isinstance(declared, list) else [declared] if isinstance(declared, str) else kind.types
    short = describe_types(str(name) for name in names)
    yield failure.error(
        ErrorCode.TYPE_MISMATCH,
        {"expected": short, "actual": type_name(failure.value)},
        expected=failure.describe(failure.schema) if failure.schema else short,
        hint=f"send {failure.subject} as {short}",
    )


def _enum(failure: Failure, kind: Kind) -> Iterator[ValidationError]:
    yield invalid_choice(failure, options_of(kind))


def invalid_choice(failure: Failure, options: list[Any]) -> ValidationError:
    """Report a value that is none of the allowed ones, with the nearest of them."""
    told = failure.shown_options(options)
    listed = failure.listed(told)
    guess = failure.nearest(failure.value, [each for each, shown in zip(options, told, strict=True) if each == shown])
    suggestion = f" (did you mean '{failure.limit(guess)}'?)" if guess else ""
    shown = failure.actual(failure.value)
    several, is_told = len(options) > 1, told == options
    wanted = "one of the allowed values" if several else listed if is_told else "the value that is allowed"
    return failure.error(
        ErrorCode.INVALID_ENUM_VALUE,
        {"value": unquoted(shown)},
        expected=f"one of: {listed}" if several else listed,
        hint=f"change {failure.subject} to {wanted}{suggestion}",
    )


def unquoted(shown: str) -> str:
    """Show a whole text without its quotes: the message has quotes of its own."""
    return shown[1:-1] if shown.startswith('"') and shown.endswith('"') else shown


def _text_length(failure: Failure, kind: Kind.MinLength | Kind.MaxLength) -> Iterator[ValidationError]:
    too_long = failure.keyword == "maxLength"
    yield failure.error(
        ErrorCode.STRING_LENGTH_VIOLATION,
        {"actual": len(failure.value), "limit": _exceeded(kind.limit, too_much=too_long)},
        expected=f"string with {'max' if too_long else 'min'} length {kind.limit}",
        hint=f"{'reduce' if too_long else 'increase'} {failure.subject} length",
    )


def _item_count(failure: Failure, kind: Kind.MinItems | Kind.MaxItems) -> Iterator[ValidationError]:
    too_many = failure.keyword == "maxItems"
    yield failure.error(
        ErrorCode.ARRAY_LENGTH_VIOLATION,
        {"actual": len(failure.value), "limit": _exceeded(kind.limit, too_much=too_many)},
        expected=f"array with at {'most' if too_many else 'least'} {counted(kind.limit, 'item')}",
        hint=f"{'remove items from' if too_many else 'add items to'} {failure.subject}",
    )


def _exceeded(limit: int, *, too_much: bool) -> str:
    return f"exceeds maximum {limit}" if too_much else f"is below minimum {limit}"


def _pattern(failure: Failure, kind: Kind.Pattern) -> Iterator[ValidationError]:
    pattern = failure.limit(str(kind.pattern))
    yield failure.error(ErrorCode.PATTERN_MISMATCH, {"pattern": pattern}, expected=f"string matching {pattern}")


def _format(failure: Failure, kind: Kind) -> Iterator[ValidationError]:
    name = str(failure.constraint or getattr(kind, "format", ""))
    form = failure.limit(name)
    sample = f", such as {FORMATS[name]}" if name in FORMATS else ""
    missing = lacking(name, failure.value)
    yield failure.error(
        ErrorCode.FORMAT_VIOLATION,
        {"format": f"{form} ({missing})" if missing else form},
        expected=f"string in format {form}{sample}",
        hint=f"write {failure.subject} in the format {form}{sample}",
    )


SIGNS = {
    "minimum": ">=",
    "maximum": "<=",
    "exclusiveMinimum": ">",
    "exclusiveMaximum": "<",
    "multipleOf": "a multiple of",
}


def _range(failure: Failure, kind: Any) -> Iterator[ValidationError]:
    bound = kind.multiple_of if hasattr(kind, "multiple_of") else kind.limit
    constraint = f"{SIGNS.get(failure.keyword, failure.keyword)} {bound}"
    yield failure.error(
        ErrorCode.NUMBER_RANGE_VIOLATION,
        {"actual": failure.actual(failure.value), "constraint": f"must be {constraint}"},
        expected=failure.describe(failure.schema) if failure.schema else constraint,
        hint=f"make {failure.subject} {constraint}",
    )


def _unique(failure: Failure, _: Kind) -> Iterator[ValidationError]:
    first, second = 0, 1  # numbers that only the engine calls equal, such as 10**300 and 1e300
    seen: dict[str, int] = {}
    for position, item in enumerate(failure.value):
        earlier = seen.setdefault(json.dumps(_canonical(item), sort_keys=True), position)
        if earlier != position:
            first, second = earlier, position
            break
    yield failure.error(
        ErrorCode.UNIQUE_CONSTRAINT_VIOLATION,
        {"i": first, "j": second},
        expected="array without equal items",
        hint=f"remove the repeated items of {failure.subject}",
    )


def _canonical(value: Any) -> Any:
    """Write equal numbers alike: to JSON Schema 1.0 is 1."""
    match value:
        case dict():
            return {key: _canonical(member) for key, member in value.items()}
        case list() | tuple():
            return [_canonical(item) for item in value]
        case float() if value.is_integer():
            return int(value)
    return value


def _unknown(
    failure: Failure, kind: Kind.AdditionalProperties | Kind.UnevaluatedProperties
) -> Iterator[ValidationError]:
    yield from unknown_fields(failure, dict.fromkeys(str(name) for name in kind.unexpected))


def _unknown_items(failure: Failure, kind: Any) -> Iterator[ValidationError]:
    known = failure.place.prefix_length
    # For unevaluatedItems the engine tells the values: `contains` may have let some of the others in.
    named = {json.dumps(json.loads(text), sort_keys=True) for text in getattr(kind, "unexpected", ())}
    rest = range(known, len(failure.value))
    refused = [position for position in rest if json.dumps(failure.value[position], sort_keys=True) in named]
    for position in refused or rest:
        yield failure.error(
            ErrorCode.UNKNOWN_FIELD,
            {"field": position},
            at=pointers.join(failure.pointer, position),
            expected=f"array of {known} items",
            actual=False,
            hint=f"remove the items after the first {known} of {failure.subject}",
        )


def _false(failure: Failure, _: Kind) -> Iterator[ValidationError]:
    """Tell the uses of the schema `false` apart by the keyword that holds it."""
    if failure.keyword == "additionalProperties":
        # The schema that says so declares nothing: what others declare in the same place is refused as well.
        yield from unknown_fields(failure, failure.value)
    elif failure.keyword in ("items", "additionalItems", "unevaluatedItems"):
        yield failure.error(ErrorCode.UNKNOWN_FIELD, {"field": pointers.last(failure.pointer)}, actual=False)
    elif len(failure.path) > 1 and failure.path[-2] in ("dependentSchemas", "dependencies"):
        name = failure.name(failure.path[-1])
        yield failure.error(
            ErrorCode.OBJECT_SCHEMA_VIOLATION,
            {"reason": f"the field '{name}' is not allowed here"},
            at=failure.member(failure.path[-1]),
            actual=False,
            hint=f"remove '{name}'",
        )
    else:
        yield failure.error(
            ErrorCode.OBJECT_SCHEMA_VIOLATION,
            {"reason": "no value is allowed here"},
            expected="nothing",
            actual=False,
            hint=f"remove {failure.subject}",
        )


def _contains(failure: Failure, _: Kind) -> Iterator[ValidationError]:
    low, high = failure.schema.get("minContains", 1), failure.schema.get("maxContains")
    count = f"at most {high}" if failure.keyword == "maxContains" else f"at least {low}"
    wanted = failure.describe(failure.schema.get("contains", True))
    yield failure.error(
        ErrorCode.CONSTRAINT_VIOLATION,
        {"constraint": f"must contain {count} of: {wanted}"},
        expected=f"array with {count} of: {wanted}",
    )


def _size(failure: Failure, kind: Kind.MinProperties | Kind.MaxProperties) -> Iterator[ValidationError]:
    too_many = failure.keyword == "maxProperties"
    bound = f"at {'most' if too_many else 'least'} {counted(kind.limit, 'field')}"
    yield failure.error(
        ErrorCode.OBJECT_SCHEMA_VIOLATION,
        {"reason": f"it has {counted(len(failure.value), 'field')}, allowed are {bound}"},
        expected=f"object with {bound}",
        hint=f"{'remove fields from' if too_many else 'add fields to'} {failure.subject}",
    )


def _not(failure: Failure, _: Kind) -> Iterator[ValidationError]:
    refused = failure.constraint
    # What is no object has no fields to remove.
    names = refused.get("required") if isinstance(refused, dict) and isinstance(failure.value, dict) else None
    if isinstance(names, list) and len(names) > 1:
        yield _exclusive(failure, [str(name) for name in names])
    elif isinstance(names, list) and names and refused.keys() <= {"required", "type"}:
        name = failure.name(str(names[0]))
        yield failure.error(
            ErrorCode.MUTUAL_EXCLUSIVITY_VIOLATION,
            {"fields": f"'{name}' and the schema's 'not'"},
            expected=f"object without '{name}'",
            hint=f"remove '{name}'",
        )
    else:
        yield failure.error(
            ErrorCode.MUTUAL_EXCLUSIVITY_VIOLATION,
            {"fields": "This value and the schema's 'not'"},
            expected=f"anything but {failure.describe(refused if isinstance(refused, dict | bool) else True)}",
            hint=f"change {failure.subject}",
        )


def _several(failure: Failure, kind: Kind.OneOfMultipleValid) -> Iterator[ValidationError]:
    """Explain a oneOf with several matches: the fields that the matching branches ask for exclude each other."""
    has_fields = isinstance(failure.value, dict)  # what is no object has none that could exclude each other
    branches = failure.constraint if has_fields and isinstance(failure.constraint, list) else []
    matching = [branch for branch, errors in zip(branches, kind.context, strict=False) if not errors]
    names = (str(name) for branch in matching if isinstance(branch, dict) for name in branch.get("required", ()))
    yield _exclusive(failure, list(dict.fromkeys(names)))


def _exclusive(failure: Failure, names: list[str]) -> ValidationError:
    shown = " and ".join(f"'{failure.name(name)}'" for name in names) if len(names) > 1 else ""
    return failure.error(
        ErrorCode.MUTUAL_EXCLUSIVITY_VIOLATION,
        {"fields": shown or "Several alternatives that this value matches"},
        expected="exactly one of the alternatives" if failure.keyword == "oneOf" else "not all of these together",
        hint=f"keep only one of {shown}" if shown else f"make {failure.subject} match exactly one alternative",
    )


def _other(failure: Failure, kind: Kind) -> Iterator[ValidationError]:
    is_spent = isinstance(kind, Kind.BacktrackLimitExceeded)
    told = "matching it takes too many steps" if is_spent else failure.limit(failure.keyword or "its schema")
    hint = "send a shorter text" if is_spent else None
    yield failure.error(ErrorCode.CONSTRAINT_VIOLATION, {"constraint": told}, hint=hint)


EXPLANATIONS: dict[type[Kind], Explain] = {
    Kind.Required: _required,
    Kind.Type: _type,
    Kind.Enum: _enum,
    Kind.Constant: _enum,
    Kind.MinLength: _text_length,
    Kind.MaxLength: _text_length,
    Kind.MinItems: _item_count,
    Kind.MaxItems: _item_count,
    Kind.Pattern: _pattern,
    Kind.Format: _format,
    Kind.ContentEncoding: _format,
    Kind.ContentMediaType: _format,
    Kind.FromUtf8: _format,
    Kind.Minimum: _range,
    Kind.Maximum: _range,
    Kind.ExclusiveMinimum: _range,
    Kind.ExclusiveMaximum: _range,
    Kind.MultipleOf: _range,
    Kind.UniqueItems: _unique,
    Kind.AdditionalProperties: _unknown,
    Kind.UnevaluatedProperties: _unknown,
    Kind.AdditionalItems: _unknown_items,
    Kind.UnevaluatedItems: _unknown_items,
    Kind.FalseSchema: _false,
    Kind.Contains: _contains,
    Kind.MinProperties: _size,
    Kind.MaxProperties: _size,
    Kind.Not: _not,
    Kind.OneOfMultipleValid: _several,
}
