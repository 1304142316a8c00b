"""How far a log was read: every row once, in whatever order rows appear, and never past one that may still come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrycontract.store.transactions import EventRow, Position

IDS = st.integers(1, 10**12)


@given(st.integers(0, 10**17), st.frozensets(IDS, max_size=50))
def test_a_position_is_read_back_as_it_was_written(settled: int, steps: frozenset[int]) -> None:
    position = Position(settled, frozenset(settled + step for step in steps))
    assert Position.parse(str(position)) == position


@pytest.mark.parametrize("text", ["", "-1", "1.", "1.-", "1.a-", "1.A", "1.a b", "x", "1" * 19, "1." + "z" * 12, "1\n"])
def test_what_is_no_position_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no position"):
        Position.parse(text)


def read(position: Position, visible: set[int], in_flight: set[int], size: int) -> tuple[list[int], Position]:
    """Read a page of a log in which these rows are visible, and those may still appear."""
    after = sorted(row for row in visible if row > position.settled)[: position.rows_to_look_at(size)]
    rows = [EventRow(row, is_settled=all(row < other for other in in_flight)) for row in after]
    ids = position.unread(rows, size)
    return ids, position.after(ids, rows)


@given(st.permutations(range(1, 25)), st.lists(st.integers(0, 5), min_size=40, max_size=40), st.integers(1, 5))
def test_every_row_is_read_once_in_whatever_order_rows_appear(order: list[int], steps: list[int], size: int) -> None:
    position, seen, appeared = Position(), [], 0
    for step in [*steps, *[24] * 30]:
        appeared = min(len(order), appeared + step)
        visible, in_flight = set(order[:appeared]), set(order[appeared:])
        ids, position = read(position, visible, in_flight, size)
        seen += ids
        assert all(position.settled < row for row in in_flight), "a row may still appear there"
    assert sorted(seen) == sorted(order)
    assert position == Position(24)


def test_a_row_that_appears_late_is_lost_to_a_reader_who_remembers_only_the_last_id() -> None:
    visible = {2}
    ids, position = read(Position(), visible, {1}, 10)
    visible.add(1)
    assert read(position, visible, set(), 10)[0] == [1]
    assert read(Position(max(ids)), visible, set(), 10)[0] == []


def test_what_is_beyond_the_settled_is_forgotten_once_it_is_settled() -> None:
    position = Position(0, frozenset(range(1, 1_000)))
    _, after = read(position, set(range(1, 1_001)), set(), 10)
    assert after == Position(1_000)
