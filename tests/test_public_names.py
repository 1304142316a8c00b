"""What `from retrycontract import …` offers, and that all of it explains itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import retrycontract

PUBLIC = [
    "ErrorAggregator",
    "ErrorCode",
    "ErrorFormatter",
    "ErrorSeverity",
    "EscalationFormatter",
    "InMemoryRetryTracker",
    "Kind",
    "Outcome",
    "RetryConfiguration",
    "RetryContract",
    "RetryTracker",
    "Tool",
    "ToolResult",
    "ValidationError",
    "ValueSanitizer",
    "load_configuration",
    "parse_feedback",
]


def test_the_public_names_are_exactly_these() -> None:
    assert list(retrycontract.__all__) == PUBLIC
    assert set(dir(retrycontract)) == {*PUBLIC, "__version__"}


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_can_be_imported_and_bears_its_name(name: str) -> None:
    assert getattr(retrycontract, name).__name__ == name


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'retrycontract' has no attribute 'RetryManager'"):
        retrycontract.RetryManager  # noqa: B018


def public_methods(kind: type) -> Iterator[tuple[str, Any]]:
    """Methods, class methods and properties that the class itself defines."""
    for name, member in vars(kind).items():
        inner = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if not name.startswith("_") and inspect.isfunction(inner):
            yield name, inner


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_and_its_methods_have_a_docstring(name: str) -> None:
    public = getattr(retrycontract, name)
    # A dataclass without a docstring gets its signature for one.
    assert public.__doc__
    assert not public.__doc__.startswith(f"{name}(")
    methods = list(public_methods(public)) if inspect.isclass(public) else []
    assert [method for method, function in methods if not function.__doc__] == []


def test_the_methods_of_the_contract_are_looked_at() -> None:
    methods = {name for name, _ in public_methods(retrycontract.RetryContract)}
    assert methods == {"check", "check_unasked", "configuration", "is_judged_apart", "last_outcome", "register"}
    assert "to_json" in dict(public_methods(retrycontract.ToolResult))
    assert "from_json" in dict(public_methods(retrycontract.ValidationError))
    assert "title" in dict(public_methods(retrycontract.ErrorCode))
