"""Memory that large requests took goes back to the system."""

from __future__ import annotations

import threading

import pytest

from retrycontract.front.memory import give_back, used


def scatter() -> list[bytes]:
    """Take 200 MB in blocks that the C library serves from a heap, and let go of nearly all of them."""
    taken = [bytes(20_000) for _ in range(10_000)]
    return taken[::500]


@pytest.mark.skipif(not used(), reason="the system does not say what a process holds")
def test_what_nobody_uses_any_more_is_given_back() -> None:
    kept = list[list[bytes]]()
    thread = threading.Thread(target=lambda: kept.append(scatter()))
    thread.start()
    thread.join()
    held = used()
    give_back()
    assert used() < held - 40_000_000
    assert len(kept[0]) == 20
