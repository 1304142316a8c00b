"""One writer at a time: whoever came first writes first, also beside a thread that never stops writing."""

from __future__ import annotations

import threading
import time

from retrycontract.store.transactions import WritersQueue


def in_line(queue: WritersQueue, done: list[str], name: str) -> threading.Thread:
    """Start a thread that waits for its turn, and return once it does."""

    def write() -> None:
        with queue, queue:  # use cases open transactions within others'
            done.append(name)

    before = len(queue._waiting)
    thread = threading.Thread(target=write)
    thread.start()
    while len(queue._waiting) == before:
        time.sleep(0.001)
    return thread


def test_who_writes_again_and_again_lets_those_in_who_wait() -> None:
    queue, done = WritersQueue(), list[str]()
    with queue:
        threads = [in_line(queue, done, name) for name in ("first", "second", "third")]
        done.append("holder")
    for _ in range(3):
        with queue:
            done.append("holder again")
    for thread in threads:
        thread.join(10)
    assert done == ["holder", "first", "second", "third", *["holder again"] * 3]


def test_many_threads_are_in_one_at_a_time() -> None:
    queue, seen, within = WritersQueue(), list[int](), 0

    def write() -> None:
        nonlocal within
        for _ in range(200):
            with queue:
                within += 1
                time.sleep(0)
                with queue:
                    seen.append(within)
                within -= 1

    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (len(seen), set(seen)) == (1_600, {1})
