"""The places of a schema and how they lead to one another, its references resolved inside the document alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

from retrycontract.contract import pointers
from retrycontract.contract.schemas.document import InvalidSchema, SchemaFault, Trail, excerpt, pointer_of
from retrycontract.contract.schemas.metaschema import DRAFT_2019_09, DRAFT_2020_12, Draft, check_metaschema, draft_of

# One table for all drafts: a keyword that a draft lacks is harmless to look into.
MAPS = frozenset(
    {"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"}
)  # fmt: skip
LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})  # `items` was a list up to 2019-09
SINGLE = frozenset(
    {
        "not", "if", "then", "else", "items", "contains", "additionalItems", "unevaluatedItems",
        "additionalProperties", "unevaluatedProperties", "propertyNames", "contentSchema",
    }
)  # fmt: skip
IN_PLACE = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"}
)  # fmt: skip
# Definitions apply only where something refers to them, and no engine asserts contentSchema.
INERT = frozenset({"$defs", "definitions", "contentSchema"})
UNEVALUATED = ("unevaluatedItems", "unevaluatedProperties")
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


def subschemas(schema: dict[str, Any]) -> Iterator[tuple[str, str | int | None, dict[str, Any]]]:
    """Yield keyword, member (name, index or None) and subschema; boolean subschemas hold nothing and are left out."""
    for keyword, value in schema.items():
        if isinstance(value, dict):
            if keyword in MAPS:
                for name, child in value.items():
                    if isinstance(child, dict):
                        yield keyword, name, child
            elif keyword in SINGLE:
                yield keyword, None, value
        elif isinstance(value, list) and keyword in LISTS:
            for index, child in enumerate(value):
                if isinstance(child, dict):
                    yield keyword, index, child


DYNAMIC_ANCHORS = {"$dynamicRef": "$dynamicAnchor", "$recursiveRef": "$recursiveAnchor"}
DRAFT_OF_REFERENCE = {"$dynamicRef": DRAFT_2020_12, "$recursiveRef": DRAFT_2019_09}  # others ignore them


class Edge(NamedTuple):
    """Lead to a place that judges the same value; `reference` is the keyword that refers to it, or empty.

    `keyword` is the one that holds the place, where none refers to it.
    """

    place: SchemaPlace
    reference: str = ""
    keyword: str = ""


@dataclass(slots=True, eq=False)
class SchemaPlace:
    """Hold one subschema, what applies to the same value with it, and what applies to members of the value."""

    trail: Trail
    schema: dict[str, Any]
    base: str  # the address of the document, or of a part of it that has an `$id`
    in_place: Sequence[Edge] = ()
    members: Mapping[str, Sequence[SchemaPlace]] = field(default_factory=dict)  # by the keyword that leads there
    only_refers: bool = False  # whether all beside its `$ref` is ignored

    @property
    def pointer(self) -> str:
        return pointer_of(self.trail)


class SchemaGraph:
    """Hold every place of a schema; raises InvalidSchema for a reference that leads outside or nowhere."""

    def __init__(self, document: dict[str, Any], draft: Draft) -> None:
        self.draft = draft
        self.places: list[SchemaPlace] = []
        self.has_references = False
        self._of: dict[int, SchemaPlace] = {}  # by identity of the subschema: the document is a tree of our own
        # By addresses, which places do not lead to: what leads back to itself is freed only when all threads stand
        # still for it.
        self._roots: dict[str, SchemaPlace] = {}
        self._anchors: dict[tuple[str, str], SchemaPlace] = {}
        # A junction for each name of a dynamic anchor: many references times many anchors stay few edges.
        self._dynamic: dict[tuple[str, str | bool], SchemaPlace] = {}
        self._branches: dict[tuple[str, str | bool], list[Edge]] = {}
        self._add(document, None, "")
        # Places that a reference finds outside the known keywords are appended while this runs.
        for place in self.places:
            for keyword in REFERENCES:
                if isinstance(place.schema.get(keyword), str):
                    self.has_references = True
                    target = self._target(place, keyword)
                    if target is not None:
                        place.in_place = (*place.in_place, Edge(target, keyword))

    def _add(self, schema: dict[str, Any], trail: Trail, base: str) -> SchemaPlace:
        """Add a subschema and everything below it."""
        top = SchemaPlace(trail, schema, base)
        waiting = [top]
        for place in waiting:  # grows while it runs
            self._of[id(place.schema)] = place
            self.places.append(place)
            self._name(place)
            # Up to draft 7 a `$ref` hides what stands beside it; it stays a place, since
            # another reference may lead to it.
            place.only_refers = self.draft.ref_hides_siblings and isinstance(place.schema.get("$ref"), str)
            # Most places lead nowhere: they hold no list of their own.
            in_place, members = list[Edge](), dict[str, list[SchemaPlace]]()
            for keyword, member, child in subschemas(place.schema):
                found = self._of.get(id(child))
                if found is None:
                    below: Trail = (place.trail, keyword)
                    found = SchemaPlace(below if member is None else (below, member), child, place.base)
                    waiting.append(found)
                if place.only_refers or keyword in INERT:
                    continue
                if keyword in IN_PLACE:
                    in_place.append(Edge(found, keyword=keyword))
                else:
                    members.setdefault(keyword, []).append(found)
            if in_place:
                place.in_place = in_place
            if members:
                place.members = members
        return top

    def _name(self, place: SchemaPlace) -> None:
        """Register the addresses and anchors by which references may find a place."""
        schema, identifier = place.schema, place.schema.get(self.draft.id_keyword)
        if isinstance(identifier, str) and not (self.draft.ref_hides_siblings and "$ref" in schema):
            # Before 2019-09 an `$id` that is a mere fragment was what `$anchor` is now.
            if identifier.startswith("#"):
                self._anchors.setdefault((place.base, identifier[1:]), place)
            else:
                if place.trail is not None and "$schema" in place.schema:
                    try:
                        draft_of(place.schema)  # an embedded document may speak another draft, but a known one
                    except InvalidSchema as fault:
                        raise InvalidSchema(place.pointer + fault.pointer, fault.reason, fault.code) from fault
                address = _address(place.base, identifier.removesuffix("#"))
                if address is None:
                    reason = f"'{excerpt(identifier)}' is no address."
                    pointer = pointers.join(place.pointer, self.draft.id_keyword)
                    raise InvalidSchema(pointer, reason, SchemaFault.UNCOMPILABLE)
                place.base = address
        self._roots.setdefault(place.base, place)
        for keyword in ("$anchor", "$dynamicAnchor"):
            name = schema.get(keyword)
            if isinstance(name, str):
                self._anchors.setdefault((place.base, name), place)
        for keyword in DYNAMIC_ANCHORS.values():
            value = schema.get(keyword)
            if isinstance(value, str | bool):
                branches = self._branches.setdefault((keyword, value), [])
                branches.append(Edge(place, keyword=keyword))
                self._dynamic.setdefault((keyword, value), SchemaPlace(place.trail, {}, place.base, branches))

    def _target(self, place: SchemaPlace, keyword: str) -> SchemaPlace | None:
        """Find the place that a reference leads to; None for one that leads to nothing worth a visit."""
        reference: str = place.schema[keyword]
        own = reference.removesuffix("#") == self.draft.uri and self.draft.uri not in self._roots
        if own and keyword == "$ref":
            return None  # the draft's own metaschema: the engine carries it, and it is bounded
        uri, _, fragment = reference.partition("#")
        base = _address(place.base, uri) if uri else place.base
        if base is None or base not in self._roots:
            reason = (
                f"'{excerpt(reference)}' is another document and nothing is ever fetched; copy what it refers to into"
                " `$defs` and refer to '#/$defs/…'."
            )
            raise InvalidSchema(pointers.join(place.pointer, keyword), reason, SchemaFault.REMOTE_REF)
        if DRAFT_OF_REFERENCE.get(keyword, self.draft) is not self.draft:
            return None
        target = self._find(place, keyword, base, fragment)
        if target is not None and keyword in DYNAMIC_ANCHORS:
            anchor = DYNAMIC_ANCHORS[keyword]
            name = target.schema.get(anchor)
            if name is True or name == fragment:  # else it is an ordinary reference
                return self._dynamic[anchor, name]
        return target

    def _find(self, place: SchemaPlace, keyword: str, base: str, fragment: str) -> SchemaPlace | None:
        """Find what a fragment names; None for a boolean schema, which leads nowhere further."""
        if fragment and not fragment.startswith("/"):
            found: Any = self._anchors.get((base, fragment))
            value: Any = found.schema if found else None
            trail: Trail = None
        else:
            value, trail = self._roots[base].schema, self._roots[base].trail
            try:
                for step in pointers.tokens(unquote(fragment, errors="strict")):
                    trail = (trail, step)
                    value = pointers.resolve(value, pointers.from_tokens((step,)))
            except (LookupError, ValueError):
                value = None
        if isinstance(value, bool):
            return None
        if not isinstance(value, dict):
            what = "nothing is there" if value is None else "no schema is there"
            reason = f"'#{excerpt(fragment)}' does not resolve: {what}. Define it in this schema, or correct the name."
            raise InvalidSchema(pointers.join(place.pointer, keyword), reason, SchemaFault.UNRESOLVED_REF)
        known = self._of.get(id(value))
        if known is None:
            # Outside the known keywords the metaschema has not looked yet.
            check_metaschema(value, self.draft, at=pointer_of(trail))
            known = self._add(value, trail, base)
        return known


def _address(base: str, uri: str) -> str | None:
    """Resolve an address against its base; None for one that is malformed."""
    try:
        urlsplit(uri)
        return urljoin(base, uri)
    except ValueError:
        return None
