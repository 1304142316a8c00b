"""A thread that computes on is named, and one that waits is not."""

from __future__ import annotations

import threading

from tests.serving.threads import busy_threads, eventually


def test_a_thread_that_computes_on_is_named_and_one_that_waits_is_not() -> None:
    told = threading.Event()

    def compute() -> None:
        while not told.is_set():
            pass

    threads = [threading.Thread(target=compute, name="busy"), threading.Thread(target=told.wait, name="idle")]
    for thread in threads:
        thread.start()
    try:
        eventually(lambda: any("busy" in each for each in busy_threads()))  # others may have had the cores for a while
        assert not any("idle" in each for each in busy_threads())
    finally:
        told.set()
        for thread in threads:
            thread.join()
