"""Find what a schema tells of secrets: the `enum`, `const`, `default` and samples of fields that are secret."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from copy import deepcopy
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from retrycontract.contract import pointers
from retrycontract.contract.checks.composition import MAX_CLOSURE, OPENERS, InstancePlace, SchemaIndex, nodes
from retrycontract.contract.checks.sensitive_places import is_secret_place, marks_of
from retrycontract.contract.configuration import RetryConfiguration, SanitizerMode
from retrycontract.contract.json_types import mapping
from retrycontract.contract.redaction.echoes import Echoes
from retrycontract.contract.redaction.field_names import judge
from retrycontract.contract.redaction.foreign import MARK, is_mark
from retrycontract.contract.redaction.sanitizer import NO_CHOICES, VALUED, Choices, ValueSanitizer
from retrycontract.contract.redaction.schema_marks import HIDDEN
from retrycontract.contract.schemas.graph import MAPS, REFERENCES

CHOICES = ("const", "enum")
# One to three words of a language, or the usual names of algorithms.
WORDS: Final = re.compile(
    r"(?:[A-Za-z]?[a-z]{1,15}|[A-Z]{1,8})(?:[ _-](?:[A-Za-z]?[a-z]{1,15}|[A-Z]{1,8})){0,2}"
    r"|(?i:argon2(?:i|d|id)?|sha-?\d{1,3}|pbkdf2|md5|oauth ?2?|[hrep]s(?:256|384|512)|base64|x509)"
)
LISTED = frozenset({"enum", "examples"})
# These describe some items of an array, and not which.
SOME_ITEMS = ("contains", "unevaluatedItems")
# Of a schema whose places are more than these, as only hostile ones have, every choice is hidden.
MOST_PLACES = 5_000


def public_schema(schema: Any, sanitizer: ValueSanitizer) -> Any:
    """Give a schema as it may be shown and stored: without secrets, and without what its secret fields allow."""
    return shown_part(schema, SchemaIndex(schema), sanitizer)


def shown_part(part: Any, index: SchemaIndex, sanitizer: ValueSanitizer, name: str = "") -> Any:
    """Give a part of a schema as it may be shown; `name` is the field that it describes."""
    shown = sanitizer.redact_schema(part, name, choices=secret_choices(index, sanitizer))
    echoes = echoes_of_choices(index, sanitizer)
    # A copy: what stands for a choice is kept for whoever comes next.
    return echoes.hide_in(deepcopy(shown), lambda texts: {text: text for text in texts}) if echoes else shown


def secret_choices(index: SchemaIndex, sanitizer: ValueSanitizer) -> Choices:
    """Give by the ids of subschemas what is shown for those of their keywords that would tell a secret.

    What is marked is hidden whole. Where a field is only called like a secret, that is hidden which would be hidden of
    a value that stood there, but for a choice between words: `token: [ETH, BTC]` names kinds, and no agent could meet
    it unread.
    """
    return _choices_of(index, sanitizer.configuration.sanitizer_mode)[0] if sanitizer.redacts_secrets else NO_CHOICES


def echoes_of_choices(index: SchemaIndex, sanitizer: ValueSanitizer) -> Echoes:
    """Give the secrets that `secret_choices` hides, to hide them in descriptions and hints as well."""
    return _choices_of(index, sanitizer.configuration.sanitizer_mode)[1] if sanitizer.redacts_secrets else Echoes()


@lru_cache(maxsize=500)
def _choices_of(index: SchemaIndex, mode: SanitizerMode) -> tuple[Choices, Echoes]:
    found: dict[int, dict[str, Any]] = {}
    echoes = Echoes()
    sanitizer = ValueSanitizer(RetryConfiguration(sanitizer_mode=mode))
    for part, name in _named_parts(index):
        for keyword in (*CHOICES, *VALUED):
            if keyword in part and not (keyword == "enum" and _are_words(part[keyword])):
                _note(found, echoes, part, keyword, sanitizer.redact(part[keyword], pointers.from_tokens([name])))
    marked = _marked_parts(index)
    for part in nodes(index.schema) if marked else ():
        if id(part) in marked:
            for keyword in (*CHOICES, *VALUED):
                if keyword in part:
                    _note(found, echoes, part, keyword, _hidden(part[keyword], is_listed=keyword in LISTED))
    return found, echoes


def _are_words(values: Any) -> bool:
    return (
        isinstance(values, list)
        and len(values) > 1
        and all(tells_nothing(each) or (isinstance(each, str) and WORDS.fullmatch(each) is not None) for each in values)
    )


def _note(found: dict[int, dict[str, Any]], echoes: Echoes, part: dict[str, Any], keyword: str, shown: Any) -> None:
    value = part[keyword]
    if shown == value:
        return
    found.setdefault(id(part), {})[keyword] = shown
    are_several = keyword in LISTED and isinstance(value, list)
    for each, mark in zip(value, shown, strict=False) if are_several else ((value, shown),):
        if isinstance(each, str) and isinstance(mark, str) and is_mark(mark):
            echoes.add(each, mark.removeprefix(MARK).removesuffix("]"))


def _hidden(value: Any, *, is_listed: bool) -> Any:
    if is_listed and isinstance(value, list):
        return [_hidden(each, is_listed=False) for each in value]
    return value if tells_nothing(value) else HIDDEN


def tells_nothing(value: Any) -> bool:
    """Tell the values that anybody would try first: knowing that one of them is right is knowing nothing."""
    return value is None or isinstance(value, bool) or value == ""


def _named_parts(index: SchemaIndex) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the subschemas of fields that are called like a secret, however deep within, with the name."""
    pending: list[tuple[Any, str]] = [(index.schema, "")]
    met = set[tuple[int, str | None]]()
    while pending:
        part, name = pending.pop()
        if isinstance(part, list):
            pending += ((each, name) for each in part)
            continue
        mark = judge(name).mark
        if not isinstance(part, dict) or (id(part), mark) in met:
            continue
        met.add((id(part), mark))
        if mark is not None:
            yield part, name
            pending += ((index.resolve(part[key]), name) for key in REFERENCES if isinstance(part.get(key), str))
        for keyword, child in part.items():
            if keyword in ("properties", "patternProperties") and isinstance(child, dict):
                # A field within a secret one that has an ordinary name is as secret.
                pending += ((each, field if judge(field).mark else name) for field, each in child.items())
            elif keyword in MAPS and isinstance(child, dict):  # where a name may be that of a keyword
                pending += ((each, name) for each in child.values())
            elif keyword not in CHOICES and keyword not in VALUED:
                pending.append((child, name))


