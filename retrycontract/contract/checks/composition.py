"""Follow an instance through its schema: which subschemas describe each place, composition included.

JSON Schema lets `allOf`, `anyOf`, `oneOf`, `if`, `$ref` and `dependentSchemas` describe one place together. Strict
mode, sensitive marks and deprecation need all of them at once; the checking engine tells none of it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Any
from urllib.parse import unquote
from weakref import proxy

import re2

from retrycontract.contract import pointers
from retrycontract.contract.json_types import Schema, mapping, sequence
from retrycontract.contract.pointers import escape
from retrycontract.contract.schemas.graph import UNEVALUATED

# Bytes that the automaton of all patterns may take, beyond which nothing matches; they compile to a tenth at most.
MAX_MEMORY = 256 * 1024 * 1024
_OPTIONS = re2.Options()
_OPTIONS.log_errors = False  # else the library writes patterns that it cannot read to stderr
_OPTIONS.max_mem = MAX_MEMORY


class NamePatterns:
    """Hold patterns, ready to be looked for in names; one that this engine cannot read matches every name."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self._set, self._read, self.unreadable = re2.Set.SearchSet(_OPTIONS), list[str](), list[str]()
        for pattern in patterns:
            try:
                self._set.Add(pattern)
            except re2.error:
                self.unreadable.append(pattern)
            else:
                self._read.append(pattern)
        if self._read:
            self._set.Compile()

    def matching(self, name: str) -> list[str]:
        positions = sorted(self._set.Match(name) or ()) if self._read else ()
        return [*(self._read[position] for position in positions), *self.unreadable]


@lru_cache(maxsize=500)
def name_patterns(patterns: tuple[str, ...]) -> NamePatterns:
    """Give the patterns compiled; those of the schemas that were used last are kept."""
    return NamePatterns(patterns)


BRANCHES = ("anyOf", "oneOf")
CONDITIONS = ("if", "then", "else", "dependentSchemas", "dependencies")
OPENERS = ("additionalProperties", "unevaluatedProperties")
OPEN = frozenset({*OPENERS, "patternProperties"})
# What `walk` is there to find, or what may lead to it.
FINDABLE = ("properties", "$ref", "$dynamicRef", "$recursiveRef", "deprecated")
CONTAINERS = (dict, list, tuple)
MAX_CLOSURE = 500  # subschemas that describe one place; admission keeps real ones far below
MAX_PLACES = 2_000  # kept of one schema: names that a model makes up may match any choice of its patterns


class InstancePlace:
    """Hold the subschemas that describe one place of an instance, and what follows from them together."""

    __slots__ = (
        "_children",
        "_index",
        "_open",
        "_properties",
        "closed",
        "declared",
        "deprecated",
        "is_flat",
        "options",
        "patterns",
        "prefix_length",
        "schemas",
        "sensitive",
        "types",
    )

    def __init__(self, index: SchemaIndex, schemas: tuple[dict[str, Any], ...], *, closes: bool) -> None:
        self._index = proxy(index)  # which holds this one: a circle would be freed only while all threads stand still
        self._children: dict[str | int, InstancePlace] = {}
        self.schemas = schemas
        # Which of the schemas say something of a member by its name, and which of any: of hundreds few do.
        self._properties = defaultdict[str, list[int]](list)
        for at, schema in enumerate(schemas):
            for name in mapping(schema, "properties"):
                self._properties[name].append(at)
        self._open = [at for at, each in enumerate(schemas) if not OPEN.isdisjoint(each)]
        self.declared = frozenset(name for schema in schemas for name in _names(schema))
        # What the schemas ask for, all of them taken together, and the values that they name.
        kinds = [kind for schema in schemas for kind in (schema.get("type"), *sequence(schema, "type"))]
        self.types = frozenset(kind for kind in kinds if isinstance(kind, str))
        fixed = [(*sequence(each, "enum"), *([each["const"]] if "const" in each else ())) for each in schemas]
        self.options = tuple(chain.from_iterable(fixed))
        self.patterns = name_patterns(
            tuple(name for schema in schemas for name in mapping(schema, "patternProperties"))
        )
        # Where an author says what becomes of other names the engine judges them; strict
        # mode speaks where nothing is said.
        explicit = any(key in schema for schema in schemas for key in OPENERS)
        self.closed = closes and not explicit and not self.patterns.unreadable
        self.prefix_length = max((len(_prefix(schema)) for schema in schemas), default=0)  # items with their own schema
        self.deprecated = any(schema.get("deprecated") is True for schema in schemas)
        self.sensitive = any(is_sensitive(schema) for schema in schemas)
        self.is_flat = not any(keyword in node for node in nodes(schemas) for keyword in FINDABLE)

    @property
    def required(self) -> frozenset[str]:
        """Name the fields that the subschemas ask for, all of them taken together."""
        return frozenset(str(name) for schema in self.schemas for name in sequence(schema, "required"))

    def unknown(self, value: dict[str, Any]) -> list[str]:
        """List the keys of an object that no subschema of this place declares; none when it is open."""
        if not self.closed or value.keys() <= self.declared:
            return []
        return [key for key in value if not self.declares(key)]

    def declares(self, key: str) -> bool:
        """Tell whether some subschema of this place knows the key."""
        return key in self.declared or bool(self.patterns.matching(key))

    def child(self, token: str | int) -> InstancePlace:
        """Give the place of a member (by name) or of an item (by index)."""
        # Indices after the longest tuple fold into one, so that long arrays share one place.
        key = token if isinstance(token, str) else min(token, self.prefix_length)
        found = self._children.get(key)
        if found is None:
            if isinstance(key, str):
                telling = sorted({*self._properties.get(key, ()), *self._open})
                below = [each for at in telling for each in _member_schemas(self.schemas[at], key)]
            else:
                below = [each for schema in self.schemas for each in _item_schemas(schema, key)]
            found = self._index.place(below)
            # Only names that the schema knows are remembered: what models invent must not fill the memory.
            if isinstance(key, int) or key in self.declared:
                self._children[key] = found
        return found


