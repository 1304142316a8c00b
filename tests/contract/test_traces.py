"""The traceparent header as W3C Trace Context has it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrycontract.contract.events import TRACEPARENT_LENGTH, read_traceparent

ID, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.parametrize(
    ("header", "read"),
    [
        (f"00-{ID}-{PARENT}-01", f"00-{ID}-{PARENT}-01"),
        (f"00-{ID}-{PARENT}-00", f"00-{ID}-{PARENT}-00"),
        (f"00-{ID}-{PARENT}-ff", f"00-{ID}-{PARENT}-ff"),
        (f" \t00-{ID}-{PARENT}-01 ", f"00-{ID}-{PARENT}-01"),
        # of a later version what version 00 knows is read, and no flag but 'sampled'
        (f"01-{ID}-{PARENT}-03", f"00-{ID}-{PARENT}-01"),
        (f"cc-{ID}-{PARENT}-02-what-the-future-will-be-like", f"00-{ID}-{PARENT}-00"),
    ],
)
def test_a_trace_is_read(header: str, read: str) -> None:
    assert read_traceparent(header) == read


@pytest.mark.parametrize(
    "header",
    [
        None, "", "-", "00", f"00-{ID}-{PARENT}", f"00-{ID}-{PARENT}-", f"00-{ID}-{PARENT}-1", f"00-{ID}-{PARENT}-001",
        f"00-{ID}-{PARENT}-01-", f"00-{ID}-{PARENT}-01-more", f"01-{ID}-{PARENT}-01.more", f"ff-{ID}-{PARENT}-01",
        f"00-{'0' * 32}-{PARENT}-01", f"00-{ID}-{'0' * 16}-01", f"00-{ID.upper()}-{PARENT}-01", f"0-{ID}-{PARENT}-01",
        f"00-{ID[1:]}-{PARENT}-01", f"00-{ID}0-{PARENT}-01", f"00-{ID}-{PARENT}-0x", f"00_{ID}_{PARENT}_01",
        f"00-{ID}-{PARENT}-01,00-{ID}-{PARENT}-01", f"00-{ID}-{PARENT}-01\n", f"\n00-{ID}-{PARENT}-01",
        f"00-{ID}-{PARENT}-\u0661\u0661",
    ],
)  # fmt: skip
def test_what_is_no_trace_is_passed_over(header: str | None) -> None:
    assert read_traceparent(header) is None


@given(st.text() | st.from_regex(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?", fullmatch=True))
def test_what_is_read_fits_its_column_and_is_read_again_as_it_is(header: str) -> None:
    read = read_traceparent(header)
    assert read is None or (len(read) == TRACEPARENT_LENGTH and read_traceparent(read) == read)
