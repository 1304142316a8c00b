"""Find what of an output its schema marks as secret: at the places that it describes, and where it describes none."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

from retrycontract.contract import pointers
from retrycontract.contract.checks.beside import leaves
from retrycontract.contract.checks.composition import (
    CONTAINERS,
    InstancePlace,
    SchemaIndex,
    is_sensitive,
    name_patterns,
    nodes,
)
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.json_types import mapping
from retrycontract.contract.redaction.field_names import is_telling_key, judge
from retrycontract.contract.redaction.foreign import is_mark, plain_text
from retrycontract.contract.redaction.sanitizer import ValueSanitizer, elide_middle, visible
from retrycontract.contract.redaction.schema_marks import HIDDEN, SchemaMarks, Showing

MAX_NAME = 80  # characters of a field's name in a message
SHORTEST = 4  # characters of a secret value that is looked for in what is said of the output
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
# Keywords whose subschemas describe the same place or places without names of their own.
_NAMELESS = (
    "allOf", "anyOf", "oneOf", "if", "then", "else", "items", "prefixItems", "additionalItems", "unevaluatedItems",
    "contains", "additionalProperties", "unevaluatedProperties", "propertyNames",
)  # fmt: skip
_BY_NAME = ("patternProperties", "dependentSchemas", "dependencies")
# These say something of items, and not of which.
_SOME_ITEMS = ("contains", "unevaluatedItems")
_OF_MEMBERS = ("patternProperties", "additionalProperties", "unevaluatedProperties")
# A value of Python may hold itself: after so many containers that were met before, all of it is secret.
MOST_REPEATED = 1_000
# Text that may be written data: what it holds has names that are no places of the schema.
_WRITTEN = re.compile(r"""\s*[{\["'<(]""")


@lru_cache(maxsize=500)
def marks_of(index: SchemaIndex) -> SchemaMarks | None:
    """Give what a schema's names tell, or None where it marks nothing."""
    if not index.marks_anything:
        return None
    reaching, by_name, patterns = _reaching(index), dict[str, Showing](), set[str]()
    pending, seen = [(index.schema, False)], set[tuple[int, bool]]()
    while pending:
        schema, is_within = pending.pop()
        if not isinstance(schema, dict) or (id(schema), is_within) in seen:
            continue
        seen.add((id(schema), is_within))
        is_within = is_within or is_secret_place(index.place([schema]), reaching)
        for name, child in mapping(schema, "properties").items():
            showing = Showing.HOLDING if id(child) in reaching else Showing.OPEN
            if is_within or is_secret_place(index.place([child]), reaching):
                showing = Showing.MARKED
            by_name[name] = max(showing, by_name.get(name, showing))
            pending.append((child, is_within))
        patterns |= {
            name for name, child in mapping(schema, "patternProperties").items() if is_within or id(child) in reaching
        }
        # Below these no name leads on: references, items and branches, and what has a name of another kind.
        nameless: list[Any] = [index.resolve(schema[key]) for key in _REFERENCES if isinstance(schema.get(key), str)]
        for keyword in _NAMELESS:
            child = schema.get(keyword)
            nameless += child if isinstance(child, list) else (child,)
        nameless += [child for keyword in _BY_NAME for child in mapping(schema, keyword).values()]
        pending += ((child, is_within) for child in nameless)
    known = name_patterns(tuple(sorted(patterns)))
    hides_all = is_secret_place(index.root, reaching)
    return SchemaMarks(by_name, lambda name: bool(known.matching(name)), hides_all=hides_all, reaching=reaching)


def sensitive_pointers(index: SchemaIndex, value: Any) -> frozenset[str]:
    """List the places of an output that are secret by its schema.

    Where the schema describes no place, because the output has another shape, names tell: a member that is called like
    a marked field, or nearly, is secret anywhere, and so is a value without a name where something marked was due.
    """
    marks = marks_of(index)
    return frozenset(_secret_places(index, marks, value)) if marks else frozenset()


def secret_values(index: SchemaIndex, value: Any, sanitizer: ValueSanitizer) -> frozenset[str]:
    """List the texts in an output that are secret by its schema, their names or what stands beside them.

    A short one would be found in any other text.
    """
    if not sanitizer.redacts_secrets:
        return frozenset()
    pending = [
        item for _, item, shown in leaves(value, sanitizer.redact(value)) if isinstance(shown, str) and is_mark(shown)
    ]
    pending += (pointers.resolve(value, pointer) for pointer in sensitive_pointers(index, value))
    found = set[str]()
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending += (*item, *item.values())
        elif isinstance(item, list | tuple):
            pending += item
        elif isinstance(item, str | int) and not isinstance(item, bool) and len(text := plain_text(item)) >= SHORTEST:
            found.add(text)
    return frozenset(found)


def _secret_places(index: SchemaIndex, marks: SchemaMarks, value: Any) -> Iterator[str]:
    pending: list[tuple[str, Any, InstancePlace | None, bool]] = [("", value, index.root, False)]
    met, again = set[int](), 0
    while pending:
        pointer, item, place, hides = pending.pop()
        if isinstance(item, CONTAINERS):
            again += id(item) in met
            met.add(id(item))
            if again > MOST_REPEATED:
                yield ""
                return
        if place and is_secret_place(place, marks.reaching):
            yield pointer
            continue
        is_due = hides if place is None else any(id(schema) in marks.reaching for schema in place.schemas)
        is_list_due = False
        if place is not None and is_due and not place.declared:
            is_list_due = not any(keyword in schema for schema in place.schemas for keyword in _OF_MEMBERS)
        if isinstance(item, dict):
            # Where a list of secrets was due its keys may be those.
            if place and is_list_due and is_secret_place(place.child(0), marks.reaching):
                yield pointer
                continue
            for key, member in item.items():
                name = key if type(key) is str else plain_text(key)
                child = place.child(name) if place else None
                where = pointers.join(pointer, name)
                if child and child.schemas:
                    pending.append((where, member, child, False))
                    continue
                showing = marks.showing(name)
                if showing is Showing.MARKED:
                    yield where
                else:
                    is_hidden = showing is Showing.HOLDING or (showing is None and (is_list_due or hides))
                    pending.append((where, member, None, is_hidden))
        elif isinstance(item, list | tuple):
            some = place is not None and any(
                id(schema.get(keyword)) in marks.reaching for schema in place.schemas for keyword in _SOME_ITEMS
            )
            for position, member in enumerate(item):
                child = place.child(position) if place else None
                if some:
                    yield f"{pointer}/{position}"
                elif child and child.schemas:
                    pending.append((f"{pointer}/{position}", member, child, False))
                else:
                    pending.append((f"{pointer}/{position}", member, None, is_due))
        elif isinstance(item, str):
            if (is_due and not _takes(place, item)) or (_WRITTEN.match(item) and marks.mentions(item)):
                yield pointer
        elif is_due and item is not None and not isinstance(item, bool) and not _takes(place, item):
            yield pointer


class _SecretNames:
    """Take out of errors the keys that are secrets: in a marked object every one that the schema does not declare."""

    def __init__(self, value: Any, index: SchemaIndex, marked: Collection[str]) -> None:
        self._value, self._marks, self._marked = value, marks_of(index), marked
        self._known = dict[str, tuple[set[str], re.Pattern[str]] | None]()  # by the pointer of the secret object

    def hidden(self, error: ValidationError) -> ValidationError:
        tokens = pointers.tokens(error.field_path)
        if not self._marked and not any(judge(token).mark for token in tokens):
            return error
        outer = next((tokens[:length] for length in range(len(tokens) + 1) if self._is_secret(tokens[:length])), None)
        if outer is None or (found := self._keys_in(pointers.from_tokens(outer))) is None:
            return error
        keys, quoted = found
        return replace(
            error,
            field_path=pointers.from_tokens([HIDDEN if token in keys else token for token in tokens]),
            message=quoted.sub(f"'{HIDDEN}", error.message),
            hint=error.hint and quoted.sub(f"'{HIDDEN}", error.hint),
            patch=(),
        )

    def _is_secret(self, path: tuple[str, ...]) -> bool:
        return pointers.from_tokens(path) in self._marked or bool(path and judge(path[-1]).mark)

    def _keys_in(self, outer: str) -> tuple[set[str], re.Pattern[str]] | None:
        if outer not in self._known:
            try:
                within = pointers.resolve(self._value, outer)
            except LookupError:  # a name on the way was redacted
                within = None
            marks = self._marks if outer in self._marked else None
            keys = {
                key for node in nodes(within) for key in node
                if (not marks.declares(key) if marks else is_telling_key(key))
            }  # fmt: skip
            shown = (re.escape(elide_middle(visible(key), MAX_NAME)) for key in sorted(keys, key=len, reverse=True))
            self._known[outer] = (keys, re.compile(f"'(?:{'|'.join(shown)})(?=['/])")) if keys else None
        return self._known[outer]


def without_secret_names(
    errors: Iterable[ValidationError],
    value: Any,
    index: SchemaIndex,
    sanitizer: ValueSanitizer,
    *,
    marked: Collection[str] | None = None,
) -> list[ValidationError]:
    """Take the keys that are secrets out of the errors of a value, whose secret places may be known as `marked`."""
    if not sanitizer.redacts_secrets:
        return list(errors)
    names = _SecretNames(value, index, sensitive_pointers(index, value) if marked is None else marked)
    return [names.hidden(error) for error in errors]


def is_secret_place(place: InstancePlace, reaching: set[int]) -> bool:
    """Tell a place whose value is marked, or the names in it."""
    return place.sensitive or any(id(schema.get("propertyNames")) in reaching for schema in place.schemas)


def _takes(place: InstancePlace | None, item: Any) -> bool:
    """Tell whether the schema asks for such a text or number in this place, beside what is marked within others."""
    kinds = ("string",) if isinstance(item, str) else ("number", "integer")
    asked = (schema.get("type") for schema in place.schemas) if place else ()
    return any(kind in kinds for each in asked for kind in (each if isinstance(each, list) else (each,)))


def _reaching(index: SchemaIndex) -> set[int]:
    """Give the ids of the subschemas that are marked or lead to one that is."""
    parents = defaultdict[int, list[int]](list)
    pending = []
    for node in nodes(index.schema):
        targets = [index.resolve(node[key]) for key in _REFERENCES if isinstance(node.get(key), str)]
        for child in (*node.values(), *targets):
            for each in child if isinstance(child, list) else (child,):
                if isinstance(each, dict):
                    parents[id(each)].append(id(node))
        if is_sensitive(node):
            pending.append(id(node))
    reaching = set[int]()
    while pending:
        if (node_id := pending.pop()) not in reaching:
            reaching.add(node_id)
            pending += parents[node_id]
    return reaching
