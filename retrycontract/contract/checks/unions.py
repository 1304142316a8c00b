"""Report a union's errors from the branch that the model meant, not the noise of all branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from retrycontract.contract.checks.failure import Failure
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.json_types import type_name
from retrycontract.contract.type_expressions import describe_types

Branch = list[Any]  # the engine's errors of one alternative


def explain(
    failure: Failure, branches: list[Branch], explain_error: Callable[[Any], Iterator[ValidationError]]
) -> Iterator[ValidationError]:
    """Yield the errors of the meant branch, or one error that names the alternatives when none stands out."""
    depth = failure.depth
    candidates = [branch for branch in branches if not _refuses_type(branch, depth)]
    if not candidates:
        yield _type_mismatch(failure, branches)
        return
    meant = _meant(candidates, depth)
    if meant is None:
        yield _no_match(failure, len(branches))
        return
    for error in meant:
        yield from explain_error(error)


def _meant(branches: list[Branch], depth: int) -> Branch | None:
    """Pick the branch whose discriminator fits, else the one with the fewest and deepest errors; None on a tie."""
    fitting = [branch for branch in branches if not _refuses_discriminator(branch, depth)] or branches
    ranked = sorted(fitting, key=lambda branch: _rank(branch, depth))
    if len(ranked) > 1 and _rank(ranked[0], depth) == _rank(ranked[1], depth):
        return None
    return ranked[0]


def _rank(branch: Branch, depth: int) -> tuple[int, int]:
    return len(branch), -max(len(error.instance_path) - depth for error in branch)


def _refuses_type(branch: Branch, depth: int) -> bool:
    """Tell a branch that wants another type altogether: nobody meant null who wrote an array."""
    return any(type(error.kind).__name__ == "Type" and len(error.instance_path) == depth for error in branch)


def _refuses_discriminator(branch: Branch, depth: int) -> bool:
    """Tell a branch whose `const` or `enum` member, such as a kind, has another value."""
    return any(
        type(error.kind).__name__ in ("Constant", "Enum") and len(error.instance_path) == depth + 1 for error in branch
    )


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
