"""Report a union's errors from the branch that the model meant, not the noise of all branches."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from retrycontract.contract.checks.failure import Failure
from retrycontract.contract.checks.keywords import invalid_choice
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.json_types import Resolve, Schema, type_name
from retrycontract.contract.type_expressions import describe_types

Branch = list[Any]  # the engine's errors of one alternative
MAX_REFERENCES = 5  # followed from a branch to the schema that it stands for


def explain(
    failure: Failure, branches: list[Branch], explain_error: Callable[[Any], Iterator[ValidationError]]
) -> Iterator[ValidationError]:
    """Yield the errors of the meant branch, or one error that names the alternatives when none stands out."""
    depth = failure.depth
    candidates = [branch for branch in branches if not _refuses_type(branch, depth)]
    if not candidates:
        yield _type_mismatch(failure, branches)
        return
    discriminators = _discriminators(failure)
    fitting = [branch for branch in candidates if not _refuses_discriminator(branch, discriminators, depth)]
    for name, options in discriminators.items():
        if not fitting and name in failure.value and failure.value[name] not in options:
            yield _unknown_choice(failure, name, options)
            return
    meant = _best(fitting or candidates, depth)
    if meant is None:
        yield _no_match(failure, len(branches))
        return
    for error in meant:
        yield from explain_error(error)


def _discriminators(failure: Failure) -> dict[str, list[Any]]:
    """Find the members that tell the branches apart, such as a kind, and the values that they may have.

    It is one that several branches fix by `const` or `enum`, and best one that each fixes to a single value.
    """
    branches = failure.constraint if isinstance(failure.constraint, list) else []
    options: dict[str, list[list[Any]]] = {}
    for branch in branches:
        for name, allowed in _fixed_members(branch, failure.resolve):
            options.setdefault(name, []).append(allowed)
    shared = {name: allowed for name, allowed in options.items() if len(allowed) > 1}
    single = {name: allowed for name, allowed in shared.items() if all(len(values) == 1 for values in allowed)}
    return {name: list(chain(*allowed)) for name, allowed in (single or shared).items()}


def _fixed_members(branch: Schema | None, resolve: Resolve) -> Iterator[tuple[str, list[Any]]]:
    for _ in range(MAX_REFERENCES):
        if isinstance(branch, dict) and isinstance(branch.get("$ref"), str):
            branch = resolve(branch["$ref"])
    properties = branch.get("properties") if isinstance(branch, dict) else None
    for name, member in (properties or {}).items():
        if isinstance(member, dict) and "const" in member:
            yield name, [member["const"]]
        elif isinstance(member, dict) and isinstance(member.get("enum"), list):
            yield name, member["enum"]


def _best(branches: list[Branch], depth: int) -> Branch | None:
    """Pick the branch with the fewest and deepest errors; None on a tie."""
    ranked = sorted(branches, key=lambda branch: _rank(branch, depth))
    if len(ranked) > 1 and _rank(ranked[0], depth) == _rank(ranked[1], depth):
        return None
    return ranked[0]


def _rank(branch: Branch, depth: int) -> tuple[int, int]:
    return len(branch), -max(len(error.instance_path) - depth for error in branch)


def _refuses_type(branch: Branch, depth: int) -> bool:
    """Tell a branch that wants another type altogether: nobody meant null who wrote an array."""
    return any(type(error.kind).__name__ == "Type" and len(error.instance_path) == depth for error in branch)


def _refuses_discriminator(branch: Branch, names: Container[str], depth: int) -> bool:
    """Tell a branch to which a discriminator has the value of another one."""
    return any(
        type(error.kind).__name__ in ("Constant", "Enum")
        and len(error.instance_path) == depth + 1
        and str(error.instance_path[-1]) in names
        for error in branch
    )


def _unknown_choice(failure: Failure, name: str, options: list[Any]) -> ValidationError:
    """Report a discriminator whose value belongs to no branch: nothing else can be said before it is right."""
    member = replace(
        failure,
        pointer=failure.member(name),
        value=failure.value[name],
        schema={},
        keyword="enum",
        place=failure.place.child(name),
    )
    return invalid_choice(member, options)


def _type_mismatch(failure: Failure, branches: list[Branch]) -> ValidationError:
    wanted = [
        str(name)
        for branch in branches
        for error in branch
        if type(error.kind).__name__ == "Type"
        for name in error.kind.types
    ]
    short = describe_types(dict.fromkeys(wanted))
    return failure.error(
        ErrorCode.TYPE_MISMATCH,
        {"expected": short, "actual": type_name(failure.value)},
        expected=failure.describe(failure.schema),
        hint=f"send {failure.subject} as {short}",
    )


def _no_match(failure: Failure, count: int) -> ValidationError:
    alternatives = failure.describe({failure.keyword: failure.constraint})
    return failure.error(
        ErrorCode.OBJECT_SCHEMA_VIOLATION,
        {"reason": f"it matches none of its {count} alternatives"},
        expected=alternatives,
        hint=f"make {failure.subject} match one of its alternatives",
    )