class SchemaIndex:
    """Answer for one schema which subschemas apply where; built lazily and kept."""

    def __init__(self, root: Schema) -> None:
        self.schema = root
        self._anchors: dict[str, Schema] | None = None
        self._places: dict[tuple[int, ...], InstancePlace] = {}
        self.root = self.place([root])
        self.marks_anything = _mentions(root, ("writeOnly", "x-sensitive")) or any(
            node.get("format") == "password" for node in nodes(root)
        )
        self.deprecates_anything = _mentions(root, ("deprecated",))
        # Whether something is refused for being evaluated by nothing beside it.
        self.asks_for_rest = any(keyword in node for node in nodes(root) for keyword in UNEVALUATED)

    def resolve(self, reference: str) -> Schema | None:
        """Find the target of a local reference, or None."""
        if reference == "#":
            return self.schema
        if reference.startswith("#/"):
            target: Schema | None = lookup(self.schema, pointers.tokens(unquote(reference[1:])))
            return target
        if self._anchors is None:
            self._anchors = dict(_anchors(self.schema))
        return self._anchors.get(reference)

    def place(self, schemas: Iterable[Schema]) -> InstancePlace:
        """Close subschemas under everything that applies in the same place, and remember the result."""
        given = tuple(schemas)
        # By identity, which needs no comparison of schemas; the root keeps every subschema
        # alive, so no id is used twice.
        key = tuple(map(id, given))
        found = self._places.get(key)
        if found is None:
            closure: dict[int, dict[str, Any]] = {}
            declares = has_open_branch = False
            queue: deque[tuple[Schema, str]] = deque((schema, "") for schema in given)
            while queue and len(closure) < MAX_CLOSURE:
                schema, keyword = queue.popleft()
                if not isinstance(schema, dict) or id(schema) in closure:
                    continue
                closure[id(schema)] = schema
                has_open_branch = has_open_branch or (keyword in BRANCHES and _is_free_form(schema))
                # A condition looks at fields and adds rules for them; it doesn't say which there are.
                declares = declares or ("properties" in schema and keyword not in CONDITIONS)
                queue.extend(self._in_place(schema, keyword))
            found = InstancePlace(self, tuple(closure.values()), closes=declares and not has_open_branch)
            if len(self._places) < MAX_PLACES:
                self._places[key] = found
        return found

    def _in_place(self, schema: dict[str, Any], within: str) -> Iterator[tuple[Schema, str]]:
        """Yield the subschemas of the same place, each with the keyword that it stands under."""
        # What is reached from within a condition stays a condition: it adds rules and declares no field.
        around = within if within in CONDITIONS else ""
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if isinstance(reference := schema.get(keyword), str):
                target = self.resolve(reference)
                if target is not None:
                    yield target, around
        for keyword in ("allOf", *BRANCHES):
            for branch in sequence(schema, keyword):
                yield branch, around or keyword
        for keyword in ("if", "then", "else"):
            if keyword in schema:
                yield schema[keyword], keyword
        for keyword in ("dependentSchemas", "dependencies"):
            for dependent in mapping(schema, keyword).values():
                yield dependent, keyword


def unknown_fields(index: SchemaIndex, value: Any) -> list[tuple[str, dict[str, Any], list[str], InstancePlace]]:
    """List (pointer, object, unknown keys, place) for every object with fields that no schema declares."""
    return [
        (pointer, item, unknown, place)
        for pointer, item, place in walk(index, value)
        if place.closed and isinstance(item, dict) and (unknown := place.unknown(item))
    ]


def walk(index: SchemaIndex, value: Any) -> list[tuple[str, Any, InstancePlace]]:
    """List (pointer, value, place) for the value and for all within it that may hold what is closed or deprecated.

    Whatever lies in a flat place is passed over as a whole.
    """
    deprecates = index.deprecates_anything
    found: list[tuple[str, Any, InstancePlace]] = [("", value, index.root)]
    for pointer, item, place in found:  # which grows on the way
        members: Iterable[tuple[Any, Any]] = ()
        if isinstance(item, dict):
            members = item.items()
        elif isinstance(item, list | tuple):
            members = enumerate(item)
        for token, member in members:
            # Values without members matter only where something may be deprecated.
            if deprecates or isinstance(member, CONTAINERS):
                child = place.child(token)
                if child.schemas and not child.is_flat:
                    found.append((f"{pointer}/{token if token.__class__ is int else escape(token)}", member, child))
    return found


