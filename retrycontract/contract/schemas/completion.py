"""Make the references of published schemas usable without changing what the schemas mean."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from retrycontract.contract import pointers
from retrycontract.contract.schemas.document import Trail, pointer_of
from retrycontract.contract.schemas.drafts import draft_of
from retrycontract.contract.schemas.invalid_schema import excerpt
from retrycontract.contract.schemas.keywords import REFERENCES, subschemas

# OpenAPI keeps shared schemas here. A tool that was cut out of such a document still refers to them.
CUT_OUT_OF = "components"
MAX_CUT_OUT_STEPS = 8  # `#/components/schemas/Name` has three
# What RFC 3986 wants percent-encoded. Generators write `#/definitions/List<Item>` and `$id: "Create task"`.
_ILLEGAL = re.compile(r"[^\w\-.~:/?#@!$&'()*+,;=%\[\]]|%(?![0-9A-Fa-f]{2})", re.ASCII)
_ILLEGAL_IN_FRAGMENT = re.compile(r"[^\w\-.~:/?@!$&'()*+,;=%]|%(?![0-9A-Fa-f]{2})", re.ASCII)


@dataclass(frozen=True, slots=True)
class SchemaWarning:
    """Hold what a developer should know of an admitted schema: where, and a sentence."""

    pointer: str
    reason: str


def complete(document: dict[str, Any]) -> tuple[SchemaWarning, ...]:
    """Change a private copy so that the engine can use it: encode addresses, and supply parts that were cut off.

    A reference into the document that the schema was cut out of finds a stub that accepts anything: what stood
    there is unknown and nothing is fetched, so everything else is checked and this is not. Each gives a warning.
    """
    warnings: list[SchemaWarning] = []
    addressed = (*REFERENCES, draft_of(document).id_keyword)
    cut_out = CUT_OUT_OF not in document
    for trail, schema in list(_schemas(document)):
        for keyword in addressed:
            if isinstance(schema.get(keyword), str):
                schema[keyword] = _encoded(schema[keyword])
        reference = schema.get("$ref")
        if cut_out and isinstance(reference, str) and _supply(document, reference):
            reason = (
                f"'{excerpt(reference)}' lies in the document that this schema was cut out of: any value is accepted"
                " here. Copy that part into `$defs` to have it checked."
            )
            warnings.append(SchemaWarning(pointers.join(pointer_of(trail), "$ref"), reason))
    return tuple(warnings)


def _schemas(document: dict[str, Any]) -> Iterator[tuple[Trail, dict[str, Any]]]:
    waiting: list[tuple[Trail, dict[str, Any]]] = [(None, document)]
    for trail, schema in waiting:  # grows while it runs
        yield trail, schema
        for keyword, member, child in subschemas(schema):
            below: Trail = (trail, keyword)
            waiting.append((below if member is None else (below, member), child))


def _encoded(address: str) -> str:
    uri, separator, fragment = address.partition("#")
    return f"{_ILLEGAL.sub(_percent, uri)}{separator}{_ILLEGAL_IN_FRAGMENT.sub(_percent, fragment)}"


def _percent(match: re.Match[str]) -> str:
    return quote(match.group(), safe="")


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