def _marked_parts(index: SchemaIndex) -> Collection[int]:
    """Give the ids of the subschemas that describe what is marked, or something within it."""
    marks = marks_of(index)
    if marks is None:
        return ()
    seeds = [
        node for node in nodes(index.schema)
        if id(node) in marks.reaching and is_secret_place(index.place([node]), marks.reaching)
    ]  # fmt: skip
    pending, met = [index.root], set[tuple[int, ...]]()
    while pending:
        place = _with_refused(index, pending.pop())
        key = tuple(map(id, place.schemas))
        if key in met or not any(each in marks.reaching for each in key):
            continue
        met.add(key)
        if is_secret_place(place, marks.reaching):
            seeds += place.schemas
        else:
            pending += islice(_below(index, place), MOST_PLACES)
        if len(met) + len(pending) > MOST_PLACES or len(key) >= MAX_CLOSURE:
            return {id(node) for node in nodes(index.schema)}
    return _all_within(index, seeds)


def _all_within(index: SchemaIndex, seeds: Iterable[dict[str, Any]]) -> Collection[int]:
    pending, found = list[Any](seeds), set[int]()
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            pending += part
        elif isinstance(part, dict) and id(part) not in found:
            found.add(id(part))
            pending += part.values()
            pending += (index.resolve(part[key]) for key in REFERENCES if isinstance(part.get(key), str))
    return found


def _with_refused(index: SchemaIndex, place: InstancePlace) -> InstancePlace:
    """Add to a place what it refuses, which tells of it as well."""
    known = set(map(id, place.schemas))
    refused = [each["not"] for each in place.schemas if isinstance(each.get("not"), dict)]
    if all(id(each) in known for each in refused):
        return place
    return _with_refused(index, index.place([*place.schemas, *refused]))


def _below(index: SchemaIndex, place: InstancePlace) -> Iterator[InstancePlace]:
    """Yield the places of members and items, those without a name of their own with all that may describe them."""
    for name in {name for schema in place.schemas for name in mapping(schema, "properties")}:
        yield place.child(name)
    open_to_any = [(schema, schema[key]) for schema in place.schemas for key in OPENERS if key in schema]
    yield index.place([child for _, child in open_to_any])
    for schema in place.schemas:
        for child in mapping(schema, "patternProperties").values():
            yield index.place([child, *(other for holder, other in open_to_any if holder is not schema)])
    some = [schema[key] for schema in place.schemas for key in SOME_ITEMS if key in schema]
    for position in range(place.prefix_length + 1):
        yield index.place([*place.child(position).schemas, *some])
