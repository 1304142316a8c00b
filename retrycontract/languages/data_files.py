"""Read TOML and YAML, and tell where they go wrong."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.source_code import SourceFault, placeholder

TOO_DEEP = SourceFault(FaultKind.DEPTH, "too deeply nested to be read")
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def read_toml(source: str) -> Iterator[SourceFault]:
    """Yield why a text is no TOML."""
    try:
        if not tomllib.loads(source):
            yield placeholder("comments")
    except tomllib.TOMLDecodeError as error:
        yield _toml_fault(str(error), source)
    except RecursionError:
        yield TOO_DEEP


def _toml_fault(said: str, source: str) -> SourceFault:
    place = _PLACE.search(said)
    reason = said[: place.start()] if place else said
    if place and place[1]:
        return SourceFault(FaultKind.SYNTAX, reason, int(place[1]), int(place[2]))
    end = source.rstrip()
    line, column = end.count("\n") + 1, len(end) - end.rfind("\n")
    return SourceFault(FaultKind.TRUNCATED, f"the file was cut off: {reason}", line, column)


def read_yaml(source: str) -> Iterator[SourceFault]:
    """Yield why a text is no YAML; tags may be any, and nothing is made of them or of aliases."""
    import yaml  # here, so that a child process that reads no YAML stays small

    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        if all(_is_null(document) for document in yaml.compose_all(source, Loader=loader)):
            yield placeholder("comments")
    except yaml.MarkedYAMLError as error:
        yield _yaml_fault(error.problem or error.context or "syntax error", error.problem_mark, source)
    except yaml.YAMLError:
        yield SourceFault(FaultKind.SYNTAX, "it holds a character that YAML does not allow")
    except RecursionError:
        yield TOO_DEEP


def _is_null(document: Any) -> bool:
    return document is None or document.tag == "tag:yaml.org,2002:null"


def _yaml_fault(reason: str, mark: object, source: str) -> SourceFault:
    line, column = getattr(mark, "line", None), getattr(mark, "column", None)
    if line is None or column is None:
        return SourceFault(FaultKind.SYNTAX, reason)
    *before, last = source.rstrip().split("\n")
    if (line, column) >= (len(before), len(last)):
        return SourceFault(FaultKind.TRUNCATED, f"the file was cut off: {reason}", line + 1, column + 1)
    return SourceFault(FaultKind.SYNTAX, reason, line + 1, column + 1)
