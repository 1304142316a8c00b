"""Of the files that a process may open some are kept back, never more than a half, and a low limit is told."""

from __future__ import annotations

import pytest

from retrycontract.front.descriptors import TooFewFilesError, connections_within, told_of_few


@pytest.mark.parametrize(
    ("files", "connections", "is_told"),
    [
        (65_536, 65_280, False),
        (1_024, 768, False),
        (512, 256, False),
        (511, 256, True),
        (300, 150, True),
        (257, 129, True),
        (256, 128, True),
        (128, 64, True),
    ],
)
def test_a_half_at_most_is_kept_back(files: int, connections: int, is_told: bool) -> None:
    assert connections_within(files) == connections
    told = told_of_few(files)
    assert bool(told) is is_told
    assert not told or all(words in told for words in (f"{files} files", f"{connections} connections", "LimitNOFILE"))


def test_too_few_are_refused_with_what_to_set() -> None:
    with pytest.raises(TooFewFilesError, match=r"may open 127 files, and the service needs 128 .*LimitNOFILE"):
        connections_within(127)
