"""A code of an authenticator app is taken once, by clocks that differ a little."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyotp
import pytest

from retrycontract.usecases.people.log_in import address_for_apps, matching_step

SECRET = pyotp.random_base32()
CODES = pyotp.TOTP(SECRET)
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(("drift", "is_taken"), [(-60, False), (-30, True), (0, True), (30, True), (60, False)])
def test_clocks_may_differ_by_half_a_minute(drift: int, is_taken: bool) -> None:
    code = CODES.at(NOON + timedelta(seconds=drift))
    assert (matching_step(SECRET, code, now=NOON, after=0) is not None) is is_taken


def test_a_code_that_was_taken_is_not_taken_again() -> None:
    step = matching_step(SECRET, CODES.at(NOON), now=NOON, after=0)
    assert step is not None
    assert matching_step(SECRET, CODES.generate_otp(step), now=NOON, after=step) is None


@pytest.mark.parametrize("typed", ["", " ", "12345", "1234567", "abcdef", "٠١٢٣٤٥", "\x00", "é" * 10])
def test_what_is_no_code_is_not_taken(typed: str) -> None:
    assert matching_step(SECRET, typed, now=NOON, after=0) is None


def test_a_code_may_be_typed_as_apps_show_it() -> None:
    code = CODES.at(NOON)
    assert matching_step(SECRET, f" {code[:3]} {code[3:]} ", now=NOON, after=0) == CODES.timecode(NOON)


def test_the_address_for_apps_holds_any_name() -> None:
    assert address_for_apps(SECRET, "mia?&/@x") == (
        f"otpauth://totp/retrycontract:mia%3F%26/%40x?secret={SECRET}&issuer=retrycontract"
    )
