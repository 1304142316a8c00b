from __future__ import annotations

import random

import pytest

from retrycontract import ErrorAggregator, ErrorCode, ErrorSeverity, ValidationError
from retrycontract.contract.feedback.hints import in_order

MISSING, TYPE = ErrorCode.REQUIRED_FIELD_MISSING, ErrorCode.TYPE_MISMATCH


def error(path: str, code: ErrorCode = TYPE, message: str = "m", **fields: object) -> ValidationError:
    return ValidationError(code, path, message, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("nothing", [None, [], (), iter(())], ids=["none", "list", "tuple", "iterator"])
def test_nothing_gives_nothing(nothing: list[ValidationError] | None) -> None:
    assert ErrorAggregator(10).aggregate(nothing) == ()


def test_the_first_of_identical_errors_stays() -> None:
    first, second = error("/a", message="first"), error("/a", message="second")
    assert ErrorAggregator(10).aggregate([first, second]) == (first,)


def test_a_warning_does_not_hide_the_same_mistake_as_an_error() -> None:
    warning, worse = error("/a", severity=ErrorSeverity.WARNING), error("/a")
    assert ErrorAggregator(10).aggregate([warning, worse]) == (worse,)
    assert ErrorAggregator(10).aggregate([worse, warning]) == (worse,)


def test_errors_of_other_codes_paths_or_keywords_are_not_identical() -> None:
    errors = [error("/a"), error("/a", MISSING), error("/b"), error("/a", keyword="type")]
    assert len(ErrorAggregator(10).aggregate(errors)) == 4


def test_errors_sort_by_severity_then_by_pointer() -> None:
    expected = [
        error(""),
        error("/a"),
        error("/items/2"),
        error("/items/10"),
        error("/z", MISSING),
        error("/z", TYPE),
        error("/c", severity=ErrorSeverity.WARNING),
        error("/b", severity=ErrorSeverity.INFO),
    ]
    shuffled = random.Random(1).sample(expected, len(expected))
    assert list(ErrorAggregator(10).aggregate(shuffled)) == expected
    assert list(in_order(shuffled)) == expected


def test_at_most_the_limit_is_shown_and_the_rest_is_counted() -> None:
    errors = [error(f"/{letter}") for letter in "abcdefghijklm"]
    groups, hidden = ErrorAggregator(10).group(errors)
    assert [group.error.field_path for group in groups] == [f"/{letter}" for letter in "abcdefghij"]
    assert hidden == 3


def test_like_errors_of_items_fold_only_when_there_are_too_many() -> None:
    ten = [error(f"/items/{index}/sku", MISSING) for index in range(10)]
    assert [group.like for group in ErrorAggregator(10).group(ten)[0]] == [0] * 10

    many = [error(f"/items/{index}/sku", MISSING) for index in range(200)] + [error("/name")]
    groups, hidden = ErrorAggregator(10).group(many)
    assert [(group.error.field_path, group.like, group.pattern) for group in groups] == [
        ("/items/0/sku", 199, "/items/*/sku"),
        ("/name", 0, "/name"),
    ]
    assert hidden == 0


def test_every_distinct_mistake_stays_visible_among_many_like_ones() -> None:
    errors = [error(f"/items/{index}/{name}") for index in range(50) for name in "abc"]
    shown = ErrorAggregator(10).aggregate(errors)
    assert [each.field_path for each in shown] == ["/items/0/a", "/items/0/b", "/items/0/c"]
