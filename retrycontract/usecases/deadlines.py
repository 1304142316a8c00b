"""Deadlines for what somebody else answers, however slowly they do it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from threading import Thread
from typing import TypeVar

Result = TypeVar("Result")


def within(seconds: float, work: Callable[[], Result], *, abort: Callable[[], None]) -> Result:
    """Run the work, at most so long; then `abort` it and raise TimeoutError. Gives and raises what the work does.

    A thread of its own, because looking up a name cannot be interrupted; the abandoned one ends soon after.
    """
    ended: Future[Result] = Future()

    def run() -> None:
        try:
            ended.set_result(work())
        except BaseException as error:  # noqa: BLE001 - handed to the caller
            ended.set_exception(error)

    Thread(target=run, name="retrycontract-within", daemon=True).start()
    if not wait([ended], timeout=seconds).done:
        abort()
        raise TimeoutError(f"no answer within {seconds:g} seconds")
    return ended.result()
