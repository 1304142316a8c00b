"""Patterns of a schema: few, short, and of the kind that is matched in linear time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import jsonschema_rs

from retrycontract.contract import pointers
from retrycontract.contract.schemas.graph import SchemaPlace
from retrycontract.contract.schemas.invalid_schema import InvalidSchema, SchemaFault, excerpt

MAX_PATTERNS = 200
MAX_LENGTH = 512
# Compiled size in bytes. One pattern may need what the engine allows by itself; all of a schema share the double,
# which takes about 100 ms to build.
MAX_COMPILED = 10 * 1024 * 1024
MAX_COMPILED_TOGETHER = 2 * MAX_COMPILED

_LOOK_AROUND = re.compile(r"\(\?<?[=!]")
_BACKREFERENCE = re.compile(r"\\[1-9]|\\k<|\(\?P=")


def check_patterns(places: Iterable[SchemaPlace]) -> None:
    """Check every pattern of a schema; raises InvalidSchema that points at the first bad one."""
    found = [item for place in places for item in _patterns(place)]
    if len(found) > MAX_PATTERNS:
        reason = f"A schema has at most {MAX_PATTERNS} patterns; this is one too many."
        raise InvalidSchema(found[MAX_PATTERNS][0], reason, SchemaFault.PATTERN)
    if not found:
        return
    share = min(MAX_COMPILED, MAX_COMPILED_TOGETHER // len(found))
    options = jsonschema_rs.RegexOptions(size_limit=share)
    for pointer, pattern in found:
        if len(pattern) > MAX_LENGTH:
            reason = f"A pattern has at most {MAX_LENGTH} characters."
            raise InvalidSchema(pointer, reason, SchemaFault.PATTERN)
        try:
            jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=options)
        except ValueError as error:
            raise InvalidSchema(pointer, _reason(pattern), SchemaFault.PATTERN) from error


def _patterns(place: SchemaPlace) -> Iterator[tuple[str, str]]:
    pattern = place.schema.get("pattern")
    if isinstance(pattern, str):
        yield pointers.join(place.pointer, "pattern"), pattern
    by_name = place.schema.get("patternProperties")
    if isinstance(by_name, dict):
        for name in by_name:
            yield pointers.join(place.pointer, "patternProperties", name), name


def _reason(pattern: str) -> str:
    if _LOOK_AROUND.search(pattern):
        fault = "uses look-around, which cannot be matched in linear time; say it with plain alternatives"
    elif _BACKREFERENCE.search(pattern):
        fault = "uses a backreference, which cannot be matched in linear time; remove it"
    else:
        fault = "is no regular expression of ECMAScript's linear subset, or compiles to too much; simplify it"
    return f"The pattern '{excerpt(pattern)}' {fault}."
