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
from retrycontract.contract.schemas.engine_errors import EngineError, Kind, options_of
from retrycontract.contract.schemas.type_expressions import describe_types

Branch = list[EngineError]  # of one alternative
MAX_STEPS = 6  # of references and allOf, followed from a branch to the schemas that it stands for


def explain(
    failure: Failure,
    union: EngineError,
    explain_error: Callable[[EngineError], Iterator[ValidationError]],
    settle: Callable[[Branch], Branch] = lambda branch: branch,
) -> Iterator[ValidationError]:
    """Yield the errors of the branch that was meant by the engine's error of a union, or one that names them all.

    `settle` leaves out of a branch what its other errors bring about.
    """
    branches = [settle(branch) for branch in union.alternatives()]
    depth = len(union.instance_path)  # as the engine counts: it leaves out members with an empty name
    actual = _comparable(type_name(failure.value))
    candidates = [branch for branch in branches if not _refuses_type(branch, depth, actual)]
    if not candidates:
        yield _type_mismatch(failure, branches, depth, actual)
        return
    # Of branches that are nothing but a const or an enum, the values that they take.
    choices = [
        options_of(branch[0].kind) if len(branch) == 1 and len(branch[0].instance_path) == depth else []
        for branch in candidates
    ]
    # Alternatives that are a value each, as generators write an enum whose options have titles, read best as one list.
    if len(choices) > 1 and all(choices):
        yield invalid_choice(failure, list(chain(*choices)))
        return
    # Only an object has members; the positions of an array may read like their names.
    discriminators = _discriminators(failure) if isinstance(failure.value, dict) else {}
    fitting = [branch for branch in candidates if not _refuses_discriminator(branch, discriminators, depth)]
    for name, options in discriminators.items():
        if not fitting and name in failure.value and failure.value[name] not in options:
            yield _unknown_choice(failure, name, options)
            return
    ranked = sorted(fitting or candidates, key=lambda branch: _rank(branch, depth))
    meant = None if len(ranked) > 1 and _rank(ranked[0], depth) == _rank(ranked[1], depth) else ranked[0]
    if meant is None:
        yield failure.error(
            ErrorCode.OBJECT_SCHEMA_VIOLATION,
            {"reason": f"it matches none of its {len(branches)} alternatives"},
            expected=failure.describe({failure.keyword: failure.constraint}),
            hint=f"make {failure.subject} match one of its alternatives",
        )
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
        for name, allowed in dict(_fixed_members(branch, failure.resolve)).items():
            options.setdefault(name, []).append(allowed)
    shared = {name: allowed for name, allowed in options.items() if len(allowed) > 1}
    single = {name: allowed for name, allowed in shared.items() if all(len(values) == 1 for values in allowed)}
    return {name: list(chain(*allowed)) for name, allowed in (single or shared).items()}


def _fixed_members(branch: Schema | None, resolve: Resolve, steps: int = MAX_STEPS) -> Iterator[tuple[str, list[Any]]]:
    if not isinstance(branch, dict) or not steps:
        return
    if isinstance(branch.get("$ref"), str):
        yield from _fixed_members(resolve(branch["$ref"]), resolve, steps - 1)
    for part in branch.get("allOf", ()):
        yield from _fixed_members(part, resolve, steps - 1)
    for name, member in branch.get("properties", {}).items():
        if isinstance(member, dict) and "const" in member:
            yield name, [member["const"]]
        elif isinstance(member, dict) and isinstance(member.get("enum"), list):
            yield name, member["enum"]


def _rank(branch: Branch, depth: int) -> tuple[int, int]:
    # Fewest errors first, then the deepest: a branch that fails far inside has fitted
    # further than one that fails at once.
    return len(branch), -max(len(error.instance_path) - depth for error in branch)


def _refuses_type(branch: Branch, depth: int, actual: str) -> bool:
    """Tell a branch that wants another type altogether: nobody meant null who wrote an array."""
    return any(actual not in wanted for error in branch if (wanted := _wanted_types(error, depth, actual)))


def _wanted_types(error: EngineError, depth: int, actual: str) -> list[str]:
    """List the types that an error about the union's own value asks for; none when it is about something else."""
    if len(error.instance_path) != depth:
        return []
    match error.kind:
        case Kind.Type(types=types):
            return [str(name) for name in types]
        case Kind.Constant() | Kind.Enum():
            return [_comparable(type_name(option)) for option in options_of(error.kind)]
        case Kind.AnyOf() | Kind.OneOfNotValid():
            branches = error.alternatives()
            if all(_refuses_type(branch, depth, actual) for branch in branches):
                return [name for each in chain(*branches) for name in _wanted_types(each, depth, actual)]
    return []


def _comparable(name: str) -> str:
    # To JSON Schema every integer is a number as well.
    return "number" if name == "integer" else name


def _refuses_discriminator(branch: Branch, names: Container[str], depth: int) -> bool:
    """Tell a branch to which a discriminator has the value of another one."""
    return any(
        len(error.instance_path) == depth + 1 and options_of(error.kind) and str(error.instance_path[-1]) in names
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


def _type_mismatch(failure: Failure, branches: list[Branch], depth: int, actual: str) -> ValidationError:
    wanted = [name for error in chain(*branches) for name in _wanted_types(error, depth, actual)]
    short = describe_types(dict.fromkeys(wanted))
    return failure.error(
        ErrorCode.TYPE_MISMATCH,
        {"expected": short, "actual": type_name(failure.value)},
        expected=failure.describe(failure.schema),
        hint=f"send {failure.subject} as {short}",
    )
