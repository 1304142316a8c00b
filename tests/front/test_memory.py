"""Memory that large requests took, and garbage that holds itself, go back to the system."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from retrycontract.front.memory import give_back, keep_small, used
from tests.serving.threads import eventually


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


def knots() -> None:
    """Leave 400 MB of garbage that holds itself, in too few objects for Python to look for it."""
    for _ in range(2_000):
        knot: list[object] = [bytes(200_000)]
        knot.append(knot)


@pytest.mark.skipif(not used(), reason="the system does not say what a process holds")
def test_garbage_that_holds_itself_is_looked_for_once_it_is_much() -> None:
    end = keep_small()
    try:
        before = used()
        knots()
        eventually(lambda: used() < before + 40_000_000, within=20)
    finally:
        end()


STORY = """
import gc, time
from retrycontract.front import memory
looked = []
gc.callbacks.append(lambda phase, told: looked.append(phase) if told["generation"] == 2 else None)
gc.set_threshold(10_000, 3, 2**31 - 1)
memory.LOOKS_EVERY = 0.1
end = memory.keep_small()
alive = [[[]] for _ in range(1_500_000)], b"x" * 400_000_000
time.sleep(1)
while_alive = len(looked)
del alive
time.sleep(0.5)
knot = [b"x" * 400_000_000]
knot.append(knot)
del knot
time.sleep(1)
end()
print(while_alive, len(looked) > 0)
"""


def test_a_server_that_settled_switches_often_and_looks_through_nothing_old() -> None:
    story = (
        "import gc, sys; from retrycontract.front.memory import settle; settle()();"
        "print(sys.getswitchinterval() < 0.001, gc.get_freeze_count() > 1_000, gc.get_threshold()[2] > 10**9)"
    )
    said = subprocess.run([sys.executable, "-c", story], capture_output=True, text=True, check=True, timeout=60).stdout
    assert said.split() == ["True", "True", "True"]


@pytest.mark.skipif(not used(), reason="the system does not say what a process holds")
def test_nobody_stands_still_for_a_collection_while_much_is_alive() -> None:
    said = subprocess.run([sys.executable, "-c", STORY], capture_output=True, text=True, check=True, timeout=60)
    assert said.stdout.split() == ["0", "True"], said.stderr
