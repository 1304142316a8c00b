"""Codes are those of RFC 6238, and each is taken once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from retrycontract.usecases.people.one_time_codes import address_for_apps, code_at, matching_step, step_of, write_secret

SECRET = write_secret(b"12345678901234567890")  # that of the RFC's appendix
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "code"),
    [
        (59, "287082"),
        (1111111109, "081804"),
        (1111111111, "050471"),
        (1234567890, "005924"),
        (2000000000, "279037"),
        (20000000000, "353130"),
    ],
)
def test_the_codes_are_those_of_the_standard(seconds: int, code: str) -> None:
    assert code_at(SECRET, seconds // 30) == code


@pytest.mark.parametrize(("drift", "is_taken"), [(-60, False), (-30, True), (0, True), (30, True), (60, False)])
def test_clocks_may_differ_by_half_a_minute(drift: int, is_taken: bool) -> None:
    code = code_at(SECRET, step_of(NOON + timedelta(seconds=drift)))
    assert (matching_step(SECRET, code, now=NOON, after=0) is not None) is is_taken


def test_a_code_that_was_taken_is_not_taken_again() -> None:
    step = matching_step(SECRET, code_at(SECRET, step_of(NOON)), now=NOON, after=0)
    assert step is not None
    assert matching_step(SECRET, code_at(SECRET, step), now=NOON, after=step) is None


@pytest.mark.parametrize("typed", ["", " ", "12345", "1234567", "abcdef", "٠١٢٣٤٥", "\x00", "é" * 10])
def test_what_is_no_code_is_not_taken(typed: str) -> None:
    assert matching_step(SECRET, typed, now=NOON, after=0) is None


def test_a_code_may_be_typed_as_apps_show_it() -> None:
    code = code_at(SECRET, step_of(NOON))
    assert matching_step(SECRET, f" {code[:3]} {code[3:]} ", now=NOON, after=0) == step_of(NOON)


def test_the_address_for_apps_holds_any_name() -> None:
    assert address_for_apps("ABC", "mia?&/@x") == (
        "otpauth://totp/retrycontract:mia%3F%26%2F%40x?secret=ABC&issuer=retrycontract"
    )