def place_of(index: SchemaIndex, pointer_tokens: Iterable[str | int]) -> InstancePlace:
    """Find the place that a path of member names and item indices leads to."""
    place = index.root
    for token in pointer_tokens:
        place = place.child(token)
    return place


def lookup(document: Any, path: Iterable[str | int]) -> Any:
    """Follow a path of keys and indices through a schema; None when it leads nowhere.

    The engine hands over keys such as "7" as numbers, hence both are tried.
    """
    for token in path:
        if isinstance(document, list):
            position = int(token) if str(token).isdigit() else len(document)
            document = document[position] if position < len(document) else None
        elif isinstance(document, dict):
            name = str(token)
            if name not in document and not isinstance(token, str):
                name = next((key for key in document if is_spelling(key, token)), "")
            document = document.get(name)
        else:
            return None
    return document


def holder_of(document: Any, path: list[str | int], keyword: str) -> Any:
    """Find the schema that holds a keyword; the engine leaves a member named "" out of its paths."""
    found = lookup(document, path)
    if not isinstance(found, dict) or not keyword or keyword in found:
        return found
    others = (lookup(document, [*path[:at], "", *path[at:]]) for at in range(1, len(path) + 1))
    return next((other for other in others if isinstance(other, dict) and keyword in other), found)


def is_spelling(key: str, number: int) -> bool:
    """Tell whether a key such as "007" is written in digits and means the number."""
    return key.isascii() and key.isdigit() and key.lstrip("0") == str(number).lstrip("0")


def _member_schemas(schema: dict[str, Any], name: str) -> Iterator[Schema]:
    properties = mapping(schema, "properties")
    by_pattern = mapping(schema, "patternProperties")
    matched = [by_pattern[pattern] for pattern in name_patterns(tuple(by_pattern)).matching(name)] if by_pattern else []
    if name in properties:
        matched.append(properties[name])
    yield from matched
    if not matched:
        for keyword in OPENERS:
            if isinstance(schema.get(keyword), dict):
                yield schema[keyword]


def _item_schemas(schema: dict[str, Any], index: int) -> Iterator[Schema]:
    prefix = _prefix(schema)
    if index < len(prefix):
        yield prefix[index]
    # Behind a tuple of items one by one stands `items` since 2020-12 and `additionalItems` in the drafts before.
    elif prefix and not isinstance(schema.get("items"), dict):
        if isinstance(schema.get("additionalItems"), dict):
            yield schema["additionalItems"]
    elif isinstance(schema.get("items"), dict):
        yield schema["items"]


def _names(schema: dict[str, Any]) -> Iterator[str]:
    """Name the fields that a schema knows: what it asks for, or what others depend on, cannot be unknown."""
    for keyword in ("properties", "dependentSchemas", "dependencies", "dependentRequired"):
        yield from mapping(schema, keyword)
    for needed in (
        schema.get("required"),
        *mapping(schema, "dependentRequired").values(),
        *mapping(schema, "dependencies").values(),
    ):
        yield from (name for name in needed if isinstance(name, str)) if isinstance(needed, list) else ()


def _prefix(schema: dict[str, Any]) -> list[Schema]:
    # Up to 2019-09 a list under `items` was what `prefixItems` is now.
    return sequence(schema, "prefixItems") or sequence(schema, "items")


def _is_free_form(schema: dict[str, Any]) -> bool:
    """Tell a union's branch that takes any object ({"type": "object"}) from one that only constrains."""
    kinds = schema.get("type")
    takes_objects = kinds == "object" or (isinstance(kinds, list) and "object" in kinds)
    return takes_objects and not any(key in schema for key in ("properties", "$ref", "allOf", "required", *BRANCHES))


def is_sensitive(schema: dict[str, Any]) -> bool:
    """Tell whether a subschema itself marks what it describes."""
    return schema.get("writeOnly") is True or schema.get("x-sensitive") is True or schema.get("format") == "password"


def nodes(root: Any) -> Iterator[dict[str, Any]]:
    """Yield every object within a schema."""
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            yield node
            stack.extend(node.values())
        elif isinstance(node, list | tuple):
            stack.extend(node)


def _mentions(root: Schema, keywords: tuple[str, ...]) -> bool:
    return any(node.get(keyword) is True for node in nodes(root) for keyword in keywords)


def _anchors(root: Schema) -> Iterator[tuple[str, Schema]]:
    for node in nodes(root):
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(node.get(keyword), str):
                yield f"#{node[keyword]}", node
        for keyword in ("$id", "id"):
            if isinstance(node.get(keyword), str):
                yield node[keyword], node
